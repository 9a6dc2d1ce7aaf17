"""One conformance suite: what every variant with a class must do, in both backends."""

from __future__ import annotations

import dataclasses
import importlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn import cost
from mini_attn.config import AttentionConfig, DecoderConfig
from mini_attn.models import MODELS
from mini_attn.variants import REGISTRY

BUILT = [name for name, entry in REGISTRY.items() if entry.class_name]
# (batch, n_heads, n_kv_heads where it is free, head_dim, v_head_dim, seq)
SIZES = [(1, 1, 1, 1, 1, 1), (2, 6, 3, 5, 3, 7), (3, 4, 2, 8, 8, 13), (1, 12, 4, 4, 4, 16)]
OPTIONS = [{}, {"bias": True, "qk_norm": True, "softcap": 2.0}, {"window": 3}]


def config_of(name, size, **options):
    """A configuration that the variant accepts; its fixed options come from the registry."""
    _, n_heads, n_kv_heads, head_dim, v_head_dim, _ = size
    fixed = dict(REGISTRY[name].options)
    if name == "mha":
        fixed["n_kv_heads"] = n_heads
    sizes = {"n_kv_heads": n_kv_heads, "v_head_dim": v_head_dim} | fixed | options
    return AttentionConfig(d_model=7, n_heads=n_heads, head_dim=head_dim, **sizes)


def layer_of(lib, name, config, seed=11):
    """The variant's layer with weights of size 1, the same in both backends."""
    entry = REGISTRY[name]
    module = importlib.import_module(f"{lib.module.__name__}.{entry.stem}")
    layer = getattr(module, entry.class_name)(config, dtype="float64")
    rng = np.random.default_rng(seed)
    state = {k: rng.standard_normal(tuple(w.shape)) for k, w in layer.state_dict().items()}
    layer.load_state_dict(state)
    return layer


def run(lib, layer, x, **options):
    options = {k: lib.array(v) if isinstance(v, np.ndarray) else v for k, v in options.items()}
    return lib.numpy(layer(lib.array(x), **options))


def poison(lib, cache):
    """NaN in every slot that holds no token yet."""
    for held in (cache._k, cache._v):
        held[:, :, cache.slots :] = float("nan")


every = pytest.mark.parametrize("name", BUILT)
sizes = pytest.mark.parametrize("size", SIZES, ids=str)
options = pytest.mark.parametrize("extra", OPTIONS, ids=lambda o: "-".join(o) or "plain")


def test_the_registry_says_what_is_built(backends):
    missing = {name for name in REGISTRY if name not in BUILT}
    assert missing == {"mla", "sliding_window"}
    assert BUILT
    for name in BUILT:
        entry = REGISTRY[name]
        for lib in backends:
            module = importlib.import_module(f"{lib.module.__name__}.{entry.stem}")
            assert entry.class_name in module.__all__
            assert hasattr(lib.module, entry.class_name)


@every
@sizes
@options
def test_shape_and_backends_agree(backends, rng, name, size, extra):
    config = config_of(name, size, **extra)
    x = rng.standard_normal((size[0], size[5], 7))
    first, second = (run(lib, layer_of(lib, name, config), x) for lib in backends)
    assert first.shape == x.shape
    np.testing.assert_allclose(first, second, atol=1e-11)


@every
@sizes
@options
def test_the_future_does_not_reach_the_past(lib, rng, name, size, extra):
    layer = layer_of(lib, name, config_of(name, size, **extra))
    x = rng.standard_normal((size[0], size[5], 7))
    out = run(lib, layer, x)
    for changed in {size[5] - 1, size[5] // 2}:
        other = x.copy()
        other[:, changed:] += rng.standard_normal(other[:, changed:].shape)
        moved = run(lib, layer, other)
        assert (moved[:, :changed] == out[:, :changed]).all()  # to the last bit
        assert (moved[:, changed] != out[:, changed]).any()


@every
@sizes
@options
def test_one_by_one_equals_the_full_pass(lib, rng, name, size, extra):
    layer = layer_of(lib, name, config_of(name, size, **extra))
    x = rng.standard_normal((size[0], size[5], 7))
    cache = layer.new_cache(size[0], size[5])
    steps = []
    for i in range(size[5]):
        poison(lib, cache)
        steps.append(run(lib, layer, x[:, i : i + 1], cache=cache))
    np.testing.assert_allclose(np.concatenate(steps, axis=1), run(lib, layer, x), atol=1e-11)


@every
@given(chunks=st.lists(st.integers(1, 6), min_size=1, max_size=6), extra=st.sampled_from(OPTIONS))
def test_any_chunks_equal_the_full_pass(lib, name, chunks, extra):
    size = (2, 6, 3, 5, 3, sum(chunks))
    layer = layer_of(lib, name, config_of(name, size, **extra))
    x = np.random.default_rng(len(chunks)).standard_normal((2, size[5], 7))
    cache, start, parts = layer.new_cache(2, size[5] + 3), 0, []
    for chunk in chunks:
        poison(lib, cache)
        parts.append(run(lib, layer, x[:, start : start + chunk], cache=cache))
        start += chunk
    np.testing.assert_allclose(np.concatenate(parts, axis=1), run(lib, layer, x), atol=1e-11)


@every
@sizes
def test_rows_of_a_batch_do_not_meet(lib, rng, name, size):
    layer = layer_of(lib, name, config_of(name, size))
    x = rng.standard_normal((3, size[5], 7))
    together = run(lib, layer, x)
    alone = [run(lib, layer, x[i : i + 1]) for i in range(3)]
    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-11)
    other = x.copy()
    other[1] += 1.0
    moved = run(lib, layer, other)
    assert (moved[[0, 2]] == together[[0, 2]]).all()


@every
@sizes
def test_heads_do_not_meet(lib, rng, name, size):
    """Changing one query head's weights changes that head's share of the output alone."""
    config = config_of(name, size)
    layer = layer_of(lib, name, config)
    x = lib.array(rng.standard_normal((size[0], size[5], 7)))
    q, k, v = layer.project(x, x)
    out = lib.numpy(lib.scaled_dot_product_attention(q, k, v, causal=True))
    changed = lib.numpy(q).copy()
    changed[:, -1] += 1.0
    moved = lib.numpy(lib.scaled_dot_product_attention(lib.array(changed), k, v, causal=True))
    np.testing.assert_allclose(moved[:, :-1], out[:, :-1], atol=1e-12)
    assert size[5] == 1 or (moved[:, -1] != out[:, -1]).any()


@every
@sizes
@options
@pytest.mark.parametrize("cached", [True, False])
def test_left_padding_changes_nothing(lib, rng, name, size, extra, cached):
    layer = layer_of(lib, name, config_of(name, size, **extra))
    seq = size[5]
    x = rng.standard_normal((1, seq, 7))
    expected = run(lib, layer, x)
    padded = np.concatenate([rng.standard_normal((1, 3, 7)), x], axis=1)
    positions = np.concatenate([np.full(3, -1), np.arange(seq)])
    if not cached:
        out = run(lib, layer, padded, positions=positions)
    else:
        cache = layer.new_cache(1, seq + 3)
        half = 3 + seq // 2
        parts = [run(lib, layer, padded[:, :half], cache=cache, positions=positions[:half])]
        for i in range(half, seq + 3):  # positions continue by themselves
            poison(lib, cache)
            parts.append(run(lib, layer, padded[:, i : i + 1], cache=cache))
        out = np.concatenate(parts, axis=1)
        assert lib.numpy(cache.length).tolist() == [seq]
    np.testing.assert_allclose(out[:, 3:], expected, atol=1e-11)
    assert np.isfinite(out).all()


@every
@sizes
@pytest.mark.parametrize(("dtype", "dtype_bytes"), [("float16", 2), ("float32", 4)])
def test_cache_bytes_equal_the_formula(lib, name, size, dtype, dtype_bytes):
    batch, seq = size[0], size[5]
    attention = config_of(name, size)
    model = dataclasses.replace(
        MODELS["gpt2"],
        attention=name,
        n_layers=3,
        d_model=7,
        n_heads=attention.n_heads,
        n_kv_heads=attention.kv_heads,
        head_dim=attention.head_dim,
        v_head_dim=attention.value_dim,
    )
    decoder = lib.Decoder(
        DecoderConfig(5, 3, attention, d_ff=2, max_positions=seq + 2), dtype=dtype
    )
    caches = decoder.new_caches(batch, seq + 2)
    decoder(lib.array(np.zeros((batch, seq), int)), caches=caches)
    for context, total in (
        (seq + 2, sum(cache.allocated_bytes for cache in caches)),
        (seq, sum(cache.used_bytes for cache in caches)),
    ):
        expected = cost.cache_bytes(model, batch=batch, context=context, dtype_bytes=dtype_bytes)
        assert total == expected
    held = sum(a.nbytes for cache in caches for a in cache.view()[:2])
    assert held == sum(cache.used_bytes for cache in caches)


def meets(condition, size):
    """Sizes under which the registry says that two variants are one."""
    batch, n_heads, _, *rest = size
    if condition == "n_kv_heads = n_heads":
        return (batch, n_heads, n_heads, *rest)
    if condition == "n_kv_heads = 1":
        return (batch, n_heads, 1, *rest)
    assert condition == "n_heads = 1"
    return (batch, 1, 1, *rest)


@sizes
@pytest.mark.parametrize(
    ("name", "other", "condition"),
    [(n, other, c) for n in BUILT for other, c in REGISTRY[n].reduces_to if other in BUILT],
)
def test_reductions(lib, rng, name, other, condition, size):
    size = meets(condition, size)
    x = rng.standard_normal((size[0], size[5], 7))
    first, second = (
        run(lib, layer_of(lib, which, config_of(which, size)), x) for which in (name, other)
    )
    assert (first == second).all()
