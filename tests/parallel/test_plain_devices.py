"""Ranks as arrays: every scheme is plain attention, and sends what its formula says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mini_attn import plain
from mini_attn.plain import devices

RANKS = (1, 2, 4, 8)
ORDERS = ("contiguous", "zigzag")
BATCH, HEADS, KV_HEADS, N = 2, 8, 8, 32
RNG = np.random.default_rng(0)
Q, K = (RNG.normal(size=(BATCH, heads, N, 6)) for heads in (HEADS, KV_HEADS))
V = RNG.normal(size=(BATCH, KV_HEADS, N, 5))
EVERY = np.arange(N)


def shards(x: Any, positions: Any) -> Any:
    """Each rank's tokens of (batch, heads, seq, width)."""
    return np.stack([x[:, :, own] for own in positions])


def close(got: Any, expected: Any) -> None:
    np.testing.assert_allclose(got, np.broadcast_to(expected, got.shape), rtol=0, atol=1e-12)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("window", [np.inf, 5, 1])
def test_a_ring_is_attention(ranks: int, order: str, window: float) -> None:
    """Few key/value heads are sent as few; every visible pair is compared once."""
    k, v = K[:, :2], V[:, :2]
    positions = devices.shard_positions(N, ranks, order)
    held = (shards(x, positions) for x in (Q, k, v))
    out, sent, pairs = devices.ring(*held, positions, 0.3, window)
    mask = plain.visible(EVERY, EVERY, window)
    close(out, shards(plain.attention(Q, k, v, mask, 0.3), positions))
    assert sent == (ranks - 1) * BATCH * 2 * (6 + 5) * N // ranks
    assert pairs.sum() == mask.sum()


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("order", ORDERS)
def test_the_blocks_of_a_picture_are_the_pairs_of_the_ring(ranks: int, order: str) -> None:
    positions = devices.shard_positions(N, ranks, order)
    *_, pairs = devices.ring(*(shards(x, positions) for x in (Q, K, V)), positions, 0.3)
    work = devices.blocks_of_rounds(ranks, order)
    assert ((work.sum(axis=(2, 3)) > 0) == (pairs > 0)).all()
    chunk = N / (2 * ranks)
    diagonal = np.array([[2] * ranks, *[[0] * ranks] * (ranks - 1)])  # half a block is n/2 less
    assert (work.sum(axis=(2, 3)) * chunk**2 + diagonal * chunk / 2 == pairs).all()
    whole = work.sum(axis=(0, 1))  # each block by one rank in one round, none of the future
    assert (whole == np.tril(np.ones_like(whole)) - np.eye(2 * ranks) / 2).all()


def test_a_contiguous_ring_waits_and_zigzag_does_not() -> None:
    for ranks in RANKS:
        idle = [devices.idle_share(devices.blocks_of_rounds(ranks, o).sum((2, 3))) for o in ORDERS]
        assert idle[0] == pytest.approx((ranks - 1) / (2 * ranks - 1))
        assert idle[1] == pytest.approx(0)


@pytest.mark.parametrize("ranks", RANKS)
def test_ulysses_is_attention(ranks: int) -> None:
    positions = devices.shard_positions(N, ranks, "contiguous")
    out, sent = devices.ulysses(*(shards(x, positions) for x in (Q, K, V)), EVERY, 0.3, 7)
    close(out, shards(plain.attention(Q, K, V, plain.visible(EVERY, EVERY, 7), 0.3), positions))
    assert sent * ranks**2 == BATCH * N * (HEADS + KV_HEADS) * (6 + 5) * (ranks - 1)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("n_kv_heads", [1, 2, 8])
def test_split_heads_and_columns_are_the_layer(ranks: int, n_kv_heads: int) -> None:
    """With fewer key/value heads than ranks, ranks hold copies."""
    width, d_model, d_ff = 4, 16, 24
    shapes = {
        "q": (d_model, HEADS * width), "k": (d_model, n_kv_heads * width),
        "v": (d_model, n_kv_heads * width), "o": (HEADS * width, d_model),
        "gate": (d_model, d_ff), "up": (d_model, d_ff), "down": (d_ff, d_model),
    }  # fmt: skip
    W = {name: RNG.normal(size=shape) / 4 for name, shape in shapes.items()}
    x = RNG.normal(size=(BATCH, N, d_model))
    parts = devices.split_weights(W, ranks, n_kv_heads)
    own = {"n_heads": HEADS // ranks, "n_kv_heads": max(n_kv_heads // ranks, 1)}

    def attend(x: Any, W: Any, n_heads: int = HEADS, n_kv_heads: int = n_kv_heads) -> Any:
        sizes = {"n_heads": n_heads, "n_kv_heads": n_kv_heads}
        return plain.grouped_query_attention(x, W, EVERY, layout="half", **sizes)

    everywhere = np.stack([x] * ranks)
    out, sent = devices.tensor_parallel(lambda x, W: attend(x, W, **own), everywhere, parts)
    close(out, attend(x, W))
    close(devices.tensor_parallel(plain.gated_mlp, everywhere, parts)[0], plain.gated_mlp(x, W))
    assert sent * ranks == 2 * (ranks - 1) * BATCH * N * d_model
    held = sum(part["k"].size for part in parts)
    assert held == W["k"].size * max(1, ranks // n_kv_heads)


@pytest.mark.parametrize("ranks", RANKS)
@pytest.mark.parametrize("order", ORDERS)
def test_merged_decode_is_attention_of_heads_and_of_latents(ranks: int, order: str) -> None:
    positions = devices.shard_positions(N, ranks, order)
    q, at = Q[:, :, -1:], np.array([N - 1])
    latent, k_rope = RNG.normal(size=(2, BATCH, 1, N, 4))
    turned = np.concatenate([latent, k_rope[..., :2]], axis=-1)
    for k, v in ((K, V), (turned, latent)):
        split = shards(k, positions), shards(v, positions)
        out, sent = devices.merged_decode(q, *split, at, positions, 0.3)
        close(out, plain.attention(q, k, v, True, 0.3))
        assert sent == (ranks - 1) * BATCH * HEADS * (v.shape[3] + 1)


def test_a_rank_without_a_token_counts_nothing() -> None:
    positions = np.array([[0, 1], [-1, -1]])
    k, v = (np.stack([x[:, :, :2], np.full_like(x[:, :, :2], 9)]) for x in (K, V))
    out, _ = devices.merged_decode(Q[:, :, 1:2], k, v, np.array([1]), positions, 0.3)
    close(out, plain.attention(Q[:, :, 1:2], K[:, :, :2], V[:, :, :2], True, 0.3))


def test_what_a_layer_of_llama_3_8b_sends() -> None:
    """Values per token, layer and device on 8 devices."""
    q, k = np.zeros((8, 1, 32, 2, 128)), np.zeros((8, 1, 8, 2, 128))
    positions = devices.shard_positions(16, 8, "zigzag")
    ring, ulysses = devices.ring(q, k, k, positions, 1.0), devices.ulysses(q, k, k, EVERY[:16], 1.0)
    half = devices.all_reduce(np.zeros((8, 16, 4096)))
    assert (ulysses[1] / 16, ring[1] / 16, 2 * half[1] / 16) == (1120, 1792, 14336)


def test_data_parallel_and_pipeline() -> None:
    stages = [lambda x: x + 1, lambda x: 2 * x, lambda x: x - 3]
    batches = [np.full(2, float(i)) for i in range(4)]
    outs, idle = devices.pipeline(stages, batches)
    assert [out[0] for out in outs] == [2 * (i + 1) - 3 for i in range(4)]
    assert idle == pytest.approx(2 / 6)
    assert devices.data_parallel(stages[1], [1, 2]) == [2, 4]
