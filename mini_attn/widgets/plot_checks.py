"""What the numbers of a living plot are checked for, before anything is drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ConfigError, ShapeError

__all__ = [
    "FREE",
    "ROLES",
    "check_known",
    "check_numbers",
    "over_steps",
    "role_of",
    "rounded",
]

# What is drawn, not how: the style sheet gives each its colour, light and dark.
ROLES = (
    *("query", "key", "value", "weight", "output", "cache", "new", "dropped"),
    *("one", "two", "three", "four", "five", "six", "seven", "quiet"),
)
FREE = ROLES[8:15]  # for series that have no part of their own, in their order


def rounded(values: NDArray[Any]) -> list[float | None]:
    """Four digits, which is more than a picture shows; a gap is None."""
    return [None if np.isnan(v) else float(f"{v:.4g}") for v in values.tolist()]


def over_steps(name: str, values: Any, steps: Sequence[Any], shape: tuple[int, ...]) -> Any:
    """Numbers of a shape for each step, or of the one step that stands for all.

    Parameters
    ----------
    name : str
        What they are, for the message.
    values : array or callable
        Of the shape, or with one such array for each step; or made by a function of the step.
    steps : sequence
        The steps' values.
    shape : tuple of int
        Of one step.

    Returns
    -------
    ndarray
        (steps or 1, *shape)

    Raises
    ------
    ShapeError
        If they have another shape.
    """
    if callable(values):
        values = [values(step) for step in steps]
    array = np.asarray(values, dtype=np.float64)
    if array.shape == shape:
        return array[None]
    if array.shape != (len(steps), *shape):
        either = f"{shape} or {(len(steps), *shape)}" if len(steps) > 1 else f"{shape}"
        raise ShapeError(f"{name!r} needs the shape {either}, got {array.shape}")
    return array


def check_numbers(name: str, array: NDArray[Any], *, log: bool, gaps: bool) -> None:
    """Refuse what no axis holds: infinities, gaps where none may be, nothing for a logarithm."""
    missing = np.isnan(array)
    if (np.isinf(array) | (missing & (not gaps))).any():
        wrong = array[~np.isfinite(array)][0]
        raise ConfigError(f"{name!r} holds {wrong}; a gap in a curve needs gaps=True")
    if log and (array[~missing] <= 0).any():
        raise ConfigError(
            f"{name!r} is on a logarithmic axis and holds {np.nanmin(array):g}, not above 0"
        )


def role_of(roles: Mapping[str, str], label: str, default: str) -> str:
    """The role that a label was given, or the default; ConfigError for an unknown one."""
    role = roles.get(label, default)
    if role not in ROLES:
        raise ConfigError(f"the role of {label!r} is one of {', '.join(ROLES)}, not {role!r}")
    return role


def check_known(what: str, given: Sequence[str], labels: Sequence[str]) -> None:
    """Refuse a name that stands for nothing."""
    if strange := [name for name in given if name not in labels]:
        raise ConfigError(f"{what} names {strange[0]!r}; there are {', '.join(labels)}")
