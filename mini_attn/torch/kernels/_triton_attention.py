# Triton compiles no annotations but its own.
# mypy: disable-error-code="no-untyped-def,untyped-decorator,no-untyped-call"
"""Kernels: attention tile by tile, and the merge of what several programs found.

A program holds a block of rows: the queries of one group of heads, the heads of a query next to
each other, so that a key is read once for all of them. It walks over a span of the keys with a
running maximum and a running sum. Where one program for each block would leave the device idle,
as in a decode step, the keys are cut into spans, whose results `merge_kernel` puts together.
"""

from __future__ import annotations

import triton
import triton.language as tl

from mini_attn.torch.kernels._triton_tiles import (
    LOG2_E,
    LOG_2,
    NOTHING,
    bounds_by_number,
    bounds_by_place,
    load_rows,
    walk_span,
)


@triton.jit
def attention_kernel(
    q, k, v, out, lse, q_places, kv_places,
    q_steps, k_steps, v_steps, place_steps, sizes, window,
    factors,
    CAUSAL: tl.constexpr, WINDOW: tl.constexpr, SOFTCAP: tl.constexpr, PLACED: tl.constexpr,
    WIDE: tl.constexpr, GROUP: tl.constexpr, WIDTH: tl.constexpr, V_WIDTH: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr, BLOCK_D: tl.constexpr, BLOCK_V: tl.constexpr,
):  # fmt: skip
    """One block of rows over one span of keys, into contiguous (span, batch, head, query, …)."""
    n_pairs, n_kv_heads, q_len, kv_len, span, n_spans, n_blocks = sizes
    # The last rows see most keys where attention is causal: they start first.
    number = tl.program_id(0)
    block, rest = n_blocks - 1 - number % n_blocks, number // n_blocks
    part, pair = rest % n_spans, rest // n_spans
    batch, kv_head = (pair // n_kv_heads).to(tl.int64), (pair % n_kv_heads).to(tl.int64)
    k += batch * k_steps[0] + kv_head * k_steps[1]
    v += batch * v_steps[0] + kv_head * v_steps[1]
    row = block * BLOCK_Q + tl.arange(0, BLOCK_Q)
    query, inside = row // GROUP, row // GROUP < q_len
    at = batch * q_steps[0] + (kv_head * GROUP + row % GROUP) * q_steps[1]
    at += query.to(tl.int64) * q_steps[2]
    rows = load_rows(q, at, 1, inside, WIDTH, BLOCK_D, True)
    if WIDE:
        rows = rows.to(tl.float32)
    low, high = part * span, tl.minimum(part * span + span, kv_len)
    place = query + (kv_len - q_len)
    if PLACED:
        kv_places += batch * place_steps[1]
        if CAUSAL:
            place = tl.load(q_places + batch * place_steps[0] + query, mask=inside, other=-1)
        bounds = bounds_by_place(kv_places, place, low, high, window, CAUSAL, WINDOW, BLOCK_K)
    else:
        first = block * BLOCK_Q // GROUP + (kv_len - q_len)
        last = tl.minimum((block * BLOCK_Q + BLOCK_Q - 1) // GROUP, q_len - 1) + (kv_len - q_len)
        bounds = bounds_by_number(first, last, low, high, window, CAUSAL, WINDOW, BLOCK_K)

    found, total, top = walk_span(
        rows, k, v, kv_places, place, bounds, (k_steps[2], v_steps[2]), window, factors, CAUSAL,
        WINDOW, SOFTCAP, PLACED, WIDE, WIDTH, V_WIDTH, BLOCK_Q, BLOCK_K, BLOCK_D, BLOCK_V,
    )  # fmt: skip
    at = ((part.to(tl.int64) * n_pairs + pair) * GROUP + row % GROUP) * q_len + query
    whole = tl.where(total == 0, 1.0, total)  # zeros and -inf for a row that saw nothing
    places = tl.arange(0, BLOCK_V)[None, :]
    values = (found / whole[:, None]).to(out.dtype.element_ty)
    some = inside[:, None] & (places < V_WIDTH)
    tl.store(out + at[:, None] * V_WIDTH + places, values, mask=some)
    sums = tl.where(total == 0, NOTHING, (top + tl.log2(whole)) * LOG_2)
    tl.store(lse + at, sums, mask=inside)


@triton.jit
def merge_kernel(
    parts, part_sums, out, lse, n_rows, n_spans,
    V_WIDTH: tl.constexpr, BLOCK_V: tl.constexpr, BLOCK_S: tl.constexpr,
):  # fmt: skip
    """One row: the results over all spans, weighted by their shares of the whole sum."""
    row = tl.program_id(0).to(tl.int64)
    places = tl.arange(0, BLOCK_V)[None, :]
    found, total = tl.zeros([BLOCK_V], tl.float32), tl.zeros([], tl.float32)
    top = total + NOTHING
    for start in tl.range(0, n_spans, BLOCK_S):
        part = start + tl.arange(0, BLOCK_S)
        at, held = part.to(tl.int64) * n_rows + row, part < n_spans
        sums = tl.load(part_sums + at, mask=held, other=NOTHING) * LOG2_E
        new_top = tl.maximum(top, tl.max(sums, 0))
        shift = tl.where(new_top == NOTHING, 0.0, new_top)
        shares, keep = tl.exp2(sums - shift), tl.exp2(top - shift)
        some = held[:, None] & (places < V_WIDTH)
        values = tl.load(parts + at[:, None] * V_WIDTH + places, mask=some, other=0.0)
        found = found * keep + tl.sum(shares[:, None] * values, 0)
        total, top = total * keep + tl.sum(shares, 0), new_top
    # A span that saw nothing has weight 0, and so have all of them for a row without keys.
    whole = tl.where(total == 0, 1.0, total)
    line = tl.arange(0, BLOCK_V)
    pointers = out + row * V_WIDTH + line
    tl.store(pointers, (found / whole).to(out.dtype.element_ty), mask=line < V_WIDTH)
    tl.store(lse + row, tl.where(total == 0, NOTHING, (top + tl.log2(whole)) * LOG_2))
