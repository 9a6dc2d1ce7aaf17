"""Tiles: their counts against the loads of the code, and against the blocks of a mask."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mini_attn.numpy as ma
from mini_attn import cost
from mini_attn.errors import ConfigError
from mini_attn.numpy.attention import online

SIZES = st.integers(1, 13)


@given(
    q_len=SIZES, more=st.integers(0, 9), block_q=SIZES, block_k=SIZES, width=st.integers(1, 3),
    causal=st.booleans(),
)  # fmt: skip
def test_the_count_is_what_the_code_loads(q_len, more, block_q, block_k, width, causal):
    """Of `online_attention` itself, whose tiles tell what they give out."""
    kv_len, read, found = q_len + more, {"k": 0, "v": 0, "tiles": 0, "pairs": 0}, online._slices

    def counting(k, v, block):
        for columns, load in found(k, v, block):

            def told(load=load):
                pair = load()
                read["k"] += pair[0].size
                read["v"] += pair[1].size
                read["tiles"] += 1
                return pair

            yield columns, told

    rng = np.random.default_rng(0)
    q, k = (rng.standard_normal((1, 1, n, 2)) for n in (q_len, kv_len))
    v = rng.standard_normal((1, 1, kv_len, width))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(online, "_slices", counting)
        out, lse = ma.online_attention(q, k, v, causal=causal, block_q=block_q, block_k=block_k)
    sizes = {"block_q": block_q, "block_k": block_k, "causal": causal}
    moved = cost.tiled_traffic(q_len, kv_len, head_dim=2, v_head_dim=width, **sizes)
    assert (moved["k"], moved["v"]) == (read["k"], read["v"])
    assert (moved["q"], moved["out"], moved["lse"]) == (q.size, out.size, lse.size)
    assert cost.computed_tiles(q_len, kv_len, **sizes) == read["tiles"]


@given(q_len=SIZES, more=st.integers(0, 9), block_q=SIZES, block_k=SIZES, causal=st.booleans())
def test_tiles_are_the_blocks_in_which_somebody_sees(q_len, more, block_q, block_k, causal):
    kv_len = q_len + more
    mask = ma.causal_mask(q_len, kv_len) if causal else np.ones((q_len, kv_len), bool)
    sizes = {"block_q": block_q, "block_k": block_k, "causal": causal}
    assert cost.computed_tiles(q_len, kv_len, **sizes) == ma.count_blocks(mask, block_q, block_k)[0]
    pairs = 0
    for i in range(0, q_len, block_q):
        for j in range(0, kv_len, block_k):
            tile = mask[i : i + block_q, j : j + block_k]
            pairs += tile.size if tile.any() else 0
    assert cost.tiled_pairs(q_len, kv_len, **sizes) == pairs
    seen = cost.visible_pairs(q_len, kv_len) if causal else q_len * kv_len
    assert seen <= pairs
    assert cost.tiled_pairs(q_len, kv_len, block_q=1, block_k=1, causal=causal) == seen


def test_single_rows_read_all_keys_and_one_block_reads_them_once():
    sizes = {"head_dim": 4, "block_k": 3}
    assert cost.tiled_traffic(6, 7, block_q=1, **sizes)["k"] == 6 * 7 * 4
    assert cost.tiled_traffic(6, 7, block_q=99, **sizes)["k"] == 7 * 4


def test_a_tile_holds_its_parts():
    q, k, v, out, scores, sums = 32 * 8, 16 * 8, 16 * 4, 32 * 4, 32 * 16, 2 * 32
    held = cost.tile_bytes(head_dim=8, v_head_dim=4, block_q=32, block_k=16)
    assert held == 2 * (q + k + v) + 4 * (out + scores + sums)
    assert cost.tile_bytes(head_dim=8, block_q=1, block_k=1, dtype_bytes=4) == 4 * (8 * 4 + 1 + 2)


def test_sizes_are_checked():
    good = {"block_q": 2, "block_k": 2}
    for function in (cost.computed_tiles, cost.tiled_pairs):
        with pytest.raises(ConfigError, match="block_k"):
            function(4, 4, block_q=2, block_k=0)
        with pytest.raises(ConfigError, match="cannot be the last"):
            function(5, 4, causal=True, **good)
        with pytest.raises(ConfigError, match="kv_len"):
            function(4, 0, **good)
    with pytest.raises(ConfigError, match="v_head_dim"):
        cost.tiled_traffic(4, 4, head_dim=2, v_head_dim=0, **good)
    with pytest.raises(ConfigError, match="head_dim"):
        cost.tile_bytes(head_dim=0, **good)
