"""A stand-in for Apple's GPU: tensors that say they are on ``mps``, and that can't be float64.

They are computed on the CPU. What it shares with the real device is what code can get wrong
without one: it has no float64, and its tensors mix with no others.
"""

from __future__ import annotations

from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_flatten, tree_map

MPS = torch.device("mps")
# What takes a tensor of another device: copies from it, or places in it.
MIXES = ("to", "copy_", "type_as", "__getitem__", "__setitem__", "__get__", "__set__")


class OnMps(torch.Tensor):
    """A tensor of the stand-in."""


def here(value: Any) -> Any:
    """Return the CPU in place of the stand-in's name."""
    return torch.device("cpu") if is_mps(value) else value


def is_mps(value: Any) -> bool:
    """Whether it names the stand-in."""
    if isinstance(value, torch.device):
        return value.type == "mps"
    return isinstance(value, str) and value == "mps"


def moved(value: Any) -> Any:
    """The same on the stand-in, as far as it can be there."""
    if not isinstance(value, torch.Tensor) or isinstance(value, OnMps):
        return value
    if value.dtype == torch.float64:
        raise TypeError("Cannot convert a MPS Tensor to float64 dtype")
    return value.as_subclass(OnMps)


def back(value: Any) -> Any:
    """Return a tensor as one of the CPU."""
    return value.as_subclass(torch.Tensor) if isinstance(value, OnMps) else value


class StandIn(TorchFunctionMode):
    """Inside, the device ``mps`` can be used."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Compute on the CPU; what comes out is where PyTorch would have it."""
        values, _ = tree_flatten((args, kwargs or {}))
        if getattr(func, "__self__", None) is torch.Tensor.device:
            return MPS if isinstance(args[0], OnMps) else torch.device("cpu")
        tensors = [one for one in values if isinstance(one, torch.Tensor)]
        there = [isinstance(one, OnMps) for one in tensors]
        named = [one for one in values if is_mps(one) or isinstance(one, torch.device)]
        named += [one for one in (*values, func.__name__) if isinstance(one, str) and one == "cpu"]
        mixed = [one for one, on in zip(tensors, there, strict=True) if not on and one.ndim]
        if any(there) and mixed and func.__name__ not in MIXES:  # a plain number may come along
            raise RuntimeError(f"{func.__name__}: expected all tensors to be on the same device")
        with torch._C.DisableTorchFunction():
            out = func(*tree_map(here, args), **tree_map(here, kwargs or {}))
        if any(there) and isinstance(out, torch.Tensor) and out.dtype == torch.float64:
            moved(out)  # also on the way to the CPU: the cast may come before the copy
        mixes = func.__name__ in MIXES
        goes = is_mps(named[-1]) if named else there[0] if mixes and there else any(there)
        return tree_map(moved if goes else back, out)
