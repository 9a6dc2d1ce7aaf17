# Triton compiles no annotations but its own.
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""A kernel: attention of the latest tokens to blocks of a pool, found by their table.

A program holds all queries of one group of heads and walks over a span of one row's tokens. For
each tile it reads the table, and then the keys and values from wherever their blocks lie: nothing
is gathered first. Rows may be of any lengths; each program reads how long its own is.
"""

from __future__ import annotations

import math

import torch
import triton
import triton.language as tl
from torch import Tensor

from mini_attn.torch.kernels import _triton
from mini_attn.torch.kernels._triton_attention import merge_kernel
from mini_attn.torch.kernels._triton_tiles import LOG_2, NOTHING, load_rows

__all__ = ["attend", "paged_kernel"]


@triton.jit
def _walk_blocks(
    rows, k, v, table, kv_head, n_kv_heads, place, low, high, window, factors,
    WINDOW: tl.constexpr, SOFTCAP: tl.constexpr, WIDE: tl.constexpr, SIZE: tl.constexpr,
    WIDTH: tl.constexpr, V_WIDTH: tl.constexpr, BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_V: tl.constexpr,
):  # fmt: skip
    """All tiles of a span of one row's tokens, each read from its blocks."""
    found = tl.zeros([BLOCK_Q, BLOCK_V], tl.float32)
    total = tl.zeros([BLOCK_Q], tl.float32)
    top = tl.full([BLOCK_Q], NOTHING, tl.float32)
    for start in tl.range(low, high, BLOCK_K):
        column = start + tl.arange(0, BLOCK_K)
        held = column < high
        block = tl.load(table + column // SIZE, mask=held, other=0)
        slot = (block.to(tl.int64) * n_kv_heads + kv_head) * SIZE + column % SIZE
        keys = load_rows(k, slot, WIDTH, held, WIDTH, BLOCK_D, True)
        values = load_rows(v, slot, V_WIDTH, held, V_WIDTH, BLOCK_V, True)
        if WIDE:
            keys, values = keys.to(tl.float32), values.to(tl.float32)
        scores = tl.dot(rows, tl.trans(keys), input_precision="ieee") * factors[0]
        if SOFTCAP:
            scores = factors[1] * (1 - 2 / (1 + tl.exp2(scores)))
        seen = held[None, :] & (column[None, :] <= place)
        if WINDOW:
            seen = seen & (column[None, :] > place - window)
        scores = tl.where(seen, scores, NOTHING)
        new_top = tl.maximum(top, tl.max(scores, 1))
        shift = tl.where(new_top == NOTHING, 0.0, new_top)  # a row that has seen nothing yet
        weights = tl.exp2(scores - shift[:, None])
        keep = tl.exp2(top - shift)
        total = total * keep + tl.sum(weights, 1)
        weights = weights.to(values.dtype)
        found = tl.dot(weights, values, found * keep[:, None], input_precision="ieee")
        top = new_top
    return found, total, top


@triton.jit
def paged_kernel(
    q, k, v, table, lengths, out, lse, q_steps, table_step, sizes, window, factors,
    WINDOW: tl.constexpr, SOFTCAP: tl.constexpr, WIDE: tl.constexpr, GROUP: tl.constexpr,
    SIZE: tl.constexpr, WIDTH: tl.constexpr, V_WIDTH: tl.constexpr, BLOCK_Q: tl.constexpr,
    BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_V: tl.constexpr,
):  # fmt: skip
    """A group's queries over a span of tokens, into contiguous (span, batch, head, query, …)."""
    n_pairs, n_kv_heads, q_len, span, n_spans = sizes
    part, pair = tl.program_id(0) % n_spans, tl.program_id(0) // n_spans
    batch, kv_head = (pair // n_kv_heads).to(tl.int64), (pair % n_kv_heads).to(tl.int64)
    length = tl.load(lengths + batch).to(tl.int32)
    row = tl.arange(0, BLOCK_Q)
    query, inside = row // GROUP, row // GROUP < q_len
    at = batch * q_steps[0] + (kv_head * GROUP + row % GROUP) * q_steps[1]
    at += query.to(tl.int64) * q_steps[2]
    rows = load_rows(q, at, 1, inside, WIDTH, BLOCK_D, True)
    if WIDE:
        rows = rows.to(tl.float32)
    first = length - q_len  # position of the first query
    low, high = part * span, tl.minimum(part * span + span, length)
    if WINDOW:
        low = tl.maximum(low, tl.maximum(first - window + 1, 0) // BLOCK_K * BLOCK_K)
    found, total, top = _walk_blocks(
        rows, k, v, table + batch * table_step, kv_head, n_kv_heads, (query + first)[:, None],
        low, high, window, factors,
        WINDOW, SOFTCAP, WIDE, SIZE, WIDTH, V_WIDTH, BLOCK_Q, BLOCK_K, BLOCK_D, BLOCK_V,
    )  # fmt: skip
    at = ((part.to(tl.int64) * n_pairs + pair) * GROUP + row % GROUP) * q_len + query
    whole = tl.where(total == 0, 1.0, total)  # zeros and -inf for a row that saw nothing
    places = tl.arange(0, BLOCK_V)[None, :]
    some = inside[:, None] & (places < V_WIDTH)
    given = (found / whole[:, None]).to(out.dtype.element_ty)
    tl.store(out + at[:, None] * V_WIDTH + places, given, mask=some)
    sums = tl.where(total == 0, NOTHING, (top + tl.log2(whole)) * LOG_2)
    tl.store(lse + at, sums, mask=inside)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    table: Tensor,
    lengths: Tensor,
    slots: int,
    *,
    window: int | None,
    scale: float,
    softcap: float | None,
    spans: int = 0,
) -> tuple[Tensor, Tensor]:
    """Output and natural log-sum-exp; `slots` bounds the lengths, `spans` 0 cuts as it is best."""
    batch, n_heads, q_len, width = q.shape
    n_kv_heads, size, v_width = k.shape[1], k.shape[2], v.shape[3]
    group = n_heads // n_kv_heads
    units, shared = _triton._device(q.device)
    tile = _triton._tile(group * q_len, max(width, v_width), q.dtype, shared)
    programs = batch * n_kv_heads
    span = _triton._span(max(1, slots), programs, tile, spans, units)
    n_spans = -(-max(1, slots) // span)
    out, lse = _triton._empty(q, v)
    parts, part_sums = (out, lse) if n_spans == 1 else _triton._parts(q, v, n_spans)
    factors = (2 * scale / softcap, softcap) if softcap else (scale, 1.0)
    log2_e = math.log2(math.e)
    table, lengths = table.contiguous(), lengths.contiguous()
    with torch.cuda.device(q.get_device()):  # a kernel starts on the current device
        paged_kernel[(programs * n_spans,)](
            q, k, v, table, lengths, parts, part_sums, q.stride()[:3], table.shape[1],
            (programs, n_kv_heads, q_len, span, n_spans), window or 0,
            (factors[0] * log2_e, factors[1] * log2_e),
            WINDOW=window is not None, SOFTCAP=softcap is not None,
            WIDE=_triton.INTERPRETED and q.dtype == torch.bfloat16, GROUP=group, SIZE=size,
            WIDTH=width, V_WIDTH=v_width, BLOCK_D=_triton._power(width),
            BLOCK_V=_triton._power(v_width), **tile,
        )  # fmt: skip
        if n_spans > 1:
            merge_kernel[(lse.numel(),)](
                parts, part_sums, out, lse, lse.numel(), n_spans,
                V_WIDTH=v_width, BLOCK_V=_triton._power(v_width), BLOCK_S=16,
            )  # fmt: skip
    return out, lse
