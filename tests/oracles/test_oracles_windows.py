"""A window that keeps the first tokens, against flex_attention with a mask written out."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from torch.nn.attention.flex_attention import create_block_mask, flex_attention

import mini_attn.numpy as ma
import mini_attn.torch as mt
from mini_attn.config import AttentionConfig

BATCH, LENGTH, WIDTH = 2, 23, 12
SIZES = {"n_heads": 4, "n_kv_heads": 2, "head_dim": 8}
KEPT = [(1, 1), (3, 0), (4, 2), (5, 5), (6, 20), (30, 4)]  # window, first tokens
CHUNKS = {
    "one piece": [LENGTH],
    "longer than the window": [10, 9, 4],
    "of many lengths": [2, 11, 1, 8, 1],
    "token by token": [1] * LENGTH,
}


def theirs(layer: mt.GroupedQueryAttention, x: torch.Tensor, window: int, first: int):
    """The layer's output, its attention by flex_attention."""

    def seen(batch, head, q, k):
        return (q >= k) & ((q - k < window) | (k < first))

    mask = create_block_mask(seen, None, None, LENGTH, LENGTH, device="cpu", BLOCK_SIZE=4)
    heads = [
        project(x).unflatten(-1, (-1, SIZES["head_dim"])).transpose(1, 2)
        for project in (layer.q_proj, layer.k_proj, layer.v_proj)
    ]
    out = flex_attention(*heads, block_mask=mask, enable_gqa=True)
    return layer.o_proj(out.transpose(1, 2).flatten(2))


@pytest.mark.filterwarnings("ignore:flex_attention called without torch.compile")
@pytest.mark.parametrize(("window", "first"), KEPT)
@pytest.mark.parametrize("chunks", CHUNKS.values(), ids=CHUNKS)
@pytest.mark.parametrize("lib", [ma, mt])
def test_a_window_with_first_tokens_is_flex_attentions(lib, chunks, window, first):
    config = AttentionConfig(WIDTH, **SIZES, window=window, sink_tokens=first)
    layers = {each: each.GroupedQueryAttention(config, dtype="float64") for each in (ma, mt)}
    layers[mt].load_state_dict(
        {name: torch.from_numpy(w) for name, w in layers[ma].state_dict().items()}
    )
    x = torch.from_numpy(np.random.default_rng(7).standard_normal((BATCH, LENGTH, WIDTH)))
    with torch.no_grad():
        expected = theirs(layers[mt], x, window, first)
        given = x.numpy() if lib is ma else x
        layer, cuts = layers[lib], np.cumsum([0, *chunks])
        sizes = (BATCH, SIZES["n_kv_heads"], SIZES["head_dim"], LENGTH)
        for cache in (None, layer.new_cache(BATCH, LENGTH), lib.KVCache(*sizes, dtype="float64")):
            pieces = itertools.pairwise(cuts) if cache else [(0, LENGTH)]
            parts = [np.asarray(layer(given[:, a:b], cache=cache)) for a, b in pieces]
            found = np.concatenate(parts, axis=1)
            np.testing.assert_allclose(found, expected.numpy(), atol=1e-12)
