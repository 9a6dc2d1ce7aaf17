"""Attention over split sequences and split caches, on real processes, equals one process."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import torch

import mini_attn.torch as mt
from mini_attn.config import AttentionConfig, LatentConfig
from mini_attn.errors import CacheStateError, ConfigError, MiniAttnError, ShapeError
from mini_attn.plain import attention, rope, visible
from mini_attn.plain import devices as plain
from mini_attn.torch.parallel.ranks import Ranks
from mini_attn.torch.parallel.sequence import ring_attention, shard_positions, ulysses_attention
from mini_attn.torch.parallel.split_cache import SplitCache
from tests.parallel.families import FAMILIES, OTHERS
from tests.parallel.ranks_pool import RanksPool
from tests.parallel.sequence_cases import (
    answers_with_caches,
    disagreeing,
    interrupted_step,
    merged_decode,
    order_of_sends,
    rotated,
    split_sequence,
    whole,
)

ORDERS = ("contiguous", "zigzag")
SIZES = (2, 4)
RULES: dict[str, dict[str, Any]] = {
    "all": {},
    "causal": {"causal": True},
    "window": {"causal": True, "window": 5},
    "narrow": {"causal": True, "window": 1},
    "first tokens": {"causal": True, "window": 5, "sink_tokens": 2},
    "capped": {"causal": True, "softcap": 1.5, "scale": 0.7},
    "sinks": {"causal": True, "sinks": np.array([0.5, -1.0, 2.0, 0.0])},
}


def draw(n: int, n_kv_heads: int, batch: int = 2) -> dict[str, Any]:
    """Queries of four heads, keys and values of few, and a gradient of the output."""
    rng = np.random.default_rng(n + n_kv_heads)
    sizes = {"q": (4, 6), "k": (n_kv_heads, 6), "v": (n_kv_heads, 5), "d_out": (4, 5)}
    return {name: rng.normal(size=(batch, h, n, width)) for name, (h, width) in sizes.items()}


def alone(arrays: dict[str, Any], options: dict[str, Any], positions: Any) -> dict[str, Any]:
    """The same in one process."""
    asked = [torch.from_numpy(arrays[name]).requires_grad_() for name in "qkv"]
    options = {**options}
    if "sinks" in options:
        options["sinks"] = torch.from_numpy(options["sinks"]).requires_grad_()
    if positions is not None:
        at = torch.from_numpy(positions)
        options |= {"q_positions": at, "kv_positions": at}
    out = mt.scaled_dot_product_attention(*asked, **options)
    out.backward(torch.from_numpy(arrays["d_out"]))
    found = {"out": out.detach().numpy()}
    found |= {f"d_{name}": x.grad.numpy() for name, x in zip("qkv", asked, strict=True)}
    if "sinks" in options:
        found["d_sinks"] = options["sinks"].grad.numpy()
    return found


def check(
    pools: dict[int, RanksPool],
    size: int,
    scheme: str,
    order: str,
    arrays: dict[str, Any],
    options: dict[str, Any],
    positions: Any = None,
) -> list[dict[str, Any]]:
    found = pools[size](split_sequence, scheme, order, arrays, options, positions)
    expected = alone(arrays, options, positions)
    for name, value in expected.items():
        got = found[0][name] if name == "d_sinks" else whole(found, name)
        np.testing.assert_allclose(got, value, rtol=0, atol=1e-10, err_msg=name)
    return found


CASES = [
    pytest.param(rule, size, marks=() if size == 4 or rule == "causal" else pytest.mark.exhaustive)
    for rule in RULES
    for size in SIZES
]


@pytest.mark.parametrize(("rule", "size"), CASES)
@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("scheme", ["ring", "ulysses"])
def test_outputs_and_gradients_are_those_of_one_process(
    pools: dict[int, RanksPool], scheme: str, rule: str, order: str, size: int
) -> None:
    arrays = draw(24, n_kv_heads=4 if scheme == "ulysses" else 2)
    check(pools, size, scheme, order, arrays, RULES[rule])


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("scheme", ["ring", "ulysses"])
def test_padding_changes_nothing(
    pools: dict[int, RanksPool], scheme: str, causal: bool, order: str
) -> None:
    """A rank may hold nothing but padding, and padding may hold anything."""
    arrays, positions = draw(16, n_kv_heads=2), np.stack([np.arange(16), np.arange(16) - 9])
    positions = np.maximum(positions, -1)
    padded = positions[:, None, :, None] < 0
    arrays["d_out"] = np.where(padded, 0, arrays["d_out"])
    arrays["k"], arrays["v"] = (np.where(padded, np.inf, arrays[name]) for name in "kv")
    check(pools, 2, scheme, order, arrays, {"causal": causal}, positions)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("order", ORDERS)
def test_latents_go_around_once(pools: dict[int, RanksPool], order: str, size: int) -> None:
    """Their first numbers are the values, so nothing else is sent."""
    arrays = draw(24, n_kv_heads=1)
    asked = {"causal": True, "values": 5}
    found = pools[size](split_sequence, "ring", order, arrays, asked)
    expected = alone({**arrays, "v": arrays["k"][..., :5].copy()}, {"causal": True}, None)
    d_k = expected["d_k"].copy()
    d_k[..., :5] += expected["d_v"]
    for name, value in {"out": expected["out"], "d_q": expected["d_q"], "d_k": d_k}.items():
        np.testing.assert_allclose(whole(found, name), value, rtol=0, atol=1e-10, err_msg=name)
    for part in found:
        assert part["sent"] == (size - 1) * 2 * 24 // size * 6
        assert part["sent_back"] == 2 * part["sent"]


def test_more_tokens_than_a_tile_holds(pools: dict[int, RanksPool]) -> None:
    for order in ORDERS:
        arrays = draw(1200, n_kv_heads=1, batch=1)
        check(pools, 2, "ring", order, arrays, {"causal": True, "window": 700})


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("order", ORDERS)
def test_the_plain_ring_is_the_real_one(pools: dict[int, RanksPool], order: str, size: int) -> None:
    """Output and values sent; and what is sent is what the formula says."""
    arrays = draw(24, n_kv_heads=2)
    found = check(pools, size, "ring", order, arrays, {"causal": True})
    shards = plain.shard_positions(24, size, order)
    q, k, v = (np.stack([arrays[name][:, :, own] for own in shards]) for name in "qkv")
    out, sent, _ = plain.ring(q, k, v, shards, scale=6**-0.5)
    for rank, part in enumerate(found):
        np.testing.assert_allclose(part["out"], out[rank], rtol=0, atol=1e-12)
        assert part["sent"] == sent == (size - 1) * 2 * 2 * 24 // size * (6 + 5)
        assert part["sent_back"] == 2 * sent


@pytest.mark.parametrize("size", SIZES)
def test_the_plain_ulysses_is_the_real_one(pools: dict[int, RanksPool], size: int) -> None:
    arrays = draw(24, n_kv_heads=4)
    found = check(pools, size, "ulysses", "contiguous", arrays, {"causal": True})
    shards = plain.shard_positions(24, size, "contiguous")
    q, k, v = (np.stack([arrays[name][:, :, own] for own in shards]) for name in "qkv")
    out, sent = plain.ulysses(q, k, v, np.arange(24), scale=6**-0.5)
    for rank, part in enumerate(found):
        np.testing.assert_allclose(part["out"], out[rank], rtol=0, atol=1e-12)
        assert part["sent"] == part["sent_back"] == sent


def test_a_window_ends_the_ring_early(pools: dict[int, RanksPool]) -> None:
    """Three ranks on, no key is seen any more: two rounds, and gradients come straight home."""
    arrays = draw(24, n_kv_heads=2)
    found = check(pools, 4, "ring", "contiguous", arrays, {"causal": True, "window": 5})
    assert {part["sent"] for part in found} == {2 * 2 * 6 * (6 + 5)}


def test_a_block_is_under_way_while_it_is_used(pools: dict[int, RanksPool]) -> None:
    for done in pools[4](order_of_sends):
        assert done == ["send", "use", "wait", "send", "use", "wait", "use"]


@pytest.mark.parametrize("order", ORDERS)
def test_a_rank_rotates_by_the_positions_of_its_tokens(
    pools: dict[int, RanksPool], order: str
) -> None:
    arrays = draw(24, n_kv_heads=2)
    at = np.arange(24)
    q, k = (rope(arrays[name], at, "half", theta=100.0) for name in "qk")
    expected = attention(q, k, arrays["v"], visible(at, at), scale=6**-0.5)
    found = pools[4](rotated, arrays, order)
    np.testing.assert_allclose(whole(found, "out"), expected, rtol=0, atol=1e-10)


LISTED = [pytest.param(n, marks=pytest.mark.exhaustive) for n in FAMILIES[4] if n not in OTHERS]


@pytest.mark.parametrize("name", [*OTHERS, *LISTED])
def test_split_caches_are_one_cache(pools: dict[int, RanksPool], name: str) -> None:
    """Chunks, steps, forks, crops and tokens of every family; or a refusal by name."""
    config = FAMILIES[4][name]
    expected = answers_with_caches(None, config)
    found = pools[4](answers_with_caches, config)
    other = any(type(layer) not in (AttentionConfig, LatentConfig) for layer in config.attentions)
    if other:
        assert all("is made of a KVCache or a LatentCache" in one["refused"] for one in found)
        return
    for one in found:
        for part in ("chunks", "fork", "original"):
            np.testing.assert_allclose(one[part], expected[part], rtol=0, atol=1e-10)
        for part in ("greedy", "padded"):
            assert (one[part] == expected[part]).all()
        sizes = zip(one["bytes"], expected["bytes"], strict=True)
        for own, whole_bytes in sizes:  # 4 slots of 15, and a window's ring whole
            assert own in (whole_bytes, whole_bytes // 15 * 4)


@pytest.mark.parametrize("name", ["latents", "layers that read others"])
def test_what_a_step_over_a_split_cache_sends(pools: dict[int, RanksPool], name: str) -> None:
    """Each head's value and its sum, also of latents; a layer with a ring sends nothing."""
    config = FAMILIES[4][name]
    heads = [layer for layer in config.attentions if getattr(layer, "window", None) is None]
    numbers = sum(layer.n_heads * (layer.v_head_dim + 1) for layer in heads)
    for one in pools[4](answers_with_caches, config):
        assert one["sent"] == 3 * 2 * numbers


@pytest.mark.parametrize("size", SIZES)
def test_the_plain_merge_is_the_real_one(pools: dict[int, RanksPool], size: int) -> None:
    arrays = draw(24, n_kv_heads=2)
    found = pools[size](merged_decode, arrays)
    shards = np.arange(24).reshape(-1, size).T  # dealt out in turn
    k, v = (np.stack([arrays[name][:, :, own] for own in shards]) for name in "kv")
    asked = arrays["q"][:, :, -1:], k, v, np.array([23]), shards
    out, sent = plain.merged_decode(*asked, scale=6**-0.5)
    for rank, part in enumerate(found):
        np.testing.assert_allclose(part["out"], out[rank], rtol=0, atol=1e-12)
        assert (part["positions"] == shards[rank]).all()
        assert part["sent"] == sent == (size - 1) * 2 * 4 * (5 + 1)


@pytest.mark.parametrize(("size", "name"), [(2, "one norm over copied heads"), (4, "latents")])
def test_an_interrupted_step_changes_no_cache_of_any_rank(
    pools: dict[int, RanksPool], size: int, name: str
) -> None:
    found = pools[size].outcomes(interrupted_step, FAMILIES[4][name], timeout=5.0)
    values = [one.value for one in found]
    assert all(value["alike"] and set(value["slots"]) == {9} for value in values)
    errors = [value["error"] for value in values]
    assert errors == ["RankError"] * (size - 1) + ["KeyboardInterrupt"]


@pytest.mark.parametrize("what", ["shapes", "options", "gradients"])
def test_ranks_that_differ_notice_it_before_anything_is_sent(
    pools: dict[int, RanksPool], what: str
) -> None:
    for text in pools[2](disagreeing, what):
        assert "shapes, types or options of ring_attention differ: rank 1 from rank 0" in text


def one_of(size: int) -> Ranks:
    """A rank whose group doesn't exist: whatever it sends is an error."""
    return Ranks(group="none", rank=0, size=size, device=torch.device("cpu"))


REFUSED: dict[str, tuple[Any, type[MiniAttnError], str]] = {
    "tokens": (lambda: shard_positions(10, one_of(4)), ShapeError, "pad to 12"),
    "chunks": (lambda: shard_positions(12, one_of(4), "zigzag"), ShapeError, "pad to 16"),
    "order": (lambda: shard_positions(12, one_of(4), "spiral"), ConfigError, "spiral"),
    "ranks": (lambda: attend_on(4), ConfigError, "Ranks.start"),
    "shard": (lambda: attend_on(one_of(4), seq=3, order="zigzag"), ShapeError, "got 3 tokens"),
    "heads": (
        lambda: attend_on(one_of(4), by=ulysses_attention), ConfigError,
        "4 ranks can't share n_kv_heads = 2",
    ),
    "values": (
        lambda: attend_on(one_of(2), v=4),
        ConfigError, "how many of a key's 3 numbers are its value, got 4",
    ),
    "window": (lambda: attend_on(one_of(2), window=3), ConfigError, "causal"),
    "positions": (
        lambda: attend_on(one_of(2), positions=torch.arange(5)), ShapeError, "positions must be",
    ),
    "ring": (
        lambda: SplitCache(mt.SlidingWindowCache(1, 2, 4, 8, window=3), one_of(2)), ConfigError,
        "SlidingWindowCache",
    ),
    "filled": (lambda: SplitCache(filled(), one_of(2)), CacheStateError, "2 slots are filled"),
}  # fmt: skip


def attend_on(
    ranks: Any, *, seq: int = 4, v: int = 0, by: Any = ring_attention, **options: Any
) -> Any:
    q, k = torch.zeros(1, 4, seq, 3), torch.zeros(1, 2, seq, 3)
    return by(q, k, v or k, ranks=ranks, **options)


def filled() -> Any:
    cache = mt.KVCache(1, 1, 2, capacity=4)
    cache.append(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 2, 2))
    return cache


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_split_is_refused_before_anything_is_sent(name: str) -> None:
    ask, kind, words = REFUSED[name]
    with pytest.raises(kind, match=re.escape(words)):
        ask()
