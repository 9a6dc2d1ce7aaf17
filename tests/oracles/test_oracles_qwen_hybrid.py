"""Qwen3-Next and Qwen3.5's text mean what Hugging Face's classes compute."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn.config import LinearAttentionConfig
from mini_attn.cost import parameter_count
from mini_attn.errors import ConfigError
from mini_attn.weights import config_from_hf, from_hf, model_from_hf, read_checkpoint, to_numpy
from tests.oracles.hybrids import FULL, LINEAR, qwen, wide_from_the_start
from tests.oracles.wide import built, compare, wide

FAMILIES = ("Qwen3Next", "Qwen3_5", "Qwen3_5Moe")
SIZES = {
    "model_type": "qwen3_next", "vocab_size": 61, "hidden_size": 24, "intermediate_size": 10,
    "num_hidden_layers": 4, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
    "num_experts": 5, "num_experts_per_tok": 2, "max_position_embeddings": 64,
}  # fmt: skip


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(2, 24))]
)
def test_logits_of_a_prompt_chunks_and_steps_are_equal(family: str, seed: int) -> None:
    with wide_from_the_start():
        compare(family, qwen(family, seed), seed)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(
    "seed", [0, *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(1, 4))]
)
def test_a_prompt_of_several_chunks_and_greedy_tokens_are_equal(family: str, seed: int) -> None:
    """Both sides cut a prompt into chunks of 64 tokens, of which the last isn't full."""
    with wide_from_the_start():
        theirs, file = built(family, qwen(family, seed), seed)
    config, state = config_from_hf(file), from_hf(theirs.state_dict(), file)
    tokens = torch.randint(1, 61, (2, 150), generator=torch.Generator().manual_seed(seed))
    with wide(family):
        whole = copy.deepcopy(theirs)(tokens).logits.numpy()
        ids = tokens[:, :9]
        for _ in range(6):
            chosen = copy.deepcopy(theirs)(ids).logits[:, -1].argmax(dim=-1)
            ids = torch.cat([ids, chosen[:, None]], dim=1)
    ours = mt.Decoder(config, dtype="float64")
    ours.load_state_dict(state)
    with torch.no_grad():
        np.testing.assert_allclose(ours(tokens).numpy(), whole, rtol=0, atol=1e-9)
    model = ma.Decoder(config, dtype="float64")
    model.load_state_dict(to_numpy(state))
    made = ma.generate(
        model, tokens[:, :9].numpy(), max_new_tokens=6, caches=model.new_caches(2, 15)
    )
    np.testing.assert_array_equal(made, ids.numpy())


def test_left_padding_is_as_theirs() -> None:
    with wide_from_the_start():
        theirs, file = built("Qwen3Next", qwen("Qwen3Next", 1), 1)
    ours = mt.Decoder(config_from_hf(file), dtype="float64")
    ours.load_state_dict(from_hf(theirs.state_dict(), file))
    tokens = torch.randint(1, 61, (2, 12), generator=torch.Generator().manual_seed(3))
    mask = torch.ones_like(tokens)
    mask[1, :5] = 0
    with wide("Qwen3Next"):
        expected = theirs(tokens, attention_mask=mask).logits.numpy()
    positions = (mask.cumsum(dim=1) - 1).masked_fill(mask == 0, -1)
    caches = ours.new_caches(2, 12)
    with torch.no_grad():
        parts = [
            ours(tokens[:, a:b], caches=caches, positions=positions[:, a:b])
            for a, b in ((0, 3), (3, 9), (9, 10), (10, 12))
        ]
    found = torch.cat(parts, dim=1).numpy()
    np.testing.assert_allclose(found[0], expected[0], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found[1, 5:], expected[1, 5:], rtol=0, atol=1e-9)


def test_what_a_file_leaves_out_is_what_hugging_face_fills_in() -> None:
    for kind in (transformers.Qwen3NextConfig, transformers.Qwen3_5TextConfig):
        described = kind().to_dict()
        needed = ("model_type", "vocab_size", "hidden_size", "num_hidden_layers")
        sparse = {name: described[name] for name in (*needed, "intermediate_size")}
        assert config_from_hf(sparse, n_layers=4) == config_from_hf(described, n_layers=4)


def test_three_layers_keep_a_state_and_the_fourth_sees_all() -> None:
    config = config_from_hf(SIZES)
    kinds = [isinstance(one, LinearAttentionConfig) for one in config.attentions]
    assert kinds == [True, True, True, False]
    full = config.attentions[3]
    assert (full.out_gate, full.rope.rotary_dim) == (True, 2)
    assert config_from_hf({**SIZES, "layer_types": [FULL, LINEAR] * 2}).attentions[0] == full


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hidden_act": "gelu"}, "convolutions here are followed by silu"),
        ({"attn_output_gate": False}, "attn_output_gate = False"),
        ({"layer_types": ["sliding_attention"] * 4}, "'sliding_attention', which this package's"),
        ({"linear_num_value_heads": 5}, "n_key_heads = 16 must divide n_heads = 5"),
        ({"attention_sink": 1}, "attention_sink = 1 is not known of qwen3_next"),
        ({"model_type": "qwen3_5"}, "pass its text_config"),
    ],
)
def test_what_would_compute_something_else_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config_from_hf({**SIZES, **options})


def test_costs_of_its_file_count_what_its_class_has() -> None:
    theirs, file = built("Qwen3Next", qwen("Qwen3Next", 2), 2)
    count = sum(weight.numel() for weight in theirs.parameters())
    assert parameter_count(model_from_hf(file)) == count


def test_a_saved_model_runs_in_two_lines(tmp_path: Any) -> None:
    theirs, file = built("Qwen3Next", qwen("Qwen3Next", 2), 2)
    theirs.save_pretrained(tmp_path)
    config, weights = read_checkpoint(tmp_path)
    expected = to_numpy(from_hf(theirs.state_dict(), file))
    assert weights.keys() == expected.keys()
    for name, weight in weights.items():
        np.testing.assert_array_equal(weight, expected[name], err_msg=name)
    ma.Decoder(config, dtype="float64").load_state_dict(weights)
    config, first = read_checkpoint(tmp_path, n_layers=1)
    ma.Decoder(config, dtype="float64").load_state_dict(first)
    assert first.keys() < weights.keys()
