"""OLMo Hybrid means what Hugging Face's class computes: norms before a state, behind attention."""

from __future__ import annotations

from typing import Any

import pytest
import torch
import transformers

import mini_attn.torch as mt
from mini_attn.config import LinearAttentionConfig
from mini_attn.errors import ConfigError
from mini_attn.weights import config_from_hf, from_hf
from tests.oracles.hybrids import olmo, wide_from_the_start
from tests.oracles.wide import built, compare, wide


@pytest.mark.parametrize(
    "seed", [*range(2), *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(2, 24))]
)
def test_logits_of_a_prompt_chunks_and_steps_are_equal(seed: int) -> None:
    with wide_from_the_start():
        compare("OlmoHybrid", olmo(seed), seed)


def test_greedy_tokens_are_equal() -> None:
    with wide_from_the_start():
        theirs, file = built("OlmoHybrid", olmo(3), 3)
    ids = torch.randint(1, 61, (2, 70), generator=torch.Generator().manual_seed(1))
    ours = mt.Decoder(config_from_hf(file), dtype="float64")
    ours.load_state_dict(from_hf(theirs.state_dict(), file))
    made = mt.generate(ours, ids, max_new_tokens=5, caches=ours.new_caches(2, 75))
    with wide("OlmoHybrid"):
        for _ in range(5):
            chosen = theirs(ids, use_cache=False).logits[:, -1].argmax(dim=-1)
            ids = torch.cat([ids, chosen[:, None]], dim=1)
    assert torch.equal(made, ids)


SIZES = {
    "model_type": "olmo_hybrid", "vocab_size": 61, "hidden_size": 24, "intermediate_size": 10,
    "num_hidden_layers": 4, "num_attention_heads": 4, "max_position_embeddings": 64,
    "rope_parameters": {"rope_type": "default", "rope_theta": None},
}  # fmt: skip


def test_norms_stand_by_kind_and_a_value_may_replace_twice_what_was_there() -> None:
    config = config_from_hf(SIZES)
    assert config.norm_placement == ("before", "before", "before", "after")
    first, full = config.attentions[0], config.attentions[3]
    assert isinstance(first, LinearAttentionConfig)
    assert (first.negative_eigenvalues, first.head_dim, first.v_head_dim) == (True, 4, 8)
    assert (full.rope, full.qk_norm_over) == (None, "width")
    assert (
        not config_from_hf({**SIZES, "linear_allow_neg_eigval": False})
        .attentions[0]
        .negative_eigenvalues
    )


def test_what_a_file_leaves_out_is_what_hugging_face_fills_in() -> None:
    described = transformers.OlmoHybridConfig().to_dict()
    needed = ("model_type", "vocab_size", "hidden_size", "num_hidden_layers", "intermediate_size",
              "num_attention_heads", "max_position_embeddings")  # fmt: skip
    sparse = {name: described[name] for name in needed}
    assert config_from_hf(sparse, n_layers=4) == config_from_hf(described, n_layers=4)


def test_files_name_convolutions_and_norms_in_their_own_way() -> None:
    """Of the released file each convolution stands by itself, and linear layers' norms differ."""
    with wide_from_the_start():
        theirs, file = built("OlmoHybrid", olmo(0), 0)
    whole = from_hf(theirs.state_dict(), file)
    state, config = dict(theirs.state_dict()), config_from_hf(file)
    for layer, attention in enumerate(config.attentions):
        if not isinstance(attention, LinearAttentionConfig):
            continue
        at = f"model.layers.{layer}."
        widths = [attention.key_width, attention.key_width, attention.value_width]
        parts = state.pop(f"{at}linear_attn.conv1d.weight").split(widths)
        for name, part in zip("qkv", parts, strict=True):
            state[f"{at}linear_attn.{name}_conv1d.weight"] = part
        for ours, own in (("input_layernorm", "attention_layer_norm"),
                          ("post_attention_layernorm", "feedforward_layer_norm")):  # fmt: skip
            state[f"{at}{own}.weight"] = state.pop(f"{at}{ours}.weight")
    apart = from_hf(state, file)
    assert apart.keys() == whole.keys()
    assert all(torch.equal(apart[name], whole[name]) for name in whole)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"hidden_act": "gelu"}, "convolutions here end with silu"),
        ({"layer_types": ["sliding_attention"] * 4}, "'sliding_attention', which this package's"),
        ({"linear_num_key_heads": 3}, "n_key_heads = 3 must divide n_heads = 4"),
    ],
)
def test_what_would_compute_something_else_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config_from_hf({**SIZES, **options})
