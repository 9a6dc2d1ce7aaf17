"""What turning costs: the formula against a count of the operations that are made."""

from __future__ import annotations

import numpy as np
import pytest

from mini_attn import cost
from mini_attn.errors import ConfigError


@pytest.mark.parametrize("rotary_dim", [2, 6, 128])
def test_pairs_make_three_operations_a_number(rotary_dim: int) -> None:
    made = 0
    for _ in range(rotary_dim // 2):
        made += 4 + 2  # a cos, b sin, a sin, b cos; one subtraction, one addition
    assert cost.rotary_flops(rotary_dim) == made
    assert cost.rotary_flops(rotary_dim, rows=7) == 7 * made


@pytest.mark.parametrize("rotary_dim", [2, 6, 128])
def test_the_matrix_makes_a_multiply_add_for_each_entry(rotary_dim: int) -> None:
    entries = np.eye(rotary_dim).size
    assert cost.rotary_flops(rotary_dim, form="matrix") == 2 * entries


@pytest.mark.parametrize("wrong", [{"form": "complex"}, {"rows": 0}])
def test_what_makes_no_sense_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigError):
        cost.rotary_flops(4, **wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigError):
        cost.rotary_flops(0)
