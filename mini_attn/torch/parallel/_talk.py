"""Beneath `Ranks`: how ranks meet, what stands for a value, and gradients of collectives."""

from __future__ import annotations

import hashlib
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from mini_attn.errors import RankError

DIGEST = 32  # bytes that stand for a value


def meet(rank: int, size: int, init_method: str, limit: timedelta) -> Any:
    """Return the store that all ranks have, once all are there."""
    rendezvous: Any = dist.rendezvous  # type: ignore[attr-defined]
    missing = list(range(size))
    try:
        store, _, _ = next(iter(rendezvous(init_method, rank, size, timeout=limit)))
        store.set_timeout(limit)
        store.set(f"here/{rank}", "")
        for other in range(size):
            store.wait([f"here/{other}"])
            missing.remove(other)
    except (RuntimeError, ValueError) as error:
        raise RankError(
            f"rank {rank} of {size}: {named(missing)} hadn't started after "
            f"{limit.total_seconds():g} s, or MASTER_ADDR and MASTER_PORT differ: {error}"
        ) from error
    return store


def digest(value: Any) -> bytes:
    """Return 32 bytes that stand for a value: of a tensor its dtype, shape and numbers."""
    made = hashlib.blake2b(digest_size=DIGEST)
    if isinstance(value, Tensor):
        made.update(f"{value.dtype} {tuple(value.shape)}".encode())
        flat = value.detach().cpu().contiguous().reshape(-1)
        made.update(flat.view(torch.uint8).numpy().data)
    else:
        made.update(repr(value).encode())
    return made.digest()


def named(ranks: list[int]) -> str:
    """Ranks in words."""
    return ("rank " if len(ranks) == 1 else "ranks ") + ", ".join(map(str, ranks))


class AllReduce(torch.autograd.Function):
    """The sum over the ranks; its gradient is passed on."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: Any) -> Tensor:
        return ranks._reduced(x)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        return grad, None


class Copies(torch.autograd.Function):
    """The tensors themselves; their gradients are added, one after the other."""

    @staticmethod
    def forward(ctx: Any, ranks: Any, *given: Tensor) -> Any:
        ctx.ranks = ranks
        return tuple(x.view_as(x) for x in given)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        return None, *(ctx.ranks._reduced(grad) for grad in grads)


class AllGather(torch.autograd.Function):
    """The tensors of all ranks; its gradient is this rank's part."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: Any, axis: int, add: bool) -> Tensor:
        ctx.of = ranks, axis, add
        return torch.cat(list(ranks._gathered("all_gather", x)), dim=axis)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        ranks, axis, add = ctx.of
        grad = ranks._reduced(grad) if add else grad
        return grad.chunk(ranks.size, dim=axis)[ranks.rank], None, None, None


class AllToAll(torch.autograd.Function):
    """Parts exchanged; their gradients go back the same way."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, ranks: Any, cut: int, join: int) -> Tensor:
        ctx.of = ranks, cut, join
        return ranks._swapped(x, cut, join)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> Any:
        ranks, cut, join = ctx.of
        return ranks._swapped(grad, join, cut), None, None, None
