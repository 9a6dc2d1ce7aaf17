"""Weights in eight bits: one scale for each row of a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError, DTypeError

__all__ = ["restored", "rounded"]

Array = NDArray[Any]
SCALE = ".scale"
LARGEST = 127  # -128 is not used: a scale then fits both signs


def rounded(state: Mapping[str, Array]) -> dict[str, Array]:
    """Matrices as whole numbers of eight bits and a scale a row; vectors stay as they are.

    ``scale = max |row| / 127;  code = round(row / scale)``

    Parameters
    ----------
    state : mapping of str to array
        Weights by name.

    Returns
    -------
    dict of str to array
        int8 codes (rows, columns) under the matrix's name and float32 scales (rows, 1) under
        ``name.scale``; vectors in float32.

    Raises
    ------
    DTypeError
        If a weight is not of finite floating-point numbers.

    Examples
    --------
    >>> rounded({"weight": np.array([[1.0, -0.5]])})["weight"]
    array([[127, -64]], dtype=int8)
    """
    found: dict[str, Array] = {}
    for name, weight in state.items():
        if weight.dtype.kind != "f" or not np.isfinite(weight).all():
            raise DTypeError(f"{name} must hold finite floating-point numbers")
        if weight.ndim < 2:
            found[name] = weight.astype(np.float32)
            continue
        scale = np.abs(weight).max(axis=-1, keepdims=True).astype(np.float32) / LARGEST
        codes = np.rint(weight / np.where(scale == 0, 1, scale))
        found[name] = np.clip(codes, -LARGEST, LARGEST).astype(np.int8)
        found[name + SCALE] = scale
    return found


def restored(stored: Mapping[str, Array]) -> dict[str, Array]:
    """The weights that `rounded` has stored, in float32.

    ``weight = scale * code``

    Parameters
    ----------
    stored : mapping of str to array
        Codes, scales and vectors by name.

    Returns
    -------
    dict of str to array
        Weights by name.

    Raises
    ------
    ConfigError
        If codes have no scale of their rows, or a scale no codes.

    Examples
    --------
    >>> restored(rounded({"weight": np.array([[1.0, -0.5]])}))["weight"].round(2)
    array([[ 1. , -0.5]], dtype=float32)
    """
    found: dict[str, Array] = {}
    scales = {name for name in stored if name.endswith(SCALE)}
    for name in stored.keys() - scales:
        array = stored[name]
        if array.dtype != np.int8:
            found[name] = np.asarray(array, np.float32)
            continue
        scale = stored.get(name + SCALE)
        if scale is None or scale.shape != (*array.shape[:-1], 1):
            raise ConfigError(f"{name} has no scale for each of its rows")
        found[name] = scale.astype(np.float32) * array
    lonely = {name for name in scales if name.removesuffix(SCALE) not in found}
    if lonely:
        raise ConfigError(f"scales without weights: {', '.join(sorted(lonely))}")
    return found
