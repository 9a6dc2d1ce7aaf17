"""A matrix product's counts against a count of what a tiled loop really does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mini_attn import cost, example
from mini_attn.errors import ConfigError

SIZES = st.integers(1, 9)


class Counter:
    """Numbers read of a matrix, block by block."""

    def __init__(self, array):
        self.array, self.read = array, 0

    def __getitem__(self, place):
        block = self.array[place]
        self.read += block.size
        return block


@given(m=SIZES, k=SIZES, n=SIZES, tile=st.integers(1, 10))
def test_traffic_is_what_a_tiled_loop_reads(m, k, n, tile):
    rng = np.random.default_rng(m + 10 * k + 100 * n)
    a, b = Counter(rng.normal(size=(m, k))), Counter(rng.normal(size=(k, n)))
    out, multiply_adds, written = np.zeros((m, n)), 0, 0
    for i in range(0, m, tile):
        for j in range(0, n, tile):
            held = np.zeros_like(out[i : i + tile, j : j + tile])
            for p in range(0, k, tile):
                left, right = a[i : i + tile, p : p + tile], b[p : p + tile, j : j + tile]
                held += left @ right
                multiply_adds += left.size * right.shape[1]
            out[i : i + tile, j : j + tile] = held
            written += held.size
    np.testing.assert_allclose(out, a.array @ b.array)
    assert cost.product_traffic(m, k, n, tile=tile) == (a.read, b.read, written)
    assert cost.product_flops(m, k, n) == 2 * multiply_adds
    assert cost.product_bytes(m, k, n, dtype_bytes=4, tile=tile) == 4 * (a.read + b.read + written)


def test_all_at_once_moves_each_number_once():
    assert cost.product_traffic(4, 8, 4) == cost.product_traffic(4, 8, 4, tile=8) == (32, 32, 16)


def test_the_layer_is_a_sum_of_products():
    """What a query projection of the example costs is one product."""
    assert cost.product_flops(4, example.D_MODEL, example.N_HEADS * example.HEAD_DIM) == 512


@pytest.mark.parametrize("name", ["m", "k", "n"])
def test_sizes_are_counts(name):
    sizes = {"m": 2, "k": 2, "n": 2, name: 0}
    for function in (cost.product_flops, cost.product_traffic):
        with pytest.raises(ConfigError, match=name):
            function(**sizes)
    with pytest.raises(ConfigError, match="tile"):
        cost.product_traffic(2, 2, 2, tile=0)
    with pytest.raises(ConfigError, match="dtype_bytes"):
        cost.product_bytes(2, 2, 2, dtype_bytes=0)
