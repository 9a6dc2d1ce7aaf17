"""Attention that reads blocks and groups where they lie: the same as gathered, in less memory."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.allocations import numpy_peak, torch_peak
from mini_attn.errors import CacheStateError, ConfigError, DTypeError, ShapeError
from mini_attn.plain import serving

HEADS, KV_HEADS, DIM, V_DIM = 6, 2, 4, 5


def near(one, other, bound=1e-12):
    np.testing.assert_allclose(one, other, rtol=bound, atol=bound)


def filled_pool(lib, rng, n_blocks, block_size):
    """A pool of random numbers whose blocks are all held, in an order of chance."""
    pool = lib.BlockPool(
        n_blocks, KV_HEADS, DIM, block_size=block_size, v_head_dim=V_DIM, dtype="float64"
    )
    for array in (pool._k, pool._v):
        array[...] = lib.array(rng.standard_normal(tuple(array.shape)))
    return pool, rng.permutation([pool.take() for _ in range(n_blocks)])


def dense(lib, q, pool, table, length, **options):
    """One row by gathering its tokens one by one."""
    size = pool.block_size
    at = [(table[s // size], s % size) for s in range(length)]
    k, v = (
        np.stack([lib.numpy(array)[block, :, slot] for block, slot in at], axis=1)[None]
        for array in (pool._k, pool._v)
    )
    q_len = q.shape[2]
    found = lib.scaled_dot_product_attention(
        lib.array(q),
        lib.array(k),
        lib.array(v),
        causal=True,
        q_positions=lib.array(np.arange(length - q_len, length)),
        return_lse=True,
        **options,
    )
    return [lib.numpy(each) for each in found]


@given(
    block_size=st.integers(1, 5),
    lengths=st.lists(st.integers(1, 17), min_size=1, max_size=4),
    q_len=st.integers(1, 4),
    block_k=st.integers(1, 20),
    seed=st.integers(0, 99),
    rule=st.sampled_from(
        [{}, {"window": 3}, {"window": 2, "sink_tokens": 1}, {"softcap": 2.0}, {"scale": 0.3}]
    ),
)
def test_rows_of_any_lengths_are_what_each_is_alone(
    lib, block_size, lengths, q_len, block_k, seed, rule
):
    rng = np.random.default_rng(seed)
    needed = [-(-length // block_size) for length in lengths]
    pool, free = filled_pool(lib, rng, sum(needed), block_size)
    table = np.full((len(lengths), max(needed) + 1), -1)
    for row, n in enumerate(needed):
        table[row, :n], free = free[:n], free[n:]
    q = rng.standard_normal((len(lengths), HEADS, q_len, DIM))
    sinks = rng.standard_normal(HEADS) if seed % 2 else None
    extra = {} if sinks is None else {"sinks": lib.array(sinks)}
    arrays = [lib.array(a) for a in (q, table, np.array(lengths))]
    out, lse = lib.paged_attention(arrays[0], pool, *arrays[1:], block_k=block_k, **rule, **extra)
    for row, length in enumerate(lengths):
        expected = dense(lib, q[row : row + 1], pool, table[row], length, **rule, **extra)
        near(lib.numpy(out)[row], expected[0][0])
        near(lib.numpy(lse)[row], expected[1][0])


@pytest.mark.parametrize(("block_size", "length", "q_len"), [(1, 5, 2), (3, 9, 1), (4, 10, 3)])
def test_the_plain_form_says_the_same(lib, rng, block_size, length, q_len):
    pool, table = filled_pool(lib, rng, 10, block_size)
    table = table[: -(-length // block_size)]
    q = rng.standard_normal((1, HEADS, q_len, DIM))
    arrays = [lib.array(a) for a in (q, table[None], np.array([length]))]
    found = lib.paged_attention(arrays[0], pool, *arrays[1:])
    blocks = (lib.numpy(array) for array in (pool._k, pool._v))
    expected = serving.paged_attention(q, *blocks, table, length, DIM**-0.5)
    for one, other in zip(found, expected, strict=True):
        near(lib.numpy(one), other)


@pytest.mark.parametrize("garbage", [np.nan, np.inf, 1e30])
def test_slots_that_hold_nothing_are_never_seen(lib, rng, garbage):
    """Behind a row's length, in other blocks, and in block 0, which fills the table's gaps."""
    pool, _ = filled_pool(lib, rng, 6, 4)
    table, lengths = np.array([[3, 5, -1], [1, 2, 4]]), np.array([5, 12])
    arrays = [lib.array(a) for a in (rng.standard_normal((2, HEADS, 2, DIM)), table, lengths)]
    clean = lib.paged_attention(arrays[0], pool, *arrays[1:])
    for array in (pool._k, pool._v):
        array[0] = garbage
        array[5, :, 1:] = garbage
    found = lib.paged_attention(arrays[0], pool, *arrays[1:])
    for one, other in zip(found, clean, strict=True):
        np.testing.assert_array_equal(lib.numpy(one), lib.numpy(other))


def test_a_row_without_tokens_gets_zeros(lib, rng):
    pool, _ = filled_pool(lib, rng, 2, 4)
    arrays = [lib.array(a) for a in (np.ones((2, HEADS, 1, DIM)), np.array([[-1], [1]]))]
    out, lse = lib.paged_attention(arrays[0], pool, arrays[1], lib.array(np.array([0, 1])))
    assert not lib.numpy(out)[0].any()
    assert np.isneginf(lib.numpy(lse)[0]).all()
    assert np.isfinite(lib.numpy(lse)[1]).all()
    early = lib.paged_attention(
        lib.array(np.ones((1, HEADS, 3, DIM))), pool, arrays[1][1:], lib.array(np.array([2]))
    )
    assert np.isneginf(lib.numpy(early[1])[0, :, 0]).all()  # a query before the first token


def caches_of(lib, batch=2):
    """One cache of each kind that is read piece by piece."""
    pool = lib.BlockPool(60, KV_HEADS, DIM, block_size=3, v_head_dim=V_DIM, dtype="float64")
    kind = {"v_head_dim": V_DIM, "dtype": "float64"}
    sizes = (batch, KV_HEADS, DIM, 40)
    return {
        "paged": lib.PagedKVCache(pool, batch),
        "int8": lib.QuantizedKVCache(*sizes, group_size=4, residual=3, **kind),
        "int2 by token": lib.QuantizedKVCache(
            *sizes, bits=2, key_axis="token", group_size=4, residual=0, **kind
        ),
        "fp8": lib.QuantizedKVCache(*sizes, format="fp8", k_scale=0.01, residual=2, **kind),
        "nvfp4": lib.QuantizedKVCache(*sizes, format="nvfp4", **kind),
        "rotated nvfp4": lib.QuantizedKVCache(
            *sizes, format="nvfp4", rotation="hadamard", residual=3, **(kind | {"v_head_dim": DIM})
        ),
        "rotated int4": lib.QuantizedKVCache(
            *sizes, bits=4, group_size=4, residual=3, rotation="hadamard",
            **(kind | {"v_head_dim": DIM}),
        ),
    }  # fmt: skip


@given(
    new=st.lists(st.integers(1, 9), min_size=1, max_size=4),
    q_len=st.integers(1, 3),
    block_k=st.integers(1, 16),
    padded=st.booleans(),
    window=st.sampled_from([None, 1, 5]),
)
def test_a_cache_is_read_as_its_view(lib, new, q_len, block_k, padded, window):
    rng = np.random.default_rng(sum(new))
    for cache in caches_of(lib).values():
        for i, n in enumerate(new):
            k, v = (rng.standard_normal((2, KV_HEADS, n, dim)) for dim in (DIM, cache.v_head_dim))
            place = np.stack([np.arange(n), np.arange(n) - 1]) if padded and not i else None
            given = {} if place is None else {"positions": lib.array(place)}
            cache.append(lib.array(k), lib.array(v), **given)
        q_len = min(q_len, cache.slots)
        q = lib.array(rng.standard_normal((2, HEADS, q_len, DIM)))
        k, v, kv_positions = cache.view()
        expected = lib.scaled_dot_product_attention(
            q,
            k,
            v,
            causal=True,
            window=window,
            q_positions=kv_positions[:, -q_len:],
            kv_positions=kv_positions,
            return_lse=True,
        )
        for one, other in zip(
            cache.attend(q, window=window, block_k=block_k), expected, strict=True
        ):
            near(lib.numpy(one), lib.numpy(other))


def peak(lib, run):
    return (numpy_peak if lib.name == "numpy" else torch_peak)(run)


@pytest.mark.parametrize("kind", ["paged", "quantised"])
def test_reading_holds_a_few_blocks_and_gathering_all_of_them(lib, kind):
    slots, heads, dim = 4096, 2, 64
    if kind == "paged":
        cache = lib.PagedKVCache(lib.BlockPool(slots // 16, heads, dim, block_size=16), 1)
    else:
        cache = lib.QuantizedKVCache(1, heads, dim, slots, bits=4, group_size=16, residual=16)
    rows = lib.array(np.ones((1, heads, slots, dim), np.float32))
    cache.append(rows, rows)
    whole = 2 * heads * slots * dim * 4
    q = lib.array(np.ones((1, 4, 1, dim), np.float32))
    held = {
        block_k: peak(lib, lambda n=block_k: cache.attend(q, block_k=n)) for block_k in (16, 64)
    }
    tile = whole * 64 // slots
    # Codes pass through wider numbers on their way, and each copy of a tile counts.
    assert held[64] < 8 * tile + 40_000
    assert held[16] < held[64]
    assert held[64] < whole / 8
    assert peak(lib, cache.view) >= whole  # what the count would see


def test_refusals(lib, rng):
    pool, _ = filled_pool(lib, rng, 4, 2)
    q, table, lengths = (lib.array(a) for a in (np.ones((1, 6, 1, 4)), [[0, 1]], [3]))

    def refused(error, words, q=q, pool=pool, table=table, lengths=lengths, **options):
        with pytest.raises(error, match=words):
            lib.paged_attention(q, pool, table, lengths, **options)

    refused(ConfigError, "BlockPool", pool="pool")
    refused(ConfigError, "0 … 3, the table names 4", table=lib.array([[0, 4]]))
    refused(ConfigError, "the table names -1", table=lib.array([[0, -1]]))
    refused(ShapeError, "0 … 4, the slots of 2 blocks", lengths=lib.array([5]))
    refused(
        ShapeError,
        "batch = 1, the table 2 rows",
        table=lib.array([[0], [1]]),
        lengths=lib.array([1, 1]),
    )
    refused(ShapeError, "head_dim = 3", q=lib.array(np.ones((1, 6, 1, 3))))
    refused(
        DTypeError, "holds .*float64, q is .*float32", q=lib.array(np.ones((1, 6, 1, 4)), "float32")
    )
    refused(DTypeError, "lengths", lengths=lib.array([3.0]))
    refused(ConfigError, "heads", q=lib.array(np.ones((1, 5, 1, 4))))
    refused(ConfigError, "block_k", block_k=0)
    refused(ConfigError, "window", window=0)
    pool.release(1)
    refused(CacheStateError, "block 1 of the table is free")
    lib.paged_attention(q, pool, table, lib.array([2]))  # it is not needed
    cache = lib.PagedKVCache(pool, 1)
    with pytest.raises(ShapeError, match="1 queries cannot be the last of 0 slots"):
        cache.attend(q)
    with pytest.raises(ShapeError, match="batch = 2, the cache 1"):
        cache.attend(lib.array(np.ones((2, 6, 1, 4))))
