"""Weights by name: the little of a neural-network module that the reference needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn import shapes
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import DType, check_dtype, layer_sizes, named_shapes, size_text

Array = NDArray[Any]
DTYPES = ("float16", "float32", "float64")


def dtype_of(dtype: DType) -> np.dtype[Any]:
    """Return NumPy's type for a data type or its name; there is no bfloat16."""
    return np.dtype(check_dtype("dtype", dtype, DTYPES))


def table_dtype(dtype: np.dtype[Any]) -> str:
    """The type in which sines and cosines are made for a model's type: float32 or wider."""
    return "float64" if dtype == np.float64 else "float32"


def check_whole(name: str, array: Any, *, narrow: bool = False) -> None:
    """Refuse what is no array of integers; unless `narrow` is set, also those that wrap around."""
    kind = getattr(array, "dtype", type(array).__name__)
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "iu":
        raise DTypeError(f"{name} must be an integer array, got {kind}")
    if not narrow and (array.dtype.kind == "u" or array.dtype.itemsize < 4):
        raise DTypeError(f"{name} must be int32 or int64, got {kind}: its differences wrap around")


def check_array(name: str, array: Any) -> None:
    """Refuse what is no array of this backend."""
    shapes.check_array(name, array, np.ndarray)


def check_floating(name: str, array: Any) -> None:
    """Refuse what is no array of real floating-point numbers."""
    check_array(name, array)
    if array.dtype.kind != "f":
        raise DTypeError(f"{name} must be floating point, got {array.dtype}")


def check_positions(name: str, positions: Any) -> None:
    """Positions are whole numbers with one or two axes."""
    check_whole(name, positions)
    if positions.ndim not in (1, 2):
        raise ShapeError(f"{name} must be (seq,) or (batch, seq), got shape {positions.shape}")


def check_tokens(name: str, x: Array, weight: Array) -> None:
    """Refuse an input that is not (batch, seq, features of the weight) in the weight's dtype."""
    known = isinstance(x, np.ndarray) and x.dtype == weight.dtype
    if known and x.ndim == 3 and x.shape[2] == weight.shape[-1]:
        return  # the common case
    features = named_shapes(**{name: (x, "batch seq features")})["features"]
    check_array(name, x)
    if features != weight.shape[-1]:
        raise ShapeError(f"{name} has {features} features, the layer takes {weight.shape[-1]}")
    if x.dtype != weight.dtype:
        raise DTypeError(f"{name} is {x.dtype}, the weights are {weight.dtype}")


def check_token_ids(tokens: Array) -> None:
    """Token ids (batch, seq), at least one; the embedding checks their range."""
    sizes = named_shapes(tokens=(tokens, "batch seq"))
    check_whole("tokens", tokens)
    if not all(sizes.values()):
        raise ShapeError(f"tokens must not be empty, got shape {tuple(tokens.shape)}")


class Module:
    """Finds arrays, modules and lists of modules among its public attributes."""

    def _children(self) -> Iterator[tuple[str, Any]]:
        public = ((name, value) for name, value in vars(self).items() if name[0] != "_")
        for name, value in public:
            if isinstance(value, list):
                yield from ((f"{name}.{i}", item) for i, item in enumerate(value))
            else:
                yield name, value

    def _sizes(self) -> dict[str, Any]:
        """Return the sizes that `repr` shows."""
        return layer_sizes(getattr(self, "config", None), type(self).__call__)

    def __repr__(self) -> str:
        kinds = [array.dtype for array in self.state_dict().values() if array.dtype.kind == "f"]
        kind = {"dtype": kinds[0]} if kinds else {}
        return f"{type(self).__name__}({size_text({**self._sizes(), **kind})})"

    def state_dict(self) -> dict[str, Array]:
        """All weights under their dotted names; the arrays themselves, no copies."""
        weights: dict[str, Array] = {}
        for name, value in self._children():
            if isinstance(value, Module):
                weights.update((f"{name}.{key}", w) for key, w in value.state_dict().items())
            elif isinstance(value, np.ndarray):
                weights[name] = value
        return weights

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Copy weights in, in the module's dtype; every name and shape must fit."""
        own = self.state_dict()
        from mini_attn.weights.state import check_state  # checkpoints are slow to import

        check_state(own, state_dict)
        arrays = {name: np.asarray(weight) for name, weight in state_dict.items()}
        for name, array in arrays.items():
            kept = own[name].dtype
            if kept.kind != "f" and array.dtype != kept:  # codes
                raise DTypeError(f"{name} must be {kept}, got {array.dtype}")
            if kept.kind == "f" and array.dtype.kind != "f":
                raise DTypeError(f"{name} must be floating point, got {array.dtype}")
        for name, weight in own.items():
            weight[...] = arrays[name]
