"""MiniMax-01 means what Hugging Face's class computes: lightning attention, the stream's norms."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mini_attn.torch as mt
from mini_attn.config import LinearAttentionConfig
from mini_attn.errors import ConfigError
from mini_attn.weights import config_from_hf, from_hf
from tests.oracles.hybrids import minimax, wide_from_the_start
from tests.oracles.wide import built, compare, wide


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(2, 24))]
)
def test_logits_of_a_prompt_chunks_and_steps_are_equal(seed: int) -> None:
    with wide_from_the_start():
        compare("MiniMax", minimax(seed), seed)


def test_greedy_tokens_are_equal() -> None:
    with wide_from_the_start():
        theirs, file = built("MiniMax", minimax(3), 3)
    ids = torch.randint(1, 61, (2, 70), generator=torch.Generator().manual_seed(1))
    ours = mt.Decoder(config_from_hf(file), dtype="float64")
    ours.load_state_dict(from_hf(theirs.state_dict(), file))
    made = mt.generate(ours, ids, max_new_tokens=5, caches=ours.new_caches(2, 75))
    with wide("MiniMax"):
        for _ in range(5):
            chosen = theirs(ids, use_cache=False).logits[:, -1].argmax(dim=-1)
            ids = torch.cat([ids, chosen[:, None]], dim=1)
    assert torch.equal(made, ids)


SIZES = {
    "model_type": "minimax", "vocab_size": 61, "hidden_size": 24, "intermediate_size": 10,
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2,
    "max_position_embeddings": 64,
}  # fmt: skip


def test_later_layers_forget_less_however_few_are_read() -> None:
    config = config_from_hf(SIZES)
    kinds = [isinstance(one, LinearAttentionConfig) for one in config.attentions]
    assert kinds == [False, True, False, True]
    second, fourth = config.attentions[1], config.attentions[3]
    assert second.decay[0] == pytest.approx(2 ** (-8 / 4) * (1 - 1 / 3), rel=1e-4)
    assert 0 < fourth.decay[0] < 1e-4 < second.decay[0]
    assert config_from_hf(SIZES, n_layers=2).attentions[1] == second
    assert (config.norm_placement, config.stream_scales) == ("stream", None)
    scaled = config_from_hf({**SIZES, "linear_attn_alpha_factor": 3.5}).stream_scales
    assert scaled[:2] == ((1, 1, 1, 1), (3.5, 1, 1, 1))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hidden_act": "gelu"}, "lightning attention here has silu"),
        ({"layer_types": ["sliding_attention"] * 4}, "'sliding_attention', which this package's"),
        ({"attn_type_list": [0, 1]}, "attn_type_list = .* is not known of minimax"),
    ],
)
def test_what_would_compute_something_else_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config_from_hf({**SIZES, **options})
