"""Costs: formulas against counted work, real caches, and sums taken one by one."""

from __future__ import annotations

import dataclasses
from fractions import Fraction
from math import prod

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn import cost
from mini_attn.config import RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS
from mini_attn.variants import REGISTRY
from tests.backends.small import CountedArray, decoder_of, small

GPT2 = MODELS["gpt2"]


# --- counts of token passes and pairs ---------------------------------------------------------


def test_a_hundred_tokens():
    assert cost.token_passes(1, 100, cached=False) == 5050
    assert cost.token_passes(1, 100, cached=True) == 100


@given(
    q_len=st.integers(1, 12), more=st.integers(0, 12), window=st.integers(1, 9),
    sinks=st.integers(0, 9),
)  # fmt: skip
def test_first_tokens_count_as_so_much_more_window(q_len, more, window, sinks):
    """Pairs, keys at hand and softmax of a step and of a prefill, counted from the mask."""
    kv_len = q_len + more
    mask = ma.causal_mask(q_len, kv_len, window, sinks)
    model = small("sliding_window", window=window, sink_tokens=sinks, n_layers=1)
    pairs, seen = int(mask.sum()), q_len * int(mask.any(axis=0).sum())
    for causal, count in (("exact", pairs), ("full", seen)):
        sizes = {"q_len": q_len, "kv_len": kv_len, "causal": causal}
        parts = cost.matmul_flops(model, **sizes)
        assert parts["scores"] == 2 * model.n_heads * model.head_dim * count
        assert parts["weighted sum"] == 2 * model.n_heads * model.v_head_dim * count
        assert cost.elementwise_ops(model, **sizes)["softmax"] == 5 * model.n_heads * count


@given(prompt_len=st.integers(1, 40), n_new=st.integers(1, 40))
def test_token_passes_are_a_count(prompt_len, n_new):
    plain, kept, held = 0, 0, 0
    for step in range(n_new):
        tokens = prompt_len + step
        plain += tokens
        kept += tokens - held
        held = tokens
    assert cost.token_passes(prompt_len, n_new, cached=False) == plain
    assert cost.token_passes(prompt_len, n_new, cached=True) == kept


@given(q_len=st.integers(1, 12), more=st.integers(0, 12), window=st.integers(1, 30) | st.none())
def test_visible_pairs_are_a_count_of_the_mask(q_len, more, window):
    kv_len = q_len + more
    mask = ma.causal_mask(q_len, kv_len, window)
    assert cost.visible_pairs(q_len, kv_len, window=window) == int(mask.sum())
    sizes = {"n_heads": 3, "head_dim": 5, "v_head_dim": 7, "window": window}
    exact = cost.attention_flops(q_len, kv_len, causal="exact", **sizes)
    pairs = int(mask.sum())
    assert exact == {"scores": 2 * 3 * 5 * pairs, "weighted sum": 2 * 3 * 7 * pairs}
    full = cost.attention_flops(q_len, kv_len, causal="full", **sizes)
    seen = int(mask.any(axis=0).sum())  # keys that any query sees
    assert full["scores"] == 2 * 3 * 5 * q_len * seen


@given(n=st.integers(1, 60))
def test_copied_rows_are_a_count(n):
    held, copied = np.zeros((0, 1)), 0
    for _ in range(n):
        copied += len(held)
        held = np.concatenate([held, np.zeros((1, 1))])
    assert cost.copied_rows(n) == copied


# --- FLOPs against counted ones ----------------------------------------------------------------

ROPE = RopeConfig("half")
LATENT = {
    "n_kv_heads": 6,
    "head_dim": 7,
    "kv_lora_rank": 11,
    "qk_nope_head_dim": 3,
    "qk_rope_head_dim": 4,
    "rope": ROPE,
}
KINDS = {
    "mha": small(
        "mha", biases="all", norm="layer_norm", learned_positions=64, tied_embeddings=True
    ),
    "gqa": small("gqa", mlp_matrices=3, qk_norm="head"),
    "mqa": small("mqa"),
    "sliding_window": small("sliding_window", window=4),
    "hybrid": small("sliding_window", window=4, full_every=2, rope=ROPE, local_rope=ROPE),
    "first tokens": small("sliding_window", window=3, sink_tokens=2, full_every=3),
    "alibi": small("gqa", alibi=True, biases="qkv"),
    "softcap": small("gqa", rope=ROPE, softcap=3.0, scale=0.3),
    "norms around": small("gqa", norm_placement="both", tied_embeddings=True),
    "norms over all heads": small("gqa", qk_norm="width", rope=ROPE),
    "latent": small("mla", **LATENT),
    "latent queries": small("mla", **LATENT, q_lora_rank=13),
    "experts": small(
        "gqa", mlp_matrices=3, n_experts=7, experts_per_token=2, expert_d_ff=9, n_dense_layers=1
    ),
    "experts, biases": small(
        "mqa", mlp_matrices=3, biases="all", router_bias=True, n_experts=5,
        experts_per_token=5, expert_d_ff=11,
    ),
    "shared": small("gqa", n_kv_shared_layers=2, qk_norm="head", biases="all"),
    "two sizes": small(
        "sliding_window", window=5, n_layers=6, full_every=2, n_kv_shared_layers=3,
        full_head_dim=6, full_n_kv_heads=1, k_eq_v=True, v_norm=True, qk_norm="head",
    ),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("batch", "prompt"), [(1, 1), (1, 9), (3, 7)])
def test_flops_equal_those_that_torch_counts(kind, batch, prompt):
    """`causal="full"`: all queries with all keys at hand, as PyTorch's plain attention does."""
    model = KINDS[kind]
    decoder = decoder_of(mt, model)
    caches = decoder.new_caches(batch, prompt + 2)
    tokens = torch.zeros((batch, prompt), dtype=torch.int64)
    for run, q_len, kv_len in (
        (mt.prefill, prompt, prompt),
        (mt.decode_step, 1, prompt + 1),
        (mt.decode_step, 1, prompt + 2),
    ):
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            run(decoder, tokens if run is mt.prefill else tokens[:, :1], caches)
        parts = cost.matmul_flops(model, q_len=q_len, kv_len=kv_len, batch=batch, causal="full")
        assert counter.get_total_flops() == sum(parts.values())


@pytest.mark.parametrize("kind", ["sliding_window", "hybrid", "first tokens"])
@pytest.mark.parametrize("chunks", [(1, 2), (4, 3, 2), (5, 2, 2), (9, 2), (2, 7, 5)])
def test_flops_of_a_chunk_upon_a_full_ring(kind, chunks):
    """The chunk's first query sees one key fewer than the ring holds: nobody multiplies it."""
    model = KINDS[kind]
    decoder, kv_len = decoder_of(mt, model), 0
    caches = decoder.new_caches(2, sum(chunks))
    for q_len in chunks:
        kv_len += q_len
        tokens = torch.zeros((2, q_len), dtype=torch.int64)
        with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
            mt.prefill(decoder, tokens, caches)
        parts = cost.matmul_flops(model, q_len=q_len, kv_len=kv_len, batch=2, causal="full")
        assert counter.get_total_flops() == sum(parts.values()), (q_len, kv_len)


@pytest.mark.parametrize("form", ["expanded", "absorbed"])
@pytest.mark.parametrize("kind", ["latent", "latent queries"])
@pytest.mark.parametrize(("past", "new"), [(0, 7), (6, 1), (6, 5)])
def test_both_forms_of_latent_attention(kind, form, past, new):
    model = KINDS[kind]
    layer = mt.MultiHeadLatentAttention(model.layer_config(0))
    cache, x = layer.new_cache(2, 16), torch.zeros((2, past + new, model.d_model))
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        if past:
            layer(x[:, :past], cache=cache)
        with FlopCounterMode(display=False) as counter:
            layer(x[:, past:], cache=cache, form=form)
    parts = cost.latent_flops(model, q_len=new, kv_len=past + new, batch=2, form=form)
    assert counter.get_total_flops() == sum(parts.values())
    whole = cost.matmul_flops(model, q_len=new, kv_len=past + new, batch=2, form=form, logit_rows=0)
    assert {part: whole[part] // model.n_layers for part in parts} == parts


@pytest.mark.parametrize("kind", KINDS)
def test_logits_of_every_row(kind):
    model = KINDS[kind]
    decoder = decoder_of(mt, model)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        decoder(torch.zeros((2, 6), dtype=torch.int64))
    parts = cost.matmul_flops(model, q_len=6, kv_len=6, batch=2, logit_rows=6)
    assert counter.get_total_flops() == sum(parts.values())


@pytest.mark.parametrize("n_kv_heads", [1, 2, 6])
def test_each_part_by_itself(n_kv_heads):
    """The parts, not only their sum: each product done alone and counted."""
    model = small("gqa", n_kv_heads=n_kv_heads, mlp_matrices=3)
    batch, q_len, kv_len = 2, 5, 9
    rows, d_model, heads = batch * q_len, model.d_model, model.n_heads
    products = {
        "projections": [
            ((rows, d_model), (d_model, heads * model.head_dim)),
            ((rows, d_model), (d_model, n_kv_heads * model.head_dim)),
            ((rows, d_model), (d_model, n_kv_heads * model.v_head_dim)),
        ],
        "scores": [((batch, heads, q_len, model.head_dim), (model.head_dim, kv_len))],
        "weighted sum": [((batch, heads, q_len, kv_len), (kv_len, model.v_head_dim))],
        "output": [((rows, heads * model.v_head_dim), (heads * model.v_head_dim, d_model))],
        "mlp": [
            ((rows, d_model), (d_model, model.d_ff)),
            ((rows, d_model), (d_model, model.d_ff)),
            ((rows, model.d_ff), (model.d_ff, d_model)),
        ],
        "logits": [((batch, d_model), (d_model, model.vocab_size))],
    }
    parts = cost.matmul_flops(model, q_len=q_len, kv_len=kv_len, batch=batch)
    assert set(parts) == set(products)
    for part, shapes in products.items():
        CountedArray.flops = 0
        for first, second in shapes:
            np.ones(first).view(CountedArray) @ np.ones(second)
        layers = 1 if part == "logits" else model.n_layers
        assert parts[part] == layers * CountedArray.flops, part


WAYS = ("gate", "up", "down")


@pytest.mark.parametrize("kind", ["experts", "experts, biases"])
@pytest.mark.parametrize(("batch", "seq"), [(1, 1), (2, 5)])
def test_flops_of_experts_equal_those_that_numpy_counts(kind, batch, seq):
    """The router and the chosen experts of one layer, as the cost of all layers says."""
    model = KINDS[kind]
    decoder, sparse = decoder_of(ma, model), model.n_layers - model.n_dense_layers
    layer = decoder.layers[-1].mlp
    for owner, name in ((layer.router, "weight"), *((layer, f"{n}_proj") for n in WAYS)):
        setattr(owner, name, getattr(owner, name).view(CountedArray))
    x = np.random.default_rng(1).standard_normal((batch, seq, model.d_model)).astype("float32")
    CountedArray.flops = 0
    layer(x)
    counted = CountedArray.flops
    parts = cost.matmul_flops(model, q_len=seq, kv_len=seq, batch=batch)
    dense = 2 * batch * seq * model.n_dense_layers * 3 * model.d_model * model.d_ff
    assert parts["mlp"] == sparse * counted + dense


def test_the_counter_of_products_counts():
    CountedArray.flops = 0
    np.ones((2, 3)).view(CountedArray) @ np.ones((3, 4))
    assert CountedArray.flops == 2 * 2 * 3 * 4


def test_sharing_heads_leaves_score_flops_alone():
    parts = [
        cost.matmul_flops(small("gqa", n_kv_heads=n), q_len=1, kv_len=50) for n in (1, 2, 3, 6)
    ]
    assert len({part["scores"] for part in parts}) == 1
    projections = [part["projections"] for part in parts]
    assert projections == sorted(set(projections))


@pytest.mark.parametrize("cached", [True, False])
@pytest.mark.parametrize("causal", ["full", "exact"])
@pytest.mark.parametrize("kind", KINDS)
def test_generation_is_the_sum_of_its_steps(kind, causal, cached):
    model, prompt_len, n_new = KINDS[kind], 5, 6
    total = 0
    for kv_len in range(prompt_len, prompt_len + n_new):
        q_len = 1 if cached and kv_len > prompt_len else kv_len
        total += sum(cost.matmul_flops(model, q_len=q_len, kv_len=kv_len, causal=causal).values())
    options = {"cached": cached, "causal": causal}
    assert cost.generation_flops(model, prompt_len, n_new, **options) == total


@pytest.mark.parametrize("cached", [True, False])
def test_generation_equals_what_torch_counts(cached):
    model = KINDS["mha"]
    decoder = decoder_of(mt, model)
    tokens = torch.zeros((1, 5), dtype=torch.int64)
    caches = decoder.new_caches(1, 12) if cached else None
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        mt.generate(decoder, tokens, max_new_tokens=6, caches=caches)
    expected = cost.generation_flops(model, 5, 6, cached=cached, causal="full")
    assert counter.get_total_flops() == expected


def test_work_of_latent_attention_and_experts():
    """61 layers; 3 of them dense, the others with 8 of 256 experts, a shared one and the router."""
    model = MODELS["deepseek-v3"]
    parts = cost.matmul_flops(model, q_len=2, kv_len=300, batch=5)
    rows = 5 * 2
    assert parts["scores"] == 2 * rows * 300 * 128 * (512 + 64) * 61  # absorbed: few new tokens
    assert parts["weighted sum"] == 2 * rows * 300 * 128 * 512 * 61
    sparse = 3 * 7168 * 2048 * 9 + 7168 * 256
    assert parts["mlp"] == 2 * rows * (3 * 3 * 7168 * 18432 + 58 * sparse)
    expanded = cost.matmul_flops(model, q_len=2, kv_len=300, batch=5, form="expanded")
    assert expanded["scores"] == 2 * rows * 300 * 128 * 192 * 61
    assert sum(expanded.values()) > sum(parts.values())
    assert {**expanded, **parts} == parts
    token = cost.decode_step_flops(model, kv_len=1)
    table = model.vocab_size * model.d_model  # looked up, not multiplied with
    assert token / 2 == pytest.approx(cost.active_parameter_count(model) - table, rel=1e-3)


def test_a_step_is_one_row_with_visible_keys_only():
    for model in (*KINDS.values(), GPT2):
        parts = cost.matmul_flops(model, q_len=1, kv_len=9, batch=2, causal="exact")
        assert cost.decode_step_flops(model, kv_len=9, batch=2) == sum(parts.values())
    windowed = KINDS["sliding_window"]
    assert cost.decode_step_flops(windowed, kv_len=4) == cost.decode_step_flops(windowed, kv_len=60)


def test_hybrid_layers_see_their_own_lengths():
    """Of 3 layers every third is global: one sees 50 keys, two see 8."""
    model = small("sliding_window", window=8, full_every=3)
    assert model.n_full_layers == 1
    scores = cost.matmul_flops(model, q_len=1, kv_len=50, causal="exact")["scores"]
    assert scores == 2 * model.n_heads * model.head_dim * (50 + 8 + 8)
    kept = cost.cache_bytes(model, batch=1, context=50, dtype_bytes=1)
    assert kept == (50 + 8 + 8) * model.n_kv_heads * (model.head_dim + model.v_head_dim)


def test_elementwise_operations():
    model = small("gqa")
    parts = cost.elementwise_ops(model, q_len=2, kv_len=7, batch=5)
    rows = 5 * 2
    assert parts["softmax"] == 5 * (rows * model.n_heads * 7) * model.n_layers
    assert parts["activation"] == rows * model.d_ff * model.n_layers
    assert parts["norms"] == 4 * rows * model.d_model * (2 * model.n_layers + 1)
    hybrid = cost.elementwise_ops(KINDS["hybrid"], q_len=3, kv_len=20, causal="exact")
    assert hybrid["softmax"] == 5 * 6 * (57 + 2 * 12)  # one layer sees all, two see 4 keys each
    full = cost.elementwise_ops(KINDS["hybrid"], q_len=3, kv_len=20)
    assert full["softmax"] == 5 * 6 * (60 + 2 * 3 * 6)
    normed = cost.elementwise_ops(KINDS["gqa"], q_len=2, kv_len=7)["norms"]
    assert normed == 4 * 2 * (20 * 7 + 3 * (6 + 2) * 4)  # each query and key head too
    latent = cost.elementwise_ops(MODELS["deepseek-v3"], q_len=1, kv_len=1)
    assert latent["norms"] == 4 * (7168 * 123 + 61 * (1536 + 512))
    assert latent["activation"] == 3 * 18432 + 58 * 9 * 2048  # eight experts and the shared one
    assert cost.elementwise_ops(MODELS["bloom-176b"], q_len=1, kv_len=1)["norms"] == 4 * 14336 * 142
    products = sum(cost.matmul_flops(GPT2, q_len=1, kv_len=100).values())
    assert sum(cost.elementwise_ops(GPT2, q_len=1, kv_len=100).values()) < products / 100


# --- bytes against real arrays -----------------------------------------------------------------


@pytest.mark.parametrize("backend", [ma, mt], ids=["numpy", "torch"])
@pytest.mark.parametrize("attention", ["mha", "gqa", "mqa"])
@pytest.mark.parametrize(("batch", "context"), [(1, 1), (2, 13), (3, 64)])
@pytest.mark.parametrize("dtype_bytes", [2, 4, 8])
def test_cache_bytes_are_those_of_real_caches(backend, attention, batch, context, dtype_bytes):
    model = small(attention)
    caches = [
        backend.KVCache(
            batch,
            model.n_kv_heads,
            model.head_dim,
            context,
            v_head_dim=model.v_head_dim,
            dtype=f"float{8 * dtype_bytes}",
        )
        for _ in range(model.n_layers)
    ]
    use = {"batch": batch, "context": context, "dtype_bytes": dtype_bytes}
    assert sum(cache.allocated_bytes for cache in caches) == cost.cache_bytes(model, **use)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_are_those_of_a_real_decoder(kind):
    model = KINDS[kind]
    count = sum(prod(w.shape) for w in decoder_of(mt, model).state_dict().values())
    assert cost.parameter_count(model) == count


LAYOUTS = {
    **KINDS,
    "hybrid": small("sliding_window", window=8, full_every=3),
    "mla": small("mla", n_kv_heads=6, kv_lora_rank=11, qk_rope_head_dim=3),
}


@pytest.mark.parametrize("kind", LAYOUTS)
@given(
    batch=st.integers(1, 9), context=st.integers(0, 40), dtype_bytes=st.sampled_from([1, 2, 4, 8])
)
def test_the_formula_multiplies_out(kind, batch, context, dtype_bytes):
    model = LAYOUTS[kind]
    use = {"batch": batch, "context": context, "dtype_bytes": dtype_bytes}
    terms = cost.cache_formula(model, **use)
    total = sum(prod(factor.value for factor in term) for term in terms)
    assert total == cost.cache_bytes(model, **use)
    assert all(factor.label for term in terms for factor in term)


@pytest.mark.parametrize("kind", LAYOUTS)
def test_one_more_token(kind):
    model = LAYOUTS[kind]
    first, second = (cost.cache_bytes(model, batch=1, context=n, dtype_bytes=4) for n in (1, 2))
    assert second - first == cost.cache_bytes_per_token(model, dtype_bytes=4)
    if model.window:
        long, longer = (cost.cache_bytes(model, batch=1, context=n) for n in (90, 91))
        keep = [i for i in range(model.n_layers) if model.source_of(i) == i]
        full = [model.layer_config(i) for i in keep if model.window_of(i) is None]
        numbers = sum(each.n_kv_heads * (each.head_dim + each.v_head_dim) for each in full)
        assert longer - long == 2 * numbers


def test_the_registry_is_the_one_layout(monkeypatch):
    """Bytes follow the registry's fields: with one field less they are smaller by it."""
    entry = REGISTRY["mha"]
    monkeypatch.setitem(REGISTRY, "mha", dataclasses.replace(entry, cache=entry.cache[:1]))
    use = {"batch": 1, "context": 100, "dtype_bytes": 4}
    assert cost.cache_bytes(GPT2, **use) == 7_372_800 // 2
    assert cost.cache_bytes_per_token(GPT2, dtype_bytes=4) == 73_728 // 2
    assert cost.cache_formula(GPT2, **use)[0][0].value == 768


@pytest.mark.parametrize("dtype_bytes", [0.375, 0.53125, 0.5625, 0.625, 1.03125])
def test_groups_with_their_scales(dtype_bytes):
    """Llama's and GPT-2's keys fill whole groups; the total is exact, not rounded."""
    numbers = cost.cache_bytes_per_token(GPT2, dtype_bytes=1)
    total = cost.cache_bytes_per_token(GPT2, dtype_bytes=dtype_bytes)
    assert total == Fraction(dtype_bytes) * numbers


def test_four_bit_numbers():
    assert cost.cache_bytes_per_token(GPT2, dtype_bytes=0.5) * 4 == cost.cache_bytes_per_token(GPT2)
    odd = small("mqa", n_layers=1, head_dim=1, v_head_dim=2)
    with pytest.raises(ConfigError, match=r"3 numbers of 0\.5 bytes"):
        cost.cache_bytes_per_token(odd, dtype_bytes=0.5)


def test_totals_stay_exact_beyond_double_precision():
    total = cost.cache_bytes(MODELS["llama-3-70b"], batch=10**9 + 1, context=10**9 + 1)
    assert total == 327_680 * (10**9 + 1) ** 2
    assert isinstance(total, int)


# --- roofline ----------------------------------------------------------------------------------


@pytest.mark.parametrize("device", cost.DEVICES.values(), ids=cost.DEVICES)
def test_roofline_has_its_ridge_where_both_take_as_long(device):
    for dtype, rate in device.flops_per_second.items():
        n_bytes = 10**9
        ridge = rate / device.bytes_per_second * n_bytes
        for flops, expected in (
            (int(ridge / 10), n_bytes / device.bytes_per_second),
            (int(ridge * 10), ridge * 10 / rate),
        ):
            seconds = cost.roofline_seconds(flops, n_bytes, device, dtype=dtype)
            assert seconds == pytest.approx(expected)


def test_data_sheets():
    """Bytes a second, memory in GB of 1e9, dense bfloat16: A100 80 GB, H100, H200, B200 (SXM)."""
    sheets = {
        "a100": (2.039e12, 80, 312e12),
        "h100": (3.35e12, 80, 989.4e12),
        "h200": (4.8e12, 141, 989.4e12),
        "b200": (8e12, 180, 2250e12),
        "tpu-v5e": (0.819e12, 16, 197e12),
    }
    assert set(cost.DEVICES) == set(sheets)
    for key, (bandwidth, gigabytes, rate) in sheets.items():
        device = cost.DEVICES[key]
        assert device.bytes_per_second == bandwidth
        assert device.memory_bytes == gigabytes * 1_000_000_000
        assert device.flops_per_second["bfloat16"] == rate  # dense
        assert device.source


# --- bad input ---------------------------------------------------------------------------------

USE = {"batch": 1, "context": 10, "dtype_bytes": 2}
ATTENTION = {"n_heads": 2, "head_dim": 4}
BAD = {
    "no sequence": (lambda: cost.cache_bytes(GPT2, **USE | {"batch": 0}), "batch .* got 0"),
    "fewer than none": (lambda: cost.cache_bytes(GPT2, **USE | {"context": -1}), "context .* -1"),
    "half a sequence": (lambda: cost.cache_bytes(GPT2, **USE | {"batch": 1.5}), "got 1.5"),
    "NaN tokens": (lambda: cost.cache_bytes(GPT2, **USE | {"context": float("nan")}), "got nan"),
    "text": (lambda: cost.cache_bytes(GPT2, **USE | {"context": "10"}), "context .* got '10'"),
    "three bytes": (lambda: cost.cache_bytes(GPT2, **USE | {"dtype_bytes": 3}), "got 3"),
    "no bytes": (lambda: cost.cache_bytes_per_token(GPT2, dtype_bytes=0), "dtype_bytes .* got 0"),
    "bits": (lambda: cost.cache_formula(GPT2, **USE | {"dtype_bytes": 16}), "got 16"),
    "minus two bytes": (lambda: cost.cache_formula(GPT2, **USE | {"dtype_bytes": -2}), "got -2"),
    "true bytes": (lambda: cost.cache_bytes(GPT2, **USE | {"dtype_bytes": True}), "got True"),
    "named dtype": (lambda: cost.cache_bytes(GPT2, **USE | {"dtype_bytes": "float16"}), "float16"),
    "no prompt": (lambda: cost.token_passes(0, 5, cached=True), "prompt_len .* got 0"),
    "nothing new": (lambda: cost.token_passes(5, 0, cached=False), "n_new .* got 0"),
    "more queries": (lambda: cost.visible_pairs(5, 4), "q_len = 5 .* kv_len = 4"),
    "no query": (lambda: cost.visible_pairs(0, 4), "q_len .* got 0"),
    "window of 0": (lambda: cost.visible_pairs(4, 4, window=0), "window .* got 0"),
    "no rows": (lambda: cost.copied_rows(0), "n must be at least 1, got 0"),
    "causal?": (lambda: cost.attention_flops(1, 1, causal=True, **ATTENTION), "got True"),
    "no head": (lambda: cost.attention_flops(1, 1, n_heads=0, head_dim=4), "n_heads .* got 0"),
    "no value": (lambda: cost.attention_flops(1, 1, v_head_dim=0, **ATTENTION), "v_head_dim .* 0"),
    "no batch": (lambda: cost.matmul_flops(GPT2, q_len=1, kv_len=1, batch=0), "batch .* got 0"),
    "queries -1": (lambda: cost.matmul_flops(GPT2, q_len=-1, kv_len=1), "q_len .* got -1"),
    "logits -1": (lambda: cost.matmul_flops(GPT2, q_len=1, kv_len=1, logit_rows=-1), "got -1"),
    "one form": (lambda: cost.matmul_flops(GPT2, q_len=1, kv_len=1, form="absorbed"), "one form"),
    "no softmax": (lambda: cost.elementwise_ops(GPT2, q_len=1, kv_len=0), "kv_len .* got 0"),
    "new -3": (lambda: cost.generation_flops(GPT2, 1, -3, cached=True), "n_new .* got -3"),
    "no bytes moved": (lambda: cost.arithmetic_intensity(1, 0), "got 0 and 1"),
    "negative work": (lambda: cost.arithmetic_intensity(-1, 8), "got 8 and -1"),
    "no such rate": (
        lambda: cost.roofline_seconds(1, 1, cost.DEVICES["a100"], dtype="int4"),
        "A100 .* not for 'int4'",
    ),
    "no bandwidth": (lambda: cost.Device("x", "y", 0, 8, {"float32": 1e12}), "bytes_per_second"),
    "NaN rate": (lambda: cost.Device("x", "y", 1, 8, {"float32": float("nan")}), "float32 .* nan"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_numbers_are_refused(case):
    call, message = BAD[case]
    with pytest.raises(ConfigError, match=message):
        call()
