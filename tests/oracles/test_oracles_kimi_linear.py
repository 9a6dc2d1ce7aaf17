"""Kimi Linear means what Hugging Face's class computes: decays by channel, latents, experts."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mini_attn.torch as mt
from mini_attn.config import LinearAttentionConfig
from mini_attn.errors import ConfigError
from mini_attn.weights import config_from_hf, from_hf
from tests.oracles.hybrids import kimi, wide_from_the_start
from tests.oracles.wide import built, compare, wide


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(2, 24))]
)
def test_logits_of_a_prompt_chunks_and_steps_are_equal(seed: int) -> None:
    with wide_from_the_start():
        compare("KimiLinear", kimi(seed), seed)


def test_greedy_tokens_are_equal() -> None:
    with wide_from_the_start():
        theirs, file = built("KimiLinear", kimi(3), 3)
    ids = torch.randint(1, 61, (2, 70), generator=torch.Generator().manual_seed(1))
    ours = mt.Decoder(config_from_hf(file), dtype="float64")
    ours.load_state_dict(from_hf(theirs.state_dict(), file))
    made = mt.generate(ours, ids, max_new_tokens=5, caches=ours.new_caches(2, 75))
    with wide("KimiLinear"):
        for _ in range(5):
            chosen = theirs(ids, use_cache=False).logits[:, -1].argmax(dim=-1)
            ids = torch.cat([ids, chosen[:, None]], dim=1)
    assert torch.equal(made, ids)


SIZES = {
    "model_type": "kimi_linear", "vocab_size": 61, "hidden_size": 24, "intermediate_size": 10,
    "num_hidden_layers": 5, "num_attention_heads": 4, "kv_lora_rank": 6, "qk_rope_head_dim": 2,
    "qk_nope_head_dim": 4, "v_head_dim": 4,
}  # fmt: skip
RELEASED = {  # what the released file says in its own words
    "linear_attn_config": {
        "full_attn_layers": [4], "kda_layers": [1, 2, 3, 5], "head_dim": 8, "num_heads": 3,
        "short_conv_kernel_size": 4,
    },
    "num_experts": 4, "num_experts_per_token": 2, "num_shared_experts": 1, "num_expert_group": 1,
    "moe_renormalize": True, "moe_router_activation_func": "sigmoid", "model_max_length": 64,
    "first_k_dense_replace": 1, "mla_use_nope": True, "topk_group": 1, "use_grouped_topk": True,
}  # fmt: skip


def test_the_released_file_counts_layers_from_one() -> None:
    config = config_from_hf({**SIZES, **RELEASED})
    kinds = [isinstance(one, LinearAttentionConfig) for one in config.attentions]
    assert kinds == [True, True, True, False, True]
    assert (config.attentions[0].n_heads, config.attentions[0].head_dim) == (3, 8)
    assert [experts is None for experts in config.layer_experts] == [True] + [False] * 4
    assert config.attentions[3].rope is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hidden_act": "gelu"}, "convolutions here end with silu"),
        ({"n_group": 2, "topk_group": 1}, "n_group = 2: experts here are not chosen by groups"),
        ({"norm_topk_prob": False}, "norm_topk_prob = False"),
        ({"mla_use_nope": False}, "nothing turns in Kimi Linear"),
        ({"layer_types": ["sliding_attention"] * 5}, "'sliding_attention', which this package's"),
    ],
)
def test_what_would_compute_something_else_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config_from_hf({**SIZES, **options})
