"""MiniMax-M2 means what Hugging Face's class computes: partial rotation, experts by sigmoids."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import numpy as np
import pytest
import transformers

import mini_attn.numpy as ma
from mini_attn.errors import ConfigError
from mini_attn.weights import config_from_hf, from_hf, model_from_hf, read_checkpoint, to_numpy
from tests.oracles.wide import built, compare

SIZES = {
    "model_type": "minimax_m2", "vocab_size": 61, "hidden_size": 24, "intermediate_size": 10,
    "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 8,
    "num_local_experts": 5, "num_experts_per_tok": 2, "max_position_embeddings": 64,
}  # fmt: skip
# What the model's own file says beside its sizes.
PUBLISHED = {
    "rotary_dim": 4, "rope_theta": 5000000, "scoring_func": "sigmoid", "use_routing_bias": True,
    "use_qk_norm": True, "qk_norm_type": "per_layer", "shared_intermediate_size": 0,
    "attn_type_list": [1, 1], "num_mtp_modules": 3, "use_mtp": True, "sliding_window": None,
    "layernorm_mlp_beta": 1.0, "mlp_intermediate_size": 80, "shared_moe_mode": "sigmoid",
}  # fmt: skip


def drawn(seed: int) -> dict[str, Any]:
    """Return a small configuration, drawn at random."""
    draw = Random(f"minimax_m2 {seed}")
    kv, group, head_dim = draw.choice([1, 2, 3]), draw.choice([1, 2, 4]), draw.choice([4, 8, 10])
    experts = draw.randint(1, 9)
    share = draw.choice(
        [{}, {"partial_rotary_factor": 2 * draw.randint(1, head_dim // 2) / head_dim}]
    )
    rule = draw.choice([
        {"rope_type": "default"},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16},
    ])  # fmt: skip
    return {
        "vocab_size": 61, "hidden_size": draw.choice([16, 21, 24]), "head_dim": head_dim,
        "num_attention_heads": kv * group, "num_key_value_heads": kv,
        "intermediate_size": draw.choice([7, 16]), "num_hidden_layers": draw.randint(1, 3),
        "num_local_experts": experts, "num_experts_per_tok": draw.randint(1, experts),
        "max_position_embeddings": 64, "tie_word_embeddings": draw.random() < 0.3,
        "rms_norm_eps": draw.choice([1e-6, 1e-3]), "hidden_act": draw.choice(["silu", "relu"]),
        "rope_parameters": {**rule, **share, "rope_theta": draw.choice([100.0, 5e6])},
        "initializer_range": 0.3, "pad_token_id": 0, "bos_token_id": None, "eos_token_id": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    "seed", [*range(4), *(pytest.param(n, marks=pytest.mark.exhaustive) for n in range(4, 40))]
)
def test_logits_of_a_prompt_chunks_and_steps_are_equal(seed: int) -> None:
    compare("MiniMaxM2", drawn(seed), seed)


@pytest.mark.parametrize("options", [{}, PUBLISHED, {"rotary_dim": 8, "num_experts": 5}])
def test_published_files_mean_what_hugging_face_reads_in_them(options: dict[str, Any]) -> None:
    file = {**SIZES, **options}
    read = transformers.MiniMaxM2Config.from_dict(copy.deepcopy(file)).to_dict()
    config = config_from_hf(file)
    assert config == config_from_hf(read)
    rope = config.attention.rope
    assert (rope.theta, rope.rotary_dim) == (5e6, 4 if options == PUBLISHED else None)
    assert config.experts.routing == "sigmoid_normalised"


def test_what_a_file_leaves_out_is_what_hugging_face_fills_in() -> None:
    described = transformers.MiniMaxM2Config().to_dict()
    needed = ("model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers",
              "num_attention_heads", "max_position_embeddings")  # fmt: skip
    sparse = {name: described[name] for name in needed}
    assert config_from_hf(sparse, n_layers=2) == config_from_hf(described, n_layers=2)
    assert model_from_hf(sparse) == model_from_hf(described)


def test_sizes_for_the_costs_count_the_bias_of_the_choice() -> None:
    model = model_from_hf(SIZES)
    assert (model.attention, model.qk_norm, model.router_bias) == ("gqa", "width", True)
    assert (model.n_experts, model.expert_d_ff, model.n_dense_layers) == (5, 10, 0)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"scoring_func": "softmax"}, "scoring_func = 'softmax' is not that of MiniMax-M2"),
        ({"use_qk_norm": False}, "use_qk_norm = False is not that of MiniMax-M2"),
        ({"qk_norm_type": "per_head"}, "qk_norm_type = 'per_head' is not that of MiniMax-M2"),
        ({"shared_intermediate_size": 8}, "shared_intermediate_size = 8 is not that"),
        ({"layernorm_mlp_beta": 3.5}, "layernorm_mlp_beta = 3.5 is not that of MiniMax-M2"),
        (
            {"attn_type_list": [1, 0]},
            r"attn_type_list must have 1 .*, got \[1, 0\]: the others are",
        ),
        ({"attn_type_list": 1}, "attn_type_list must have 1 for each layer, got 1"),
        ({"rotary_dim": 4, "partial_rotary_factor": 0.25}, "rotary_dim = 4 is 0.5 of head_dim = 8"),
        ({"rotary_dim": 3}, "rotary_dim must be even, got 3"),
        ({"rotary_dim": 16}, "rotary_dim = 16 must be even and at most 8"),
        ({"num_experts": 4}, r"two numbers: \[5, 4\]"),
        ({"num_experts_per_tok": 6}, "experts_per_token = 6 of 5 experts"),
        ({"n_group": 2}, "n_group = 2 is not known of minimax_m2"),
        ({"attention_bias": True}, "attention_bias = True is not known of minimax_m2"),
    ],
)
def test_what_would_compute_something_else_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config_from_hf({**SIZES, **options})


def test_a_saved_model_has_each_expert_by_itself_and_runs_in_two_lines(tmp_path: Any) -> None:
    theirs, file = built("MiniMaxM2", drawn(2), 2)
    theirs.save_pretrained(tmp_path)
    config, weights = read_checkpoint(tmp_path)
    assert config == config_from_hf(file)
    expected = to_numpy(from_hf(theirs.state_dict(), file))
    assert weights.keys() == expected.keys()
    for name, weight in weights.items():
        np.testing.assert_array_equal(weight, expected[name], err_msg=name)
    ma.Decoder(config, dtype="float64").load_state_dict(weights)


def test_modules_that_predict_several_tokens_are_left_out() -> None:
    theirs, file = built("MiniMaxM2", {**drawn(2), "num_hidden_layers": 2}, 2)
    more = {
        f"model.layers.2.{name}": weight
        for name, weight in theirs.model.layers[1].state_dict().items()
    }
    state = {**theirs.state_dict(), **more}
    assert (
        from_hf(state, {**file, "num_mtp_modules": 1}).keys()
        == from_hf(theirs.state_dict(), file).keys()
    )
    with pytest.raises(ConfigError, match="is of a layer beyond the last: num_hidden_layers = 2"):
        from_hf(state, file)
