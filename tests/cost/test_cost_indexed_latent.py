"""Latent attention to indexed tokens, and layers whose entries differ: by hand and by loops."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mini_attn.numpy as ma
from mini_attn import cost
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS
from mini_attn.variants import COUNTED, REGISTRY, variant
from tests.backends.small import small

LATENT = {"n_kv_heads": 6, "kv_lora_rank": 11, "q_lora_rank": 9}
LATENT |= {"qk_nope_head_dim": 3, "qk_rope_head_dim": 4, "head_dim": 7}
INDEXER = {"index_n_heads": 2, "index_head_dim": 5, "index_topk": 8}
PLAIN = small("mla", **LATENT)
MODEL = small("indexed_latent", **LATENT, **INDEXER)
ONE_KEY = {"n_kv_heads": 1, "head_dim": 4, "v_head_dim": 4, "window": 5, "compress": 3}
SPANS = small("csa", **ONE_KEY, **INDEXER, n_layers=5, spans=(0, 6, 3, 6, 3), sinks=True)


def test_parameters_are_those_of_a_latent_and_an_indexer():
    own = 9 * 2 * 5 + 20 * (5 + 2) + 2 * 5  # queries from their latent, a key, heads, a norm
    assert cost.parameter_count(MODEL) == cost.parameter_count(PLAIN) + 3 * own
    whole = replace(MODEL, q_lora_rank=0), replace(PLAIN, q_lora_rank=0)
    own = 20 * (2 * 5 + 5 + 2) + 2 * 5
    assert cost.parameter_count(whole[0]) == cost.parameter_count(whole[1]) + 3 * own


@pytest.mark.parametrize("causal", ["full", "exact"])
@pytest.mark.parametrize(("q_len", "kv_len"), [(1, 1), (1, 8), (1, 9), (1, 40), (5, 40), (9, 9)])
def test_products_by_loops(q_len, kv_len, causal):
    use = {"q_len": q_len, "kv_len": kv_len, "batch": 2, "causal": causal}
    parts = cost.matmul_flops(MODEL, **use, form="absorbed")
    at_hand = min(kv_len, 8) if q_len == 1 else kv_len
    plain = cost.matmul_flops(PLAIN, **use | {"kv_len": at_hand}, form="absorbed")
    seen = range(kv_len - q_len + 1, kv_len + 1)
    few = causal == "exact" or q_len == 1
    pairs = sum(min(t, 8) for t in seen) if few else q_len * kv_len
    assert parts["scores"] == 3 * 2 * 2 * 6 * (11 + 4) * pairs
    assert parts["weighted sum"] == 3 * 2 * 2 * 6 * 11 * pairs
    scored = (sum(seen) if causal == "exact" else q_len * kv_len) if kv_len > 8 else 0
    assert parts["indexer"] == 3 * 2 * scored * cost.indexer_flops(2, 5)
    own = 9 * 2 * 5 + 20 * (5 + 2)
    assert parts["projections"] == plain["projections"] + 3 * 2 * 2 * q_len * own
    assert parts["output"] == plain["output"]


def test_what_a_step_moves():
    for kv_len in (1, 8, 9, 40):
        moved = cost.step_bytes(MODEL, kv_len=kv_len, dtype_bytes=1)
        index = kv_len * 5 if kv_len > 8 else 0
        assert moved["cache read"] == 3 * (min(kv_len, 8) * 15 + index)
        assert moved["cache written"] == 3 * (15 + 5)
    prefill = cost.step_bytes(MODEL, q_len=40, kv_len=40, dtype_bytes=1)
    assert prefill["cache read"] == 3 * 40 * (15 + 5)


def test_published_sizes_of_a_step():
    """At a million tokens V3.2 reads all index keys and 2,048 latents: 4.5 times less than V3."""
    read = cost.step_bytes("deepseek-v3.2", kv_len=10**6)["cache read"]
    assert read == 2 * 61 * (10**6 * 128 + 2048 * 576)
    assert round(cost.step_bytes("deepseek-v3", kv_len=10**6)["cache read"] / read, 1) == 4.5


@pytest.mark.parametrize("context", [1, 2, 5, 7, 17, 40])
def test_layers_with_different_spans_keep_what_real_caches_do(context):
    """Of a window alone half a cache of keys and values counts, as the keys are its values."""
    held = 0
    for layer in range(SPANS.n_layers):
        if SPANS.spans[layer]:
            made = ma.CompressedAttention(SPANS.layer_config(layer))
            held += made.new_cache(2, context).allocated_bytes
        else:
            both = ma.SlidingWindowCache(2, 1, 4, context, window=5, dtype="float32")
            held += both.allocated_bytes // 2
    assert cost.cache_bytes(SPANS, batch=2, context=context, dtype_bytes=4) == held
    terms = cost.cache_formula(SPANS, batch=2, context=context, dtype_bytes=4)
    products = []
    for term in terms:
        product = 1
        for factor in term:
            product *= factor.value
        products.append(product)
    assert sum(products) == held


def test_parameters_of_layers_with_different_spans_are_their_layers():
    layers = sum(
        sum(w.size for w in ma.CompressedAttention(SPANS.layer_config(i)).state_dict().values())
        for i in range(1, 5)
    )
    window = 20 * 24 + 20 * 4 + 4 + 24 * 20 + 6  # queries, a key and its norm, output, sinks
    around = replace(SPANS, n_layers=1, spans=(0,))
    rest = cost.parameter_count(around) - window
    each = 2 * 20 * 28 + 2 * 20  # the MLP and norms of a layer
    assert cost.parameter_count(SPANS) == layers + window + rest + 4 * each


def test_the_same_span_everywhere_is_no_list():
    plain = replace(SPANS, spans=())
    alike = replace(SPANS, spans=(3,) * 5)
    for kv_len in (1, 30):
        use = {"q_len": 1, "kv_len": kv_len}
        assert cost.matmul_flops(alike, **use) == cost.matmul_flops(plain, **use)
        assert cost.step_bytes(alike, kv_len=kv_len) == cost.step_bytes(plain, kv_len=kv_len)
    assert cost.parameter_count(alike) == cost.parameter_count(plain)
    assert SPANS.n_full_layers == 4
    assert SPANS.shrinks == ("entries", "values")


def test_a_lone_step_over_spans_by_hand():
    """40 tokens: 5 keys in each layer, 6 entries of 6 tokens, and 8 of 13 entries of 3."""
    parts = cost.matmul_flops(SPANS, q_len=1, kv_len=40)
    assert parts["scores"] == 2 * 6 * 4 * (5 * 5 + 2 * 6 + 2 * 8)
    assert parts["indexer"] == 2 * 13 * cost.indexer_flops(2, 5)
    moved = cost.step_bytes(SPANS, kv_len=40, dtype_bytes=1)
    said = 2 * 2 * 4 + 2 * 4 * (4 + 5)  # values and gates; with an indexer of two series
    assert moved["cache read"] == 4 * (5 * 5 + 2 * 6 + 2 * 8) + 2 * 13 * 5 + said


@pytest.mark.parametrize(
    ("change", "told"),
    [({"spans": (3, 3)}, "each of 5 csa layers .* got 2 of csa"),
     ({"spans": (3, 3, 3, 3, -1)}, "spans must be at least 0"),
     ({"spans": (3, 3, 3, 3, 1.5)}, "spans must be a whole number")],
)  # fmt: skip
def test_spans_that_make_no_sense(change, told):
    with pytest.raises(ConfigError, match=told):
        replace(SPANS, **change)
    with pytest.raises(ConfigError, match="got 3 of mla"):
        replace(PLAIN, spans=(3, 3, 3))


@pytest.mark.parametrize("name", COUNTED)
def test_what_has_costs_alone_says_so(name):
    entry = variant(name)
    assert name not in REGISTRY
    with pytest.raises(ConfigError, match=f"{name} has costs alone"):
        entry.config_type()


def test_a_decoder_of_costs_alone_is_refused():
    with pytest.raises(ConfigError, match="a kind of attention that only has costs"):
        MODEL.decoder()
    with pytest.raises(ConfigError, match="a kind of attention that only has costs"):
        MODELS["deepseek-v3.2"].decoder(n_layers=3)
    with pytest.raises(ConfigError, match="shared_window has costs alone"):
        SPANS.decoder()
