"""Keys and values that go around a ring of ranks, and what each rank computes meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from mini_attn.torch._module import wide
from mini_attn.torch.attention._visibility import Visibility
from mini_attn.torch.attention.dot_product import _grouped, score
from mini_attn.torch.attention.online import attend_by_tiles, merge_parts
from mini_attn.torch.parallel.ranks import Exchange, Ranks

_TILE = 256  # queries, and keys, whose scores are together
_BEYOND = np.iinfo(np.int64).max

Integers = NDArray[np.int64]
Pair = tuple[slice, slice, Visibility]


class Shards:
    """Where the tokens of every rank are, known on the host: so no device is asked what to skip.

    A shard is one chunk of positions or two; whole pairs of chunks are skipped, or need no mask.
    """

    def __init__(
        self,
        positions: Integers,  # (ranks, 1 or batch, seq)
        chunks: int,
        rule: tuple[bool, int | None, int],
        device: torch.device,
    ) -> None:
        self.rule, self.device = rule, device
        self.size, batch, seq = positions.shape
        self.chunks = chunks
        self.chunk = seq // chunks
        # (ranks, 1 or batch, chunks, chunk) -> (ranks, chunks, 1 or batch, chunk)
        self.positions = positions.reshape(self.size, batch, chunks, self.chunk).swapaxes(1, 2)
        real: NDArray[Any] = np.asarray(self.positions >= 0)
        self.all_real: NDArray[Any] = np.all(real, axis=(2, 3))  # (ranks, chunks)
        self.first = np.where(real, self.positions, _BEYOND).min(axis=(2, 3))
        self.last = self.positions.max(axis=(2, 3))  # -1 of a chunk without a token
        self.seen = self._seen()

    def _seen(self) -> NDArray[Any]:
        """Mark which chunks some query of a chunk may see, (ranks, chunks, ranks, chunks)."""
        causal, window, sink_tokens = self.rule
        q_first, q_last = (a[:, :, None, None] for a in (self.first, self.last))
        seen = (self.last >= 0) & np.ones(q_last.shape, bool)
        if causal:
            seen &= self.first <= q_last
        if window is not None:
            seen &= (q_first - self.last < window) | (self.first < sink_tokens)
        return seen

    @property
    def rounds(self) -> int:
        """How often keys are looked at before nobody needs those that would come next."""
        own = np.arange(self.size)
        needed = [self.seen[own, :, own - turn].any() for turn in range(self.size)]
        return max((turn + 1 for turn in range(self.size) if needed[turn]), default=1)

    def pairs(self, rank: int, source: int) -> Iterator[Pair]:
        """Give rows of a rank's queries, columns of a source's keys, and who sees whom there."""
        for a, b in zip(*np.nonzero(self.seen[rank, :, source]), strict=True):
            rows, columns = (slice(i * self.chunk, (i + 1) * self.chunk) for i in (a, b))
            yield rows, columns, self._visibility((rank, a), (source, b))

    def _visibility(self, q: tuple[int, int], kv: tuple[int, int]) -> Visibility:
        """Tell who sees whom in a pair of chunks, by numbers alone where they say it all."""
        causal, window, sink_tokens = self.rule
        sizes = self.chunk, self.chunk, self.device
        before = not causal or (self.all_real[q] and self.last[kv] <= self.first[q])
        near = window is None or self.last[q] - self.first[kv] < window
        if self.all_real[kv] and before and near:
            return Visibility(*sizes)
        q_positions, kv_positions = self.positions[q], self.positions[kv]
        counting = len(q_positions) == 1 and bool((np.diff(q_positions) == 1).all())
        if q == kv and counting and self.all_real[q] and not sink_tokens:
            return Visibility(*sizes, causal=causal, window=window)
        return Visibility(
            *sizes,
            causal=causal,
            window=window,
            sink_tokens=sink_tokens,
            q_positions=torch.as_tensor(q_positions, device=self.device),
            kv_positions=torch.as_tensor(kv_positions, device=self.device),
        )


def travel(ranks: Ranks, block: Tensor, rounds: int) -> Iterator[tuple[int, Tensor]]:
    """Give each rank's block with its number, the own one first; the next comes meanwhile."""
    for turn in range(rounds):
        more = turn + 1 < rounds
        if more:
            under_way = _send(ranks, block, 1)
        yield (ranks.rank - turn) % ranks.size, block
        if more:
            block = under_way.wait()


def _send(ranks: Ranks, block: Tensor, hops: int) -> Exchange:
    """Send a block so many ranks on, and receive the one that comes here."""
    rank, size = ranks.rank, ranks.size
    return ranks.exchange(block, send_to=(rank + hops) % size, receive_from=(rank - hops) % size)


Parts = tuple[slice, slice]  # which numbers of a block are the key, and which the value


def _parts(block: Tensor, parts: Parts) -> tuple[Tensor, Tensor]:
    """Keys and values of a block, as views."""
    return block[..., parts[0]], block[..., parts[1]]


class RingAttention(torch.autograd.Function):
    """Output in float32 or wider, and log-sum-exp, of this rank's queries over all keys."""

    @staticmethod
    def forward(
        ctx: Any,
        q: Tensor,
        own: Tensor,
        parts: Parts,
        ranks: Ranks,
        shards: Shards,
        scale: float,
        softcap: float | None,
    ) -> tuple[Tensor, Tensor]:
        out = wide(q.new_zeros(*q.shape[:3], own[..., parts[1]].shape[3]))
        lse = out.new_full(q.shape[:3], -torch.inf)
        for source, block in travel(ranks, own, shards.rounds):
            keys, values = _parts(block, parts)
            for rows, columns, visibility in shards.pairs(ranks.rank, source):
                asked = q[:, :, rows], keys[:, :, columns], values[:, :, columns], visibility
                part = attend_by_tiles(*asked, scale, None, softcap, (_TILE, _TILE))
                merged = merge_parts(out[:, :, rows], lse[:, :, rows], *part)
                out[:, :, rows], lse[:, :, rows] = merged
        ctx.save_for_backward(q, own, out, lse)
        ctx.of = parts, ranks, shards, scale, softcap
        return out, lse

    @staticmethod
    def backward(ctx: Any, d_out: Tensor, d_lse: Tensor) -> Any:
        q, given, out, lse = ctx.saved_tensors
        parts, ranks, shards, scale, softcap = ctx.of
        rounds = shards.rounds
        delta = (d_out * out).sum(dim=-1) - d_lse  # what each row's scores give together
        d_q, own = torch.zeros_like(wide(q)), None
        under_way: Exchange | None = None
        blocks = travel(ranks, given, rounds)
        for turn, (source, block) in enumerate(blocks):
            keys, values = _parts(block, parts)
            d_block = torch.zeros_like(wide(block))
            d_keys, d_values = _parts(d_block, parts)
            for rows, columns, visibility in shards.pairs(ranks.rank, source):
                mine = d_out[:, :, rows], q[:, :, rows], lse[:, :, rows], delta[:, :, rows]
                theirs = keys[:, :, columns], values[:, :, columns]
                into = d_q[:, :, rows], d_keys[:, :, columns], d_values[:, :, columns]
                _add_gradients(into, *mine, *theirs, visibility, scale, softcap)
            if turn == 0:
                own = d_block
                continue
            if under_way is not None:  # what other ranks have found for this block
                d_block += under_way.wait()
            # The gradient follows its block, one round behind, and in the last round goes home.
            hops = 1 if turn + 1 < rounds else -turn
            under_way = _send(ranks, d_block, hops)
        assert own is not None
        if under_way is not None:
            own += under_way.wait()
        return d_q.to(q.dtype), own.to(given.dtype), None, None, None, None, None


def _add_gradients(
    into: tuple[Tensor, Tensor, Tensor],
    d_out: Tensor,
    q: Tensor,
    lse: Tensor,
    delta: Tensor,
    k: Tensor,
    v: Tensor,
    visibility: Visibility,
    scale: float,
    softcap: float | None,
) -> None:
    """Add to the gradients of q, k and v what some queries and some keys give, tile by tile.

    ``weights = exp(scores - lse)`` are shares of all keys, of which only some are here.
    """
    d_q, d_k, d_v = into
    n_kv_heads = k.shape[1]
    q, k, v = wide(q), wide(k), wide(v)
    lse = lse.masked_fill(lse == -torch.inf, 0)  # a row that sees nothing: exp(-inf - 0) is 0
    for start in range(0, q.shape[2], _TILE):
        rows = slice(start, min(start + _TILE, q.shape[2]))
        d_rows = _grouped(d_out[:, :, rows], n_kv_heads)
        q_rows = _grouped(q[:, :, rows], n_kv_heads)
        for begin in range(0, k.shape[2], _TILE):
            columns = slice(begin, min(begin + _TILE, k.shape[2]))
            mask = visibility.tile(rows, columns)
            if mask is False:
                continue
            keys, values = k[:, :, columns], v[:, :, columns]
            scores = score(q[:, :, rows] * scale, keys, softcap, None, mask)
            weights = torch.exp(scores - lse[:, :, rows, None])
            d_weights = (d_rows @ values.transpose(-1, -2)).view_as(weights)
            d_scores = weights * (d_weights - delta[:, :, rows, None])
            if softcap is not None:  # derivative of softcap * tanh(s / softcap)
                seen = scores.masked_fill(scores == -torch.inf, 0)
                d_scores = d_scores * (1 - (seen / softcap) ** 2)
            weights, d_scores = (_grouped(a, n_kv_heads) for a in (weights, d_scores))
            d_v[:, :, columns] += weights.transpose(-1, -2) @ d_rows
            d_k[:, :, columns] += scale * d_scores.transpose(-1, -2) @ q_rows
            d_q[:, :, rows] += (scale * d_scores @ keys).view_as(d_q[:, :, rows])
