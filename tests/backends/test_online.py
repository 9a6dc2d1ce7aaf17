"""Attention tile by tile: equal to the plain one for every size of tile, mask and position."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.errors import ConfigError, DTypeError, ShapeError

OPTIONS = [
    {},
    {"causal": True},
    {"causal": True, "window": 3},
    {"softcap": 1.5, "scale": 0.7},
    {"causal": True, "window": 1, "softcap": 2.0},
    {"causal": True, "window": 2, "sink_tokens": 3},
]


def inputs(rng, q_len, kv_len, *, batch=2, n_heads=4, n_kv_heads=2, dim=5, v_dim=3):
    return (
        rng.standard_normal((batch, n_heads, q_len, dim)) * 3,
        rng.standard_normal((batch, n_kv_heads, kv_len, dim)),
        rng.standard_normal((batch, n_kv_heads, kv_len, v_dim)),
    )


def both(lib, arrays, blocks=(64, 64), **options):
    """Plain and tiled (out, lse)."""
    options = {k: lib.array(o) if isinstance(o, np.ndarray) else o for k, o in options.items()}
    q, k, v = (lib.array(a) for a in arrays)
    plain = lib.scaled_dot_product_attention(q, k, v, return_lse=True, **options)
    tiled = lib.online_attention(q, k, v, block_q=blocks[0], block_k=blocks[1], **options)
    return [lib.numpy(a) for a in plain], [lib.numpy(a) for a in tiled]


def agree(first, second, atol=1e-12):
    for one, other in zip(first, second, strict=True):
        np.testing.assert_allclose(one, other, atol=atol)


@given(
    lengths=st.tuples(st.integers(1, 13), st.integers(1, 13)),
    blocks=st.tuples(st.integers(1, 15), st.integers(1, 15)),
    options=st.sampled_from(OPTIONS),
)
def test_every_tile_gives_the_plain_answer(lib, lengths, blocks, options):
    q_len, kv_len = min(lengths), max(lengths)
    arrays = inputs(np.random.default_rng(q_len * 31 + kv_len), q_len, kv_len)
    agree(*both(lib, arrays, blocks, **options))


@pytest.mark.parametrize("window", [None, 1, 2, 3])
@pytest.mark.parametrize("q_len", [1, 2, 5])
def test_the_edges_of_small_tiles(lib, rng, q_len, window):
    """A tile of one key is read if and only if that key is seen."""
    arrays = inputs(rng, q_len, 6)
    for blocks in ((1, 1), (1, 2), (2, 1), (2, 3), (3, 2)):
        agree(*both(lib, arrays, blocks, causal=True, window=window))


@given(
    seed=st.integers(0, 50), blocks=st.tuples(st.integers(1, 9), st.integers(1, 9)),
    causal=st.booleans(),
)  # fmt: skip
def test_masks_biases_and_positions_in_any_order(lib, seed, blocks, causal):
    rng = np.random.default_rng(seed)
    arrays = inputs(rng, 6, 8)
    kv_positions = np.stack([rng.permutation(np.r_[-1, -1, 0:6]) for _ in range(2)])
    agree(
        *both(
            lib, arrays, blocks, causal=causal, window=4 if causal else None,
            mask=rng.random((2, 1, 6, 8)) < 0.7, bias=rng.standard_normal((4, 6, 8))[None],
            q_positions=np.arange(6), kv_positions=kv_positions,
        )
    )  # fmt: skip


def test_masks_that_do_not_vary_over_an_axis(lib, rng):
    arrays = inputs(rng, 5, 7)
    for shape in ((5, 7), (2, 5, 7), (1, 4, 5, 7), (2, 1, 1, 7), (1, 1, 5, 1)):
        mask = rng.random(shape) < 0.6
        agree(*both(lib, arrays, (2, 3), mask=mask))


def test_rows_that_see_nothing(lib, rng):
    """Also where whole tiles are empty before the first key is seen."""
    arrays = inputs(rng, 3, 9)
    mask = np.ones((3, 9), bool)
    mask[0], mask[1, :7] = False, False
    plain, tiled = both(lib, arrays, (3, 3), mask=mask)
    agree(plain, tiled)
    assert (tiled[0][:, :, 0] == 0).all()
    assert np.isneginf(tiled[1][:, :, 0]).all()
    assert np.isfinite(tiled[0]).all()


def test_no_keys_and_no_queries(lib, rng):
    q, k, v = (lib.array(a) for a in inputs(rng, 3, 4))
    out, lse = (lib.numpy(a) for a in lib.online_attention(q, k[:, :, :0], v[:, :, :0]))
    assert (out == 0).all()
    assert np.isneginf(lse).all()
    out, lse = (lib.numpy(a) for a in lib.online_attention(q[:, :, :0], k, v))
    assert out.shape == (2, 4, 0, 3)
    assert lse.shape == (2, 4, 0)


def test_scores_far_apart_do_not_overflow(lib):
    q, k, v = np.full((1, 1, 1, 1), 1e3), np.array([-900.0, 0.0, 900.0]).reshape(1, 1, 3, 1), None
    v = np.array([1.0, 2.0, 3.0]).reshape(1, 1, 3, 1)
    for flip in (False, True):
        keys, values = (a[:, :, ::-1].copy() if flip else a for a in (k, v))
        out, lse = lib.online_attention(*(lib.array(a) for a in (q, keys, values)), block_k=1)
        assert lib.numpy(out).item() == 3.0
        assert lib.numpy(lse).item() == 900000.0


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_sums_are_wide_whatever_the_type(lib, rng, dtype):
    arrays = [a.astype(dtype) for a in inputs(rng, 70, 90)]
    plain, tiled = both(lib, arrays, (16, 16), causal=True)
    assert tiled[0].dtype == dtype
    assert tiled[1].dtype == np.float32
    agree(plain, tiled, atol={"float16": 2e-3, "float32": 3e-6}[dtype])


def test_tiles_that_nobody_sees_are_not_read(lib, rng):
    q, k, v = (lib.array(a) for a in inputs(rng, 12, 12))
    expected, _ = lib.online_attention(q, k, v, causal=True, window=4, block_q=4, block_k=4)
    last = q[:, :, 8:]
    for array in (k, v):
        array[:, :, :4] = float("nan")
    out, _ = lib.online_attention(last, k, v, causal=True, window=4, block_q=4, block_k=4)
    np.testing.assert_allclose(lib.numpy(out), lib.numpy(expected)[:, :, 8:], atol=1e-12)


def test_tiles_between_first_tokens_and_the_window_are_not_read(lib, rng):
    q, k, v = (lib.array(a) for a in inputs(rng, 4, 16))
    rule = {"causal": True, "window": 4, "sink_tokens": 3, "block_q": 4, "block_k": 4}
    expected = [lib.numpy(a) for a in lib.online_attention(q, k, v, **rule)]
    for array in (k, v):
        array[:, :, 4:8] = float("nan")
    agree([lib.numpy(a) for a in lib.online_attention(q, k, v, **rule)], expected)


@pytest.mark.parametrize("window", [None, 1, 2, 4])
@pytest.mark.parametrize("sinks", [0, 1, 3])
def test_numbers_alone_say_all_that_they_can_of_a_tile(lib, window, sinks):
    """False if and only if nothing of a tile is visible, True if all of it is."""
    kind = import_module(f"mini_attn.{lib.name}.attention._visibility").Visibility
    where = () if lib.name == "numpy" else (lib.array([0.0]).device,)
    sinks = 0 if window is None else sinks
    for q_len in (1, 3, 7):
        seen = kind(q_len, 7, *where, causal=True, window=window, sink_tokens=sinks)
        mask = lib.numpy(lib.causal_mask(q_len, 7, window, sinks))
        for i, j, m, n in np.ndindex(q_len, 7, q_len, 7):
            if m < i or n < j:
                continue
            tile = mask[i : m + 1, j : n + 1]
            expected = bool(tile.all()) if tile.all() or not tile.any() else None
            assert seen._known(slice(i, m + 1), slice(j, n + 1)) is expected


def test_tiles_of_empty_slots_are_not_read(lib, rng):
    """Known by their positions alone, wherever in the cache they lie."""
    q, k, v = (lib.array(a) for a in inputs(rng, 2, 12))
    places = np.r_[4:8, [-1] * 4, 0:4]
    options = {"causal": True, "q_positions": np.array([6, 7]), "kv_positions": places}
    options = {name: lib.array(o) if name != "causal" else o for name, o in options.items()}
    expected, sums = lib.online_attention(q, k, v, block_k=4, **options)
    for array in (k, v):
        array[:, :, 4:8] = float("nan")
    found = lib.online_attention(q, k, v, block_k=4, **options)
    agree([lib.numpy(a) for a in found], [lib.numpy(expected), lib.numpy(sums)])


def test_no_keys_at_given_positions(lib, rng):
    q, k, v = (lib.array(a) for a in inputs(rng, 2, 3))
    nowhere = lib.array(np.zeros(0, np.int64))
    for attention in (lib.online_attention, lib.scaled_dot_product_attention):
        out = attention(q, k[:, :, :0], v[:, :, :0], kv_positions=nowhere)
        out = lib.numpy(out[0] if isinstance(out, tuple) else out)
        assert out.shape == (2, 4, 2, 3)
        assert (out == 0).all()


@given(seed=st.integers(0, 30), cut=st.integers(0, 9))
def test_parts_merge_to_the_whole(lib, seed, cut):
    rng = np.random.default_rng(seed)
    q, k, v = (lib.array(a) for a in inputs(rng, 4, 9))
    mask = lib.array(rng.random((4, 9)) < 0.5)
    whole = lib.online_attention(q, k, v, mask=mask)
    parts = [
        lib.online_attention(q, k[:, :, part], v[:, :, part], mask=mask[:, part])
        for part in (slice(0, cut), slice(cut, 9))
    ]
    merged = lib.merge_attention(*parts[0], *parts[1])
    swapped = lib.merge_attention(*parts[1], *parts[0])
    agree([lib.numpy(a) for a in merged], [lib.numpy(a) for a in whole])
    agree([lib.numpy(a) for a in swapped], [lib.numpy(a) for a in whole])


def test_merging_is_associative(lib, rng):
    parts = [
        lib.online_attention(*(lib.array(a) for a in (q, k, v)))
        for q in [inputs(rng, 3, 1)[0]]
        for _, k, v in (inputs(rng, 3, 5) for _ in range(3))
    ]
    left = lib.merge_attention(*lib.merge_attention(*parts[0], *parts[1]), *parts[2])
    right = lib.merge_attention(*parts[0], *lib.merge_attention(*parts[1], *parts[2]))
    agree([lib.numpy(a) for a in left], [lib.numpy(a) for a in right])


def test_backends_agree(backends, rng):
    arrays = inputs(rng, 9, 9)
    answers = [
        [lib.numpy(a) for a in lib.online_attention(
            *(lib.array(a) for a in arrays), causal=True, window=5, block_q=4, block_k=2)]
        for lib in backends
    ]  # fmt: skip
    agree(*answers)


@pytest.mark.parametrize(
    ("error", "options"),
    [
        (ConfigError, {"block_q": 0}),
        (ConfigError, {"block_k": 1.5}),
        (ConfigError, {"window": 2}),
        (ConfigError, {"causal": True, "sink_tokens": 1}),
        (ConfigError, {"softcap": -1.0}),
        (ShapeError, {"mask": np.ones((2, 2), bool)}),
        (ShapeError, {"kv_positions": np.arange(3)}),
        (ShapeError, {"q_positions": np.arange(3), "causal": True}),
        (ShapeError, {"q_positions": np.arange(3)}),
        (DTypeError, {"mask": np.ones((3, 4))}),
    ],
)
def test_refusals(lib, rng, error, options):
    q, k, v = (lib.array(a) for a in inputs(rng, 3, 4))
    options = {n: lib.array(o) if isinstance(o, np.ndarray) else o for n, o in options.items()}
    if "q_positions" in options:
        options["q_positions"] = options["q_positions"][:2]
    with pytest.raises(error):
        lib.online_attention(q, k, v, **options)


def test_merge_refuses(lib, rng):
    out, lse = lib.online_attention(*(lib.array(a) for a in inputs(rng, 3, 4)))
    with pytest.raises(ShapeError):
        lib.merge_attention(out, lse, out, lse[:, :, :2])
    with pytest.raises(DTypeError):
        lib.merge_attention(out, lse, lib.array(lib.numpy(out), "float32"), lse)


def test_gradients_flow(rng):
    import torch

    from mini_attn.torch import online_attention

    arrays = [torch.from_numpy(a).requires_grad_() for a in inputs(rng, 3, 4, batch=1, dim=2)]
    assert torch.autograd.gradcheck(
        lambda q, k, v: online_attention(q, k, v, causal=True, block_q=2, block_k=3), arrays
    )
