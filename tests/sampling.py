"""A sample of many cases for `make test`; `make test-all` and `make soak` run the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from zlib import crc32

import pytest


def sampled(cases: Iterable[Any], kind: Callable[[Any], Any], of_each: int = 1) -> list[Any]:
    """Mark every case `exhaustive`, except for so many of each kind.

    Which ones follows from the kind's name: the same in every run, now early, now late.
    """
    cases = list(cases)
    kinds: dict[str, list[int]] = {}
    for at, case in enumerate(cases):
        kinds.setdefault(str(kind(case)), []).append(at)
    kept = set()
    for name, places in kinds.items():
        first, step = crc32(name.encode()), max(1, len(places) // of_each)
        kept |= {places[(first + n * step) % len(places)] for n in range(of_each)}
    return [
        pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=() if at in kept else pytest.mark.exhaustive,
        )
        for at, case in enumerate(cases)
    ]
