"""Weights by name: what the layers add to PyTorch's own module."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from mini_attn import shapes
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import DType, check_dtype, layer_sizes, named_shapes, size_text

DTYPES = ("bfloat16", "float16", "float32", "float64")


def dtype_of(dtype: DType) -> torch.dtype:
    """Return PyTorch's type for a data type or its name."""
    known: torch.dtype = getattr(torch, check_dtype("dtype", dtype, DTYPES))
    return known


def table_dtype(dtype: torch.dtype) -> str:
    """The type in which sines and cosines are made for a model's type: float32 or wider."""
    return "float64" if dtype == torch.float64 else "float32"


def check_whole(name: str, tensor: Any, *, narrow: bool = False) -> None:
    """Refuse what is no tensor of integers; unless `narrow` is set, also those that wrap around."""
    kind = getattr(tensor, "dtype", type(tensor).__name__)
    whole = isinstance(tensor, Tensor) and kind != torch.bool
    if not whole or tensor.is_floating_point() or tensor.is_complex():
        raise DTypeError(f"{name} must be an integer tensor, got {kind}")
    if not narrow and kind not in (torch.int32, torch.int64):
        raise DTypeError(f"{name} must be int32 or int64, got {kind}: its differences wrap around")


def wide(tensor: Tensor) -> Tensor:
    """The tensor in float32 or wider, for sums and maxima."""
    return tensor if tensor.dtype in (torch.float32, torch.float64) else tensor.float()


def check_array(name: str, tensor: Any) -> None:
    """Refuse what is no array of this backend."""
    shapes.check_array(name, tensor, Tensor)


def exact_device(device: torch.device) -> torch.device:
    """Return where float64 is computed for a device: Apple's has none."""
    return torch.device("cpu") if device.type == "mps" else device


def check_floating(name: str, tensor: Any) -> None:
    """Refuse what is no tensor of real floating-point numbers."""
    check_array(name, tensor)
    if not tensor.is_floating_point():
        raise DTypeError(f"{name} must be floating point, got {tensor.dtype}")


def check_positions(name: str, positions: Any) -> None:
    """Positions are whole numbers with one or two axes."""
    check_whole(name, positions)
    if positions.ndim not in (1, 2):
        shape = tuple(positions.shape)
        raise ShapeError(f"{name} must be (seq,) or (batch, seq), got shape {shape}")


def check_tokens(name: str, x: Tensor, weight: Tensor) -> None:
    """Refuse an input that is not (batch, seq, features of the weight) in the weight's dtype."""
    known = isinstance(x, Tensor) and x.dtype == weight.dtype
    if known and x.ndim == 3 and x.shape[2] == weight.shape[-1]:
        return  # the common case, once in every projection of every step
    features = named_shapes(**{name: (x, "batch seq features")})["features"]
    check_array(name, x)
    if features != weight.shape[-1]:
        raise ShapeError(f"{name} has {features} features, the layer takes {weight.shape[-1]}")
    if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
        raise DTypeError(f"{name} is {x.dtype}, the weights are {weight.dtype}")


def kind_of(weight: Tensor) -> dict[str, Any]:
    """Name of the data type, and device: what a cache shares with its layer's weights."""
    return {"dtype": str(weight.dtype).removeprefix("torch."), "device": weight.device}


def parameter(drawn: Tensor, dtype: DType, device: Any) -> nn.Parameter:
    """A trainable matrix."""
    return nn.Parameter(drawn.to(device=device, dtype=dtype_of(dtype)))


def check_token_ids(tokens: Tensor) -> None:
    """Token ids (batch, seq), at least one; the embedding checks their range."""
    sizes = named_shapes(tokens=(tokens, "batch seq"))
    check_whole("tokens", tokens)
    if not all(sizes.values()):
        raise ShapeError(f"tokens must not be empty, got shape {tuple(tokens.shape)}")


class Module(nn.Module):
    """PyTorch's module, with this package's errors where weights do not fit."""

    if TYPE_CHECKING:  # every layer here gives one tensor

        def __call__(self, *args: Any, **kwargs: Any) -> Tensor: ...

    def _sizes(self) -> dict[str, Any]:
        """Return the sizes that `repr` shows."""
        return layer_sizes(getattr(self, "config", None), type(self).forward)

    def extra_repr(self) -> str:
        """Return the sizes that `repr` shows beside the parts."""
        kinds = [weight.dtype for weight in self.parameters() if weight.is_floating_point()]
        return size_text({**self._sizes(), **({"dtype": kinds[0]} if kinds else {})})

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Copy weights in, in the module's dtype; every name and shape must fit."""
        own = self.state_dict()
        if strict:
            from mini_attn.weights.state import check_state  # checkpoints are slow to import

            check_state(own, state_dict)
        tensors = {
            name: weight if isinstance(weight, Tensor) else torch.tensor(weight)
            for name, weight in state_dict.items()
        }
        for name, tensor in tensors.items():
            kept = own[name].dtype if name in own else torch.float32
            if not kept.is_floating_point and tensor.dtype != kept:  # codes
                raise DTypeError(f"{name} must be {kept}, got {tensor.dtype}")
            if kept.is_floating_point and not tensor.is_floating_point():
                raise DTypeError(f"{name} must be floating point, got {tensor.dtype}")
        return super().load_state_dict(tensors, strict, assign)
