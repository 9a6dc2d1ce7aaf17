"""Attention over blocks against PyTorch's own attention on the gathered tokens."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import torch.nn.functional as F

SIZES = (6, 2, 8)  # query heads, key/value heads, size of a head


@pytest.mark.parametrize("q_len", [1, 4])
@pytest.mark.parametrize("block_size", [1, 5, 16])
def test_pages_are_what_pytorch_makes_of_the_gathered_tokens(lib, rng, q_len, block_size):
    n_heads, n_kv_heads, head_dim = SIZES
    lengths = [33, 4, 17]
    pool = lib.BlockPool(60, n_kv_heads, head_dim, block_size=block_size, dtype="float64")
    caches, expected = [], []
    q = rng.standard_normal((3, n_heads, q_len, head_dim))
    for row, length in enumerate(lengths):
        k, v = (rng.standard_normal((1, n_kv_heads, length, head_dim)) for _ in "kv")
        caches.append(lib.PagedKVCache(pool, 1))
        for start in range(0, length, 7):  # the blocks of the rows come to lie between each other
            some = slice(start, min(start + 7, length))
            caches[-1].append(lib.array(k[:, :, some]), lib.array(v[:, :, some]))
        # PyTorch's causal mask is aligned to the first query: the last ones need a mask.
        seen = torch.arange(length) <= torch.arange(length - q_len, length)[:, None]
        arrays = [torch.from_numpy(a) for a in (q[row : row + 1], k, v)]
        expected.append(
            F.scaled_dot_product_attention(*arrays, attn_mask=seen, enable_gqa=True).numpy()
        )
    blocks = max(len(cache.block_table[0]) for cache in caches)
    table = [(cache.block_table[0] + [-1] * blocks)[:blocks] for cache in caches]
    arrays = [lib.array(a) for a in (q, table, lengths)]
    out = lib.numpy(lib.paged_attention(arrays[0], pool, *arrays[1:], block_k=8)[0])
    np.testing.assert_allclose(out, np.concatenate(expected), atol=1e-12)
    for row, cache in enumerate(caches):
        alone = lib.numpy(cache.attend(arrays[0][row : row + 1], block_k=8)[0])
        np.testing.assert_allclose(alone, expected[row], atol=1e-12)


@pytest.mark.parametrize("bits", [8, 2])
def test_codes_are_what_pytorch_makes_of_the_decoded_tokens(lib, rng, bits):
    n_heads, n_kv_heads, head_dim = SIZES
    cache = lib.QuantizedKVCache(
        2, n_kv_heads, head_dim, 50, bits=bits, group_size=4, residual=5, dtype="float64"
    )
    k, v = (lib.array(rng.standard_normal((2, n_kv_heads, 43, head_dim))) for _ in "kv")
    cache.append(k, v)
    q = rng.standard_normal((2, n_heads, 1, head_dim))
    held = [torch.from_numpy(lib.numpy(a).copy()) for a in cache.view()[:2]]
    expected = F.scaled_dot_product_attention(torch.from_numpy(q), *held, enable_gqa=True)
    found = lib.numpy(cache.attend(lib.array(q), block_k=8)[0])
    np.testing.assert_allclose(found, expected.numpy(), atol=1e-12)
