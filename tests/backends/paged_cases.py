"""The kernel that follows a table of blocks, against plain attention in float64.

`test_triton_paged` runs this file in processes of its own, as Triton decides when it is imported
whether its kernels are interpreted.
"""

from __future__ import annotations

import os

import pytest
import torch

import mini_attn.torch as mt
from mini_attn.torch.attention import paged
from mini_attn.torch.kernels import _triton, _triton_paged
from tests.backends.kernel_cases import check

DEVICE = os.environ["KERNEL_DEVICE"]
# n_heads, n_kv_heads, q_len, head_dim, v_head_dim, block_size, lengths
SIZES = {
    "one of each": (1, 1, 1, 1, 1, 1, [1]),
    "unequal rows": (6, 2, 1, 20, 12, 5, [75, 3, 41]),
    "blocks larger than a tile": (2, 2, 1, 16, 16, 100, [130]),
    "a few queries": (4, 2, 5, 16, 32, 7, [5, 40]),
    "a row without tokens": (4, 1, 2, 64, 64, 16, [40, 0, 1]),
}
RULES = {
    "causal": {},
    "window of one": {"window": 1},
    "window": {"window": 17},
    "softcap": {"softcap": 2.0, "scale": 0.7},
}


def draw(sizes, dtype=torch.float32, garbage=None):
    """Queries, a pool whose blocks lie in an order of chance, its table, and the lengths."""
    n_heads, n_kv_heads, q_len, width, v_width, block_size, lengths = sizes
    generator = torch.Generator().manual_seed(sum(lengths))
    needed = [-(-length // block_size) for length in lengths]
    kind = {"dtype": str(dtype).removeprefix("torch."), "device": DEVICE}
    pool = mt.BlockPool(
        sum(needed) + 2, n_kv_heads, width, block_size=block_size, v_head_dim=v_width, **kind
    )
    order = torch.randperm(sum(needed), generator=generator) + 2
    for _ in range(pool.n_blocks):
        pool.take()
    table = torch.full((len(lengths), max(needed) + 1), -1)
    for array in (pool._k, pool._v):
        drawn = torch.randn(array.shape, generator=generator) * 2
        array.copy_(drawn)
    for row, n in enumerate(needed):
        table[row, :n], order = order[:n], order[n:]
        if garbage is not None and lengths[row] % block_size:
            for array in (pool._k, pool._v):
                array[table[row, n - 1], :, lengths[row] % block_size :] = garbage
    if garbage is not None:
        pool._k[:2] = pool._v[:2] = garbage
    q = torch.randn(len(lengths), n_heads, q_len, width, generator=generator) * 2
    return q.to(DEVICE, dtype), pool, table.to(DEVICE), torch.tensor(lengths, device=DEVICE)


def by_definition(q, pool, table, lengths, **rule):
    """Each row gathered, in float64: no kernel takes that."""
    outs, sums = [], []
    size, q_len = pool.block_size, q.shape[2]
    for row, length in enumerate(lengths.tolist()):
        at = torch.arange(length, device=q.device)
        blocks = table[row, at // size]
        k, v = (a[blocks, :, at % size].transpose(0, 1)[None].double() for a in (pool._k, pool._v))
        places = torch.arange(length - q_len, length, device=q.device)
        out, lse = mt.scaled_dot_product_attention(
            q[row : row + 1].double(), k, v, causal=True, q_positions=places.clamp(min=-1),
            kv_positions=at, return_lse=True, **rule,
        )  # fmt: skip
        outs.append(out)
        sums.append(lse)
    return torch.cat(outs), torch.cat(sums)


def kernel(q, pool, table, lengths, spans=0, **rule):
    rule = {"window": None, "softcap": None, "scale": q.shape[3] ** -0.5} | rule
    table, lengths = paged.check_table(pool, table, lengths, len(q))
    slots = int(lengths.max())
    return _triton_paged.attend(q, pool._k, pool._v, table, lengths, slots, spans=spans, **rule)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_every_rule_however_the_tokens_are_cut(sizes, rule):
    drawn, spans = draw(sizes), 1 if rule == {} else 3
    check(kernel(*drawn, spans=spans, **rule), by_definition(*drawn, **rule))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("name", ["unequal rows", "a few queries"])
def test_half_precision(name, dtype):
    drawn = draw(SIZES[name], dtype)
    out, lse = kernel(*drawn, spans=2)
    assert (out.dtype, lse.dtype) == (dtype, torch.float32)
    check((out, lse), by_definition(*drawn), dtype)


@pytest.mark.parametrize("garbage", [torch.nan, 3e38])
@pytest.mark.parametrize("name", ["unequal rows", "a row without tokens"])
def test_slots_that_hold_nothing_are_never_read(name, garbage):
    clean = kernel(*draw(SIZES[name]), spans=2)
    for one, other in zip(kernel(*draw(SIZES[name], garbage=garbage), spans=2), clean, strict=True):
        assert one.equal(other)


def test_the_public_function_takes_it_where_it_can(monkeypatch):
    drawn = draw(SIZES["unequal rows"])
    sinks = torch.linspace(-1, 1, 6).to(DEVICE)
    expected = by_definition(*drawn, window=17, sinks=sinks)
    asked, real = [], _triton_paged.attend

    def attend(*arrays, **options):
        asked.append(options)
        return real(*arrays, **options)

    monkeypatch.setattr(_triton_paged, "attend", attend)
    check(mt.paged_attention(*drawn, window=17, sinks=sinks), expected)
    assert len(asked) == 1
    mt.paged_attention(*drawn, window=17, sink_tokens=1)  # which the kernel's walk would skip
    many = drawn[0].expand(-1, -1, paged.MOST_ROWS, -1)
    found = mt.paged_attention(many, *drawn[1:])
    assert len(asked) == 1
    check(found, by_definition(many, *drawn[1:]))
    assert _triton.takes(drawn[0], drawn[1]._k, drawn[1]._v)
