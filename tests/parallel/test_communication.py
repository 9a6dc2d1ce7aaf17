"""What real processes send is what the formula says: every scheme, models of random sizes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from mini_attn.cost import communication
from mini_attn.errors import ConfigError
from tests.parallel.communication_cases import Drawn, drawn, sent_by
from tests.parallel.ranks_pool import RanksPool

SEEDS = range(20)
# Copied heads, a norm over all heads, two ranks, and latents with experts; three in 16 bits.
SAMPLE = (1, 5, 8, 11)


def told(one: Drawn, scheme: str, tokens: int, layers: int = 1, backward: bool = False) -> Any:
    """The bytes by the formula."""
    asked: dict[str, Any] = {"ranks": one.ranks, "scheme": scheme, "backward": backward}
    asked["dtype_bytes"] = getattr(torch, one.dtype).itemsize
    every = [communication(one.model, layer=i, **asked) for i in range(layers)]
    return sum(each.bytes(tokens) for each in every)


def expected(one: Drawn) -> dict[str, Any]:
    """Everything that `sent_by` counts, or the refusal."""
    n, layers = one.batch * one.tokens, one.model.n_layers
    # Beside the layers: the embedding, and on the way back the gradient of what logits are of.
    shared = one.model.d_model * n * getattr(torch, one.dtype).itemsize
    beside = 2 * shared * (one.ranks - 1) / one.ranks
    found = {
        "tensor": told(one, "tensor", n, layers) + beside,
        "tensor, backward": told(one, "tensor", n, layers, backward=True) + beside,
        "split-cache": told(one, "split-cache", one.batch, layers),
    }
    schemes = ("ring, contiguous", "ring, zigzag", "ulysses")
    for name in schemes[: 2 if one.model.kv_lora_rank else 3]:
        scheme = name.partition(",")[0]
        if scheme == "ulysses" and one.model.n_kv_heads % one.ranks:
            with pytest.raises(ConfigError, match="can't share n_kv_heads"):
                told(one, scheme, n)
            continue
        found |= {name: told(one, scheme, n), f"{name}, backward": told(one, scheme, n, 1, True)}
    return found


def test_the_draw_has_everything_that_the_formula_tells_apart() -> None:
    every = [drawn(seed) for seed in SEEDS]
    models = [one.model for one in every]
    assert {one.ranks for one in every} == {2, 4}
    assert {one.dtype for one in every} == {"float64", "float32", "bfloat16"}
    assert {model.qk_norm for model in models} == {"none", "head", "width"}
    assert {bool(model.kv_lora_rank) for model in models} == {True, False}
    assert any(model.n_experts and model.n_layers > 1 for model in models)
    grouped = [one for one in every if not one.model.kv_lora_rank]
    for few in (False, True):  # fewer heads than ranks: copied, and no Ulysses
        assert any((one.model.n_kv_heads < one.ranks) == few for one in grouped)
    assert len({str(one) for one in every}) == len(SEEDS)


@pytest.mark.parametrize(
    "seed", [s if s in SAMPLE else pytest.param(s, marks=pytest.mark.exhaustive) for s in SEEDS]
)
def test_counted_bytes_are_the_formulas(pools: dict[int, RanksPool], seed: int) -> None:
    one = drawn(seed)
    asked = expected(one)
    for found in pools[one.ranks](sent_by, seed):
        refused = found.pop("ulysses", "") if "ulysses" not in asked else ""
        assert found == asked
        assert not refused or refused.startswith(f"ConfigError: {one.ranks} ranks can't share")
