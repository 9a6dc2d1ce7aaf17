"""Blocks of a shared pool: taken, shared, copied before writing, given back."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.caching import Transaction
from mini_attn.errors import CacheOverflowError, CacheStateError, ConfigError, ShapeError

HEADS, DIM, V_DIM = 2, 3, 4


def pool_of(lib, n_blocks=40, block_size=4):
    return lib.BlockPool(
        n_blocks, HEADS, DIM, block_size=block_size, v_head_dim=V_DIM, dtype="float64"
    )


def random(rng, batch, new):
    return rng.standard_normal((batch, HEADS, new, DIM)), rng.standard_normal(
        (batch, HEADS, new, V_DIM)
    )


def append(lib, cache, k, v, **options):
    return [lib.numpy(a) for a in cache.append(lib.array(k), lib.array(v), **options)]


def same(lib, cache, twin):
    """A paged cache shows what a contiguous one does."""
    for one, other in zip(cache.view(), twin.view(), strict=True):
        np.testing.assert_array_equal(lib.numpy(one), lib.numpy(other))


def held(cache):
    """References that the block tables explain."""
    counts = {}
    for blocks in cache.block_table:
        for block in blocks:
            counts[block] = counts.get(block, 0) + 1
    return counts


@given(
    block_size=st.integers(1, 5),
    steps=st.lists(
        st.one_of(
            st.tuples(st.just("append"), st.integers(1, 7)),
            st.tuples(st.just("crop"), st.integers(0, 4)),
            st.tuples(st.just("reorder"), st.permutations([0, 0, 1, 2]).map(lambda p: p[:3])),
            st.tuples(st.just("fork"), st.just(0)),
        ),
        max_size=9,
    ),
)
def test_any_history_is_that_of_a_contiguous_cache(lib, block_size, steps):
    rng = np.random.default_rng(len(steps))
    pool = pool_of(lib, n_blocks=200, block_size=block_size)
    cache = lib.PagedKVCache(pool, batch=3)
    twin = lib.KVCache(3, HEADS, DIM, 80, v_head_dim=V_DIM, dtype="float64")
    others = []
    for what, how in steps:
        if what == "append":
            k, v = random(rng, 3, how)
            first, second = append(lib, cache, k, v), append(lib, twin, k, v)
            for one, other in zip(first, second, strict=True):
                np.testing.assert_array_equal(one, other)
        elif what == "crop":
            for each in (cache, twin):
                each.crop(min(how, each.slots))
        elif what == "reorder":
            for each in (cache, twin):
                each.reorder(lib.array(np.array(how)))
        else:
            others.append((cache.fork(), twin.fork()))
        same(lib, cache, twin)
        for copy, expected in others:  # whatever happens to one does not show in the others
            same(lib, copy, expected)
    counts = {}
    for each in (cache, *(copy for copy, _ in others)):
        for block, n in held(each).items():
            counts[block] = counts.get(block, 0) + n
    assert [pool.references(block) for block in range(200)] == [
        counts.get(b, 0) for b in range(200)
    ]
    assert pool.n_free == 200 - len(counts)


def test_a_common_prefix_is_held_once(lib, rng):
    pool = pool_of(lib)
    prompt = lib.PagedKVCache(pool, batch=1)
    append(lib, prompt, *random(rng, 1, 10))  # two full blocks and half of a third
    forks = [prompt.fork() for _ in range(3)]
    assert pool.n_free == 37
    for fork in forks:
        append(lib, fork, *random(rng, 1, 1))
    assert pool.n_free == 34  # each copied the half block, none the full ones
    tables = [fork.block_table[0] for fork in forks]
    assert {tuple(blocks[:2]) for blocks in tables} == {(0, 1)}
    assert len({blocks[2] for blocks in tables} | {prompt.block_table[0][2]}) == 4
    append(lib, prompt, *random(rng, 1, 1))  # the last holder writes in place
    assert pool.n_free == 34
    for each in (prompt, *forks):
        each.crop(0)
    assert pool.n_free == 40


def test_an_empty_pool_refuses_and_takes_nothing(lib, rng):
    pool = pool_of(lib, n_blocks=5)
    cache = lib.PagedKVCache(pool, batch=2)
    k, v = random(rng, 2, 6)
    before = append(lib, cache, k, v)
    fork = cache.fork()
    assert pool.n_free == 1
    for each in (cache, fork):
        with pytest.raises(CacheOverflowError, match="1 new tokens need 2 blocks, 1 of 5"):
            append(lib, each, *random(rng, 2, 1))
    assert pool.n_free == 1
    for one, other in zip(before, cache.view(), strict=True):
        np.testing.assert_array_equal(one, lib.numpy(other))
    fork.crop(0)
    append(lib, cache, *random(rng, 2, 2))
    with pytest.raises(CacheOverflowError, match="need 2 blocks"):
        cache.next_positions(1)
    assert cache.capacity == 8


def test_rows_that_share_a_block_are_told_apart(lib, rng):
    """After a reorder with repeats, rows of one cache hold the same last block."""
    pool = pool_of(lib, n_blocks=5)
    cache = lib.PagedKVCache(pool, batch=3)
    append(lib, cache, *random(rng, 3, 3))
    cache.reorder(lib.array(np.array([1, 1, 1])))
    assert pool.n_free == 4
    k, v = random(rng, 3, 1)
    answer = append(lib, cache, k, v)  # two copies: one of the three keeps the block
    assert pool.n_free == 2
    np.testing.assert_array_equal(answer[0][:, :, 3:], k)
    np.testing.assert_array_equal(answer[0][0, :, :3], answer[0][2, :, :3])


def test_forks_of_forks_stay_as_small(lib, rng):
    cache = lib.PagedKVCache(pool_of(lib), batch=1)
    append(lib, cache, *random(rng, 1, 13), positions=lib.array(np.arange(-1, 12)))
    fork = cache
    for _ in range(12):
        fork = fork.fork()
    assert fork._state.rows.shape == cache._state.rows.shape
    assert fork._state.rows.shape[1] <= 2 * 13
    assert all(
        one is other for one, other in zip(fork._state.arrays, cache._state.arrays, strict=True)
    )


def test_capacity_is_what_can_be_appended(lib, rng):
    """Shared last blocks are copied before they are written: these copies are not free."""
    for n_blocks, others in ((2, 0), (3, 0), (4, 0), (5, 0), (2, 1), (3, 1), (4, 1), (5, 1)):
        cache = lib.PagedKVCache(pool_of(lib, n_blocks), batch=2)
        append(lib, cache, *random(rng, 2, 3))
        cache.reorder(lib.array(np.array([1, 1])))
        held = [cache.fork() for _ in range(others)]
        room = cache.capacity - cache.slots
        with pytest.raises(CacheOverflowError):
            append(lib, cache, *random(rng, 2, room + 1))
        if room:
            append(lib, cache, *random(rng, 2, room))
            assert cache.slots == cache.capacity
        for fork in held:
            assert fork.slots == 3


def test_padding_and_positions(lib, rng):
    cache = lib.PagedKVCache(pool_of(lib), batch=2)
    positions = np.array([[-1, 0, 1], [0, 1, 2]])
    answer = append(lib, cache, *random(rng, 2, 3), positions=lib.array(positions))
    assert answer[2].tolist() == positions.tolist()
    assert not cache.last_sees_all
    assert not cache.contiguous
    assert lib.numpy(cache.length).tolist() == [2, 3]
    assert lib.numpy(cache.next_positions(1)).tolist() == [[2], [3]]
    assert append(lib, cache, *random(rng, 2, 1))[2][:, -1].tolist() == [2, 3]


def test_bytes_count_a_shared_block_once(lib, rng):
    pool = pool_of(lib)
    block = HEADS * 4 * (DIM + V_DIM) * 8
    assert pool.allocated_bytes == 40 * block
    cache = lib.PagedKVCache(pool, batch=2)
    append(lib, cache, *random(rng, 2, 5))
    assert cache.allocated_bytes == 4 * block
    assert cache.used_bytes == 2 * 5 * block // 4
    cache.reorder(lib.array(np.array([0, 0])))
    assert cache.allocated_bytes == 2 * block
    assert cache.used_bytes == 5 * block // 4


def test_an_unfinished_step_leaves_no_count(lib):
    """Several layers of a step may hold one block: the counts from before all of them are back."""
    pool, transaction = pool_of(lib, n_blocks=2), Transaction()
    block = pool.take()
    for _ in range(2):
        pool._change(transaction, share=(block,))
    pool._change(transaction, take=1, release=(block,))
    assert pool.references(block) == 1
    assert pool.n_free == 1
    with pytest.raises(CacheStateError, match="another step"):
        transaction.commit()
    other = pool.take()
    with pytest.raises(CacheOverflowError, match="1 blocks are needed, 0 of 2 are free"):
        pool.take()
    for each in (block, other):
        pool.release(each)
    assert sorted([pool.take(), pool.take()]) == [0, 1]


def test_a_decoder_runs_on_pages(lib):
    from tests.backends.test_decoder import model_of, tokens_of

    model, tokens = model_of(lib), tokens_of(lib, 2, 6)
    layer = model.config.attention
    pools = [
        lib.BlockPool(12, layer.n_kv_heads, layer.head_dim, block_size=3, dtype="float64")
        for _ in range(2)
    ]
    paged = [lib.PagedKVCache(pool, batch=2) for pool in pools]
    found = lib.generate(model, tokens, max_new_tokens=8, caches=paged)
    expected = lib.generate(model, tokens, max_new_tokens=8)
    assert (lib.numpy(found) == lib.numpy(expected)).all()


def test_refusals(lib, rng):
    pool = pool_of(lib)
    with pytest.raises(ConfigError, match="BlockPool"):
        lib.PagedKVCache("pool", batch=1)
    with pytest.raises(ConfigError, match="0 … 39"):
        pool.references(40)
    with pytest.raises(CacheStateError, match="free already"):
        pool.release(3)
    with pytest.raises(CacheStateError, match="is free"):
        pool.share(3)
    cache = lib.PagedKVCache(pool, batch=2)
    with pytest.raises(ShapeError):
        append(lib, cache, *random(rng, 1, 2))
    with pytest.raises(ConfigError, match="0 … 1"):
        cache.reorder(lib.array(np.array([0, 2])))
    with pytest.raises(CacheStateError, match="only 0"):
        cache.crop(1)
    assert pool.n_free == 40
