"""The order of a projection's rows: which two of them a rotary embedding turns together."""

from __future__ import annotations

from typing import Any

from mini_attn.errors import ShapeError
from mini_attn.shapes import check_choice

__all__ = ["rope_rows"]


def rope_rows(
    n_heads: int,
    head_dim: int,
    rotary_dim: int,
    *,
    source: str,
    target: str,
    first: int = 0,
) -> list[int] | None:
    """Return where each row of a projection comes from when its rotary layout changes.

    ``half[i], half[i + pairs] = interleaved[2 i], interleaved[2 i + 1]``

    Parameters
    ----------
    n_heads, head_dim : int
        Heads of the projection, and rows of each.
    rotary_dim : int
        Rows of a head that turn.
    source, target : {"half", "interleaved"}
        Layout of the weights, and the one to give them.
    first : int
        Rows of a head before those that turn.

    Returns
    -------
    list of int, or None
        ``weight[rows]`` has the new layout; None where the layouts are one.

    Raises
    ------
    ConfigError
        If a layout is unknown.

    Notes
    -----
    Plain numbers, so that arrays and tensors of weights, biases and gains all take them.

    References
    ----------
    su2021roformer, section 3.4.2

    Examples
    --------
    >>> rope_rows(1, 6, 4, source="interleaved", target="half", first=2)
    [0, 1, 2, 4, 3, 5]
    """
    check_choice("source", source, ("half", "interleaved"))
    check_choice("target", target, ("half", "interleaved"))
    if source == target:
        return None
    pairs = rotary_dim // 2
    if source == "half":
        turned = [i + part * pairs for i in range(pairs) for part in range(2)]
    else:
        turned = [2 * i + part for part in range(2) for i in range(pairs)]
    head = list(range(head_dim))
    head[first : first + rotary_dim] = [first + row for row in turned]
    return [start + row for start in range(0, n_heads * head_dim, head_dim) for row in head]


def with_rows(name: str, weight: Any, rows: list[int]) -> Any:
    """A weight with its rows in another order."""
    if tuple(weight.shape[:1]) != (len(rows),):
        raise ShapeError(f"{name} must have {len(rows)} rows, got shape {tuple(weight.shape)}")
    return weight[rows]
