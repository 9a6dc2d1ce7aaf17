"""Published models: cache bytes and parameters worked out anew from the source configurations.

`PUBLISHED` holds the fields of each model's ``config.json`` under their own names. What the
tests expect is computed from these fields alone, never by `mini_attn.cost`.
"""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from mini_attn import cost
from mini_attn.config import AttentionConfig, LatentConfig, YaRN
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS, ModelConfig, model
from tests.cost.published import PARAMETERS, PUBLISHED, shape


def period(fields):
    """Every how many layers one sees all tokens; 0 where all or none do."""
    alternating = {"gemma2": 2, "gpt_oss": 2}
    return fields.get("sliding_window_pattern", alternating.get(fields["model_type"], 0))


def numbers_from_source(fields, context):
    """Numbers in the cache of one sequence, worked out from the published fields."""
    layers, _, _, kv_heads, head_dim = shape(fields)
    if "kv_lora_rank" in fields:
        return layers * (fields["kv_lora_rank"] + fields["qk_rope_head_dim"]) * context
    window, every_layers, kept = fields.get("sliding_window"), period(fields), 0
    for i in range(layers):
        sees_all = not window or (every_layers and i % every_layers == every_layers - 1)
        kept += context if sees_all else min(context, window)
    return 2 * kv_heads * head_dim * kept


every = pytest.mark.parametrize("name", MODELS)


def test_every_model_has_its_source():
    assert set(MODELS) == set(PUBLISHED)
    assert len(MODELS) >= 30
    bib = (Path(__file__).parents[2] / "book/references.bib").read_text(encoding="utf-8")
    for name, entry in MODELS.items():
        assert entry.name == name
        told = (
            r"config\.json of [\w.-]+/[\w.-]+$" if name != "gpt3" else r"brown2020gpt3, table 2\.1$"
        )
        assert re.search(told, entry.source), entry.source
        key = entry.source.split(";")[0].split(",")[0]
        assert key.startswith("config.json") or f"{{{key}," in bib, key
        assert entry.family
        assert re.fullmatch(r"20(19|2\d)-(0[1-9]|1[0-2])", entry.published), name


def test_the_list_has_each_kind():
    """What a reader must be able to compare: one listed model of each kind at least."""
    kinds = {
        "learned positions": lambda m: m.learned_positions,
        "ALiBi": lambda m: m.alibi,
        "partial rotation": lambda m: m.rope and m.rope.rotary_dim,
        "rotation that differs by layer": lambda m: m.local_rope,
        "one KV head": lambda m: m.n_kv_heads == 1,
        "latent": lambda m: m.attention == "mla",
        "latent, queries whole": lambda m: m.attention == "mla" and not m.q_lora_rank,
        "windows only": lambda m: m.window and not m.full_every,
        "windows in turn": lambda m: m.full_every == 2,
        "five windows, then all": lambda m: m.full_every == 6,
        "heads apart from the width": lambda m: m.n_heads * m.head_dim != m.d_model,
        "norms of heads": lambda m: m.qk_norm == "head",
        "norms over heads": lambda m: m.qk_norm == "width",
        "biases of three": lambda m: m.biases == "qkv",
        "biases everywhere": lambda m: m.biases == "all",
        "stored transposed": lambda m: m.transposed_weights,
        "bounded scores": lambda m: m.softcap,
        "own scale": lambda m: m.scale,
        "sinks": lambda m: m.sinks,
        "experts": lambda m: m.n_experts,
        "shared experts": lambda m: m.n_shared_experts,
    }
    for kind, has in kinds.items():
        assert any(has(entry) for entry in MODELS.values()), kind


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
    layers, width, heads, kv_heads, head_dim = shape(fields)
    assert (entry.n_layers, entry.d_model, entry.n_heads) == (layers, width, heads)
    assert entry.n_kv_heads == kv_heads
    if "kv_lora_rank" in fields:
        assert entry.head_dim == fields["qk_nope_head_dim"] + fields["qk_rope_head_dim"]
        for key in ("kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim"):
            assert getattr(entry, key) == fields[key]
        assert entry.q_lora_rank == (fields["q_lora_rank"] or 0)
    else:
        assert (entry.head_dim, entry.v_head_dim) == (head_dim, head_dim)
    inner = fields.get("intermediate_size", fields.get("n_inner", 4 * width))
    assert entry.d_ff == inner
    assert entry.vocab_size == fields["vocab_size"]
    names = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
    assert entry.max_context == next((fields[key] for key in names if key in fields), 2048)
    assert entry.window == fields.get("sliding_window")
    assert entry.full_every == period(fields)


@every
def test_experts_are_the_source_configuration(name):
    entry, fields = MODELS[name], PUBLISHED[name]
    names = ("num_local_experts", "num_experts", "n_routed_experts")
    assert entry.n_experts == next((fields[key] for key in names if key in fields), 0)
    assert entry.experts_per_token == fields.get("num_experts_per_tok", 0)
    assert entry.n_shared_experts == fields.get("n_shared_experts", 0)
    assert entry.n_dense_layers == fields.get("first_k_dense_replace", 0)
    if entry.n_experts:
        inner = fields.get("moe_intermediate_size", fields["intermediate_size"])
        assert entry.expert_d_ff == inner


@every
def test_positions_are_the_source_configuration(name):
    entry, fields = MODELS[name], PUBLISHED[name]
    assert entry.learned_positions == fields.get("n_positions", 0)
    assert entry.alibi == (fields["model_type"] in ("bloom", "mpt"))
    assert (entry.rope is None) == (entry.alibi or entry.learned_positions > 0)
    if entry.rope is None:
        return
    assert entry.rope.theta == fields.get("rope_theta", fields.get("rotary_emb_base", 10000))
    assert entry.rope.layout == ("interleaved" if "kv_lora_rank" in fields else "half")
    share = fields.get("rotary_pct")
    assert entry.rope.rotary_dim == (share and int(share * entry.head_dim))
    local = fields.get("rope_local_base_freq")
    assert (entry.local_rope.theta if entry.local_rope else None) == local
    scaling, rule = fields.get("rope_scaling"), entry.rope.scaling
    assert (scaling is None) == (rule is None)
    if scaling is None:
        return
    kind = scaling.get("rope_type", scaling.get("type"))
    classes = {"llama3": "Llama3Scaling", "yarn": "YaRN", "linear": "PositionInterpolation"}
    assert type(rule).__name__ == classes[kind]
    own_names = {"original_max_position_embeddings": "original_max_positions"}
    for key, value in scaling.items():
        if key not in ("rope_type", "type"):
            assert getattr(rule, own_names.get(key, key)) == value, key


@every
def test_scores_are_the_source_configuration(name):
    entry, fields = MODELS[name], PUBLISHED[name]
    assert entry.softcap == fields.get("attn_logit_softcapping")
    width = fields.get("query_pre_attn_scalar", entry.head_dim)
    assert (entry.scale or entry.head_dim**-0.5) == width**-0.5


@every
def test_a_layer_can_be_built(name):
    """Each layer's configuration says what the model says."""
    entry = MODELS[name]
    for layer in range(entry.n_layers):
        config = entry.layer_config(layer)
        assert (config.d_model, config.n_heads) == (entry.d_model, entry.n_heads)
        assert config.head_dim == entry.head_dim
        assert config.scale == entry.scale
        if entry.attention == "mla":
            assert isinstance(config, LatentConfig)
            assert config.q_lora_rank == (entry.q_lora_rank or None)
            assert isinstance(config.rope.scaling, YaRN)
            continue
        assert isinstance(config, AttentionConfig)
        sees_all = entry.full_every and (layer + 1) % entry.full_every == 0
        assert config.window == (None if sees_all else entry.window)
        assert config.rope is (entry.rope if sees_all else entry.local_rope or entry.rope)
        assert (config.bias, config.out_bias) == (entry.biases != "none", entry.biases == "all")
        assert (config.softcap, config.alibi) == (entry.softcap, entry.alibi)
        assert config.qk_norm == (entry.qk_norm != "none")
        assert config.qk_norm_over == ("width" if entry.qk_norm == "width" else "head")
        assert config.sinks == entry.sinks


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_as_published(name):
    assert cost.parameter_count(MODELS[name]) == PARAMETERS[name]


def test_parameters_of_gpt3_are_175_billion():
    """Layers of 12 d², and two tables; 175.0B in table 2.1 and 174,600 million in table D.1."""
    d, layers, rows = 12288, 96, 50257 + 2048
    layer = 12 * d**2 + (3 + 1 + 4 + 1) * d + 2 * 2 * d  # matrices, their biases, two norms
    expected = layers * layer + rows * d + 2 * d
    assert cost.parameter_count(MODELS["gpt3"]) == expected
    assert round(expected / 1e8) == 1746


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
    "first tokens without a window": (
        "gpt2",
        {"sink_tokens": 4},
        "sink_tokens = 4 needs a window: mha keeps all",
    ),
    "fewer than no first tokens": ("mistral-7b", {"sink_tokens": -1}, "sink_tokens .* got -1"),
    "no window": ("mistral-7b", {"window": None}, "sliding_window and window = None"),
    "window of 0": ("mistral-7b", {"window": 0}, "window must be at least 1, got 0"),
    "no latent": ("deepseek-v3", {"kv_lora_rank": 0}, "above 0, got 0 and 64"),
    "negative rank": ("deepseek-v3", {"q_lora_rank": -1}, "q_lora_rank must be at least 0"),
    "empty experts": ("deepseek-v3", {"expert_d_ff": 0}, "256 experts need expert_d_ff above 0"),
    "dense layers": ("deepseek-v3", {"n_dense_layers": 62}, "n_layers = 61 dense layers"),
    "no choice": ("mixtral-8x7b", {"experts_per_token": 0}, "1 to 8 experts, got .* = 0"),
    "too many": ("mixtral-8x7b", {"experts_per_token": 9}, "1 to 8 experts, got .* = 9"),
    "some biases": ("gpt2", {"biases": True}, "biases must be one of none, qkv, all, got True"),
    "norms": ("gpt2", {"qk_norm": "all"}, "qk_norm must be one of .* got 'all'"),
    "cap of 0": ("gemma-2-9b", {"softcap": 0.0}, "softcap must be a positive"),
    "scale": ("gpt2", {"scale": float("nan")}, "scale must be a positive finite number .* nan"),
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
