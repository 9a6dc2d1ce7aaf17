"""A sample of many cases for `make test`; `make test-all` and `make soak` run the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any
from zlib import crc32

import pytest
from _pytest.mark import ParameterSet


def sampled(cases: Iterable[Any], kind: Callable[[Any], Any], of_each: int = 1) -> list[Any]:
    """Mark every case `exhaustive`, except for so many of each kind.

    Which ones follows from the kind's name: the same in every run, now early, now late. A case is
    a value, a tuple of them, or a `pytest.param` with an id.
    """
    cases = list(cases)
    kinds: dict[str, list[int]] = {}
    for at, case in enumerate(cases):
        kinds.setdefault(str(kind(case)), []).append(at)
    kept = set()
    for name, places in kinds.items():
        first, step = crc32(name.encode()), max(1, len(places) // of_each)
        kept |= {places[(first + n * step) % len(places)] for n in range(of_each)}
    found = []
    for at, case in enumerate(cases):
        given = case if isinstance(case, ParameterSet) else pytest.param(*as_tuple(case))
        marks = () if at in kept else (pytest.mark.exhaustive,)
        found.append(pytest.param(*given.values, marks=marks, id=given.id))
    return found


def as_tuple(case: Any) -> tuple[Any, ...]:
    """Return a case as the arguments that it stands for."""
    return case if isinstance(case, tuple) else (case,)
