"""Pooled and pruned layers against the layers that they were made from."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mini_attn.config import AttentionConfig, RopeConfig
from mini_attn.errors import ConfigError, DTypeError, ShapeError

BASE = AttentionConfig(
    d_model=7, n_heads=6, head_dim=4, n_kv_heads=6, v_head_dim=3, bias=True, qk_norm=True,
    rope=RopeConfig("half"),
)  # fmt: skip


def layer_of(lib, config, state=None):
    layer = lib.GroupedQueryAttention(config, dtype="float64")
    if state is None:
        rng = np.random.default_rng(3)
        state = {k: rng.standard_normal(tuple(w.shape)) for k, w in layer.state_dict().items()}
    layer.load_state_dict(state)
    return layer


def grouped(n_kv_heads):
    return AttentionConfig(
        d_model=7, n_heads=6, head_dim=4, n_kv_heads=n_kv_heads, v_head_dim=3, bias=True
    )


@pytest.mark.parametrize("n_kv_heads", [1, 2, 3, 6])
def test_pooling_equal_heads_changes_nothing(lib, rng, n_kv_heads):
    """A grouped layer spelled out as multi-head pools back to itself."""
    small = layer_of(lib, grouped(n_kv_heads))
    spelled = {key: np.array(lib.numpy(w)) for key, w in small.state_dict().items()}
    for key, width in (("k_proj", 4), ("v_proj", 3)):
        for kind in ("weight", "bias"):
            heads = spelled[f"{key}.{kind}"].reshape(n_kv_heads, width, -1)
            wide = np.repeat(heads, 6 // n_kv_heads, axis=0)
            spelled[f"{key}.{kind}"] = wide.reshape(6 * width, -1).squeeze(
                axis=() if kind == "weight" else 1
            )
    big = layer_of(lib, grouped(6), spelled)
    x = lib.array(rng.standard_normal((2, 5, 7)))
    expected = lib.numpy(small(x))
    np.testing.assert_allclose(lib.numpy(big(x)), expected, atol=1e-12)
    state, config = lib.pool_kv_heads(big.state_dict(), grouped(6), n_kv_heads)
    assert config.n_kv_heads == n_kv_heads
    again = layer_of(lib, config, state)
    np.testing.assert_allclose(lib.numpy(again(x)), expected, atol=1e-12)


def test_pooling_takes_means_of_neighbours(lib):
    layer = layer_of(lib, grouped(6))
    before = {key: lib.numpy(w) for key, w in layer.state_dict().items()}
    state, _ = lib.pool_kv_heads(layer.state_dict(), grouped(6), 2)
    for key, width in (("k_proj", 4), ("v_proj", 3)):
        for kind in ("weight", "bias"):
            heads = before[f"{key}.{kind}"].reshape(6, width, -1)
            pooled = lib.numpy(state[f"{key}.{kind}"]).reshape(2, width, -1)
            np.testing.assert_allclose(pooled[0], (heads[0] + heads[1] + heads[2]) / 3)
            np.testing.assert_allclose(pooled[1], (heads[3] + heads[4] + heads[5]) / 3)
    assert (lib.numpy(state["q_proj.weight"]) == before["q_proj.weight"]).all()


def silenced(lib, config, layer, heads):
    """The layer with the heads' columns of the output projection at zero."""
    state = {key: np.array(lib.numpy(w)) for key, w in layer.state_dict().items()}
    columns = state["o_proj.weight"].reshape(7, config.n_heads, config.v_head_dim)
    columns[:, list(heads)] = 0
    return layer_of(lib, config, state)


@pytest.mark.parametrize(
    ("config", "heads", "left"),
    [
        (BASE, [0], (5, 5)),
        (BASE, [5, 1, 2], (3, 3)),
        (grouped(2), [0, 4], (4, 2)),
        (grouped(2), [0, 1, 2], (3, 1)),
        (grouped(3), [2, 3], (4, 2)),
        (grouped(1), [3, 4], (4, 1)),
        (BASE, [], (6, 6)),
        (dataclasses.replace(BASE, sinks=True), [2, 3], (4, 4)),
    ],
)
def test_pruned_heads_are_silent_heads(lib, rng, config, heads, left):
    layer = layer_of(lib, config)
    x = lib.array(rng.standard_normal((2, 5, 7)))
    state, smaller = lib.prune_heads(layer.state_dict(), config, heads)
    assert (smaller.n_heads, smaller.n_kv_heads) == left
    found = lib.numpy(layer_of(lib, smaller, state)(x))
    np.testing.assert_allclose(found, lib.numpy(silenced(lib, config, layer, heads)(x)), atol=1e-12)


def test_backends_agree(backends):
    for name, more in (("pool_kv_heads", (2,)), ("prune_heads", ([1, 4],))):
        answers = []
        for lib in backends:
            state, config = getattr(lib, name)(layer_of(lib, BASE).state_dict(), BASE, *more)
            answers.append(({k: lib.numpy(w) for k, w in state.items()}, config))
        assert answers[0][1] == answers[1][1]
        assert answers[0][0].keys() == answers[1][0].keys()
        for key, weight in answers[0][0].items():
            np.testing.assert_allclose(weight, answers[1][0][key])


@pytest.mark.parametrize(
    ("heads", "words"),
    [
        ([6], "0 … 5"),
        ([1, 1], "different"),
        ([-1], "at least 0"),
        (range(6), "at least one must stay"),
        ([0], r"left would be \[2, 3\]"),
    ],
)
def test_pruning_refuses(lib, heads, words):
    config = grouped(2)
    with pytest.raises(ConfigError, match=words):
        lib.prune_heads(layer_of(lib, config).state_dict(), config, heads)


def test_more_refusals(lib):
    state = dict(layer_of(lib, BASE).state_dict())
    with pytest.raises(ConfigError, match="must divide"):
        lib.pool_kv_heads(state, BASE, 4)
    with pytest.raises(ShapeError, match=r"k_proj\.weight must have 16 rows"):
        lib.pool_kv_heads(state, AttentionConfig(7, 4, 4, v_head_dim=3), 2)
    sloped = AttentionConfig(7, 6, 4, alibi=True)
    with pytest.raises(ConfigError, match="ALiBi"):
        lib.prune_heads(state, sloped, [1])
    as_one = AttentionConfig(7, 6, 4, qk_norm=True, qk_norm_over="width")
    with pytest.raises(ConfigError, match="normalizes all heads together"):
        lib.prune_heads(state, as_one, [1])
    with pytest.raises(ConfigError, match="normalizes all heads together"):
        lib.pool_kv_heads(state, as_one, 3)
    del state["v_proj.weight"]
    with pytest.raises(ConfigError, match=r"no v_proj\.weight"):
        lib.pool_kv_heads(state, BASE, 2)
    wrong = dict(layer_of(lib, BASE).state_dict())
    wrong["o_proj.weight"] = wrong["o_proj.weight"][:, :5]
    with pytest.raises(ShapeError, match="columns"):
        lib.prune_heads(wrong, BASE, [1])


def test_what_is_no_state_of_a_layer(lib):
    config = AttentionConfig(8, 4, 2)
    state = lib.MultiHeadAttention(config).state_dict()
    calls = (lambda s, c: lib.pool_kv_heads(s, c, 2), lambda s, c: lib.prune_heads(s, c, [0]))
    for call in calls:
        for other in (None, "state", [1], 3):
            with pytest.raises(DTypeError, match="state must map names to arrays, got"):
                call(other, config)
            with pytest.raises(ConfigError, match="config must be an AttentionConfig, got"):
                call(state, other)
        for weight in (None, "w", [[1.0]]):
            with pytest.raises(DTypeError, match=r"k_proj\.weight must be a .*, got"):
                call({**state, "k_proj.weight": weight}, config)
        with pytest.raises(DTypeError, match=r"k_proj\.weight must be floating point, got .*int"):
            call({**state, "k_proj.weight": lib.array(np.ones((8, 8), int))}, config)
        with pytest.raises(ShapeError, match=r"k_proj\.weight must have 8 rows, got shape \(\)"):
            call({**state, "k_proj.weight": lib.array(np.array(1.0))}, config)
    rest = {name: weight for name, weight in state.items() if name != "o_proj.weight"}
    with pytest.raises(ConfigError, match=r"has no o_proj\.weight"):
        lib.prune_heads(rest, config, [0])
    for shape, words in (((8,), "8 columns"), ((3, 8), "8 rows"), ((8, 7), "8 columns")):
        with pytest.raises(ShapeError, match=rf"o_proj\.weight must have {words}, got shape"):
            lib.prune_heads({**rest, "o_proj.weight": lib.array(np.ones(shape))}, config, [0])
    for heads in (0, None, "01", 1.5):
        with pytest.raises(ConfigError, match="heads must be a sequence of whole numbers, got"):
            lib.prune_heads(state, config, heads)
