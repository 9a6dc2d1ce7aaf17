"""Mamba-2 means what Hugging Face's class computes: a state, no MLP, no positions."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

import mini_attn.torch as mt
from mini_attn.errors import ConfigError
from mini_attn.weights import config_from_hf, from_hf
from tests.oracles.hybrids import mamba2, wide_from_the_start
from tests.oracles.wide import built, compare, wide


@pytest.mark.parametrize(
    "seed",  # in the first two, heads share keys
    [2, 3, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in (0, 1, *range(4, 24)))],
)
def test_logits_of_a_prompt_chunks_and_steps_are_equal(seed: int) -> None:
    with wide_from_the_start():
        compare("Mamba2", mamba2(seed), seed)


def test_greedy_tokens_are_equal() -> None:
    with wide_from_the_start():
        theirs, file = built("Mamba2", mamba2(3), 3)
    ids = torch.randint(1, 61, (2, 70), generator=torch.Generator().manual_seed(1))
    ours = mt.Decoder(config_from_hf(file), dtype="float64")
    ours.load_state_dict(from_hf(theirs.state_dict(), file))
    made = mt.generate(ours, ids, max_new_tokens=5, caches=ours.new_caches(2, 75))
    with wide("Mamba2"):
        for _ in range(5):
            chosen = theirs(ids, use_cache=False).logits[:, -1].argmax(dim=-1)
            ids = torch.cat([ids, chosen[:, None]], dim=1)
    assert torch.equal(made, ids)


SIZES = {
    "model_type": "mamba2", "vocab_size": 61, "hidden_size": 16, "num_hidden_layers": 2,
    "num_heads": 4, "head_dim": 8, "state_size": 6, "n_groups": 2,
}  # fmt: skip


def test_layers_have_one_norm_and_no_mlp() -> None:
    config = config_from_hf(SIZES)
    assert (config.mlp, config.attention.n_key_heads, config.attention.conv_bias) == (
        "none", 2, True,
    )  # fmt: skip
    names = mt.Decoder(config).state_dict()
    assert not any("mlp" in name or "post_attention" in name for name in names)
    described = transformers.Mamba2Config(**SIZES).to_dict()
    assert config_from_hf(described) == config


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hidden_act": "gelu"}, "convolutions here end with silu"),
        ({"time_step_limit": [0.0, 0.1]}, "steps here have no bounds"),
        ({"expand": 3}, "expand \\* hidden_size = 48 must be num_heads \\* head_dim = 4 \\* 8"),
        ({"n_groups": 3}, "n_key_heads = 3 must divide n_heads = 4"),
        ({"norm_before_gate": True}, "the output here is gated, then normed"),
    ],
)
def test_what_would_compute_something_else_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config_from_hf({**SIZES, **options})
