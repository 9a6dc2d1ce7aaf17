"""Published models: cache bytes and parameters worked out anew from the source configurations.

`PUBLISHED` holds the fields of each model's ``config.json`` under their own names. What the
tests expect is computed from these fields alone, never by `mini_attn.cost`.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn import cost
from mini_attn.config import AttentionConfig, DecoderConfig, QueryGrowth
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS, ModelConfig, model
from mini_attn.weights import compressed_from_hf, config_from_hf
from mini_attn.weights.families import FAMILIES
from mini_attn.weights.hf_rope import rope_from_hf
from tests.cost.published import (
    PARAMETERS,
    PUBLISHED,
    first,
    keeps_state,
    kept_shape,
    sees_all,
    shape,
    spans_of,
    state_of,
)


def numbers_from_source(fields, context):
    """Numbers in the cache of one sequence, worked out from the published fields."""
    layers = shape(fields)[0]
    if "kv_lora_rank" in fields:
        latent = fields["kv_lora_rank"] + fields["qk_rope_head_dim"]
        states = [layer for layer in range(layers) if keeps_state(fields, layer)]
        beside = sum(state_of(fields, context)[1] for _ in states)
        latents = (layers - len(states)) * (latent + fields.get("index_head_dim", 0))
        return latents * context + beside
    if "compress_ratios" in fields:
        return sum(numbers_of_spans(fields, span, context) for span in spans_of(fields))
    numbers = 0
    for layer in range(layers - fields.get("num_kv_shared_layers", 0)):
        if keeps_state(fields, layer):
            numbers += state_of(fields, context)[1]
            continue
        kept = context if sees_all(fields, layer) else min(context, fields["sliding_window"])
        heads, key, value = kept_shape(fields, layer)
        numbers += heads * (key + value) * kept
    return numbers


def states_from_source(fields, context):
    """Numbers of the states of one sequence, whatever its length."""
    states = sum(keeps_state(fields, layer) for layer in range(shape(fields)[0]))
    return states * state_of(fields, context)[0] if states else 0


def numbers_of_spans(fields, span, context):
    """Numbers in one layer of DeepSeek-V4: a window, entries, and what waits to become one.

    With an indexer (4 tokens to an entry) each token says twice as much, for two spans each.
    """
    size, index = fields["head_dim"], fields["index_head_dim"] * (span == 4)
    numbers = min(context, fields["sliding_window"]) * size
    if span:
        series = 2 if span == 4 else 1
        waiting = min(context, series * span) * series * 2  # values and gates
        numbers += (context // span + waiting) * (size + index)
    return numbers


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
        assert "config.json" in key or f"{{{key}," in bib, key
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
        "three states, then all": lambda m: m.linear and m.full_every == 4,
    }
    for kind, has in kinds.items():
        assert any(has(entry) for entry in MODELS.values()), kind


@every
def test_cache_bytes_from_the_source_configuration(name):
    for context in (1, 100, 4095, 4096, 4097, 100_003):
        numbers = numbers_from_source(PUBLISHED[name], context)
        states = states_from_source(PUBLISHED[name], context)
        for batch, dtype_bytes in ((1, 1), (7, 2), (1, 4)):
            use = {"batch": batch, "context": context, "dtype_bytes": dtype_bytes}
            expected = batch * (dtype_bytes * numbers + 4 * states)
            assert cost.cache_bytes(MODELS[name], **use) == expected


@every
def test_the_factors_of_the_cache_that_shrink(name):
    fields, entry = PUBLISHED[name], MODELS[name]
    layers, _, heads, kv_heads, _ = shape(fields)
    smaller = {
        "layers": "num_kv_shared_layers" in fields or keeps_state(fields, 0),
        "entries": not all(sees_all(fields, layer) for layer in range(layers)),
        "values": "kv_lora_rank" in fields or kv_heads < heads,  # of an entry
    }
    assert entry.shrinks == tuple(factor for factor, is_smaller in smaller.items() if is_smaller)


def test_a_latent_that_is_larger_than_a_head_shrinks_nothing():
    entry = MODELS["deepseek-v3"]
    kept, head = entry.kv_lora_rank + entry.qk_rope_head_dim, entry.head_dim + entry.v_head_dim
    for heads in (1, 2):
        one = dataclasses.replace(entry, n_heads=heads, n_kv_heads=heads)
        assert one.shrinks == (("values",) if kept < heads * head else ())


# Where the package's reader knows the family, the file says everything at once.
READ = [name for name in MODELS if PUBLISHED[name]["model_type"] in FAMILIES]
UNREAD = [name for name in MODELS if name not in READ]
DENSE = {  # layers before the first one with experts that the reader refuses
    name: fields["first_k_dense_replace"]
    for name, fields in PUBLISHED.items()
    if fields.get("first_k_dense_replace")
    and not {"index_topk", "linear_attn_config"} & fields.keys()
}


@pytest.mark.parametrize("name", READ)
def test_the_published_file_gives_the_same_decoder(name):
    layers = DENSE.get(name)
    read = config_from_hf(PUBLISHED[name], n_layers=layers)
    assert MODELS[name].decoder(n_layers=layers) == read


def test_the_comparison_with_the_file_can_fail():
    """Every field of a file that is read changes the decoder, or has the reader refuse it."""
    for name in ("gpt2", "gpt-oss-20b", "gemma-3-4b", "qwen3-30b-a3b"):
        ours = MODELS[name].decoder()
        for key, value in PUBLISHED[name].items():
            other = {bool: lambda v: not v, int: lambda v: 2 * v, float: lambda v: v / 4}
            if type(value) in other:
                changed = {**PUBLISHED[name], key: other[type(value)](value)}
                assert config_from_hf(changed) != ours, (name, key)


@pytest.mark.parametrize("name", dict.fromkeys([*UNREAD, *DENSE]))
def test_sizes_are_the_source_configuration(name):
    entry, fields = MODELS[name], PUBLISHED[name]
    layers, width, heads, kv_heads, head_dim = shape(fields)
    assert (entry.n_layers, entry.d_model, entry.n_heads) == (layers, width, heads)
    assert entry.n_kv_heads == fields.get("swa_num_key_value_heads", kv_heads)
    assert entry.full_n_kv_heads == (kv_heads if "swa_num_key_value_heads" in fields else 0)
    latent = "kv_lora_rank" in fields
    if latent:
        head_dim = fields["qk_nope_head_dim"] + fields["qk_rope_head_dim"]
    assert (entry.head_dim, entry.v_head_dim) == (head_dim, fields.get("v_head_dim", head_dim))
    for rank in ("kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim"):
        assert getattr(entry, rank) == (fields.get(rank) or 0) * (latent or rank == "q_lora_rank")
    for size in ("index_n_heads", "index_head_dim", "index_topk", "o_groups", "o_lora_rank"):
        assert getattr(entry, size) == fields.get(size, 0)
    d_ff = {"otherwise": 4 * width, **fields}
    assert entry.d_ff == first(
        d_ff, "intermediate_size", "n_inner", "moe_intermediate_size", "otherwise"
    )
    assert entry.vocab_size == fields["vocab_size"]
    names = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length")
    assert entry.max_context == next((fields[key] for key in names if key in fields), 2048)


SPARSE = [name for name, fields in PUBLISHED.items() if "num_experts_per_tok" in fields]


@pytest.mark.parametrize("name", dict.fromkeys([*(n for n in SPARSE if n in UNREAD), *DENSE]))
def test_experts_are_the_source_configuration(name):
    entry, fields = MODELS[name], PUBLISHED[name]
    assert entry.n_experts == first(fields, "n_routed_experts", "num_local_experts", "num_experts")
    assert entry.experts_per_token == fields["num_experts_per_tok"]
    shared = {"none": 0, **fields}
    assert entry.n_shared_experts == (
        first(shared, "n_shared_experts", "num_shared_experts", "none") or 0
    )
    dense = fields["moe_layer_freq"].count(0) if "moe_layer_freq" in fields else 0
    assert entry.n_dense_layers == fields.get("first_k_dense_replace", dense)
    assert entry.expert_d_ff == first(fields, "moe_intermediate_size", "intermediate_size")


def rope_of_a_source(fields, layer):
    """The rotary embedding of a layer, from the file's fields and what its family's class does."""
    family, full = fields["model_type"], sees_all(fields, layer)
    if family == "exaone_moe" and full:
        return None
    rule = dict(fields.get("rope_parameters") or fields.get("rope_scaling") or {})
    rule.pop("llama_4_scaling_beta", None)
    if family == "olmo3" and not full:
        rule = {}
    given = fields | {"rope_parameters": rule, "rope_scaling": None}
    share = given.pop("partial_rotary_factor", None)
    latent = "kv_lora_rank" in fields
    size = fields["qk_rope_head_dim"] if latent else shape(fields)[-1]
    layout = "interleaved" if latent else "half"
    rope = rope_from_hf(given, size, layout=layout, latent=latent)
    turned = fields.get("rotary_dim", share and int(share * size))
    return dataclasses.replace(rope, rotary_dim=turned)


@pytest.mark.parametrize("name", [name for name in UNREAD if "compress_ratios" in PUBLISHED[name]])
def test_layers_with_entries_are_the_source_configuration(name):
    """Where there are entries, the layer's configuration is the one that the file gives."""
    entry, fields = MODELS[name], PUBLISHED[name]
    for layer, span in enumerate(spans_of(fields)):
        assert entry.attention_of(layer) == {0: "shared_window", 4: "csa", 128: "hca"}[span]
        if span:
            assert entry.layer_config(layer) == compressed_from_hf(fields, layer)
        else:
            with pytest.raises(ConfigError, match="shared_window has costs alone"):
                entry.layer_config(layer)


def test_rotations_of_mimo_are_the_source_configuration():
    entry, fields = MODELS["mimo-v2-flash"], PUBLISHED["mimo-v2-flash"]
    turned = int(fields["partial_rotary_factor"] * fields["head_dim"])
    for layer in range(entry.n_layers):
        full = sees_all(fields, layer)
        own = entry.layer_config(layer)
        assert own.rope.theta == fields["rope_theta" if full else "swa_rope_theta"]
        assert (own.rope.rotary_dim, own.rope.layout) == (turned, "half")
        assert (own.sinks, own.window) == (not full, None if full else 128)
    assert entry.value_scale == fields["attention_value_scale"]


def turns_alike(name):
    """Whether a model has one rule of rotation for each kind of layer that has a class here."""
    fields = PUBLISHED[name]
    return "rms_norm_eps" in fields and not {"compress_ratios", "index_topk"} & fields.keys()


@pytest.mark.parametrize("name", [name for name in UNREAD if turns_alike(name)])
def test_rotations_are_the_source_configuration(name):
    entry, fields = MODELS[name], PUBLISHED[name]
    for layer in range(entry.n_layers):
        assert entry.layer_config(layer).rope == rope_of_a_source(fields, layer)
    rule = fields.get("rope_parameters") or {}
    grown = rule.get("llama_4_scaling_beta")
    growth = grown and QueryGrowth(grown, rule["original_max_position_embeddings"])
    assert entry.query_growth == growth


NO_RMS = [n for n in UNREAD if not {"rms_norm_eps", "layernorm_epsilon"} & PUBLISHED[n].keys()]


@pytest.mark.parametrize("name", NO_RMS)
def test_positions_are_the_source_configuration(name):
    entry, fields = MODELS[name], PUBLISHED[name]
    layer = entry.layer_config()
    assert entry.learned_positions == fields.get("n_positions", 0)
    assert layer.alibi == (fields["model_type"] in ("bloom", "mpt"))
    assert (layer.rope is None) == (layer.alibi or entry.learned_positions > 0)
    if layer.rope is not None:
        assert layer.rope.theta == fields.get("rotary_emb_base", 10000)
        share = fields.get("rotary_pct")
        assert layer.rope.rotary_dim == (share and int(share * entry.head_dim))


def test_a_decoder_of_a_family_that_is_not_read():
    """StarCoder is GPT-2 with one key/value head; its file's words are not among those read."""
    attention = AttentionConfig(6144, 48, 128, n_kv_heads=1, bias=True, eps=1e-5)
    expected = DecoderConfig(49152, 40, attention, d_ff=24576, max_positions=8192)
    assert MODELS["starcoder-15b"].decoder() == expected


# What this package's decoder has not, by the models that need it.
CANNOT = {
    "deepseek-v2-lite": "experts that all tokens share; .* n_layers=1",
    "deepseek-v2": "experts that all tokens share; .* n_layers=1",
    "deepseek-v3": "experts that all tokens share.* n_layers=3",
    "kimi-k2.5": "experts that all tokens share.* n_layers=1",
    "glm-4.7": "experts that all tokens share.* n_layers=3",
    "glm-4.7-flash": "experts that all tokens share.* n_layers=1",
    "k-exaone": "experts that all tokens share.* n_layers=1",
    "solar-open-100b": "experts that all tokens share",
    "mistral-small-4": "experts that all tokens share and queries that grow with the position",
    "falcon-7b": "attention and MLP in parallel",
    "falcon-40b": "attention and MLP in parallel",
    "gpt-neox-20b": "attention and MLP in parallel",
    "deepseek-v3.2": "experts that all tokens share.* and a kind of attention that only has costs",
    "glm-5": "experts that all tokens share and a kind of attention that only has costs",
    "deepseek-v4-flash": "experts that all tokens share and experts chosen by sqrtsoftplus",
    "deepseek-v4-pro": "experts that all tokens share and experts chosen by sqrtsoftplus",
    "mimo-v2-flash": "values with a factor",
    "bloom-176b": "a norm of the embeddings",
    "mpt-7b": "norms without biases",
}


@pytest.mark.parametrize("name", CANNOT)
def test_a_model_that_cannot_run_says_why(name):
    with pytest.raises(ConfigError, match=f"{name}, which has {CANNOT[name]}"):
        MODELS[name].decoder()


RUN = [*(name for name in MODELS if name not in CANNOT), *DENSE]


def each_kind():
    """Every model that runs; those of a family that a smaller one speaks for are exhaustive."""
    spoken = set()
    for name in sorted(RUN, key=lambda name: MODELS[name].n_layers):
        kind = PUBLISHED[name]["model_type"]
        yield pytest.param(name, marks=[pytest.mark.exhaustive] if kind in spoken else [])
        spoken.add(kind)


@pytest.mark.parametrize("name", list(each_kind()))
def test_a_decoder_has_the_costs_of_its_model(name):
    """Real weights and real caches, of which PyTorch keeps the shapes alone."""
    entry, layers = MODELS[name], DENSE.get(name)
    if layers:
        entry = dataclasses.replace(entry, n_layers=layers, n_experts=0)
    with FakeTensorMode():
        decoder = mt.Decoder(MODELS[name].decoder(n_layers=layers))
        assert sum(w.numel() for w in decoder.parameters()) == cost.parameter_count(entry)
        for context in (100, 5000):
            caches = decoder.new_caches(3, context)
            held = sum(cache.allocated_bytes for cache in caches)
            assert held == cost.cache_bytes(entry, batch=3, context=context, dtype_bytes=4)


def scaled_down(name):
    """A model with all its options and kinds of layers, of sizes that a test can run."""
    entry = MODELS[name]
    shared = {entry.n_heads: 4, 1: 1}.get(entry.n_kv_heads, 2)
    sizes = {"d_model": 24, "n_heads": 4, "n_kv_heads": shared, "head_dim": 8, "v_head_dim": 6}
    sizes |= {"d_ff": 20, "vocab_size": 32, "max_context": 16}
    sizes["n_layers"] = DENSE.get(name) or 1 + (entry.full_every or 1)
    sizes["learned_positions"] = 16 if entry.learned_positions else 0
    if entry.n_experts and name not in DENSE:
        sizes |= {"n_experts": 4, "experts_per_token": 2, "expert_d_ff": 10}
    own = {"window": 3, "kv_lora_rank": 10, "q_lora_rank": 12, "qk_nope_head_dim": 4}
    sizes |= {key: size for key, size in own.items() if getattr(entry, key)}
    if entry.qk_rope_head_dim:
        sizes["qk_rope_head_dim"] = 4
    if entry.rope and entry.rope.rotary_dim:
        sizes["rope"] = dataclasses.replace(entry.rope, rotary_dim=4)
    if entry.rope and entry.rope.rotated_pairs:
        sizes["rope"] = dataclasses.replace(entry.rope, rotated_pairs=2)
    if entry.linear:
        few = {"n_heads": 4, "head_dim": 8, "v_head_dim": 6, "decay": None}
        few["n_key_heads"] = 2 if entry.linear.rule.shares_keys else 4
        sizes["linear"] = dataclasses.replace(entry.linear, d_model=24, **few)
        sizes["shared_d_ff"] = 7 if entry.shared_d_ff else 0
        sizes |= {"full_layers": (1,)} if entry.full_layers else {}
    few = {"full_head_dim": 12, "full_n_kv_heads": 1, "per_layer_dim": 5}
    sizes |= {key: size for key, size in few.items() if getattr(entry, key)}
    if entry.n_kv_shared_layers:
        sizes |= {"n_layers": 2 * entry.full_every, "n_kv_shared_layers": entry.full_every}
    return dataclasses.replace(entry, **sizes)


@pytest.mark.parametrize("name", RUN)
def test_a_scaled_down_model_runs_in_both_backends(name, rng):
    entry = scaled_down(name)
    config = entry.decoder()
    ours, theirs = ma.Decoder(config, dtype="float64"), mt.Decoder(config, dtype="float64")
    state = {key: rng.standard_normal(w.shape) for key, w in ours.state_dict().items()}
    for decoder in (ours, theirs):
        decoder.load_state_dict(state)
    tokens, caches = rng.integers(0, 32, (2, 9)), ours.new_caches(2, 9)
    logits = ours(tokens)
    with torch.no_grad():
        np.testing.assert_allclose(theirs(torch.tensor(tokens)).numpy(), logits, atol=1e-9)
    steps = [ours(tokens[:, i : i + 1], caches=caches) for i in range(9)]
    np.testing.assert_allclose(np.concatenate(steps, axis=1), logits, atol=1e-9)
    held = sum(cache.used_bytes for cache in caches)
    assert held == cost.cache_bytes(entry, batch=2, context=9, dtype_bytes=8)


def test_only_the_first_layers():
    assert MODELS["gpt2"].decoder(n_layers=3).n_layers == 3
    for wrong in (0, 13):
        with pytest.raises(ConfigError, match=f"n_layers must .*{wrong}"):
            MODELS["gpt2"].decoder(n_layers=wrong)


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_as_published(name):
    assert cost.parameter_count(MODELS[name]) == PARAMETERS[name]


# In billions, from the models' pages in Hugging Face's documentation; of DeepSeek-V4, MiMo, GLM-5
# and MiniMax from the abstracts of their reports (arXiv 2606.19348, 2601.02780, 2602.15763,
# 2501.08313); of Qwen's and OLMo's hybrids from their names.
BILLIONS = {"mistral-small-4": "119", "k-exaone": "236", "solar-open-100b": "102",
            "youtu-llm-2b": "1.96", "glm-4.7-flash": "30", "deepseek-v4-flash": "284",
            "mimo-v2-flash": "309", "glm-5": "744", "qwen3-next-80b-a3b": "80",
            "qwen3.5-35b-a3b": "35", "qwen3.5-9b": "9", "minimax-text-01": "456",
            "olmo-hybrid-7b": "7"}  # fmt: skip


@pytest.mark.parametrize("name", BILLIONS)
def test_parameters_in_billions_as_published(name):
    """Cut off or rounded: the pages do either."""
    said = BILLIONS[name]
    digits = 10 ** len(said.partition(".")[2])
    count = digits * cost.parameter_count(MODELS[name]) / 1e9
    assert float(said) * digits in (int(count), round(count))


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


USES = {  # of every cost function that takes a model
    "cache_bytes": {"batch": 2, "context": 9},
    "cache_bytes_per_token": {},
    "cache_formula": {"batch": 2, "context": 9},
    "parameter_count": {},
    "active_parameter_count": {},
    "step_bytes": {"kv_len": 9},
    "activation_bytes": {"q_len": 1, "kv_len": 9},
    "cache_intensity": {},
    "step_operations": {"kv_len": 9},
    "step_seconds": {"device": cost.DEVICES["h100"], "kv_len": 9},
    "matmul_flops": {"q_len": 1, "kv_len": 9},
    "elementwise_ops": {"q_len": 1, "kv_len": 9},
    "decode_step_flops": {"kv_len": 9},
    "generation_flops": {"prompt_len": 2, "n_new": 2, "cached": True},
    "latent_flops": {"q_len": 1, "kv_len": 9},
    "latent_bytes": {"q_len": 1, "kv_len": 9},
    "latent_seconds": {"device": cost.DEVICES["h100"], "q_len": 1, "kv_len": 9},
    "latent_crossover": {"kv_len": 9},
    "cheaper_form": {"q_len": 1, "kv_len": 9},
    "communication": {"ranks": 2, "scheme": "tensor"},
    "head_copies": {"ranks": 2},
    "device_cache_values": {"ranks": 2},
    "device_cache_bytes": {"ranks": 2, "batch": 1, "context": 9},
}


@pytest.mark.parametrize("function", USES)
def test_costs_take_a_listed_name(function):
    count, use = getattr(cost, function), USES[function]
    latent = "latent" in function or function == "cheaper_form"
    name = "deepseek-v3" if latent else "mixtral-8x7b"
    if function == "activation_bytes":
        name = "gpt2"
    assert count(name, **use) == count(MODELS[name], **use)
    with pytest.raises(ConfigError, match=r"gpt2, .*got 'gpt5'"):
        count("gpt5", **use)
    for other in (None, 12, MODELS["gpt2"].decoder(), ["gpt2"]):
        with pytest.raises(ConfigError, match="ModelConfig or the name of a listed one"):
            count(other, **use)


def test_every_cost_of_a_model_is_tried_with_a_name():
    first = {name: inspect.signature(getattr(cost, name)) for name in cost.__all__
             if inspect.isfunction(getattr(cost, name))}  # fmt: skip
    takes = {name for name, shape in first.items() if {"model", "sizes"} & set(shape.parameters)}
    assert takes == set(USES)


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
    "some biases": ("gpt2", {"biases": True}, "one of none, qkv, attention, mlp, all, got True"),
    "norms": ("gpt2", {"qk_norm": "all"}, "qk_norm must be one of .* got 'all'"),
    "cap of 0": ("gemma-2-9b", {"softcap": 0.0}, "softcap must be a positive"),
    "scale": ("gpt2", {"scale": float("nan")}, "scale must be a positive finite number .* nan"),
    "a state of another width": (
        "qwen3-next-80b-a3b",
        {"d_model": 4096},
        "all layers need one d_model, got 4096 and 2048",
    ),
    "no state": ("qwen3.5-9b", {"linear": "gated_delta"}, "linear must be a LinearAttentionConfig"),
    "a state and readers": (
        "qwen3.5-9b",
        {"n_kv_shared_layers": 4},
        "beside layers with a state no layer here .* n_kv_shared_layers = 4",
    ),
    "a gate of no expert": ("qwen3-next-80b-a3b", {"shared_d_ff": 0}, "shared_gate needs"),
    "norms elsewhere": ("olmo-hybrid-7b", {"linear_norms": "behind"}, "linear_norms must be one"),
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
