"""Published models: cache bytes and parameters worked out anew from the source configurations.

`PUBLISHED` holds the fields of each model's ``config.json`` under their own names. What the
tests expect is computed from these fields alone, never by `mini_attn.cost`.
"""

from __future__ import annotations

import dataclasses

import pytest

from mini_attn import cost
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS, ModelConfig, model


def gpt2(n_embd, n_layer, n_head):
    return {
        "n_embd": n_embd,
        "n_layer": n_layer,
        "n_head": n_head,
        "n_positions": 1024,
        "vocab_size": 50257,
    }


def llama(hidden_size, layers, heads, kv_heads, intermediate_size, vocab_size, positions):
    return {
        "hidden_size": hidden_size,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "intermediate_size": intermediate_size,
        "vocab_size": vocab_size,
        "max_position_embeddings": positions,
    }


# n_embd, n_layer, n_head; or hidden_size, num_hidden_layers, num_attention_heads,
# num_key_value_heads, intermediate_size, vocab_size, max_position_embeddings.
PUBLISHED = {
    "gpt2": gpt2(768, 12, 12),
    "gpt2-medium": gpt2(1024, 24, 16),
    "gpt2-large": gpt2(1280, 36, 20),
    "gpt2-xl": gpt2(1600, 48, 25),
    "llama-2-7b": llama(4096, 32, 32, 32, 11008, 32000, 4096),
    "llama-2-70b": llama(8192, 80, 64, 8, 28672, 32000, 4096),
    "llama-3-8b": llama(4096, 32, 32, 8, 14336, 128256, 8192),
    "llama-3-70b": llama(8192, 80, 64, 8, 28672, 128256, 8192),
    "mistral-7b": llama(4096, 32, 32, 8, 14336, 32000, 32768) | {"sliding_window": 4096},
    "gemma-2-9b": llama(3584, 42, 16, 8, 14336, 256000, 8192)
    | {"head_dim": 256, "sliding_window": 4096, "layer_types": "sliding, full, sliding, full …"},
    "qwen3-8b": llama(4096, 36, 32, 8, 12288, 151936, 40960) | {"head_dim": 128},
    "deepseek-v3": llama(7168, 61, 128, 128, 18432, 129280, 163840)
    | {
        "kv_lora_rank": 512,
        "q_lora_rank": 1536,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "n_routed_experts": 256,
        "n_shared_experts": 1,
        "first_k_dense_replace": 3,
        "moe_intermediate_size": 2048,
    },
}

# Totals as published with the weights. (The index of Llama-2-70B's files says 5,120 more: one
# stored table of 64 rotary frequencies per layer, which are no parameters.)
PARAMETERS = {
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "llama-2-7b": 6_738_415_616,
    "llama-2-70b": 68_976_648_192,
    "llama-3-8b": 8_030_261_248,
    "llama-3-70b": 70_553_706_496,
    "mistral-7b": 7_241_732_096,
    "gemma-2-9b": 9_241_705_984,
    "qwen3-8b": 8_190_735_360,
}


def numbers_from_source(fields, context):
    """Numbers in the cache of one sequence, worked out from the published fields."""
    if "n_embd" in fields:  # keys and values of the full width
        return 2 * fields["n_layer"] * fields["n_embd"] * context
    layers = fields["num_hidden_layers"]
    if "kv_lora_rank" in fields:
        return layers * (fields["kv_lora_rank"] + fields["qk_rope_head_dim"]) * context
    head_dim = fields.get("head_dim", fields["hidden_size"] // fields["num_attention_heads"])
    kept = 0
    for i in range(layers):
        windowed = "sliding_window" in fields and ("layer_types" not in fields or i % 2 == 0)
        kept += min(context, fields["sliding_window"]) if windowed else context
    return 2 * fields["num_key_value_heads"] * head_dim * kept


every = pytest.mark.parametrize("name", MODELS)


def test_every_model_has_its_source():
    assert set(MODELS) == set(PUBLISHED)
    required = {"gpt2", "gpt2-medium", "gpt2-large", "gpt2-xl", "llama-2-7b", "llama-2-70b"}
    required |= {"llama-3-8b", "llama-3-70b", "mistral-7b", "qwen3-8b", "deepseek-v3"}
    assert required <= set(MODELS)
    for name, entry in MODELS.items():
        assert entry.name == name
        assert "config.json" in entry.source


@every
@pytest.mark.parametrize("dtype_bytes", [1, 2, 4])
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("context", [1, 100, 4095, 4096, 4097, 100_003])
def test_cache_bytes_from_the_source_configuration(name, dtype_bytes, batch, context):
    expected = batch * dtype_bytes * numbers_from_source(PUBLISHED[name], context)
    use = {"batch": batch, "context": context, "dtype_bytes": dtype_bytes}
    assert cost.cache_bytes(MODELS[name], **use) == expected


@every
def test_sizes_are_the_source_configuration(name):
    entry, fields = MODELS[name], PUBLISHED[name]
    if "n_embd" in fields:
        assert (entry.d_model, entry.n_layers, entry.n_heads) == (
            fields["n_embd"],
            fields["n_layer"],
            fields["n_head"],
        )
        assert entry.d_ff == 4 * fields["n_embd"]
        assert entry.learned_positions == entry.max_context == fields["n_positions"]
    else:
        ours = (entry.d_model, entry.n_layers, entry.n_heads, entry.n_kv_heads, entry.d_ff)
        assert ours == tuple(fields.values())[:5]
        assert entry.max_context == fields["max_position_embeddings"]
    assert entry.vocab_size == fields["vocab_size"]
    assert entry.window == fields.get("sliding_window")


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_as_published(name):
    assert cost.parameter_count(MODELS[name]) == PARAMETERS[name]


def test_parameters_of_deepseek_v3_are_671_billion():
    """Its report says 671B; the module for predicting a second token is no part of that number."""
    fields = PUBLISHED["deepseek-v3"]
    width, heads = fields["hidden_size"], fields["num_attention_heads"]
    nope, rope, value = (fields[f"{key}_head_dim"] for key in ("qk_nope", "qk_rope", "v"))
    q_rank, rank = fields["q_lora_rank"], fields["kv_lora_rank"]
    attention = (
        width * q_rank  # down to the query's rank
        + q_rank  # its norm
        + q_rank * heads * (nope + rope)
        + width * (rank + rope)
        + rank
        + rank * heads * (nope + value)
        + heads * value * width
    )
    experts = fields["n_routed_experts"] + fields["n_shared_experts"]
    sparse = 3 * width * fields["moe_intermediate_size"] * experts
    router = fields["n_routed_experts"] * (width + 1)
    layers, dense = fields["num_hidden_layers"], fields["first_k_dense_replace"]
    expected = (
        2 * fields["vocab_size"] * width
        + layers * (attention + 2 * width)
        + dense * 3 * width * fields["intermediate_size"]
        + (layers - dense) * (sparse + router)
        + width
    )
    assert cost.parameter_count(MODELS["deepseek-v3"]) == expected
    assert round(expected / 1e9) == 671


def test_known_cache_figures():
    use = {"batch": 1, "context": 100, "dtype_bytes": 4}
    assert cost.cache_bytes(dataclasses.replace(MODELS["gpt2"], n_layers=1), **use) == 614_400
    assert cost.cache_bytes(MODELS["gpt2"], **use) == 7_372_800
    assert cost.cache_bytes_per_token(MODELS["llama-3-8b"], dtype_bytes=2) == 131_072
    assert cost.cache_bytes_per_token(MODELS["llama-2-7b"], dtype_bytes=2) == 524_288
    assert cost.cache_bytes_per_token(MODELS["deepseek-v3"], dtype_bytes=2) == 2 * 576 * 61


def test_a_name_that_is_not_listed():
    assert model("llama-3-8b") is MODELS["llama-3-8b"]
    with pytest.raises(ConfigError, match=r"gpt2, .*got 'gpt5'"):
        model("gpt5")


BAD = {
    "n_layers = 0": ("gpt2", {"n_layers": 0}, "n_layers must be at least 1, got 0"),
    "negative width": ("gpt2", {"d_model": -768}, "d_model must be at least 1, got -768"),
    "a float": ("gpt2", {"head_dim": 64.0}, r"head_dim must be a whole number, got 64.0"),
    "a boolean": ("gpt2", {"vocab_size": True}, "vocab_size must be a whole number, got True"),
    "uneven heads": ("llama-3-8b", {"n_kv_heads": 5}, "n_heads = 32 and n_kv_heads = 5"),
    "mha shared": ("gpt2", {"n_kv_heads": 4}, "n_heads = 12 and n_kv_heads = 4: fewer are gqa"),
    "mqa with 8": ("llama-3-8b", {"attention": "mqa"}, "mqa has n_kv_heads = 1, got 8"),
    "window alone": ("llama-3-8b", {"window": 64}, "gqa and window = 64 do not go together"),
    "no window": ("mistral-7b", {"window": None}, "sliding_window and window = None"),
    "window of 0": ("mistral-7b", {"window": 0}, "window must be at least 1, got 0"),
    "no latent": ("deepseek-v3", {"kv_lora_rank": 0}, "above 0, got 0 and 64"),
    "negative rank": ("deepseek-v3", {"q_lora_rank": -1}, "q_lora_rank must be at least 0"),
    "empty experts": ("deepseek-v3", {"expert_d_ff": 0}, "256 experts need expert_d_ff above 0"),
    "dense layers": ("deepseek-v3", {"n_dense_layers": 62}, "n_layers = 61 dense layers"),
    "unknown variant": ("gpt2", {"attention": "linear"}, "variant must be one of mha, .*'linear'"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_sizes_are_refused(case):
    name, changes, message = BAD[case]
    with pytest.raises(ConfigError, match=message):
        dataclasses.replace(MODELS[name], **changes)


def test_models_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        MODELS["gpt2"].n_layers = 13
    assert isinstance(MODELS["gpt2"], ModelConfig)
    assert MODELS["gpt2"].n_layers == 12
