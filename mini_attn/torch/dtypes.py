"""Data types by name, so that both backends are called with the same words."""

from __future__ import annotations

from typing import Any

import torch

from mini_attn.errors import DTypeError

__all__ = ["dtype_of"]


def dtype_of(name: str) -> Any:
    """The array library's data type for a name.

    ``"float32" -> the backend's float32``

    Parameters
    ----------
    name : str
        ``"float16"``, ``"float32"`` or ``"float64"``; PyTorch also has ``"bfloat16"``.

    Returns
    -------
    dtype
        The backend's own object.

    Raises
    ------
    DTypeError
        If the backend has no such floating-point type.

    Notes
    -----
    bfloat16 exists here only.

    References
    ----------
    none

    Examples
    --------
    >>> dtype_of("float32").itemsize
    4
    """
    allowed = ("bfloat16", "float16", "float32", "float64")
    if name not in allowed:
        raise DTypeError(f"dtype must be one of {', '.join(allowed)}, got {name!r}")
    return getattr(torch, name)
