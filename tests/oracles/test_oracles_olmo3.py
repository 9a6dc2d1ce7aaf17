"""OLMo 3 means what Hugging Face's class computes: windows in turn, and two rotary rules."""

from __future__ import annotations

import copy
from random import Random
from typing import Any

import pytest
import torch
import transformers

from mini_attn.config import YaRN
from mini_attn.errors import ConfigError
from mini_attn.weights import config_from_hf, model_from_hf, read_checkpoint
from tests.oracles.wide import built, compare

SIZES = {
    "model_type": "olmo3", "vocab_size": 61, "hidden_size": 24, "intermediate_size": 40,
    "num_hidden_layers": 8, "num_attention_heads": 4, "max_position_embeddings": 64,
}  # fmt: skip
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 16}


def drawn(seed: int) -> dict[str, Any]:
    """Return a small configuration, drawn at random."""
    draw = Random(f"olmo3 {seed}")
    kv, group, head_dim = draw.choice([1, 2, 3]), draw.choice([1, 2, 4]), draw.choice([4, 6, 8])
    kinds = ["full_attention", "sliding_attention"]
    layers = draw.randint(1, 5)
    far = draw.choice([
        {"rope_type": "default"}, YARN, {"rope_type": "linear", "factor": 3.0},
        {**YARN, "attention_factor": 1.3, "beta_fast": 4.0, "beta_slow": 0.5},
    ])  # fmt: skip
    near = {"rope_type": "default", "rope_theta": draw.choice([50.0, 5e5])}
    rules = {kinds[0]: {**far, "rope_theta": draw.choice([100.0, 5e5])}, kinds[1]: near}
    return {
        "vocab_size": 61, "hidden_size": kv * group * head_dim,
        "num_attention_heads": kv * group, "num_key_value_heads": kv,
        "intermediate_size": draw.choice([16, 30]), "num_hidden_layers": layers,
        "layer_types": draw.choice([None, [draw.choice(kinds) for _ in range(layers)]]),
        "sliding_window": draw.choice([2, 3, 7, 40]), "max_position_embeddings": 64,
        "attention_bias": draw.random() < 0.3, "tie_word_embeddings": draw.random() < 0.3,
        "rms_norm_eps": draw.choice([1e-5, 1e-3]), "hidden_act": draw.choice(["silu", "relu"]),
        "rope_parameters": draw.choice([None, rules]), "initializer_range": 0.3,
        "pad_token_id": 0, "bos_token_id": None, "eos_token_id": None,
    }  # fmt: skip


@pytest.mark.parametrize(
    "seed",
    [*range(4), *(pytest.param(seed, marks=pytest.mark.exhaustive) for seed in range(4, 40))],
)
def test_logits_of_a_prompt_chunks_and_steps_are_equal(seed: int) -> None:
    compare("Olmo3", drawn(seed), seed)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"rope_theta": 500000, "rope_scaling": YARN, "sliding_window": 9, "rms_norm_eps": 1e-6},
        {"rope_scaling": {**YARN, "attention_factor": 1.2079441541679836, "beta_fast": 32}},
    ],
)
def test_published_files_mean_what_hugging_face_reads_in_them(options: dict[str, Any]) -> None:
    file = {**SIZES, **options}
    read = transformers.Olmo3Config.from_dict(copy.deepcopy(file)).to_dict()
    config = config_from_hf(file)
    assert config == config_from_hf(read)
    assert [layer.window is None for layer in config.attentions] == ([False] * 3 + [True]) * 2
    for layer in config.attentions:  # only what sees all is stretched
        stretched = isinstance(layer.rope.scaling, YaRN)
        assert stretched == (layer.window is None and "rope_scaling" in options)
        assert layer.rope.theta == 500000


def test_one_base_of_an_older_file_is_that_of_every_layer() -> None:
    """As the release read it that wrote such files; none that was published has another base."""
    config = config_from_hf({**SIZES, "rope_theta": 300.0, "rope_scaling": YARN})
    assert {layer.rope.theta for layer in config.attentions} == {300.0}


def test_sizes_for_the_costs_have_the_layers_in_turn() -> None:
    model = model_from_hf({**SIZES, "num_key_value_heads": 2})
    assert (model.attention, model.window, model.full_every) == ("sliding_window", 4096, 4)
    assert (model.qk_norm, model.norm_placement, model.n_kv_heads) == ("width", "after", 2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"rope_parameters": {"rope_theta": 1e4}}, "rope_parameters of olmo3 must be those of"),
        ({"rope_scaling": {"rope_type": "linear"}}, "rotary rule 'linear' needs 'factor'"),
        ({"sliding_window": None}, "and sliding_window says no width"),
        ({"layer_types": ["chunked_attention"] * 8}, "has 'chunked_attention'"),
        ({"partial_rotary_factor": 0.5}, "partial_rotary_factor = 0.5 is not known of olmo3"),
        ({"clip_qkv": 8.0}, "clip_qkv = 8.0 is not known of olmo3"),
    ],
)
def test_what_would_compute_something_else_is_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        config_from_hf({**SIZES, **options})


def test_a_saved_model_runs_in_two_lines(tmp_path: Any) -> None:
    options = drawn(2)
    theirs, file = built("Olmo3", options, 2)
    theirs.save_pretrained(tmp_path)
    config, weights = read_checkpoint(tmp_path, backend="torch")
    assert config == config_from_hf(file)
    assert torch.equal(weights["norm.weight"], theirs.model.norm.weight)
