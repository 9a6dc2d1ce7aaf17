"""Shape checks by axis name, shared by both backends (they read ``.shape`` and nothing else)."""

from __future__ import annotations

import math
from typing import Any

from mini_attn.errors import ConfigError, ShapeError

__all__ = ["check_choice", "check_count", "check_heads", "check_positive", "named_shapes"]


def named_shapes(**arrays: tuple[Any, str]) -> dict[str, int]:
    """Bind the axis names of several arrays to sizes that agree.

    Parameters
    ----------
    **arrays : (array, str)
        Per argument name the array and its axes, for example
        ``q=(q, "batch n_heads q_len head_dim")``.

    Returns
    -------
    dict
        Size of every named axis.

    Raises
    ------
    ShapeError
        If an array has another number of axes, or two arrays disagree on a name.

    Examples
    --------
    >>> import numpy as np
    >>> named_shapes(k=(np.zeros((2, 3)), "kv_len head_dim"))
    {'kv_len': 2, 'head_dim': 3}
    """
    sizes: dict[str, int] = {}
    for name, (array, axes) in arrays.items():
        names = axes.split()
        shape = getattr(array, "shape", None)
        if shape is None:
            raise ShapeError(f"{name} should be an array ({', '.join(names)}), got {array!r:.60}")
        if len(shape) != len(names):
            raise ShapeError(
                f"{name} should have {len(names)} axes ({', '.join(names)}), "
                f"got {len(shape)}: shape {tuple(shape)}"
            )
        for axis, size in zip(names, shape, strict=True):
            if sizes.setdefault(axis, size) != size:
                raise ShapeError(_disagreement(name, axis, arrays))
    return sizes


def _disagreement(name: str, axis: str, arrays: dict[str, tuple[Any, str]]) -> str:
    """Which array has another size on an axis than the first one that names it."""
    owner = next(other for other, (_, axes) in arrays.items() if axis in axes.split())
    size, expected = (
        arrays[key][0].shape[arrays[key][1].split().index(axis)] for key in (name, owner)
    )
    shape, axes = tuple(arrays[name][0].shape), ", ".join(arrays[name][1].split())
    return (
        f"{name} has {axis} = {size} (shape {shape} as {axes}), but {owner} has {axis} = {expected}"
    )


def check_heads(n_heads: int, n_kv_heads: int) -> int:
    """Query heads per key/value head.

    Parameters
    ----------
    n_heads, n_kv_heads : int
        Numbers of query heads and of key/value heads.

    Returns
    -------
    int
        ``n_heads // n_kv_heads``.

    Raises
    ------
    ConfigError
        If the query heads cannot be shared out evenly.

    Examples
    --------
    >>> check_heads(32, 8)
    4
    """
    if n_kv_heads < 1 or n_heads < 1 or n_heads % n_kv_heads:
        raise ConfigError(
            f"n_heads must be a positive multiple of n_kv_heads, got n_heads = {n_heads} and "
            f"n_kv_heads = {n_kv_heads}: every key/value head serves the same number of query heads"
        )
    return n_heads // n_kv_heads


def check_count(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number that is not too small.

    Parameters
    ----------
    name : str
        What the number is, for the message.
    value : int
        The number; booleans and floats are refused.
    least : int
        Smallest allowed value.

    Returns
    -------
    int
        The number.

    Raises
    ------
    ConfigError
        If it is no whole number or below ``least``.

    Examples
    --------
    >>> check_count("capacity", 8)
    8
    """
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise ConfigError(
            f"{name} must be a whole number, got {value!r:.60} ({type(value).__name__})"
        )
    number = int(value.__index__())
    if number < least:
        raise ConfigError(f"{name} must be at least {least}, got {number}")
    return number


def check_positive(name: str, value: float | None) -> None:
    """Refuse what is not a finite number above zero; None means the option is off.

    Parameters
    ----------
    name : str
        What the number is, for the message.
    value : float or None
        The number.

    Raises
    ------
    ConfigError
        If it is zero, negative, infinite or not a number.

    Examples
    --------
    >>> check_positive("softcap", None)
    """
    if value is not None and not (math.isfinite(value) and value > 0):
        raise ConfigError(f"{name} must be a positive finite number or None, got {value!r}")


def check_choice(name: str, value: str, allowed: tuple[str, ...]) -> None:
    """Refuse a word that is not one of a few.

    Parameters
    ----------
    name : str
        What the word chooses, for the message.
    value : str
        The word.
    allowed : tuple of str
        The words there are.

    Raises
    ------
    ConfigError
        If it is none of them.

    Examples
    --------
    >>> check_choice("layout", "half", ("half", "interleaved"))
    """
    if value not in allowed:
        raise ConfigError(f"{name} must be one of {', '.join(allowed)}, got {value!r}")
