"""The lattice of equivalences: every cell of the table is bounded, and can be missed."""

from __future__ import annotations

import importlib
from types import SimpleNamespace

import numpy as np
import pytest

import mini_attn.numpy as ma
from mini_attn.equivalences import DTYPES, EQUIVALENCES, largest_error

# A few roundings of the type, outputs being of size 1.
BOUNDS = {"float64": 3e-15, "float32": 2e-6, "float16": 4e-3, "bfloat16": 3e-2}
EXACT = {"GQA at its ends = MHA, MQA"}  # the same code on the same numbers


@pytest.mark.parametrize("name", EQUIVALENCES)
@pytest.mark.parametrize(
    ("backend", "dtype"), [(b, d) for b, dtypes in DTYPES.items() for d in dtypes]
)
def test_both_ways_give_the_same(name, backend, dtype):
    error = largest_error(name, importlib.import_module(f"mini_attn.{backend}"), dtype)
    assert error <= (0 if name in EXACT else BOUNDS[dtype])


@pytest.mark.parametrize("fault", ["scaled_dot_product_attention", "online_attention"])
def test_a_difference_is_seen(fault):
    """With one function wrong, the equivalence that it stands in says by how much."""

    def wrong(*arrays, **options):
        answer = getattr(ma, fault)(*arrays, **options)
        return (answer[0] + 0.25, answer[1]) if isinstance(answer, tuple) else answer + 0.25

    names = {"__name__": "mini_attn.numpy", **vars(ma), fault: wrong}
    name = "tiled, any block = plain"
    assert largest_error(name, SimpleNamespace(**names), "float64") == pytest.approx(0.25)


def test_outputs_are_of_size_one():
    """Else an absolute error would say little."""
    from mini_attn.equivalences import _Case

    for function in EQUIVALENCES.values():
        for pair in function(_Case(ma, "float64")):
            assert all(0.05 < np.abs(part).mean() < 5 for part in pair)
