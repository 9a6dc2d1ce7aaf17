"""What devices send each other, against what the plain forms send and what real caches hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mini_attn.numpy as ma
from mini_attn import cost
from mini_attn.errors import ConfigError
from mini_attn.models import MODELS
from mini_attn.plain import devices as plain
from tests.backends.small import small

LLAMA = MODELS["llama-3-8b"]
CHOSEN = small("indexed", index_n_heads=2, index_head_dim=3, index_topk=4)


@pytest.mark.parametrize(
    ("scheme", "values"),
    [("ulysses", 1120), ("ring", 1792), ("tensor", 14336), ("split-cache", 7 * 32 * 129)],
)
def test_llama_on_eight(scheme, values):
    """Worked by hand: 10,240 * 7/8 / 8; 2,048 / 8 * 7; two sums of 2 * 4,096 * 7/8."""
    told = cost.communication(LLAMA, ranks=8, scheme=scheme)
    assert told.values() == values
    assert told.bytes() == (4 if scheme == "split-cache" else 2) * values  # partial: float32
    assert told.values(100) == 100 * values
    assert sum(told.parts.values()) == values


@pytest.mark.parametrize("scheme", ["ulysses", "ring", "tensor", "split-cache"])
def test_one_device_says_nothing(scheme):
    told = cost.communication(LLAMA, ranks=1, scheme=scheme)
    assert (told.values(), told.messages) == (0, 0)


SIZES = {
    "ranks": st.integers(1, 5), "per_rank": st.integers(1, 3), "shared": st.integers(1, 3),
    "head_dim": st.integers(1, 4), "v_head_dim": st.integers(1, 4), "each": st.integers(1, 3),
}  # fmt: skip


def _sizes(ranks, per_rank, shared, head_dim, v_head_dim):
    """A model whose heads the ranks can share: each has so many key/value heads, shared by some."""
    kv = ranks * per_rank
    sizes = {"n_kv_heads": kv, "head_dim": head_dim, "v_head_dim": v_head_dim, "n_layers": 1}
    d_model = 2 * ranks
    return small("gqa", n_heads=kv * shared, d_model=d_model, d_ff=3 * ranks, **sizes)


def _array(rng, *shape):
    return rng.normal(size=shape)


@given(**SIZES)
def test_the_plain_forms_send_so_much(ranks, per_rank, shared, head_dim, v_head_dim, each):
    """A ring, Ulysses, tensor parallel and a split cache, each run with ranks as arrays."""
    model, rng = _sizes(ranks, per_rank, shared, head_dim, v_head_dim), np.random.default_rng(0)
    seq = 2 * each  # of each rank, so that zigzag has two chunks
    tokens = ranks * seq
    q = _array(rng, ranks, 1, model.n_heads, seq, head_dim)
    k, v = (_array(rng, ranks, 1, model.n_kv_heads, seq, width) for width in (head_dim, v_head_dim))
    for order in ("contiguous", "zigzag"):
        positions = plain.shard_positions(tokens, ranks, order)
        _, sent, pairs = plain.ring(q, k, v, positions, 1.0)
        assert sent == cost.communication(model, ranks=ranks, scheme="ring").values(tokens)
        assert pairs.tolist() == cost.ring_pairs(tokens, ranks=ranks, order=order)
        idle = cost.idle_share(order, ranks=ranks, tokens=tokens)
        assert idle == pytest.approx(plain.idle_share(pairs), abs=1e-12)
    _, sent = plain.ulysses(q, k, v, np.arange(tokens), 1.0)
    assert sent == cost.communication(model, ranks=ranks, scheme="ulysses").values(tokens)
    x = _array(rng, ranks, 1, seq, model.d_model)
    halves = [plain.tensor_parallel(lambda x, W: x, x, [{}] * ranks)[1] for _ in range(2)]
    assert sum(halves) == cost.communication(model, ranks=ranks, scheme="tensor").values(seq)
    _, sent = plain.merged_decode(q[0, :, :, :1], k, v, np.array([tokens]), positions, 1.0)
    assert sent == cost.communication(model, ranks=ranks, scheme="split-cache").values()


def test_a_latent_goes_around_and_merges_as_values():
    v3 = MODELS["deepseek-v3"]
    assert cost.communication(v3, ranks=8, scheme="ring").values() == 576 * 7 / 8
    split = cost.communication(v3, ranks=8, scheme="split-cache")
    assert split.parts == {"outputs and lse": 7 * 128 * (128 + 1)}


def test_the_way_back():
    """Keys and values go around once more, and the gradients of others' ones go home."""
    forward, back = (
        {s: cost.communication(LLAMA, ranks=8, scheme=s, backward=b).values() for s in three}
        for b in (False, True)
        for three in [("tensor", "ring", "ulysses")]
    )
    assert back == forward | {"ring": 2 * 1792}


def test_the_messages_that_follow_each_other():
    told = {s: cost.communication(LLAMA, ranks=4, scheme=s).messages for s in cost_schemes()}
    assert told == {"tensor": 2 * 6, "ring": 3, "ulysses": 2 * 3, "split-cache": 3}


def cost_schemes():
    return ("tensor", "ring", "ulysses", "split-cache")


def test_one_sum_where_attention_and_mlp_are_added_together():
    told = cost.communication("falcon-7b", ranks=1, scheme="tensor")
    assert list(told.parts) == ["attention and MLP"]


def test_layers_of_two_sizes_are_asked_one_by_one():
    gemma = MODELS["gemma-4-31b"]
    full = next(i for i in range(gemma.n_layers) if gemma.window_of(i) is None)
    told = [cost.communication(gemma, ranks=2, scheme="ring", layer=i).values() for i in (0, full)]
    assert told[0] != told[1]


# --- what is kept -----------------------------------------------------------------------------


def test_a_latent_is_whole_on_every_device():
    told = [cost.device_cache_values(m, ranks=8) for m in ("deepseek-v3", LLAMA)]
    assert told == [576, 256]
    both = [cost.device_cache_bytes("deepseek-v3", ranks=r, batch=2, context=9) for r in (1, 64)]
    assert both == [cost.cache_bytes("deepseek-v3", batch=2, context=9)] * 2


@given(
    kv=st.sampled_from([1, 2, 4, 8]), ranks=st.sampled_from([1, 2, 4, 8]), tokens=st.integers(0, 9)
)
def test_caches_of_the_shares_hold_so_much(kv, ranks, tokens):
    """All ranks' caches, each with its heads, beside one cache: copies are what is too much."""
    model = small("gqa", n_heads=8, n_kv_heads=kv, head_dim=2, v_head_dim=3, n_layers=3)
    asked = {"batch": 2, "context": tokens, "dtype_bytes": 8}
    each = cost.device_cache_bytes(model, ranks=ranks, **asked)
    heads = max(1, kv // ranks)
    cache = ma.KVCache(2, heads, 2, max(1, tokens), v_head_dim=3, dtype="float64")
    if tokens:
        cache.append(np.ones((2, heads, tokens, 2)), np.ones((2, heads, tokens, 3)))
    assert each == 3 * cache.used_bytes
    copies = cost.head_copies(model, ranks=ranks)
    assert ranks * each == copies * cost.cache_bytes(model, **asked)


@given(
    kv=st.sampled_from([1, 2, 4, 8]), ranks=st.sampled_from([1, 2, 4, 8, 16]),
    tokens=st.integers(1, 40), shared=st.sampled_from([None, 0, 20]),
)  # fmt: skip
def test_every_way_to_count_a_cache_counts_a_devices(kv, ranks, tokens, shared):
    """Bytes, bytes per token and formula are those of a model with only a device's heads."""
    model = small("gqa", n_heads=16, n_kv_heads=kv, head_dim=2, v_head_dim=3, n_layers=3)
    own = replace(model, n_heads=16 // ranks, n_kv_heads=max(1, kv // ranks))
    storage = cost.Ring() if shared is None else cost.Paged(4, shared_tokens=shared)
    use = {"batch": 2, "context": tokens, "storage": storage}
    assert cost.cache_bytes(model, **use, ranks=ranks) == cost.cache_bytes(own, **use)
    assert cost.cache_formula(model, **use, ranks=ranks) == cost.cache_formula(own, **use)
    each = cost.cache_bytes_per_token(model, dtype_bytes=2, ranks=ranks)
    assert each == 2 * 3 * cost.device_cache_values(model, ranks=ranks)


def test_quantized_caches_split_by_heads():
    use = {"batch": 2, "context": 100, "storage": cost.Quantized(4)}
    sizes = [cost.cache_bytes(LLAMA, **use, ranks=ranks) for ranks in (1, 8, 16)]
    assert sizes[0] == 8 * sizes[1]
    assert sizes[1] == sizes[2]


def test_positions_split_a_latent_where_heads_do_not():
    asked = {"ranks": 8, "batch": 1, "context": 8000}
    whole = cost.device_cache_bytes("deepseek-v3", scheme="tensor", **asked)
    assert whole == 8 * cost.device_cache_bytes("deepseek-v3", scheme="split-cache", **asked)


# --- who waits --------------------------------------------------------------------------------


def test_waiting_in_contiguous_order():
    """Two ranks: one computes 1/2, then waits for the other's whole block: 3 units each, 4 done."""
    assert cost.idle_share("contiguous", ranks=2) == pytest.approx(1 - 4 / 6)
    assert cost.idle_share("contiguous", ranks=8) == pytest.approx(7 / 15)
    long = cost.idle_share("contiguous", ranks=8, tokens=16 * 10**6)
    assert long == pytest.approx(7 / 15, abs=1e-6)


@given(ranks=st.integers(1, 9), size=st.integers(1, 9))
def test_in_zigzag_order_nobody_waits(ranks, size):
    tokens = 2 * ranks * size
    assert cost.idle_share("zigzag", ranks=ranks, tokens=tokens) == 0
    for order in ("contiguous", "zigzag"):
        every = sum(map(sum, cost.ring_pairs(tokens, ranks=ranks, order=order)))
        assert every == tokens * (tokens + 1) // 2  # each visible pair once


# --- how long it takes ------------------------------------------------------------------------


@given(
    alpha=st.floats(1e-6, 1e-3), rate=st.floats(1e8, 1e11),
    messages=st.lists(st.integers(1, 14), min_size=2, max_size=5),
)  # fmt: skip
def test_a_link_is_found_again(alpha, rate, messages):
    link = cost.Link(alpha, rate)
    places = [(m, b) for m in messages for b in (8.0, alpha * rate, 100 * alpha * rate)]
    found = cost.fitted_link([(m, b, link.seconds(m, b)) for m, b in places])
    assert found.alpha_seconds == pytest.approx(alpha, rel=1e-6)
    assert found.bytes_per_second == pytest.approx(rate, rel=1e-6)


def test_a_step_is_messages_and_bytes():
    told = cost.communication(LLAMA, ranks=8, scheme="tensor")
    seconds = told.seconds(cost.Link(1e-5, 1e9), tokens=1)
    assert seconds == pytest.approx(28 * 1e-5 + 2 * 14336 / 1e9)


def test_samples_must_tell_two_numbers():
    for samples in ([], [(1, 8, 1.0)], [(1, 8, 1.0), (2, 16, 2.0)], [(1, 8, 2.0), (1, 1e6, 1.0)]):
        with pytest.raises(ConfigError, match="short messages and long ones"):
            cost.fitted_link(samples)
    for bad in (0, -1, float("inf"), float("nan")):
        with pytest.raises(ConfigError, match="alpha_seconds"):
            cost.Link(bad, 1e9)


# --- what is refused --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"model": LLAMA, "ranks": 16, "scheme": "ulysses"}, "n_kv_heads = 8"),
        ({"model": LLAMA, "ranks": 3, "scheme": "tensor"}, "3 ranks"),
        ({"model": LLAMA, "ranks": 0, "scheme": "ring"}, "ranks"),
        ({"model": LLAMA, "ranks": 8, "scheme": "pipeline"}, "scheme"),
        ({"model": LLAMA, "ranks": 8, "scheme": "ring", "layer": 32}, "layer"),
        ({"model": LLAMA, "ranks": 8, "scheme": "split-cache", "backward": True}, "decoding"),
        ({"model": "deepseek-v3", "ranks": 8, "scheme": "ulysses"}, "mla"),
        ({"model": CHOSEN, "ranks": 1, "scheme": "ring"}, "indexed"),
        ({"model": LLAMA, "ranks": 8, "scheme": "ring", "dtype_bytes": 3}, "dtype_bytes"),
    ],
)
def test_what_no_devices_do_is_refused(asked, words):
    model = asked.pop("model")
    with pytest.raises(ConfigError, match=words):
        cost.communication(model, **asked)


def test_heads_and_ranks_divide_one_another():
    with pytest.raises(ConfigError, match="12 ranks can't share 8 key/value heads"):
        cost.device_cache_bytes(LLAMA, ranks=12, batch=1, context=1)
    with pytest.raises(ConfigError, match="8 ranks can't share n_heads = 12"):
        cost.cache_bytes_per_token(small("mqa", n_heads=12), ranks=8)
    for bad in (0, 1.5, True):
        with pytest.raises(ConfigError, match="ranks"):
            cost.cache_bytes(LLAMA, batch=1, context=1, ranks=bad)
    with pytest.raises(ConfigError, match="10 tokens"):
        cost.ring_pairs(10, ranks=2, order="zigzag")
    with pytest.raises(ConfigError, match="order"):
        cost.idle_share("striped", ranks=2)
