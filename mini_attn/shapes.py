"""Checks of arguments, shared by both backends, and sizes in one line, as `repr` shows them."""

from __future__ import annotations

import inspect
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from mini_attn.errors import ConfigError, DTypeError, ShapeError

__all__ = [
    "check_array",
    "check_choice",
    "check_count",
    "check_dtype",
    "check_flag",
    "check_heads",
    "check_number",
    "check_positive",
    "dtype_name",
    "layer_sizes",
    "named_shapes",
    "size_text",
]

DType = Any  # a data type's name, NumPy's type or PyTorch's, which may not be installed
_NO_NUMBERS = (bool, np.bool_, str, bytes)  # though Python makes numbers of them


def check_array(name: str, value: Any, kind: type) -> None:
    """Refuse what is no array of the backend, such as the other backend's.

    Parameters
    ----------
    name : str
        What the array is, for the message.
    value : array
        The array.
    kind : type
        ``numpy.ndarray`` or ``torch.Tensor``.

    Raises
    ------
    DTypeError
        If the value is of another type.

    Examples
    --------
    >>> check_array("q", np.zeros(3), np.ndarray)
    """
    if isinstance(value, kind):
        return
    owner, came = kind.__module__.partition(".")[0], type(value)
    got = f"got {value!r:.60} ({came.__name__})"
    if came.__module__.partition(".")[0] in ("numpy", "torch") and hasattr(value, "shape"):
        got = f"got a {came.__module__}.{came.__name__}, which mini_attn.{owner} does not take"
    raise DTypeError(f"{name} must be a {owner}.{kind.__name__}, {got}")


def named_shapes(kind: type | None = None, /, **arrays: tuple[Any, str]) -> dict[str, int]:
    """Bind the axis names of several arrays to sizes that agree.

    Parameters
    ----------
    kind : type or None
        The backend's type of array, for `check_array`; None takes whatever has a shape.
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
    DTypeError
        If an array is of another kind.

    Examples
    --------
    >>> import numpy as np
    >>> named_shapes(k=(np.zeros((2, 3)), "kv_len head_dim"))
    {'kv_len': 2, 'head_dim': 3}
    """
    sizes: dict[str, int] = {}
    for name, (array, axes) in arrays.items():
        names = axes.split()
        if kind is not None:
            check_array(name, array, kind)
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
    """Say which array has another size on an axis than the first one that names it."""
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


def check_count(name: str, value: Any, *, least: float = 1) -> int:
    """A whole number that is not too small.

    Parameters
    ----------
    name : str
        What the number is, for the message.
    value : int
        The number; booleans and floats are refused.
    least : float
        Smallest allowed value; ``-inf`` sets no bound.

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
    number = value if type(value) is int else _whole(value)
    if number is None:
        raise ConfigError(
            f"{name} must be a whole number, got {value!r:.60} ({type(value).__name__})"
        )
    if number < least:
        raise ConfigError(f"{name} must be at least {least}, got {number}")
    return number


def _whole(value: Any) -> int | None:
    """The whole number that a value stands for, or None."""
    try:
        return None if isinstance(value, np.bool_ | bool) else operator.index(value)
    except (TypeError, ValueError, RuntimeError):  # an array of several numbers, or of floats
        return None


def check_number(name: str, value: Any, *, above: float = -math.inf) -> float:
    """A finite number, where None is none.

    Parameters
    ----------
    name : str
        What the number is, for the message.
    value : float
        The number; booleans and words are refused.
    above : float
        What it must exceed.

    Returns
    -------
    float
        The number.

    Raises
    ------
    ConfigError
        If it is no number, infinite, NaN, or not above the bound.

    Examples
    --------
    >>> check_number("scale", -2)
    -2.0
    """
    number = _finite(value)
    if not number > above:
        bound = "" if above == -math.inf else f" above {above:g}"
        raise ConfigError(
            f"{name} must be a finite number{bound}, got {value!r:.60} ({type(value).__name__})"
        )
    return number


def _finite(value: Any) -> float:
    """The finite number that a value stands for, or NaN."""
    try:
        number = math.nan if isinstance(value, _NO_NUMBERS) else float(value)
    except (TypeError, ValueError, OverflowError, RuntimeError):
        return math.nan
    return number if math.isfinite(number) else math.nan


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
        If it is zero, negative, infinite or no number.

    Examples
    --------
    >>> check_positive("softcap", None)
    """
    if value is not None and not _finite(value) > 0:
        raise ConfigError(f"{name} must be a positive finite number or None, got {value!r:.60}")


def check_flag(name: str, value: Any) -> None:
    """Refuse what is neither True nor False: a word such as "false" would count as True.

    Parameters
    ----------
    name : str
        What the flag switches, for the message.
    value : bool
        The flag.

    Raises
    ------
    ConfigError
        If it is anything else.

    Examples
    --------
    >>> check_flag("causal", True)
    """
    if not isinstance(value, bool | np.bool_):
        raise ConfigError(
            f"{name} must be True or False, got {value!r:.60} ({type(value).__name__})"
        )


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
    if not isinstance(value, str) or value not in allowed:
        raise ConfigError(f"{name} must be one of {', '.join(allowed)}, got {value!r:.60}")


def check_dtype(name: str, value: Any, allowed: tuple[str, ...]) -> str:
    """Return the name of a data type, given as a name or as NumPy's or PyTorch's type.

    Parameters
    ----------
    name : str
        What the type is for, for the message.
    value : str, numpy.dtype, type or torch.dtype
        The data type, such as ``"float32"``, ``numpy.float32`` or ``torch.float32``.
    allowed : tuple of str
        Names of the types there are.

    Returns
    -------
    str
        One of the names.

    Raises
    ------
    DTypeError
        If it is no data type, or none of these.

    Notes
    -----
    PyTorch is not imported: its types are known by what they are called.

    Examples
    --------
    >>> check_dtype("dtype", np.float32, ("float16", "float32"))
    'float32'
    """
    known = dtype_name(value)
    if known not in allowed:
        raise DTypeError(f"{name} must be one of {', '.join(allowed)}, got {value!r:.60}")
    return known


def dtype_name(value: Any) -> str:
    """Return the name of a data type, or an empty one for what is none.

    Parameters
    ----------
    value : str, numpy.dtype, type or torch.dtype
        The data type; words are taken as they are.

    Returns
    -------
    str
        Such as ``"float32"``.

    Examples
    --------
    >>> dtype_name(np.dtype("float16")), dtype_name(16)
    ('float16', '')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, np.dtype):
        return value.name if value.isnative else ""
    if isinstance(value, type) and issubclass(value, np.generic):
        return value.__name__
    kind = type(value)
    torch_dtype = (kind.__module__, kind.__name__) == ("torch", "dtype")
    return str(value).removeprefix("torch.") if torch_dtype else ""


def size_text(sizes: Mapping[str, Any]) -> str:
    """Return sizes in one line, as `repr` shows them in brackets.

    Parameters
    ----------
    sizes : dict of str to object
        Sizes by the names of their attributes. None is left out, and so is a ``v_head_dim`` that
        is the ``head_dim``.

    Returns
    -------
    str
        ``name=size`` for each, with commas between them.

    Examples
    --------
    >>> size_text({"slots": "3/8", "head_dim": 64, "v_head_dim": 64, "window": None})
    'slots=3/8, head_dim=64'
    """
    same = sizes.get("v_head_dim") == sizes.get("head_dim")
    shown = {key: size for key, size in sizes.items() if not (same and key == "v_head_dim")}
    return ", ".join(
        f"{key}={dtype_name(size) or size}" for key, size in shown.items() if size is not None
    )


def layer_sizes(config: Any, call: Callable[..., Any]) -> dict[str, Any]:
    """Return what a layer's `repr` shows: its configuration's sizes, and its usual ``causal``.

    Parameters
    ----------
    config : configuration or None
        The layer's; of its fields those are sizes that are whole numbers above 0.
    call : function
        What runs the layer; if it takes ``causal``, its default is shown.

    Returns
    -------
    dict of str to object
        For `size_text`.

    Examples
    --------
    >>> from mini_attn.config import ExpertConfig
    >>> layer_sizes(ExpertConfig(4, 2, d_ff=6), lambda x, causal=True: x)
    {'n_experts': 4, 'experts_per_token': 2, 'd_ff': 6, 'causal': True}
    """
    sizes = {name: getattr(config, name) for name in getattr(config, "__dataclass_fields__", ())}
    sizes = {name: size for name, size in sizes.items() if type(size) is int and size > 0}
    causal = inspect.signature(call).parameters.get("causal")
    return sizes if causal is None else {**sizes, "causal": causal.default}
