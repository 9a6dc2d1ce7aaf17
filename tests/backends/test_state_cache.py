"""A cache that holds a state: nothing is half done, no token is taken back, bytes stay."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mini_attn.config import AttentionConfig, DecoderConfig, LinearAttentionConfig
from mini_attn.errors import (
    CacheOverflowError,
    CacheStateError,
    ConfigError,
    DTypeError,
    ShapeError,
)

KINDS = ("lightning", "gated_delta", "kimi_delta", "mamba2")
SHARED = ("gated_delta", "mamba2")


def config_of(kind: str) -> LinearAttentionConfig:
    own = {"n_key_heads": 2} if kind in SHARED else {}
    return LinearAttentionConfig(8, 4, 3, kind, v_head_dim=5, **own)


def hybrid(lib: Any, kind: str = "gated_delta", dtype: str = "float64") -> Any:
    """Three layers with a state around one that sees all."""
    full = AttentionConfig(8, 4, 4, n_kv_heads=2, out_gate=True)
    layers = (config_of(kind), full, config_of(kind))
    sizes: dict[str, Any] = {"d_ff": 12, "mlp": "gated", "norm": "rms_norm", "positions": "none"}
    config = DecoderConfig(31, 3, layers, max_positions=64, activation="silu", **sizes)
    return lib.Decoder(config, seed=2, dtype=dtype)


def tokens_of(lib: Any, count: int, seed: int = 0) -> Any:
    return lib.array(np.random.default_rng(seed).integers(0, 31, (2, count)))


@pytest.mark.parametrize("kind", KINDS)
def test_bytes_do_not_grow_and_a_state_is_float32_at_least(lib: Any, kind: str) -> None:
    for dtype, state_bytes in (("float16", 4), ("float32", 4), ("float64", 8)):
        layer = lib.module.LinearAttention(config_of(kind), dtype=dtype)
        cache = layer.new_cache(2, 4096)
        held = {(cache.allocated_bytes, cache.allocated_bytes)}  # before the first token too
        for _ in range(4):
            layer(lib.array(np.zeros((2, 50, 8), dtype)), cache=cache)
            held.add((cache.allocated_bytes, cache.used_bytes))
        own = layer.config
        number = {"float16": 2, "float32": 4, "float64": 8}[dtype]
        channels = 2 * own.key_width + own.value_width
        tail = (own.conv_kernel - 1) * channels * number
        expected = 2 * (4 * 3 * 5 * state_bytes + tail)
        assert held == {(expected, expected)}
        assert str(cache.view()[0].dtype).endswith(f"float{8 * state_bytes}")


@pytest.mark.parametrize("kind", KINDS)
def test_a_draft_is_taken_back_by_a_snapshot(lib: Any, kind: str) -> None:
    model = hybrid(lib, kind)
    caches, prompt, draft = model.new_caches(2, 40), tokens_of(lib, 9), tokens_of(lib, 3, 1)
    lib.prefill(model, prompt, caches)
    states = [cache for cache in caches if hasattr(cache, "snapshot")]
    kept, full = [cache.snapshot() for cache in states], caches[1]
    expected = lib.numpy(model(draft, caches=[cache.fork() for cache in caches]))
    model(tokens_of(lib, 5, 2), caches=caches)
    for cache, snapshot in zip(states, kept, strict=True):
        cache.restore(snapshot)
    full.crop(9)
    assert {cache.slots for cache in caches} == {9}
    np.testing.assert_array_equal(lib.numpy(model(draft, caches=caches)), expected)


def test_of_a_convolution_that_has_seen_few_tokens_only_they_are_shown(lib: Any) -> None:
    layer = lib.module.LinearAttention(config_of("gated_delta"))
    cache = layer.new_cache(1, 9)
    for seen in (1, 2, 3, 3):
        layer(lib.array(np.ones((1, 1, 8), "float32")), cache=cache)
        assert {array.shape[1] for array in cache.view()[1:-1]} == {seen}
        assert not any(getattr(array, "requires_grad", False) for array in cache.view())


def test_no_token_is_taken_back_by_itself(lib: Any) -> None:
    cache = hybrid(lib).layers[0].self_attn.new_cache(2, 40)
    layer = hybrid(lib).layers[0].self_attn
    layer(lib.array(np.ones((2, 5, 8))), cache=cache)
    cache.crop(5)
    with pytest.raises(CacheStateError, match=r"cropped from 5 slots to 4: .*snapshot\(\)"):
        cache.crop(4)
    with pytest.raises(CacheStateError, match="cannot keep 6 slots: only 5 are filled"):
        cache.crop(6)
    cache.crop(0)
    assert (cache.slots, cache.used_bytes) == (0, 0)
    fresh = layer.new_cache(2, 40)
    x = lib.array(np.ones((2, 3, 8)))
    again, first = (lib.numpy(layer(x, cache=one)) for one in (cache, fresh))
    np.testing.assert_array_equal(again, first)


def test_snapshots_of_others_are_refused(lib: Any) -> None:
    cache = lib.module.StateCache(2, 4, 3)
    with pytest.raises(ConfigError, match="restore takes what snapshot"):
        cache.restore("yesterday")
    with pytest.raises(ConfigError, match="is of a cache of sizes"):
        cache.restore(lib.module.StateCache(1, 4, 3).snapshot())
    assert repr(cache.snapshot()) == "Snapshot(tokens=0)"


def test_rows_are_reordered_with_their_padding(lib: Any) -> None:
    model = hybrid(lib)
    caches, tokens = model.new_caches(2, 40), tokens_of(lib, 6)
    places = lib.array(np.stack([np.arange(6), np.arange(6) - 2]).clip(min=-1))
    model(tokens, caches=caches, positions=places)
    swapped = [cache.fork() for cache in caches]
    for cache in swapped:
        cache.reorder(lib.array(np.array([1, 0])))
    assert lib.numpy(swapped[0].length).tolist() == [4, 6]
    after = tokens_of(lib, 2, 3)
    turned = lib.array(lib.numpy(after)[::-1].copy())
    expected = lib.numpy(model(after, caches=caches))
    np.testing.assert_allclose(lib.numpy(model(turned, caches=swapped))[::-1], expected, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_padding_anywhere_leaves_the_state_as_it_was(lib: Any, kind: str) -> None:
    """Behind tokens too, where rows of a batch end at different places."""
    layer, rng = (
        lib.module.LinearAttention(config_of(kind), dtype="float64"),
        np.random.default_rng(1),
    )
    x = rng.standard_normal((1, 7, 8))
    places = np.array([0, 1, -1, -1, 2, -1, 3])
    cache, alone = layer.new_cache(1, 20), layer.new_cache(1, 20)
    parts = [
        lib.numpy(layer(lib.array(x[:, a:b]), cache=cache, positions=lib.array(places[a:b])))
        for a, b in ((0, 3), (3, 4), (4, 7))
    ]
    expected = lib.numpy(layer(lib.array(x[:, places >= 0]), cache=alone))
    out = np.concatenate(parts, axis=1)
    np.testing.assert_allclose(out[:, places >= 0], expected, atol=1e-12)
    assert (out[:, places < 0] == 0).all()
    for ours, theirs in zip(cache.view(), alone.view(), strict=True):
        np.testing.assert_allclose(lib.numpy(ours), lib.numpy(theirs), atol=1e-12)


def test_what_does_not_fit_changes_nothing(lib: Any) -> None:
    cache = lib.module.StateCache(2, 4, 3, conv_kernel=2, capacity=3)
    state, tail = (lib.array(np.ones(s, "float32")) for s in ((2, 4, 3, 3), (2, 1, 36)))
    cache.append(state, tail, new=2)
    with pytest.raises(CacheOverflowError, match="2 new tokens do not fit: 2 of 3 slots"):
        cache.append(state, tail, new=2)
    with pytest.raises(ShapeError, match="tail must be"):
        cache.append(state, state)
    with pytest.raises(DTypeError, match="holds state in"):
        cache.append(lib.array(np.ones((2, 4, 3, 3))), tail)
    with pytest.raises(ConfigError, match="positions must be -1"):
        cache.append(state, tail, positions=lib.array(np.array([0])))
    assert cache.slots == 2


def test_caches_of_other_layers_are_refused(lib: Any) -> None:
    model = hybrid(lib)
    caches = model.new_caches(2, 8)
    with pytest.raises(ShapeError, match="the cache has n_heads = none"):
        model.layers[0].self_attn(lib.array(np.ones((2, 1, 8))), cache=caches[1])
    with pytest.raises(ShapeError, match="n_kv_heads"):
        model.layers[1].self_attn(lib.array(np.ones((2, 1, 8))), cache=caches[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "linear"}, "kind must be one of lightning, gated_delta"),
        ({"n_key_heads": 3}, "n_key_heads = 3 must divide n_heads = 4"),
        ({"kind": "kimi_delta", "n_key_heads": 2}, "each head has a query and key of its own"),
        ({"kind": "lightning", "conv_kernel": 4}, "conv_kernel has no meaning in lightning"),
        ({"decay": (0.1,) * 4}, "decay has no meaning in gated_delta"),
        ({"kind": "lightning", "decay": (0.1,)}, "a number of 0 or more for each of 4 heads"),
        ({"kind": "mamba2", "negative_eigenvalues": True}, "no meaning in mamba2"),
        ({"conv_kernel": 1, "conv_bias": True}, "conv_bias has no meaning"),
        ({"gate_rank": 2}, "gate_rank has no meaning in gated_delta"),
        ({"norm_over": "row"}, "norm_over must be one of head, group, width"),
    ],
)
def test_options_without_a_meaning_are_refused(options: dict[str, Any], words: str) -> None:
    base = LinearAttentionConfig(8, 4, 3, "gated_delta")
    sizes = {"d_model": 8, "n_heads": 4, "head_dim": 3, "kind": base.kind}
    with pytest.raises(ConfigError, match=words):
        LinearAttentionConfig(**sizes | options)
    assert replace(base, eps=1e-5).eps == 1e-5


def test_a_gate_opens_each_number_that_heads_have_gathered(lib: Any) -> None:
    config = AttentionConfig(8, 4, 3, n_kv_heads=2, v_head_dim=5, out_gate=True, bias=True)
    layer = lib.module.GroupedQueryAttention(config, dtype="float64")
    plain = lib.module.GroupedQueryAttention(replace(config, out_gate=False), dtype="float64")
    x = np.random.default_rng(0).standard_normal((2, 6, 8))
    state = {name: np.array(lib.numpy(w)) for name, w in layer.state_dict().items()}
    half = {name: w for name, w in state.items() if not name.startswith("gate_proj")}
    plain.load_state_dict(half | {"o_proj.weight": np.eye(8, 20), "o_proj.bias": np.zeros(8)})
    gathered = np.asarray(lib.numpy(plain(lib.array(x))))  # of the first 8 numbers
    gates = x @ state["gate_proj.weight"].T + state["gate_proj.bias"]
    opened = gathered / (1 + np.exp(-gates[..., :8]))
    layer.load_state_dict(state | {"o_proj.weight": np.eye(8, 20), "o_proj.bias": np.zeros(8)})
    np.testing.assert_allclose(lib.numpy(layer(lib.array(x))), opened, atol=1e-12)
