"""Layers of which a rank holds some heads, columns, experts or rows of the vocabulary."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from mini_attn.errors import ConfigError
from mini_attn.torch._module import check_tokens, check_whole, wide
from mini_attn.torch.layers.basic import MLP, Embedding, GatedMLP, Linear, Norm, linear
from mini_attn.torch.layers.experts import MixtureOfExperts
from mini_attn.torch.parallel.ranks import Ranks


def span(whole: int, rank: int, size: int) -> range:
    """The rank's part of so many rows: as even as it gets."""
    return range(rank * whole // size, (rank + 1) * whole // size)


def give(module: Any, kind: type, **given: Any) -> None:
    """Turn a module that holds a rank's share into one that talks to the other ranks."""
    module.__class__ = kind
    for name, value in given.items():
        setattr(module, name, value)


class Stream:
    """What blocks read from and add to: whole on every rank, or each rank's tokens of it."""

    tokens: int | None = None  # of the whole, while each rank has its own ones

    def __init__(self, ranks: Ranks) -> None:
        self.ranks = ranks

    def own(self, x: Tensor) -> Tensor:
        """Give this rank's tokens of something whole (batch, seq, ...), zeros behind the last."""
        return self._padded(x).chunk(self.ranks.size, dim=1)[self.ranks.rank]

    def whole(self, x: Tensor) -> Tensor:
        """Give all ranks' tokens (batch, seq, d_model)."""
        if self.tokens is None:
            return x
        return self.ranks.all_gather(x, axis=1)[:, : self.tokens]

    def read(self, x: Tensor) -> Tensor:
        """Give what a block reads; gradients of all ranks' heads or columns are added."""
        return self.ranks.copy(self.whole(x))

    def add(self, x: Tensor) -> Tensor:
        """Add what the ranks' heads or columns give, for all tokens or for each rank's."""
        if self.tokens is None:
            return self.ranks.all_reduce(x)
        parts = self.ranks.all_to_all(self._padded(x), cut=1, join=0)
        return torch.stack(parts.chunk(self.ranks.size)).sum(dim=0)

    def _padded(self, x: Tensor) -> Tensor:
        """Append zeros until every rank has equally many tokens."""
        missing = -x.shape[1] % self.ranks.size
        return F.pad(x, (0, 0) * (x.ndim - 2) + (0, missing))


class RowLinear(Linear):
    """A product over the rank's columns: the partial results are added, the bias once."""

    _stream: Stream

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (batch, seq, in_features / size) to (batch, seq, out_features)."""
        check_tokens("x", x, self.weight)
        out = self._stream.add(linear(x, self.weight))
        return out if self.bias is None else out + self.bias


class SplitMLP(MLP):
    """The rank's columns of an `MLP`."""

    _stream: Stream

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (batch, seq, d_model) to the same shape."""
        return super().forward(self._stream.read(x))


class SplitGatedMLP(GatedMLP):
    """The rank's columns of a `GatedMLP`."""

    _stream: Stream

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (batch, seq, d_model) to the same shape."""
        return super().forward(self._stream.read(x))


class SplitExperts(MixtureOfExperts):
    """The rank's experts; the router is whole on each rank."""

    _stream: Stream

    def forward(self, x: Tensor) -> Tensor:
        """Map tokens (batch, seq, d_model) to the same shape."""
        check_tokens("x", x, self.router.weight)
        x, ranks = self._stream.whole(x), self._stream.ranks
        rows = x.reshape(-1, x.shape[-1])
        weights, chosen = self._choose(rows)  # the same on all ranks, and so is its gradient
        rows, weights = ranks.copies(rows, weights)
        out = self._summed(rows, weights, chosen, ranks.rank * len(self.gate_proj))
        # A rank of which no expert was chosen takes part in the backward pass too.
        out = _Tied.apply(out, rows, weights)  # type: ignore[no-untyped-call]
        return self._stream.add(out.reshape(x.shape)).to(x.dtype)


class _Tied(torch.autograd.Function):
    """The first tensor; the others get a gradient of zeros from here."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, *others: Tensor) -> Tensor:
        ctx.save_for_backward(*others)
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad, *map(torch.zeros_like, ctx.saved_tensors)


class SplitEmbedding(Embedding):
    """The rank's rows of a table; a row that's elsewhere is zeros here, and ranks add."""

    _ranks: Ranks
    _rows: int  # of the whole table

    def _check_index(self, index: Tensor) -> None:
        check_whole("index", index)
        low, high = (int(index.min()), int(index.max())) if index.numel() else (0, 0)
        if low < 0 or high >= self._rows:
            wrong = low if low < 0 else high
            raise ConfigError(f"an index must lie in 0 … {self._rows - 1}, got {wrong}")

    def _run(self, index: Tensor) -> Tensor:
        first = span(self._rows, self._ranks.rank, self._ranks.size).start
        here = (index >= first) & (index < first + len(self.weight))
        found = F.embedding((index - first).masked_fill(~here, 0), self.weight)
        return self._ranks.all_reduce(found * here[..., None])


class WidthNorm(Norm):
    """The root mean square over the heads of all ranks, of which some may be copies."""

    _ranks: Ranks
    _copies: int  # ranks that hold the same heads

    def forward(self, x: Tensor) -> Tensor:
        """Normalize the rank's part of each vector, a tensor (..., d)."""
        ranks, width = self._ranks, x.shape[-1] * self._ranks.size / self._copies
        total = wide(x).square().sum(dim=-1, keepdim=True) / self._copies
        total = ranks.copy(ranks.all_reduce(total))  # each rank's part depends on it
        return (wide(x) * torch.rsqrt(total / width + self.eps) * self.weight).to(x.dtype)


class _SplitAttention:
    """What an attention layer with some of the heads does beside."""

    _stream: Stream

    def _run(self, x: Tensor, *rest: Any) -> Tensor:
        """The layer without checks: gradients of the tokens are those of all ranks' heads."""
        out: Tensor = super()._run(self._stream.read(x), *rest)  # type: ignore[misc]
        return out

    def _static_step(self, *given: Any) -> Tensor:
        """Refuse: collectives are no part of the graph."""
        raise ConfigError("compile_decode_step knows one device: use decode_step under ranks")


@cache
def split_attention(kind: type) -> type:
    """Return the class of such layers with some of the heads."""
    return type(f"Split{kind.__name__}", (_SplitAttention, kind), {"__doc__": kind.__doc__})
