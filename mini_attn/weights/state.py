"""State dicts: whether one fits another, and tensors as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.errors import DTypeError, ShapeError

__all__ = ["check_state", "to_numpy"]


def check_state(expected: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Compare the names and shapes of two state dicts.

    Parameters
    ----------
    expected, given : mapping of str to array
        The weights that a layer has, and those that it is about to get.

    Raises
    ------
    ShapeError
        If a name is missing or unknown, or a shape differs.

    Examples
    --------
    >>> import numpy as np
    >>> check_state({"weight": np.ones(2)}, {"weight": np.zeros(2)})
    """
    missing, unknown = (
        sorted(expected.keys() - given.keys()),
        sorted(given.keys() - expected.keys()),
    )
    if missing or unknown:
        raise ShapeError(f"weights are missing: {missing[:4]}, unknown: {unknown[:4]}")
    for name, weight in expected.items():
        if tuple(given[name].shape) != tuple(weight.shape):
            raise ShapeError(
                f"{name} must have shape {tuple(weight.shape)}, got {tuple(given[name].shape)}"
            )


def to_numpy(state: Mapping[str, Any]) -> dict[str, Any]:
    """Weights of either backend as NumPy arrays.

    ``array = tensor``, bfloat16 widened to float32

    Parameters
    ----------
    state : mapping of str to array
        Arrays or tensors, on any device.

    Returns
    -------
    dict of str to numpy.ndarray
        Views where that is possible; bfloat16, which NumPy lacks, as float32 of equal value.

    Raises
    ------
    DTypeError
        If a value is no array.

    Examples
    --------
    >>> import numpy as np
    >>> to_numpy({"weight": np.ones(2)})["weight"]
    array([1., 1.])
    """
    return {name: as_array(name, value) for name, value in state.items()}


def as_array(name: str, value: Any) -> Any:
    """One weight as a NumPy array; torch is not imported to see whether it is a tensor."""
    import numpy as np

    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "fiub":
            raise DTypeError(f"{name} must hold numbers or booleans, got {value.dtype}")
        return value
    if not hasattr(value, "detach"):
        raise DTypeError(f"{name} must be an array or a tensor, got {type(value).__name__}")
    tensor = value.detach().cpu()
    if str(tensor.dtype) == "torch.bfloat16":
        tensor = tensor.float()
    try:
        return tensor.numpy()
    except TypeError:
        raise DTypeError(f"{name} is {value.dtype}, which NumPy has not: convert it") from None
