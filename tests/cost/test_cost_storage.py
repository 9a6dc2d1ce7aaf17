"""Bytes of caches by rule of storage, against the caches themselves."""

from __future__ import annotations

import dataclasses
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn import cost
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS
from mini_attn.variants import variant
from tests.backends.small import small

KINDS = {
    "mha": small("mha"),
    "gqa": small("gqa"),
    "mqa": small("mqa"),
    "windows": small("sliding_window", window=5),
    "hybrid": small("sliding_window", window=5, full_every=3),
    "first tokens": small("sliding_window", window=5, full_every=3, sink_tokens=2),
    "shared": small("gqa", n_kv_shared_layers=2),
    "shared windows, wide full layers": small(
        "sliding_window",
        window=5,
        n_layers=6,
        full_every=2,
        n_kv_shared_layers=3,
        full_head_dim=6,
        full_n_kv_heads=1,
        k_eq_v=True,
        v_norm=True,
        qk_norm="head",
    ),
    "latent": small("mla", n_kv_heads=6, kv_lora_rank=11, qk_rope_head_dim=4),
}


def real_caches(lib, model, batch, capacity, dtype="float32"):
    """The caches of all layers, each of the kind that its attention fills."""
    caches = []
    for layer in range(model.n_layers):
        if model.source_of(layer) != layer:
            continue
        window = model.window_of(layer)
        if own := model.linear_of(layer):
            names = ("v_head_dim", "n_key_heads", "conv_kernel")
            sizes = {name: getattr(own, name) for name in names}
            cache = lib.StateCache(batch, own.n_heads, own.head_dim, **sizes, dtype=dtype)
            caches.append(cache)
            continue
        if model.attention == "mla":
            sizes = (batch, model.kv_lora_rank, model.qk_rope_head_dim, capacity)
            caches.append(lib.LatentCache(*sizes, dtype=dtype))
            continue
        if variant(model.attention).name in ("csa", "indexed_latent"):
            caches += beside_heads(lib, model, layer, (batch, capacity, dtype))
            continue
        own = model.layer_config(layer)
        options = {"v_head_dim": own.v_head_dim, "dtype": dtype}
        sizes = (batch, own.n_kv_heads, own.head_dim, capacity)
        if window is None:
            caches.append(lib.KVCache(*sizes, **options))
        else:
            kept = {"window": window, "sink_tokens": model.sink_tokens}
            caches.append(lib.SlidingWindowCache(*sizes, **kept, **options))
    return caches


def beside_heads(lib, model, layer, use):
    """What layers keep whose entries or latents an indexer chooses; parts of caches as bytes."""
    batch, capacity, dtype = use
    kind, kept = model.attention_of(layer), {"dtype": dtype}
    if kind == "indexed_latent":
        sizes = (batch, model.kv_lora_rank, model.qk_rope_head_dim, capacity)
        plain = lib.KVCache(batch, 1, 1, capacity, **kept)
        beside = lib.IndexedCache(
            batch, 1, 1, capacity, index_head_dim=model.index_head_dim, **kept
        )
        keys = beside.allocated_bytes - plain.allocated_bytes
        return [lib.LatentCache(*sizes, **kept), SimpleNamespace(allocated_bytes=keys)]
    if kind == "shared_window":  # keys, and no values beside them
        both = lib.SlidingWindowCache(
            batch, 1, model.head_dim, capacity, window=model.window, **kept
        )
        return [SimpleNamespace(allocated_bytes=both.allocated_bytes // 2)]
    own = model.layer_config(layer)
    sizes = {name: getattr(own, name) for name in ("window", "compress", "index_head_dim")}
    return [lib.CompressedCache(batch, own.head_dim, capacity, **sizes, **kept)]


def fill(lib, cache, model, batch, tokens, dtype="float32"):
    """Append so many tokens."""
    if model.attention == "mla":
        shapes = [(batch, tokens, model.kv_lora_rank), (batch, tokens, model.qk_rope_head_dim)]
    else:
        heads = (batch, cache.n_kv_heads, tokens)
        shapes = [(*heads, cache.head_dim), (*heads, cache.v_head_dim)]
    cache.append(*(lib.array(np.ones(shape, dtype)) for shape in shapes))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("batch", "capacity"), [(1, 1), (2, 5), (3, 13)])
def test_bytes_are_those_of_real_caches(lib, kind, batch, capacity):
    model = KINDS[kind]
    caches = real_caches(lib, model, batch, capacity)
    use = {"batch": batch, "dtype_bytes": 4}
    held = sum(cache.allocated_bytes for cache in caches)
    assert held == cost.cache_bytes(model, context=capacity, **use)
    for tokens in range(1, capacity + 1):
        for cache in caches:
            fill(lib, cache, model, batch, 1)
        used = sum(cache.used_bytes for cache in caches)
        assert used == cost.cache_bytes(model, context=tokens, **use), tokens


@pytest.mark.parametrize("name", MODELS)
def test_bytes_of_every_listed_model(lib, name):
    """All layers of the real sizes; windows are cut to 3 tokens so that 5 go round them."""
    model = MODELS[name]
    if model.window:
        model = dataclasses.replace(model, window=3)
    caches = real_caches(lib, model, 1, 5, dtype="float16")
    held = sum(cache.allocated_bytes for cache in caches)
    assert held == cost.cache_bytes(model, batch=1, context=5, dtype_bytes=2)


@pytest.mark.parametrize("kind", KINDS)
def test_without_windows_a_ring_is_contiguous(kind):
    use = {"batch": 3, "context": 100}
    ring = cost.cache_bytes(KINDS[kind], **use, storage=cost.Ring())
    if KINDS[kind].window is None:
        assert ring == cost.cache_bytes(KINDS[kind], **use, storage=cost.Contiguous())
    else:
        assert ring < cost.cache_bytes(KINDS[kind], **use, storage=cost.Contiguous())


def test_contiguous_keeps_what_a_ring_forgets(lib):
    """One slot a token, as in a cache that knows no window."""
    model = KINDS["hybrid"]
    plain = dataclasses.replace(model, attention="gqa", window=None, full_every=0)
    caches = real_caches(lib, plain, 2, 40)
    held = sum(cache.allocated_bytes for cache in caches)
    use = {"batch": 2, "context": 40, "dtype_bytes": 4}
    assert held == cost.cache_bytes(model, **use, storage=cost.Contiguous())
    assert held > cost.cache_bytes(model, **use)


@given(context=st.integers(0, 70), block=st.integers(1, 20), batch=st.integers(1, 4))
def test_pages_are_whole_blocks(context, block, batch):
    model = KINDS["gqa"]
    blocks = 0
    for held in range(context):
        if held == blocks * block:
            blocks += 1
    numbers = model.n_layers * model.n_kv_heads * (model.head_dim + model.v_head_dim)
    use = {"batch": batch, "context": context, "dtype_bytes": 2}
    paged = cost.cache_bytes(model, **use, storage=cost.Paged(block))
    assert paged == 2 * batch * blocks * block * numbers
    whole = cost.cache_bytes(model, **use, storage=cost.Contiguous())
    assert whole <= paged < whole + 2 * batch * block * numbers
    if block == 1:
        assert paged == whole


@pytest.mark.parametrize("kind", ["mha", "gqa", "mqa"])
@pytest.mark.parametrize("block", [1, 3, 8])
def test_pages_of_a_real_pool(lib, kind, block):
    model, batch = KINDS[kind], 2
    sizes = (40, model.n_kv_heads, model.head_dim)
    pools = [
        lib.BlockPool(*sizes, block_size=block, v_head_dim=model.v_head_dim)
        for _ in range(model.n_layers)
    ]
    caches = [lib.PagedKVCache(pool, batch) for pool in pools]
    use = {"batch": batch, "dtype_bytes": 4}
    for tokens in range(1, 18):
        for cache in caches:
            fill(lib, cache, model, batch, 1)
        held = sum(cache.allocated_bytes for cache in caches)
        assert held == cost.cache_bytes(model, context=tokens, **use, storage=cost.Paged(block))
        used = sum(cache.used_bytes for cache in caches)
        assert used == cost.cache_bytes(model, context=tokens, **use)


@pytest.mark.parametrize("kind", ["mha", "gqa", "mqa"])
@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize(("size", "residual"), [(4, 3), (2, 0), (32, 32), (6, 7)])
@pytest.mark.parametrize(("dtype", "dtype_bytes"), [("float32", 4), ("float64", 8)])
def test_codes_of_a_real_cache(lib, kind, bits, size, residual, dtype, dtype_bytes):
    options = {"bits": bits, "group_size": size, "residual": residual}
    compare_with_real(lib, KINDS[kind], options, dtype, dtype_bytes)


@pytest.mark.parametrize("kind", ["mha", "gqa"])
@pytest.mark.parametrize(("k_bits", "v_bits", "size"), [(2, 4, 4), (3, 2, 8), (8, 3, 16)])
@pytest.mark.parametrize("key_axis", ["channel", "token"])
@pytest.mark.parametrize(("scale_dtype", "dtype"), [("float16", "float64"), ("float32", "float16")])
def test_every_option_of_a_real_cache(
    lib, kind, k_bits, v_bits, size, key_axis, scale_dtype, dtype
):
    options = {"k_bits": k_bits, "v_bits": v_bits, "group_size": size, "residual": 3}
    options |= {"key_axis": key_axis, "scale_dtype": scale_dtype}
    compare_with_real(lib, KINDS[kind], options, dtype, np.dtype(dtype).itemsize)


@pytest.mark.parametrize("kind", ["mha", "gqa"])
@pytest.mark.parametrize("form", ["fp8", "nvfp4"])
@pytest.mark.parametrize("residual", [None, 3])
@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_floats_of_a_real_cache(lib, kind, form, residual, dtype):
    options = {"format": form, "residual": residual}
    compare_with_real(lib, KINDS[kind], options, dtype, np.dtype(dtype).itemsize)


@pytest.mark.parametrize(("form", "dtype_bytes"), [("fp8", 1), ("nvfp4", 0.5625)])
def test_a_format_takes_the_bytes_of_its_numbers(form, dtype_bytes):
    """Of heads that blocks of 16 divide, as those of every listed model with such caches."""
    use = {"batch": 2, "context": 100}
    storage = cost.Quantized(format=form)
    for name in ("llama-3-8b", "gpt2"):
        nominal = cost.cache_bytes(MODELS[name], **use, dtype_bytes=dtype_bytes)
        assert cost.cache_bytes(MODELS[name], **use, storage=storage) == nominal


def compare_with_real(lib, model, options, dtype, dtype_bytes):
    """Allocated and used bytes, token by token, of the rule and of real caches."""
    batch, capacity = 2, 41
    caches = [
        lib.QuantizedKVCache(
            batch, model.n_kv_heads, model.head_dim, capacity, v_head_dim=model.v_head_dim,
            dtype=dtype, **options,
        )
        for _ in range(model.n_layers)
    ]  # fmt: skip
    use = {"batch": batch, "dtype_bytes": dtype_bytes}
    storage = cost.Quantized(**options, allocated=True)
    held = sum(cache.allocated_bytes for cache in caches)
    assert held == cost.cache_bytes(model, context=capacity, **use, storage=storage)
    storage = cost.Quantized(**options)
    for tokens in range(1, capacity + 1):
        for cache in caches:
            fill(lib, cache, model, batch, 1, dtype)
        used = sum(cache.used_bytes for cache in caches)
        assert used == cost.cache_bytes(model, context=tokens, **use, storage=storage), tokens


@pytest.mark.parametrize(("bits", "by_16", "by_32"), [(2, 3, 4), (3, 4, 5), (4, 5, 6), (8, 9, 10)])
@pytest.mark.parametrize("key_axis", ["channel", "token"])
def test_bits_of_a_number_with_its_scales(bits, by_16, by_32, key_axis):
    """Groups of 32 numbers: a scale and a zero each, of 16 or 32 bits; both axes alike."""
    llama = MODELS["llama-3-8b"]
    use = {"batch": 1, "context": 3200}
    numbers = cost.cache_bytes(llama, **use, dtype_bytes=1)
    for scale_dtype, total in (("float16", by_16), ("float32", by_32)):
        storage = cost.Quantized(bits, 32, 0, key_axis=key_axis, scale_dtype=scale_dtype)
        assert 8 * cost.cache_bytes(llama, **use, storage=storage) == total * numbers


def test_four_bits_are_six_with_their_scales():
    """Long texts in groups of 32: 4 bits a code and 2 x 32 bits for each 32 numbers."""
    llama = MODELS["llama-3-8b"]
    use = {"batch": 1, "context": 32 * 10**6}
    codes = cost.cache_bytes(llama, **use, storage=cost.Quantized(4, residual=0))
    assert codes * 16 == 6 * cost.cache_bytes(llama, **use)
    nominal = cost.cache_bytes(llama, **use, dtype_bytes=0.5)
    assert codes == nominal * 3 // 2


BAD = {
    "five bits": (lambda: cost.Quantized(5), "bits must be 8, 4, 3 or 2, got 5"),
    "odd group": (lambda: cost.Quantized(4, group_size=5), "4 bits .* group_size 5 must be even"),
    "both bits": (lambda: cost.Quantized(4, v_bits=2), "got bits = 4 and v_bits = 2"),
    "axis": (lambda: cost.Quantized(key_axis="head"), "key_axis must be one of channel, token"),
    "scales": (lambda: cost.Quantized(scale_dtype="int8"), "scale_dtype must be one of float32"),
    "allocated": (lambda: cost.Quantized(allocated="no"), "allocated must be True or False"),
    "format": (lambda: cost.Quantized(format="int8"), "format must be one of fp8, nvfp4"),
    "format and bits": (
        lambda: cost.Quantized(4, format="fp8"),
        "fp8 has bits, groups and scales of its own: leave out bits = 4",
    ),
    "format and groups": (
        lambda: cost.Quantized(group_size=16, v_bits=4, format="nvfp4"),
        "leave out v_bits = 4 and group_size = 16|leave out group_size = 16 and v_bits = 4",
    ),
    "format and scales": (
        lambda: cost.Quantized(scale_dtype="float16", format="nvfp4"),
        "leave out scale_dtype = 'float16'",
    ),
    "no group": (lambda: cost.Quantized(group_size=0), "group_size must be at least 1"),
    "residual": (lambda: cost.Quantized(residual=-1), "residual must be at least 0"),
    "latent": (
        lambda: cost.cache_bytes(
            MODELS["deepseek-v3"], batch=1, context=1, storage=cost.Quantized()
        ),
        "deepseek-v3 keeps latents",
    ),
    "one byte": (
        lambda: cost.cache_bytes(
            MODELS["gpt2"], batch=1, context=1, dtype_bytes=1, storage=cost.Quantized()
        ),
        "2, 4 or 8 for the residual, got 1",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_storage_is_refused(case):
    call, message = BAD[case]
    with pytest.raises(ConfigError, match=message):
        call()


def test_a_block_holds_a_token_at_least():
    with pytest.raises(ConfigError, match="block_size must be at least 1, got 0"):
        cost.Paged(0)


@pytest.mark.parametrize("kind", ["shared", "shared windows, wide full layers"])
def test_a_decoder_has_a_cache_for_each_keeping_layer(lib, kind):
    model = KINDS[kind]
    caches = lib.Decoder(model.decoder()).new_caches(2, 13)
    assert len(caches) == model.n_layers - model.n_kv_shared_layers
    use = {"batch": 2, "context": 13, "dtype_bytes": 4}
    held = sum(cache.allocated_bytes for cache in caches)
    terms = cost.cache_formula(model, **use)
    assert held == cost.cache_bytes(model, **use)
    assert held == sum(math.prod(factor.value for factor in term) for term in terms)


def test_a_reader_reads_and_writes_nothing():
    """Of 3 layers, the last two read the first: 3 reads of 9 tokens, one row written."""
    model = small("gqa", n_layers=3, n_kv_shared_layers=2)
    row = model.n_kv_heads * (model.head_dim + model.v_head_dim)
    moved = cost.step_bytes(model, kv_len=9, dtype_bytes=1)
    assert (moved["cache read"], moved["cache written"]) == (3 * 9 * row, row)
    alone = dataclasses.replace(model, n_kv_shared_layers=0)
    projected = (cost.matmul_flops(m, q_len=5, kv_len=5)["projections"] for m in (alone, model))
    assert next(projected) - next(projected) == 2 * 5 * model.d_model * 2 * row


def test_models_whose_layers_cannot_share_are_refused():
    for sizes, words in (
        ({"attention": "mla", "n_kv_heads": 6, "kv_lora_rank": 11, "qk_rope_head_dim": 4,
          "n_kv_shared_layers": 1}, "layers share keys and values of heads, got mla"),
        ({"attention": "gqa", "full_head_dim": 6}, "gqa has layers of one kind"),
        ({"attention": "gqa", "n_kv_shared_layers": 3}, "no layer before them sees all keys"),
        ({"attention": "sliding_window", "window": 5, "full_every": 3, "n_kv_shared_layers": 1},
         "no layer before them sees all keys"),
    ):  # fmt: skip
        with pytest.raises(ConfigError, match=words):
            small(sizes.pop("attention"), **sizes)
