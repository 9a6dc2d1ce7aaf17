"""Who sees whom, decided by positions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn.errors import ConfigError, DTypeError, ShapeError

positions = st.lists(st.integers(-1, 12), min_size=1, max_size=7)


@given(
    q=positions, kv=positions, window=st.one_of(st.none(), st.integers(1, 14)),
    sinks=st.integers(0, 9),
)  # fmt: skip
def test_visible_is_its_definition(lib, q, kv, window, sinks):
    rule = {"window": window, "sink_tokens": sinks if window else 0}
    seen = lib.numpy(lib.visible(lib.array(q), lib.array(kv), causal=True, **rule))
    for i, q_pos in enumerate(q):
        for j, kv_pos in enumerate(kv):
            expected = kv_pos >= 0 and kv_pos <= q_pos
            near = window is None or q_pos - kv_pos < window
            expected = expected and (near or kv_pos < sinks)
            assert seen[i, j] == expected


@given(q=positions, kv=positions)
def test_without_causal_only_empty_slots_are_hidden(lib, q, kv):
    seen = lib.numpy(lib.visible(lib.array(q), lib.array(kv), causal=False))
    assert seen.shape == (len(q), len(kv))
    assert (seen == (np.array(kv) >= 0)).all()


@given(q_len=st.integers(1, 8), more=st.integers(0, 8))
def test_the_causal_mask_is_aligned_bottom_right(lib, q_len, more):
    mask = lib.numpy(lib.causal_mask(q_len, q_len + more))
    assert mask[-1].all()
    assert (mask.sum(axis=1) == more + 1 + np.arange(q_len)).all()


def test_a_window_of_w_holds_w_keys(lib):
    mask = lib.numpy(lib.causal_mask(6, 6, window=3))
    assert mask.sum(axis=1).tolist() == [1, 2, 3, 3, 3, 3]
    wide = lib.numpy(lib.causal_mask(6, 6, window=6))
    assert (wide == lib.numpy(lib.causal_mask(6, 6))).all()


def test_first_tokens_stay_visible_behind_a_window(lib):
    mask = lib.numpy(lib.causal_mask(3, 7, window=2, sink_tokens=2))
    assert mask.astype(int).tolist() == [
        [1, 1, 0, 1, 1, 0, 0],
        [1, 1, 0, 0, 1, 1, 0],
        [1, 1, 0, 0, 0, 1, 1],
    ]
    early = lib.numpy(lib.causal_mask(3, 3, window=1, sink_tokens=2))  # but never before it came
    assert early.astype(int).tolist() == [[1, 0, 0], [1, 1, 0], [1, 1, 1]]


def test_rows_of_a_batch_may_differ(lib):
    q, kv = lib.array([[1], [0]]), lib.array([[0, 1], [-1, 0]])
    seen = lib.numpy(lib.visible(q, kv, causal=True))
    assert seen.tolist() == [[[True, True]], [[False, True]]]
    shared = lib.numpy(lib.visible(lib.array([1]), kv, causal=True))
    assert shared.shape == (2, 1, 2)


def test_combining_is_and(lib):
    a, b = lib.array([[True, True, False]]), lib.array([[True], [False]])
    both = lib.numpy(lib.combine_masks(a, None, b))
    assert both.tolist() == [[True, True, False], [False, False, False]]
    assert lib.combine_masks(None, None) is None


def test_refusals(lib):
    some = lib.array([0, 1])
    with pytest.raises(ConfigError, match="causal"):
        lib.visible(some, some, causal=False, window=2)
    with pytest.raises(ConfigError, match="window must be at least 1, got 0"):
        lib.visible(some, some, causal=True, window=0)
    with pytest.raises(ConfigError, match="sink_tokens = 2 needs a window"):
        lib.visible(some, some, causal=True, sink_tokens=2)
    with pytest.raises(ConfigError, match="sink_tokens must be at least 0, got -1"):
        lib.causal_mask(2, 2, window=1, sink_tokens=-1)
    with pytest.raises(ConfigError, match=r"sink_tokens must be a whole number, got 1\.5"):
        lib.visible(some, some, causal=True, window=2, sink_tokens=1.5)
    with pytest.raises(DTypeError, match="q_positions"):
        lib.visible(lib.array([0.0]), some, causal=True)
    with pytest.raises(DTypeError, match="kv_positions"):
        lib.visible(some, lib.array([True, False]), causal=True)
    with pytest.raises(ShapeError, match="batch"):
        lib.visible(lib.array([[[0]]]), some, causal=True)
    with pytest.raises(ShapeError, match="batch = 2"):
        lib.visible(lib.array([[0], [0]]), lib.array([[0], [0], [0]]), causal=True)
    with pytest.raises(ConfigError, match="q_len = 3"):
        lib.causal_mask(3, 2)
    with pytest.raises(ConfigError, match="kv_len"):
        lib.causal_mask(1, -1)
    with pytest.raises(DTypeError, match="boolean"):
        lib.combine_masks(lib.array([0.0, -1e9]))


@pytest.mark.parametrize("dtype", ["int8", "int16", "uint8", "uint32"])
def test_positions_that_would_wrap_around_are_refused(lib, dtype):
    """-1 is 255 in uint8, 100 - (-100) is -56 in int8: neither is a place or a distance."""
    wide, narrow = lib.array([2, 1]), lib.array([2, 1], dtype)
    with pytest.raises(DTypeError, match=f"q_positions must be int32 or int64, got .*{dtype}"):
        lib.visible(narrow, wide, causal=True)
    with pytest.raises(DTypeError, match="kv_positions must be int32 or int64"):
        lib.visible(wide, narrow, causal=True)
    q = lib.array(np.ones((1, 1, 2, 4)))
    for attention in (lib.scaled_dot_product_attention, lib.online_attention):
        with pytest.raises(DTypeError, match="int32 or int64"):
            attention(q, q, q, kv_positions=narrow)
    with pytest.raises(DTypeError, match="int32 or int64"):
        lib.alibi_bias(lib.alibi_slopes(2), narrow, wide)
    with pytest.raises(DTypeError, match="int32 or int64"):
        lib.relative_position_bucket(narrow, bidirectional=False)
    with pytest.raises(DTypeError, match="int32 or int64"):
        lib.rope_table(narrow, lib.rope_frequencies(4)[0])
    held = lib.KVCache(1, 1, 4, 4, dtype="float64")
    with pytest.raises(DTypeError, match="int32 or int64"):
        held.append(q, q, positions=narrow)
    assert held.slots == 0


def test_int32_is_wide_enough(lib):
    wide, narrow = (lib.array([3, -1, 0], dtype) for dtype in ("int64", "int32"))
    seen = [lib.numpy(lib.visible(p, p, causal=True, window=2)) for p in (wide, narrow)]
    np.testing.assert_array_equal(*seen)
