"""The cache against a plain list of tokens, whatever is done to it in whatever order."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.errors import (
    CacheOverflowError,
    CacheStateError,
    ConfigError,
    DTypeError,
    ShapeError,
)

BATCH, HEADS, HEAD_DIM, V_HEAD_DIM, CAPACITY = 3, 2, 3, 5, 11

steps = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 5)),
        st.tuples(st.just("pad"), st.lists(st.integers(0, 3), min_size=BATCH, max_size=BATCH)),
        st.tuples(st.just("crop"), st.integers(0, 12)),
        st.tuples(st.just("fork"), st.just(0)),
        st.tuples(
            st.just("reorder"),
            st.lists(st.integers(0, BATCH - 1), min_size=BATCH, max_size=BATCH),
        ),
    ),
    max_size=8,
)


def new_cache(lib, dtype="float64"):
    return lib.KVCache(BATCH, HEADS, HEAD_DIM, CAPACITY, v_head_dim=V_HEAD_DIM, dtype=dtype)


def tokens(lib, rng, new, dtype="float64"):
    k = rng.standard_normal((BATCH, HEADS, new, HEAD_DIM))
    v = rng.standard_normal((BATCH, HEADS, new, V_HEAD_DIM))
    return lib.array(k, dtype), lib.array(v, dtype)


def check(lib, cache, rows):
    """The cache holds exactly these rows: per sequence a list of (key, value, position)."""
    k, v, positions = (lib.numpy(a) for a in cache.view())
    assert k.shape == (BATCH, HEADS, len(rows[0]), HEAD_DIM)
    assert v.shape == (BATCH, HEADS, len(rows[0]), V_HEAD_DIM)
    assert positions.tolist() == [[token[2] for token in row] for row in rows]
    for b, row in enumerate(rows):
        for slot, (key, value, _) in enumerate(row):
            assert (k[b, :, slot] == key).all()
            assert (v[b, :, slot] == value).all()
    assert cache.slots == len(rows[0])
    assert lib.numpy(cache.length).tolist() == [sum(t[2] >= 0 for t in row) for row in rows]
    assert cache.contiguous == all([t[2] for t in row] == list(range(len(row))) for row in rows)
    assert cache.last_sees_all == all(t[2] >= 0 for row in rows for t in row)
    assert cache.used_bytes == len(rows[0]) * BATCH * HEADS * (HEAD_DIM + V_HEAD_DIM) * 8


@given(steps=steps, seed=st.integers(0, 999))
def test_any_sequence_of_operations_equals_a_list(lib, steps, seed):
    rng = np.random.default_rng(seed)
    cache, rows = new_cache(lib), [[] for _ in range(BATCH)]
    forks = []
    for name, argument in steps:
        if name in ("append", "pad"):
            new = argument if name == "append" else max(argument) + 1
            k, v = tokens(lib, rng, new)
            positions = None
            after = [max([t[2] for t in row], default=-1) + 1 for row in rows]
            expected = [[start + i for i in range(new)] for start in after]
            if name == "pad":
                expected = [
                    [-1] * pad + [start + i for i in range(new - pad)]
                    for start, pad in zip(after, argument, strict=True)
                ]
                positions = lib.array(expected)
            if len(rows[0]) + new > CAPACITY:
                with pytest.raises(CacheOverflowError):
                    cache.append(k, v, positions=positions)
            else:
                cache.append(k, v, positions=positions)
                for b, row in enumerate(rows):
                    row.extend(
                        (lib.numpy(k)[b, :, i], lib.numpy(v)[b, :, i], expected[b][i])
                        for i in range(new)
                    )
        elif name == "crop" and argument > len(rows[0]):
            with pytest.raises(CacheStateError):
                cache.crop(argument)
        elif name == "crop":
            cache.crop(argument)
            rows = [row[:argument] for row in rows]
        elif name == "fork":
            forks.append((cache.fork(), copy.deepcopy(rows)))
        else:
            cache.reorder(lib.array(argument))
            rows = [list(rows[i]) for i in argument]
        check(lib, cache, rows)
    for fork, held in forks:  # nothing that happened since reached a fork
        check(lib, fork, held)


def test_a_reordered_row_does_not_alias_its_twin(lib, rng):
    cache = new_cache(lib)
    cache.append(*tokens(lib, rng, 2))
    cache.reorder(lib.array([1, 1, 0]))
    k, v = tokens(lib, rng, 1)
    cache.append(k, v)
    held = lib.numpy(cache.view()[0])
    assert (held[0, :, :2] == held[1, :, :2]).all()
    assert (held[:, :, 2] == lib.numpy(k)[:, :, 0]).all()
    assert (held[0, :, 2] != held[1, :, 2]).any()


def test_a_fork_and_its_origin_write_into_their_own_memory(lib, rng):
    cache = new_cache(lib)
    cache.append(*tokens(lib, rng, 2))
    fork = cache.fork()
    first, second = tokens(lib, rng, 1), tokens(lib, rng, 1)
    cache.append(*first)
    fork.append(*second)
    for held, new in ((cache, first), (fork, second)):
        for array, row in zip(held.view()[:2], new, strict=True):
            assert (lib.numpy(array)[:, :, 2:] == lib.numpy(row)).all()


def test_a_cropped_cache_forgets_the_padding_that_is_gone_and_no_other(lib, rng):
    cache = new_cache(lib)
    cache.append(*tokens(lib, rng, 3), positions=lib.array([-1, 0, 1]))
    cache.crop(2)
    assert not cache.last_sees_all
    cache.crop(0)
    assert cache.last_sees_all
    _, _, positions = cache.append(*tokens(lib, rng, 2))  # they count as if nothing had been
    assert lib.numpy(positions).tolist() == [[0, 1]] * BATCH


def test_rows_that_do_not_count_are_remembered_as_they_are(lib, rng):
    cache = new_cache(lib)
    cache.append(*tokens(lib, rng, 2), positions=lib.array([[-1, 0], [0, 1], [0, 1]]))
    cache.append(*tokens(lib, rng, 1), positions=lib.array([2]))  # as many as there are slots
    cache.append(*tokens(lib, rng, 1), positions=lib.array([[-1], [3], [3]]))  # padding alone
    assert lib.numpy(cache.next_positions(1)).tolist() == [[3], [4], [4]]
    assert lib.numpy(cache.length).tolist() == [2, 4, 4]
    cache.append(*tokens(lib, rng, 1))
    cache.crop(4)  # a row's last slot holds padding
    assert lib.numpy(cache.next_positions(1)).tolist() == [[3], [4], [4]]


@pytest.mark.parametrize("given", [None, [2, 3]])
def test_positions_that_were_dropped_do_not_come_back(lib, rng, given):
    cache = new_cache(lib)
    cache.append(*tokens(lib, rng, 4), positions=lib.array([0, 1, 5, 6]))
    cache.crop(2)
    cache.append(*tokens(lib, rng, 2), positions=None if given is None else lib.array(given))
    _, _, positions = cache.append(*tokens(lib, rng, 1), positions=lib.array([9]))
    assert lib.numpy(positions).tolist() == [[0, 1, 2, 3, 9]] * BATCH


def test_append_returns_views_and_keeps_memory_in_place(lib, rng):
    cache = new_cache(lib)
    first, _, _ = cache.append(*tokens(lib, rng, 2))
    before = lib.numpy(first).copy()
    second, _, _ = cache.append(*tokens(lib, rng, 3))
    start = [a.ctypes.data if lib.name == "numpy" else a.data_ptr() for a in (first, second)]
    assert start[0] == start[1]
    assert (lib.numpy(first) == before).all()


def test_a_numpy_view_cannot_be_written_but_the_cache_can(rng):
    import mini_attn.numpy as ma

    cache = ma.KVCache(1, 1, 2, capacity=3, dtype="float64")
    row = rng.standard_normal((1, 1, 1, 2))
    for array in cache.append(row, row):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    cache.append(row, row)
    assert cache.slots == 2


def test_torch_keeps_no_gradients_and_survives_inference_mode():
    import torch

    import mini_attn.torch as mt

    with torch.inference_mode():
        cache = mt.KVCache(1, 1, 2, capacity=4)
        cache.append(torch.ones(1, 1, 1, 2), torch.ones(1, 1, 1, 2))
    row = torch.ones(1, 1, 1, 2, requires_grad=True)
    k, _, _ = cache.append(row * 2, row)
    assert not k.requires_grad
    assert cache.fork().slots == 2


def test_bytes_are_those_of_the_arrays(lib):
    for dtype, size in (("float16", 2), ("float32", 4), ("float64", 8)):
        cache = new_cache(lib, dtype)
        assert cache.allocated_bytes == BATCH * HEADS * CAPACITY * (HEAD_DIM + V_HEAD_DIM) * size
        assert cache.used_bytes == 0


APPENDS = {
    "too many tokens": (CacheOverflowError, "4 new tokens do not fit: 8 of 11", {"new": 4}),
    "three axes": (ShapeError, "4 axes", {"k": np.zeros((BATCH, HEADS, HEAD_DIM))}),
    "another batch": (ShapeError, r"k must be", {"k": np.zeros((2, HEADS, 1, HEAD_DIM))}),
    "another head_dim": (ShapeError, r"k must be", {"k": np.zeros((BATCH, HEADS, 1, 4))}),
    "more values than keys": (
        ShapeError,
        r"v must be",
        {"v": np.zeros((BATCH, HEADS, 2, V_HEAD_DIM))},
    ),
    "no tokens": (
        ShapeError,
        "at least one token",
        {
            "k": np.zeros((BATCH, HEADS, 0, HEAD_DIM)),
            "v": np.zeros((BATCH, HEADS, 0, V_HEAD_DIM)),
        },
    ),
    "another dtype": (
        DTypeError,
        "v is",
        {"v": np.zeros((BATCH, HEADS, 1, V_HEAD_DIM), "float32")},
    ),
    "a list": (ShapeError, "should be an array", {"k": [1.0]}),
    "fractional positions": (DTypeError, "positions", {"positions": np.array([8.0])}),
    "too many positions": (ShapeError, "positions must be", {"positions": np.array([8, 9])}),
    "one row of positions in a table": (
        ShapeError,
        "positions must be",
        {"positions": np.array([[8]])},
    ),
    "a position below -1": (ConfigError, "-1 \\(padding\\)", {"positions": np.array([-2])}),
    "a position back behind padding": (
        ConfigError,
        "grow",
        {"new": 2, "positions": np.array([-1, 3])},
    ),
    "a position twice": (ConfigError, "grow", {"positions": np.array([[8], [7], [8]])}),
}


@pytest.mark.parametrize("case", APPENDS)
def test_a_refused_append_leaves_the_cache_as_it_was(lib, rng, case):
    error, words, changes = APPENDS[case]
    cache = new_cache(lib)
    cache.append(*tokens(lib, rng, 8))
    before = [lib.numpy(a).copy() for a in cache.view()]
    k, v = tokens(lib, rng, changes.get("new", 1))
    arguments = {"k": k, "v": v} | {name: a for name, a in changes.items() if name != "new"}
    arguments = {
        name: lib.array(a) if isinstance(a, np.ndarray) else a for name, a in arguments.items()
    }
    with pytest.raises(error, match=words):
        cache.append(**arguments)
    assert cache.slots == 8
    assert cache.contiguous
    for old, new in zip(before, cache.view(), strict=True):
        assert (old == lib.numpy(new)).all()


def test_other_refusals(lib):
    cache = new_cache(lib)
    for size in ("batch", "n_kv_heads", "head_dim", "capacity", "v_head_dim"):
        for value in (0, -1, 2.5, True):
            sizes = {"batch": 1, "n_kv_heads": 1, "head_dim": 1, "capacity": 1, size: value}
            with pytest.raises(ConfigError, match=size):
                lib.KVCache(**sizes)
    with pytest.raises(DTypeError, match="int8"):
        new_cache(lib, "int8")
    with pytest.raises(CacheStateError, match="only 0"):
        cache.crop(1)
    with pytest.raises(ConfigError, match="n must be at least 0, got -1"):
        cache.crop(-1)
    with pytest.raises(ShapeError, match="index"):
        cache.reorder(lib.array([0, 1]))
    with pytest.raises(ConfigError, match="0 … 2"):
        cache.reorder(lib.array([0, 1, 3]))
    with pytest.raises(ConfigError, match="0 … 2"):
        cache.reorder(lib.array([0, 1, -1]))
    with pytest.raises(DTypeError, match="index"):
        cache.reorder(lib.array([0.0, 1.0, 2.0]))
