# Triton compiles no annotations but its own.
# mypy: disable-error-code="no-untyped-def,untyped-decorator"
"""A kernel: attention of all heads to one vector per token, read once as key and as value.

A program holds a block of rows (the heads of a query stand next to each other) and walks over a
span of the tokens with a running maximum and a running sum. Each tile of latents serves the
scores and the weighted sum while it is at hand. Spans keep a device busy where there are few
rows, as in a decode step; `attend` puts their results together.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.runtime.errors import OutOfResources

from mini_attn.torch.attention import _sinks

__all__ = ["OutOfResources", "attend", "latent_kernel"]

LOG_2, LOG2_E = tl.constexpr(0.6931471805599453), tl.constexpr(1.4426950408889634)
NOTHING = tl.constexpr(float("-inf"))


@triton.jit
def _load(array, start, held, WIDTH: tl.constexpr, BLOCK: tl.constexpr, WIDE: tl.constexpr):
    """Rows that begin at some places of an array; zeros, not what lies there, where none is."""
    number = tl.arange(0, BLOCK)[None, :]
    places = array + start.to(tl.int64)[:, None] + number
    tile = tl.load(places, mask=held[:, None] & (number < WIDTH), other=0.0)
    if WIDE:
        tile = tile.to(tl.float32)
    return tile


@triton.jit
def latent_kernel(
    q, q_rope, latent, rope_key, out, lse, q_places, kv_places,
    latent_batch, latent_step, key_batch, key_step, q_place_batch, kv_place_batch,
    n_rows, n_heads, kv_len, span, scale,
    PLACED: tl.constexpr, WIDE: tl.constexpr, RANK: tl.constexpr, ROPE: tl.constexpr,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_R: tl.constexpr, BLOCK_P: tl.constexpr,
):  # fmt: skip
    """One block of rows over one span of tokens, into contiguous (span, batch, row, rank)."""
    part, batch = tl.program_id(1), tl.program_id(2).to(tl.int64)
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    inside, first = row < n_rows, batch * n_rows + row
    rows = _load(q, first * RANK, inside, RANK, BLOCK_R, WIDE)
    turned = _load(q_rope, first * ROPE, inside, ROPE, BLOCK_P, WIDE)
    place = row // n_heads
    if PLACED:
        place = tl.load(q_places + batch * q_place_batch + place, mask=inside, other=-1)

    top = tl.full((BLOCK_M,), NOTHING, tl.float32)
    total = tl.zeros((BLOCK_M,), tl.float32)
    gathered = tl.zeros((BLOCK_M, BLOCK_R), tl.float32)
    for start in tl.range(part * span, tl.minimum(part * span + span, kv_len), BLOCK_N):
        column = start + tl.arange(0, BLOCK_N)
        held = column < kv_len
        seen = held[None, :] & inside[:, None]
        if PLACED:
            at = tl.load(kv_places + batch * kv_place_batch + column, mask=held, other=-1)
            held = held & (at >= 0)  # what lies in an empty slot is never read
            seen = seen & (at >= 0)[None, :] & (at[None, :] <= place[:, None])
        token = column.to(tl.int64)
        tile = _load(latent + batch * latent_batch, token * latent_step, held, RANK, BLOCK_R, WIDE)
        keys = _load(rope_key + batch * key_batch, token * key_step, held, ROPE, BLOCK_P, WIDE)
        scores = tl.dot(rows, tl.trans(tile), input_precision="ieee")
        scores = tl.dot(turned, tl.trans(keys), scores, input_precision="ieee")
        scores = tl.where(seen, scores * (scale * LOG2_E), NOTHING)
        new_top = tl.maximum(top, tl.max(scores, 1))
        shift = tl.where(new_top == NOTHING, 0.0, new_top)  # -inf - (-inf) would be NaN
        weights, keep = tl.exp2(scores - shift[:, None]), tl.exp2(top - shift)
        total = total * keep + tl.sum(weights, 1)
        gathered = gathered * keep[:, None]
        gathered = tl.dot(weights.to(tile.dtype), tile, gathered, input_precision="ieee")
        top = new_top

    some = tl.where(total == 0, 1.0, total)
    first += part * tl.num_programs(2) * n_rows
    number = tl.arange(0, BLOCK_R)[None, :]
    written = inside[:, None] & (number < RANK)
    tl.store(out + first[:, None] * RANK + number, gathered / some[:, None], mask=written)
    tl.store(lse + first, tl.where(total == 0, NOTHING, top * LOG_2 + tl.log(some)), mask=inside)


def attend(
    q: Tensor,
    q_rope: Tensor,
    latent: Tensor,
    rope_key: Tensor,
    scale: float,
    *,
    places: tuple[Tensor, Tensor] | None = None,
    sinks: Tensor | None = None,
    programs: int = 256,
    least: int = 4,
) -> Tensor:
    """Return what each query gathers, (batch, n_heads, q_len, rank).

    ``places`` are the positions of the queries (batch, q_len) and of the keys (batch, kv_len),
    of which those at -1 are empty: attention is causal by them. Without, everything is seen.
    The tokens are cut into spans of at least so many tiles, for about so many programs in all.
    """
    batch, n_heads, q_len, rank = q.shape
    kv_len, n_rows = latent.shape[1], n_heads * q_len
    rows, turned = (part.transpose(1, 2).contiguous() for part in (q, q_rope))
    half = latent.element_size() == 2
    block_m, block_n = (32 if half and n_rows > 16 else 16), (32 if half else 16)
    n_blocks = triton.cdiv(n_rows, block_m)
    n_tiles = triton.cdiv(kv_len, block_n)
    tiles = max(least, triton.cdiv(n_tiles * batch * n_blocks, programs))  # of one program
    n_spans = triton.cdiv(n_tiles, tiles)
    out = torch.empty(n_spans, batch, n_rows, rank, dtype=torch.float32, device=q.device)
    lse = torch.empty(n_spans, batch, n_rows, dtype=torch.float32, device=q.device)
    q_places, kv_places = (rows, rows) if places is None else places  # not read without
    latent_kernel[(n_blocks, n_spans, batch)](
        rows, turned, latent, rope_key, out, lse, q_places, kv_places,
        latent.stride(0), latent.stride(1), rope_key.stride(0), rope_key.stride(1),
        q_places.stride(0), kv_places.stride(0),
        n_rows, n_heads, kv_len, tiles * block_n, scale,
        PLACED=places is not None,
        WIDE=q.device.type == "cpu" and q.dtype == torch.bfloat16,
        RANK=rank, ROPE=q_rope.shape[3],
        BLOCK_M=block_m, BLOCK_N=block_n,
        BLOCK_R=max(16, triton.next_power_of_2(rank)),
        BLOCK_P=max(16, triton.next_power_of_2(q_rope.shape[3])),
        num_warps=block_m // 4, num_stages=3 if half and block_m == 16 else 2,
    )  # fmt: skip
    if n_spans > 1:
        top = lse.amax(dim=0)
        share = torch.exp(lse - torch.where(torch.isneginf(top), 0.0, top))
        share = share / share.sum(dim=0).clamp_min(torch.finfo(torch.float32).tiny)
        out = (out * share[..., None]).sum(dim=0)
    if sinks is not None:  # (n_heads,), of which each query has all
        left = _sinks.share(lse.logsumexp(dim=0), sinks.float().repeat(q_len))
        out = out * left[..., None]
    return out.view(batch, q_len, n_heads, rank).transpose(1, 2).to(q.dtype)
