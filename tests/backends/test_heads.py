"""Attention layers: heads cut and joined, options, cross-attention."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.config import AttentionConfig
from mini_attn.errors import (
    CacheOverflowError,
    ConfigError,
    DTypeError,
    MiniAttnError,
    ShapeError,
)

CONFIG = AttentionConfig(
    d_model=6, n_heads=4, head_dim=3, n_kv_heads=2, v_head_dim=5, bias=True, qk_norm=True
)


def layer_of(lib, config=CONFIG, name="GroupedQueryAttention", seed=3):
    """A layer whose biases and norms are not the trivial ones."""
    layer = getattr(lib, name)(config, seed=seed, dtype="float64")
    rng = np.random.default_rng(seed)
    state = {
        key: rng.standard_normal(tuple(weight.shape)) for key, weight in layer.state_dict().items()
    }
    layer.load_state_dict(state)
    return layer, state


@given(
    batch=st.integers(1, 3), seq=st.integers(1, 5), heads=st.integers(1, 4), dim=st.integers(1, 4)
)
def test_merge_undoes_split(lib, batch, seq, heads, dim):
    x = np.arange(batch * seq * heads * dim, dtype=float).reshape(batch, seq, heads * dim)
    split = lib.split_heads(lib.array(x), heads)
    assert tuple(split.shape) == (batch, heads, seq, dim)
    assert (lib.numpy(split)[:, -1] == x[..., (heads - 1) * dim :]).all()
    assert (lib.numpy(lib.merge_heads(split)) == x).all()


@pytest.mark.parametrize("window", [1, 3])
def test_a_window_over_a_cache_that_forgets_nothing(lib, rng, window):
    """The layer itself keeps to its window, whatever its cache still holds."""
    layer, _ = layer_of(lib, AttentionConfig(6, 4, 3, n_kv_heads=2, window=window))
    x, cache = rng.standard_normal((2, 7, 6)), lib.KVCache(2, 2, 3, capacity=7, dtype="float64")
    steps = [lib.numpy(layer(lib.array(x[:, i : i + 1]), cache=cache)) for i in range(7)]
    np.testing.assert_allclose(
        np.concatenate(steps, axis=1), lib.numpy(layer(lib.array(x))), atol=1e-12
    )


def test_the_layer_is_a_sum_over_heads(lib, rng):
    """The output equals the sum of what each head alone sends through its rows of o_proj."""
    config = AttentionConfig(d_model=6, n_heads=2, head_dim=3, n_kv_heads=1)
    layer, state = layer_of(lib, config)
    x = rng.standard_normal((1, 4, 6))
    total = np.zeros((1, 4, 6))
    for head in range(2):
        rows = slice(3 * head, 3 * head + 3)
        scores = (x[0] @ state["q_proj.weight"][rows].T) @ (x[0] @ state["k_proj.weight"].T).T
        scores = np.where(np.tri(4, dtype=bool), scores / np.sqrt(3), -np.inf)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        values = x[0] @ state["v_proj.weight"].T
        total[0] += weights @ values @ state["o_proj.weight"][:, rows].T
    np.testing.assert_allclose(lib.numpy(layer(lib.array(x))), total, atol=1e-12)


def test_qk_norm_makes_the_scores_blind_to_the_length_of_keys(lib, rng):
    layer, state = layer_of(lib, AttentionConfig(d_model=6, n_heads=2, head_dim=3, qk_norm=True))
    x = lib.array(rng.standard_normal((1, 4, 6)))
    before = lib.numpy(layer(x)).copy()
    state = dict(state)
    state["k_proj.weight"] = 1e3 * state["k_proj.weight"]
    layer.load_state_dict(state)
    np.testing.assert_allclose(lib.numpy(layer(x)), before, atol=1e-5)


def test_cross_attention_sees_all_of_the_context(lib, rng):
    layer, _ = layer_of(lib)
    x, context = (lib.array(rng.standard_normal((2, n, 6))) for n in (3, 5))
    out = lib.numpy(layer(x, context=context))
    changed = lib.numpy(context).copy()
    changed[:, -1] += 1.0
    assert (
        np.abs(lib.numpy(layer(x, context=lib.array(changed))) - out).max(axis=(0, 2)) > 1e-9
    ).all()
    mask = lib.array(np.arange(5) < 4)[None]
    hidden = lib.numpy(layer(x, context=context, mask=mask))
    changed_hidden = lib.numpy(layer(x, context=lib.array(changed), mask=mask))
    assert (hidden == changed_hidden).all()
    one_by_one = [lib.numpy(layer(x[:, i : i + 1], context=context)) for i in range(3)]
    np.testing.assert_allclose(np.concatenate(one_by_one, axis=1), out, atol=1e-12)


def test_without_causal_every_token_sees_every_other(lib, rng):
    layer, _ = layer_of(lib)
    x = rng.standard_normal((1, 4, 6))
    out = lib.numpy(layer(lib.array(x), causal=False))
    turned = lib.numpy(layer(lib.array(x[:, ::-1]), causal=False))
    np.testing.assert_allclose(turned[:, ::-1], out, atol=1e-12)


def test_window_and_softcap_reach_the_scores(lib, rng):
    x = rng.standard_normal((1, 6, 6))
    plain, state = layer_of(lib, AttentionConfig(6, 2, 3))
    for option in ({"window": 2}, {"softcap": 0.5}, {"scale": 0.1}):
        layer = lib.MultiHeadAttention(AttentionConfig(6, 2, 3, **option), dtype="float64")
        layer.load_state_dict(state)
        assert np.abs(lib.numpy(layer(lib.array(x))) - lib.numpy(plain(lib.array(x)))).max() > 1e-3
    layer = lib.MultiHeadAttention(AttentionConfig(6, 2, 3, window=2), dtype="float64")
    moved = x.copy()
    moved[:, 0] += 1
    difference = lib.numpy(layer(lib.array(moved))) - lib.numpy(layer(lib.array(x)))
    assert (difference[:, 2:] == 0).all()
    assert (difference[:, 1] != 0).any()


def test_refusals_leave_the_cache_as_it_was(lib, rng):
    layer, _ = layer_of(lib)
    cache = layer.new_cache(2, 4)
    x = lib.array(rng.standard_normal((2, 3, 6)))
    layer(x, cache=cache)
    before = [lib.numpy(a).copy() for a in cache.view()]
    bad_mask = lib.array(np.ones((3, 2), bool))
    calls = {
        "mask must fit": (ShapeError, {"x": x[:, :1], "mask": bad_mask}),
        "boolean": (DTypeError, {"x": x[:, :1], "mask": lib.array(np.zeros((1, 4)))}),
        "do not fit: 3 of 4": (CacheOverflowError, {"x": x}),
        "6": (ShapeError, {"x": lib.array(np.zeros((2, 1, 5)))}),
        "float32": (DTypeError, {"x": lib.array(np.zeros((2, 1, 6)), "float32")}),
        "x should have 3 axes": (ShapeError, {"x": lib.array(np.zeros((2, 6)))}),
        "context excludes": (ConfigError, {"x": x[:, :1], "context": x}),
        "grow": (ConfigError, {"x": x[:, :1], "positions": lib.array([2])}),
        "the cache has batch = 2": (ShapeError, {"x": x[:1, :1]}),
    }
    for words, (error, arguments) in calls.items():
        with pytest.raises(error, match=words):
            layer(**arguments, cache=cache)
        assert cache.slots == 3
        for old, new in zip(before, cache.view(), strict=True):
            assert (old == lib.numpy(new)).all()


def test_constructors_refuse_what_they_are_not(lib):
    config = AttentionConfig(8, 4, 2, n_kv_heads=2)
    with pytest.raises(ConfigError, match="n_kv_heads = n_heads = 4, got 2"):
        lib.MultiHeadAttention(config)
    with pytest.raises(ConfigError, match="n_kv_heads = 1, got 2"):
        lib.MultiQueryAttention(config)
    with pytest.raises(ConfigError, match="AttentionConfig"):
        lib.GroupedQueryAttention({"d_model": 8})
    with pytest.raises(DTypeError, match="float8"):
        lib.GroupedQueryAttention(config, dtype="float8")
    with pytest.raises(ConfigError, match="seed"):
        lib.GroupedQueryAttention(config, seed=-1)
    with pytest.raises(ShapeError, match="no multiple of n_heads = 3"):
        lib.split_heads(lib.array(np.zeros((1, 1, 4))), 3)
    with pytest.raises(ConfigError, match="n_heads"):
        lib.split_heads(lib.array(np.zeros((1, 1, 4))), 0)
    with pytest.raises(ShapeError, match="4 axes"):
        lib.merge_heads(lib.array(np.zeros((1, 1, 4))))
    windowed = lib.GroupedQueryAttention(AttentionConfig(8, 4, 2, window=3), dtype="float64")
    x = lib.array(np.zeros((1, 2, 8)))
    with pytest.raises(ConfigError, match="window needs causal"):
        windowed(x, causal=False)
    with pytest.raises(ConfigError, match="context excludes"):
        windowed(x, context=x, positions=lib.array([0, 1]))


def test_loading_weights_is_all_or_nothing(lib):
    layer, state = layer_of(lib)
    before = {name: lib.numpy(w).copy() for name, w in layer.state_dict().items()}
    changed = {name: weight + 1 for name, weight in state.items()}
    broken = {
        "missing": {name: w for name, w in changed.items() if name != "o_proj.bias"},
        "unknown": changed | {"extra": np.zeros(1)},
        "k_proj.weight must have shape": changed | {"k_proj.weight": np.zeros((6, 5))},
        "floating point": changed | {"o_proj.bias": np.zeros(6, int)},
    }
    for words, weights in broken.items():
        with pytest.raises(MiniAttnError, match=words):
            layer.load_state_dict(weights)
        for name, weight in layer.state_dict().items():
            assert (lib.numpy(weight) == before[name]).all()


@pytest.mark.parametrize("window", [None, 8])
def test_a_ring_smaller_than_the_layers_window_is_refused(lib, rng, window):
    config = AttentionConfig(d_model=6, n_heads=2, head_dim=3, window=window)
    layer = lib.GroupedQueryAttention(config, dtype="float64")
    x = lib.array(rng.standard_normal((1, 5, 6)))
    ring = lib.SlidingWindowCache(1, 2, 3, 20, window=4, dtype="float64")
    with pytest.raises(ConfigError, match=f"keeps 4 keys, the layer sees {window or 'all'}"):
        layer(x, cache=ring)
    assert ring.slots == 0
