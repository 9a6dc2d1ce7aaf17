"""Patterns of few keys: each by its rule, pair by pair; and blocks that are skipped, not masked."""

from __future__ import annotations

import importlib

import numpy as np
import pytest

from mini_attn.errors import ConfigError, DTypeError, ShapeError


def pairs(q, kv, rule):
    return [[rule(a, b) for b in kv] for a in q]


Q, KV = [-1, 0, 3, 4, 9], [4, -1, 0, 9, 3, 1]


@pytest.mark.parametrize("number", [1, 2, 3, 20])
def test_each_pattern_is_its_rule(lib, number):
    q, kv = lib.array(np.array(Q)), lib.array(np.array(KV))
    for ours, rule in (
        (lib.strided_mask(q, kv, number), lambda a, b: 0 <= b <= a and (a - b) % number == 0),
        (
            lib.global_mask(q, kv, number),
            lambda a, b: a >= 0 <= b and (a < number or b < number),
        ),
        (lib.bucket_mask(q, kv), lambda a, b: b >= 0 and a == b),
    ):
        np.testing.assert_array_equal(lib.numpy(ours), pairs(Q, KV, rule))


def test_rows_of_a_batch_have_positions_of_their_own(lib):
    q, kv = np.array([[3, 4], [0, 1]]), np.array([[0, 1, 2], [-1, 0, 1]])
    for name, options in (("strided_mask", (2,)), ("global_mask", (1,)), ("bucket_mask", ())):
        call = getattr(lib, name)
        both = lib.numpy(call(lib.array(q), lib.array(kv), *options))
        for i in range(2):
            alone = call(lib.array(q[i]), lib.array(kv[i]), *options)
            np.testing.assert_array_equal(both[i], lib.numpy(alone))


def pattern(lib, name, seq):
    """Masks that leave blocks empty, (seq, seq)."""
    at = lib.array(np.arange(seq))
    near = lib.visible(at, at, causal=True, window=4)
    hashes = lib.array(np.arange(seq) * 7 // seq)
    return {
        "near": near,
        "near or strided": near | lib.strided_mask(at, at, 8),
        "near or global": near | lib.combine_masks(lib.global_mask(at, at, 2), at[:, None] >= at),
        "bucket": lib.combine_masks(lib.bucket_mask(hashes, hashes), at[:, None] >= at),
        "none": near & ~near,
    }[name]


PATTERNS = ("near", "near or strided", "near or global", "bucket", "none")


@pytest.mark.parametrize("name", PATTERNS)
@pytest.mark.parametrize(("seq", "blocks"), [(24, (4, 4)), (23, (5, 3)), (7, (16, 2)), (1, (1, 1))])
@pytest.mark.parametrize("causal", [False, True])
def test_empty_blocks_are_skipped(lib, rng, monkeypatch, name, seq, blocks, causal):
    """What is computed is counted: as many products of scores as blocks with something seen."""
    mask = pattern(lib, name, seq)
    q, k, v = (lib.array(rng.standard_normal((2, 2, seq, 4))) for _ in range(3))
    who = {"mask": mask, "causal": causal}
    expected = lib.numpy(lib.scaled_dot_product_attention(q, k, v, **who))
    online = importlib.import_module(f"mini_attn.{lib.name}.attention.online")
    scored, done = online.score, []

    def counting(queries, keys, *rest):
        done.append((queries.shape[2], keys.shape[2]))
        return scored(queries, keys, *rest)

    monkeypatch.setattr(online, "score", counting)
    out, _ = lib.online_attention(q, k, v, **who, block_q=blocks[0], block_k=blocks[1])
    np.testing.assert_allclose(lib.numpy(out), expected, atol=1e-12)
    seen, every = lib.count_blocks(mask, *blocks)
    assert len(done) == seen
    assert every == -(-seq // blocks[0]) * -(-seq // blocks[1])
    assert seen < every or (seq < 8 and name != "none")


@pytest.mark.parametrize("block_q", [1, 2, 5])
@pytest.mark.parametrize("block_k", [1, 3, 4])
def test_blocks_are_counted_one_by_one(lib, rng, block_q, block_k):
    mask = rng.random((2, 3, 7, 9)) < 0.05
    seen = sum(
        bool(mask[..., i : i + block_q, j : j + block_k].any())
        for i in range(0, 7, block_q)
        for j in range(0, 9, block_k)
    )
    total = -(-7 // block_q) * -(-9 // block_k)
    assert lib.count_blocks(lib.array(mask), block_q, block_k) == (seen, total)


def test_a_pattern_of_two_layers_reaches_everything(lib):
    """Near keys in one layer and strided ones in the next bring each token to each later one."""
    at = lib.array(np.arange(25))
    near = lib.numpy(lib.visible(at, at, causal=True, window=5)).astype(int)
    strided = lib.numpy(lib.strided_mask(at, at, 5)).astype(int)
    np.testing.assert_array_equal(strided @ near > 0, np.tri(25, dtype=bool))
    assert (near.sum(axis=1) + strided.sum(axis=1)).max() == 10


def test_sorted_by_bucket_blocks_are_empty(lib, rng):
    """The same pairs in the text's order are spread over all blocks."""
    buckets = rng.integers(0, 8, 64)
    ordered = np.sort(buckets)
    spread = lib.bucket_mask(lib.array(buckets), lib.array(buckets))
    together = lib.bucket_mask(lib.array(ordered), lib.array(ordered))
    assert int(spread.sum()) == int(together.sum())
    seen, every = lib.count_blocks(spread, 8, 8)
    assert lib.count_blocks(together, 8, 8)[0] < every / 2 < seen


def test_bad_input_is_refused(lib):
    at = lib.array(np.arange(4))
    mask = lib.strided_mask(at, at, 2)
    for call, error, words in (
        (lambda: lib.strided_mask(at, at, 0), ConfigError, "stride"),
        (lambda: lib.global_mask(at, at, 0), ConfigError, "tokens"),
        (lambda: lib.strided_mask(at * 1.0, at, 2), DTypeError, "q_positions"),
        (lambda: lib.bucket_mask(at, at * 1.0), DTypeError, "kv_buckets"),
        (lambda: lib.global_mask(at[None, None], at, 2), ShapeError, "q_positions"),
        (lambda: lib.bucket_mask(at.reshape(2, 2), at.reshape(1, 4)), ShapeError, "batch = 2"),
        (lambda: lib.count_blocks(mask * 1, 2, 2), DTypeError, "boolean"),
        (lambda: lib.count_blocks(mask[0], 2, 2), ShapeError, "q_len, kv_len"),
        (lambda: lib.count_blocks(mask, 0, 2), ConfigError, "block_q"),
        (lambda: lib.count_blocks(mask, 2, 0), ConfigError, "block_k"),
    ):
        with pytest.raises(error, match=words):
            call()
