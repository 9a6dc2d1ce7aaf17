"""The ring of a sliding window: what it keeps, gives, forgets and takes back."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.config import AttentionConfig, RopeConfig
from mini_attn.errors import CacheOverflowError, CacheStateError, ConfigError

BATCH, HEADS, DIM, V_DIM = 2, 3, 4, 5


def ring(lib, window, capacity=None):
    return lib.SlidingWindowCache(
        BATCH, HEADS, DIM, capacity, window=window, v_head_dim=V_DIM, dtype="float64"
    )


def rows(start, new):
    """Keys and values that say which token they are of."""
    count = np.arange(start, start + new, dtype=float)[:, None]
    heads = np.arange(BATCH * HEADS).reshape(BATCH, HEADS, 1, 1) * 1000.0
    return heads + np.broadcast_to(count, (new, DIM)), heads - np.broadcast_to(count, (new, V_DIM))


def append(lib, cache, start, new, **options):
    k, v = rows(start, new)
    answer = cache.append(lib.array(k), lib.array(v), **options)
    return [lib.numpy(array).copy() for array in answer]


def check(answer, first, last, seen_from):
    """Whatever is given is right, and all that the chunk may see is given."""
    k, v, positions = answer
    expected_k, expected_v = rows(0, last + 1)
    assert (k == expected_k[:, :, positions[0]]).all()
    assert (v == expected_v[:, :, positions[0]]).all()
    assert len(set(positions[0])) == positions.shape[1]
    assert set(range(seen_from, last + 1)) <= set(positions[0].tolist())
    assert (positions == positions[0]).all()


@given(window=st.integers(1, 7), chunks=st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_a_chunk_gets_all_that_it_may_see(lib, window, chunks):
    cache, start = ring(lib, window), 0
    for new in chunks:
        answer = append(lib, cache, start, new)
        check(answer, start, start + new - 1, max(0, start - window + 1))
        start += new
        held = sorted(lib.numpy(cache.view()[2])[0].tolist())
        assert held == list(range(max(0, start - window), start))
        assert lib.numpy(cache.length).tolist() == [start] * BATCH
        assert lib.numpy(cache.next_positions(2)).ravel()[:2].tolist() == [start, start + 1]
        kept = lib.numpy(cache.view()[2])
        straight = (kept == np.arange(kept.shape[1])).all()
        assert cache.contiguous == straight


@given(
    window=st.integers(1, 6),
    chunks=st.lists(st.integers(1, 7), min_size=1, max_size=6),
    padding=st.booleans(),
)
def test_the_latest_append_can_be_taken_back(lib, window, chunks, padding):
    """Done again with other tokens, nothing of the first try is left."""
    cache, twin, start = ring(lib, window), ring(lib, window), 0
    for number, new in enumerate(chunks):
        options = {}
        if padding and not number:
            options["positions"] = lib.array(np.maximum(np.arange(new) - 1, -1))
        before = cache.slots
        k, v = rows(500, new)
        cache.append(lib.array(k), lib.array(v), **options)
        cache.crop(before)
        first = append(lib, cache, start, new, **options)
        second = append(lib, twin, start, new, **options)
        for one, other in zip(first, second, strict=True):
            assert (one == other).all()
        assert (lib.numpy(cache.length) == lib.numpy(twin.length)).all()
        assert cache.last_sees_all == twin.last_sees_all
        start += new


def test_crops(lib):
    cache = ring(lib, 4)
    append(lib, cache, 0, 3)
    cache.crop(1)  # not wrapped: all of it is there
    append(lib, cache, 1, 4)
    assert cache.slots == 5
    with pytest.raises(CacheStateError, match="wrapped"):
        cache.crop(2)
    with pytest.raises(CacheStateError, match="only 5"):
        cache.crop(6)
    cache.crop(1)
    append(lib, cache, 1, 9)
    append(lib, cache, 10, 1)
    for n in (9, 1):
        with pytest.raises(CacheStateError, match="wrapped"):
            cache.crop(n)
    cache.crop(10)
    with pytest.raises(CacheStateError, match="wrapped"):
        cache.crop(1)  # one append, not two
    assert sorted(lib.numpy(cache.view()[2])[0].tolist()) == [6, 7, 8, 9]


def test_an_append_that_wrapped_can_be_taken_back_further(lib):
    """Before it the ring had not wrapped: all of that is there again."""
    cache = ring(lib, 4)
    append(lib, cache, 0, 3)
    append(lib, cache, 50, 6)
    cache.crop(1)
    assert lib.numpy(cache.view()[2]).tolist() == [[0]] * BATCH
    check(append(lib, cache, 1, 2), 1, 2, 0)


def test_padding_before_an_append_that_wrapped_is_there_again(lib):
    cache = ring(lib, 4)
    positions = np.array([[-1, 0, 1], [0, 1, 2]])
    append(lib, cache, 0, 3, positions=lib.array(positions))
    append(lib, cache, 50, 6)
    cache.crop(2)
    assert lib.numpy(cache.view()[2]).tolist() == [[-1, 0], [0, 1]]
    assert lib.numpy(cache.length).tolist() == [1, 2]
    append(lib, cache, 2, 1, positions=lib.array(np.array([[5], [7]])))
    assert lib.numpy(cache.view()[2]).tolist() == [[-1, 0, 5], [0, 1, 7]]


def test_rows_with_padding(lib):
    cache = ring(lib, 3)
    positions = lib.array(np.array([[-1, -1, 0, 1], [0, 1, 2, 3]]))
    append(lib, cache, 0, 4, positions=positions)
    assert not cache.last_sees_all
    assert lib.numpy(cache.length).tolist() == [2, 4]
    assert lib.numpy(cache.next_positions(1)).tolist() == [[2], [4]]
    answer = append(lib, cache, 4, 1)
    assert sorted(answer[2][0].tolist()) == [0, 1, 2]
    assert sorted(answer[2][1].tolist()) == [2, 3, 4]
    with pytest.raises(ConfigError, match="padding must stand before"):
        append(lib, cache, 5, 1, positions=lib.array(np.array([[-1], [5]])))
    cache.reorder(lib.array(np.array([1, 1])))
    assert lib.numpy(cache.length).tolist() == [5, 5]
    assert lib.numpy(cache.next_positions(1)).tolist() == [[5], [5]]


@pytest.mark.parametrize("chunks", [(1,) * 12, (2,) * 6, (7, 1, 1, 3), (4, 3, 2, 3)])
@pytest.mark.parametrize("kept", [3, 5])
@pytest.mark.parametrize("gap", [0, 6])
def test_a_layer_sees_its_window_of_what_the_ring_keeps(lib, rng, chunks, kept, gap):
    """The ring may keep more than the layer sees, and positions may leave some of it behind."""
    config = AttentionConfig(8, 4, 4, n_kv_heads=2, rope=RopeConfig("half"), window=3)
    layer = lib.GroupedQueryAttention(config, dtype="float64")
    x = rng.standard_normal((BATCH, 12, 8))
    positions = np.arange(12) + gap * (np.arange(12) >= 8)
    expected = lib.numpy(layer(lib.array(x), positions=lib.array(positions)))
    cache = lib.SlidingWindowCache(BATCH, 2, 4, None, window=kept, dtype="float64")
    start = 0
    for new in chunks:
        at = slice(start, start + new)
        out = layer(lib.array(x[:, at]), cache=cache, positions=lib.array(positions[at]))
        np.testing.assert_allclose(lib.numpy(out), expected[:, at], atol=1e-12)
        start += new


# --- first tokens that stay --------------------------------------------------------------------


def by_brute_force(lib, layer, x, positions):
    """The layer's output with a mask that a loop has made, and no window."""
    config = layer.config
    mask = np.zeros((BATCH, x.shape[1], x.shape[1]), bool)
    for row, i, j in np.ndindex(*mask.shape):
        q, kv = int(positions[row, i]), int(positions[row, j])
        near = q - kv < config.window or kv < config.sink_tokens
        mask[row, i, j] = 0 <= kv <= q and near
    full = lib.GroupedQueryAttention(replace(config, window=None, sink_tokens=0), dtype="float64")
    out = full(lib.array(x), positions=lib.array(positions), mask=lib.array(mask))
    return lib.numpy(out)


@given(
    window=st.integers(1, 5),
    sinks=st.integers(0, 4),
    pads=st.tuples(st.integers(0, 6), st.integers(0, 6)),
    chunks=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    gap=st.integers(0, 6),
    where=st.integers(1, 20),
)
def test_a_layer_with_first_tokens_sees_them_however_it_is_fed(
    lib, window, sinks, pads, chunks, gap, where
):
    """Through the ring, a ring that keeps more, and a cache that keeps all: a mask says so."""
    sizes = {"n_kv_heads": 2, "rope": RopeConfig("half"), "window": window}
    layer = lib.SlidingWindowAttention(
        AttentionConfig(8, 4, 4, **sizes, sink_tokens=sinks), dtype="float64"
    )
    chunks = [max(pads) + 1, *chunks, 1, 1]
    seq = sum(chunks)
    x = np.random.default_rng(seq).standard_normal((BATCH, seq, 8))
    positions = np.maximum(np.arange(seq) - np.array(pads)[:, None], -1)
    positions += gap * ((np.arange(seq) >= where) & (positions >= 0))
    expected = by_brute_force(lib, layer, x, positions)
    out = lib.numpy(layer(lib.array(x), positions=lib.array(positions)))
    np.testing.assert_allclose(out, expected, atol=1e-12)
    wider, more = (
        lib.SlidingWindowCache(BATCH, 2, 4, None, window=w, sink_tokens=n, dtype="float64")
        for w, n in ((window + 2, sinks), (window, sinks + 1))
    )
    for cache in (
        layer.new_cache(BATCH, seq),
        wider,
        more,
        lib.KVCache(BATCH, 2, 4, seq, dtype="float64"),
    ):
        start = 0
        for new in chunks:
            at = slice(start, start + new)
            counts = not gap and (start or not max(pads))  # what a cache counts on by itself
            places = None if counts else lib.array(positions[:, at])
            out = lib.numpy(layer(lib.array(x[:, at]), cache=cache, positions=places))
            np.testing.assert_allclose(out, expected[:, at], atol=1e-12)
            start += new


def test_first_tokens_stay_and_the_rest_is_a_ring(lib):
    cache = lib.SlidingWindowCache(1, 1, 4, None, window=3, sink_tokens=2)
    token = np.ones((1, 1, 1, 4), "float32")
    shown = []
    for _ in range(8):
        cache.append(lib.array(token), lib.array(token))
        shown.append(lib.numpy(cache.view()[2])[0].tolist())
    assert shown[4:] == [[0, 1, 2, 3, 4], [0, 1, 5, 3, 4], [0, 1, 5, 6, 4], [0, 1, 5, 6, 7]]
    assert cache.allocated_bytes == cache.used_bytes == 5 * 2 * 4 * 4
    chunk = np.ones((1, 1, 9, 4), "float32")
    answer = cache.append(lib.array(chunk), lib.array(chunk))[2]
    assert lib.numpy(answer)[0].tolist() == [0, 1, 6, 7, *range(8, 17)]
    assert sorted(lib.numpy(cache.view()[2])[0].tolist()) == [0, 1, 14, 15, 16]
    cache.crop(8)
    assert lib.numpy(cache.view()[2])[0].tolist() == shown[-1]


def test_first_tokens_are_those_behind_the_padding(lib):
    """A row's slots for them are its own; where they had stood in the ring it says -1."""
    positions = np.maximum(np.arange(7) - np.array([[4], [0], [1]]), -1)
    k = np.broadcast_to(10.0 * np.arange(7)[:, None], (3, 1, 7, 4)).copy()
    for chunks in ((7,), (2, 3, 2), (1,) * 7):
        cache = lib.SlidingWindowCache(3, 1, 4, None, window=3, sink_tokens=2, dtype="float64")
        start = 0
        for new in chunks:
            rows, at = lib.array(k[:, :, start : start + new]), slice(start, start + new)
            cache.append(rows, rows, positions=lib.array(positions[:, at]))
            start += new
        held, _, found = (lib.numpy(array) for array in cache.view())
        assert found.tolist() == [[0, 1, -1, 2, -1], [0, 1, 5, 6, 4], [0, 1, 4, 5, 3]]
        columns = [[4, 5, 6], [0, 1, 5, 6, 4], [1, 2, 5, 6, 4]]
        for row, at in enumerate(columns):
            assert held[row, 0, found[row] >= 0, 0].tolist() == [10.0 * column for column in at]


def test_a_crop_takes_first_tokens_back_that_stand_before_their_numbers(lib):
    positions = np.maximum(np.arange(5) - np.array([[3], [0]]), -1)
    cache = lib.SlidingWindowCache(2, 1, 4, 9, window=3, sink_tokens=2)
    rows = lib.array(np.ones((2, 1, 5, 4), "float32"))
    cache.append(rows, rows, positions=lib.array(positions))
    assert lib.numpy(cache.view()[2]).tolist() == [[0, 1, -1, -1, -1], [0, 1, 2, 3, 4]]
    cache.crop(4)
    assert lib.numpy(cache.view()[2]).tolist() == [[0, -1, -1, -1], [0, 1, 2, 3]]
    cache.crop(3)
    assert lib.numpy(cache.view()[2]).tolist() == [[-1, -1, -1], [0, 1, 2]]
    assert lib.numpy(cache.length).tolist() == [0, 3]


def test_a_capacity_may_end_among_the_first_tokens(lib):
    cache = lib.SlidingWindowCache(2, 1, 4, 3, window=3, sink_tokens=5)
    rows = lib.array(np.ones((2, 1, 3, 4), "float32"))
    cache.append(rows, rows, positions=lib.array(np.array([[-1, 0, 1], [0, 1, 2]])))
    assert lib.numpy(cache.view()[2]).tolist() == [[0, 1, -1], [0, 1, 2]]
    with pytest.raises(CacheOverflowError):
        cache.append(rows, rows)
    cache.crop(2)
    assert lib.numpy(cache.view()[2]).tolist() == [[0, -1], [0, 1]]
    assert cache.allocated_bytes == 2 * 3 * 2 * 4 * 4


def test_a_capacity_without_need_of_a_ring_keeps_all(lib):
    cache = lib.SlidingWindowCache(1, 1, 4, 5, window=3, sink_tokens=3)
    rows = lib.array(np.ones((1, 1, 5, 4), "float32"))
    cache.append(rows, rows, positions=lib.array(np.arange(5) + 10))
    assert lib.numpy(cache.view()[2]).tolist() == [[10, 11, 12, 13, 14]]
    assert cache.allocated_bytes == 5 * 2 * 4 * 4


def test_caches_that_keep_too_few_first_tokens_are_refused(lib):
    config = AttentionConfig(8, 2, 4, window=3, sink_tokens=2)
    layer = lib.SlidingWindowAttention(config)
    x = lib.array(np.ones((1, 2, 8), "float32"))
    with pytest.raises(ConfigError, match="the cache keeps 1 first tokens, the layer sees 2"):
        layer(x, cache=lib.SlidingWindowCache(1, 2, 4, None, window=3, sink_tokens=1))
    with pytest.raises(ConfigError, match="the cache keeps 2 keys, the layer sees 3"):
        layer(x, cache=lib.SlidingWindowCache(1, 2, 4, None, window=2, sink_tokens=9))
    for wrong in (-1, 1.5, True, "2", None):
        with pytest.raises(ConfigError, match=f"sink_tokens must be .*{wrong}"):
            lib.SlidingWindowCache(1, 2, 4, None, window=3, sink_tokens=wrong)


def test_a_fork_shares_nothing(lib):
    cache = ring(lib, 2)
    append(lib, cache, 0, 3)
    twin = cache.fork()
    append(lib, cache, 50, 1)
    check([lib.numpy(a) for a in twin.view()], 0, 2, 1)
    check(append(lib, twin, 3, 1), 3, 3, 2)


def test_bytes_stop_growing(lib):
    cache = ring(lib, 4)
    token = BATCH * HEADS * (DIM + V_DIM) * 8
    assert cache.allocated_bytes == 4 * token
    for start, held in ((0, 3), (3, 4), (6, 4)):
        append(lib, cache, start, 3)
        assert cache.used_bytes == held * token
    assert ring(lib, 100, capacity=7).allocated_bytes == 7 * token


def test_a_capacity_bounds_the_tokens_in_all(lib):
    cache = ring(lib, 2, capacity=5)
    append(lib, cache, 0, 4)
    with pytest.raises(CacheOverflowError, match="2 new tokens do not fit: 4 of 5"):
        append(lib, cache, 4, 2)
    with pytest.raises(CacheOverflowError):
        cache.next_positions(2)
    assert cache.slots == 4
    check(append(lib, cache, 4, 1), 4, 4, 3)


def test_one_step_does_not_copy_the_ring(lib):
    cache = ring(lib, 64)
    append(lib, cache, 0, 200)
    k, v = rows(200, 1)
    first = cache.append(lib.array(k), lib.array(v))
    second = cache.append(lib.array(k), lib.array(v))
    if lib.name == "numpy":
        assert np.shares_memory(first[0], second[0])
    else:
        assert first[0].data_ptr() == second[0].data_ptr()
