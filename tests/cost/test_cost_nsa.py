"""What native sparse attention costs: by hand, counted one by one, and beside a real cache."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, prod

import pytest

import mini_attn.numpy as ma
from mini_attn import cost
from mini_attn.errors import ConfigError
from mini_attn.variants import REGISTRY, CacheField
from tests.backends.small import small

PAPER = {"block_size": 64, "n_blocks": 16, "window": 512}
SIZES = {"block_size": 3, "n_blocks": 2, "window": 4}
MODEL = small("nsa", **SIZES)
LENGTHS = [(1, 1), (1, 2), (1, 3), (1, 6), (1, 7), (1, 50), (4, 4), (4, 9), (11, 30)]


def read_by(tokens, size, n_blocks, window):
    """Means, tokens of chosen blocks and of the window, of a query with so many tokens."""
    blocks = [range(begin, min(begin + size, tokens)) for begin in range(0, tokens, size)]
    means = [block for block in blocks if len(block) == size]
    chosen = [blocks[-1], *blocks[:-1][: n_blocks - 1]]  # which of the others, makes no difference
    return len(means), sum(map(len, chosen)), min(window, tokens)


@pytest.mark.parametrize(("q_len", "kv_len"), LENGTHS)
def test_pairs_are_counted_one_by_one(q_len, kv_len):
    each = [read_by(kv_len - q_len + i + 1, 3, 2, 4) for i in range(q_len)]
    names = ("compressed", "selected", "window")
    counted = dict(zip(names, map(sum, zip(*each, strict=True)), strict=True))
    assert cost.branch_pairs(q_len, kv_len, **SIZES) == counted
    full = cost.branch_pairs(q_len, kv_len, **SIZES, causal="full")
    square = [q_len * (kv_len // 3), q_len * kv_len, q_len * kv_len]
    assert full == (counted if q_len == 1 else dict(zip(names, square, strict=True)))
    exact = cost.matmul_flops(MODEL, q_len=q_len, kv_len=kv_len, causal="exact")
    layers, read = MODEL.n_layers, counted["selected"] + counted["window"]
    assert exact["compressed"] == layers * 2 * 6 * (4 + 5) * counted["compressed"]
    assert exact["scores"] == layers * 2 * 6 * 4 * read
    assert exact["weighted sum"] == layers * 2 * 6 * 5 * read
    assert exact["gates"] == layers * 2 * q_len * 20 * 18
    ops = cost.elementwise_ops(MODEL, q_len=q_len, kv_len=kv_len, causal="exact")
    assert ops["softmax"] == layers * 6 * 5 * sum(counted.values())


@pytest.mark.parametrize(("q_len", "kv_len"), LENGTHS)
def test_a_step_reads_rows_and_writes_means_when_a_block_is_full(q_len, kv_len):
    each, layers = 2 * (4 + 5), MODEL.n_layers
    moved = cost.step_bytes(MODEL, q_len=q_len, kv_len=kv_len, dtype_bytes=1)
    rows = sum(read_by(kv_len, 3, 2, 4)) if q_len == 1 else kv_len + kv_len // 3
    assert moved["cache read"] == layers * each * rows
    full = sum((kv_len - i) % 3 == 0 for i in range(q_len))
    assert moved["cache written"] == layers * each * (q_len + full)


def test_reads_are_those_of_whole_blocks_where_the_own_one_is_full():
    for context in (64, 1024, 65_536, 2**20):
        ours = sum(cost.branch_pairs(1, context, **PAPER).values())
        assert ours == cost.block_reads(context, span=64, stride=64, **PAPER)
        less = sum(cost.branch_pairs(1, context + 1, **PAPER).values())
        grown = cost.block_reads(context + 1, span=64, stride=64, **PAPER)
        assert grown - less == (63 if context >= 1024 else 0)  # of its own block one is there
    assert sum(cost.branch_pairs(1, 65_536, **PAPER).values()) == 1024 + 1024 + 512


@pytest.mark.parametrize("context", [0, 1, 2, 3, 4, 17, 18])
def test_bytes_are_those_of_a_real_cache(context):
    held = ma.NativeSparseCache(2, 2, 4, max(context, 1), block_size=3, v_head_dim=5)
    if context:
        assert held.allocated_bytes * MODEL.n_layers == cost.cache_bytes(
            MODEL, batch=2, context=context, dtype_bytes=4
        )
    numbers = (2 * (4 + 5)) * (context + context // 3)
    expected = 2 * 2 * MODEL.n_layers * numbers
    assert cost.cache_bytes(MODEL, batch=2, context=context, dtype_bytes=2) == expected
    terms = cost.cache_formula(MODEL, batch=2, context=context)
    assert sum(prod(factor.value for factor in term) for term in terms) == expected
    assert [term[2].label for term in terms] == ["tokens", "complete blocks"]


def test_a_token_takes_its_part_of_a_block():
    """Evenly, and rounded up to a byte."""
    each = Fraction(2 * (4 + 5)) * (1 + Fraction(1, 3))
    for dtype_bytes in (0.5, 1, 2, 4):
        expected = ceil(MODEL.n_layers * each * Fraction(dtype_bytes))
        assert cost.cache_bytes_per_token(MODEL, dtype_bytes=dtype_bytes) == expected
    odd = small("nsa", **(SIZES | {"block_size": 7}))
    assert cost.cache_bytes_per_token(odd, dtype_bytes=1) == ceil(3 * 18 * Fraction(8, 7))
    with pytest.raises(ConfigError, match="dtype_bytes"):
        cost.cache_bytes_per_token(odd, dtype_bytes=3)


@pytest.mark.parametrize("shared", [0, 5, 16, 47, 100])
def test_pages_share_the_means_of_what_they_share(shared):
    """Blocks of three in pages of sixteen: those that lie in the common part whole, once."""
    storage, context = cost.Paged(16, shared), 70
    common = min(shared, context - 1) // 16 * 16
    blocks = [(begin, begin + 3) for begin in range(0, 80 - 2, 3)]
    own = 80 - common + sum(end > common for _, end in blocks)
    once = common + sum(end <= common for _, end in blocks)
    use = {"batch": 4, "context": context, "storage": storage}
    expected = 2 * MODEL.n_layers * 18 * (4 * own + once)
    assert cost.cache_bytes(MODEL, **use) == expected
    terms = cost.cache_formula(MODEL, **use)
    assert sum(prod(factor.value for factor in term) for term in terms) == expected


def test_fields_count_tokens_or_blocks():
    field = CacheField("means", ("n_kv_heads",), per="block_size")
    assert [field.held(MODEL, n) for n in (0, 2, 3, 8)] == [0, 0, 2, 4]
    assert (field.tokens(MODEL), CacheField("keys", ("n_kv_heads",)).tokens(MODEL)) == (3, 1)
    assert REGISTRY["nsa"].factors == ("n_kv_heads", "head_dim", "v_head_dim", "block_size")


def test_a_step_puts_the_means_with_the_attention():
    flops, _ = cost.step_operations(MODEL, kv_len=50)["attention"]
    parts = cost.matmul_flops(MODEL, q_len=1, kv_len=50, causal="exact")
    assert flops == parts["compressed"] + parts["scores"] + parts["weighted sum"]


def test_three_branches_hand_on():
    use = {"q_len": 2, "kv_len": 50, "dtype_bytes": 1}
    handed = cost.activation_bytes(MODEL, **use)
    plain = replace(MODEL, attention="gqa", window=None)
    single = cost.activation_bytes(plain, **use)
    gates = MODEL.n_layers * 2 * 3 * 6
    assert handed["projections"] - single["projections"] == gates
    assert handed["attention"] == 3 * single["attention"] + gates
    unfused = cost.activation_bytes(MODEL, **use, fused=False)["scores"]
    assert unfused == MODEL.n_layers * 4 * 6 * 2 * (50 + 50 + 16)


def test_sizes_that_are_missing_are_named():
    for name in ("block_size", "n_blocks"):
        with pytest.raises(ConfigError, match=f"nsa needs .*{name}.* above 0"):
            replace(MODEL, **{name: 0})
    with pytest.raises(ConfigError, match="nsa and window = None do not go together"):
        replace(MODEL, window=None)
    with pytest.raises(ConfigError, match="sink_tokens = 2 needs a window: nsa keeps all"):
        replace(MODEL, sink_tokens=2)
    for name in SIZES:
        with pytest.raises(ConfigError, match=name):
            cost.branch_pairs(1, 9, **(SIZES | {name: 0}))
    for wrong in ({"q_len": 0}, {"kv_len": 0}, {"q_len": 10}, {"causal": "half"}):
        with pytest.raises(ConfigError, match=next(iter(wrong))):
            cost.branch_pairs(**({"q_len": 1, "kv_len": 9} | SIZES | wrong))


def test_a_layer_keeps_all_tokens_though_it_has_a_window():
    assert MODEL.n_full_layers == MODEL.n_layers
    assert MODEL.window_of(0) is None
    assert MODEL.layer_config(1).window == 4
