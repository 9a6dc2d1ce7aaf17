"""Projections that a checkpoint stores as one matrix."""

from __future__ import annotations

from typing import Any

from mini_attn.config import AttentionConfig
from mini_attn.errors import ShapeError
from mini_attn.shapes import check_choice

__all__ = ["split_qkv"]


def split_qkv(fused: Any, config: AttentionConfig, *, order: str) -> tuple[Any, Any, Any]:
    """Cut one matrix into the query, key and value projections.

    ``fused = [q | k | v]``, or ``[q of group 0 | k 0 | v 0 | q of group 1 | ...]``

    Parameters
    ----------
    fused : array (rows, d_model) or (rows,)
        Weight or bias, ``rows = n_heads * head_dim + n_kv_heads * (head_dim + v_head_dim)``.
    config : AttentionConfig
        Heads and their sizes.
    order : {"stacked", "grouped"}
        All queries, then all keys, then all values (MPT, Phi-3); or group by group, the
        queries of a group, its key and its value (Falcon, BLOOM, GPT-NeoX).

    Returns
    -------
    tuple of arrays (q, k, v)
        Rows of ``q_proj``, ``k_proj`` and ``v_proj``.

    Raises
    ------
    ShapeError
        If the number of rows is another.
    ConfigError
        If the order is unknown.

    Notes
    -----
    BLOOM's and GPT-NeoX's triples of each head are groups of one head; with one group, as in
    Falcon-7B, both orders are the same.

    References
    ----------
    ainslie2023gqa, section 2.2

    Examples
    --------
    >>> import numpy as np
    >>> config = AttentionConfig(d_model=4, n_heads=2, head_dim=1)
    >>> [part.tolist() for part in split_qkv(np.arange(6), config, order="grouped")]
    [[0, 3], [1, 4], [2, 5]]
    """
    check_choice("order", order, ("stacked", "grouped"))
    groups, group = config.n_kv_heads, config.group_size * config.head_dim
    widths = (group, config.head_dim, config.v_head_dim)
    rows = groups * sum(widths)
    if not fused.shape or fused.shape[0] != rows:
        raise ShapeError(f"queries, keys and values have {rows} rows, got {tuple(fused.shape)}")
    rest = tuple(fused.shape[1:])
    cut = (1, rows) if order == "stacked" else (groups, rows // groups)
    ends = [groups * w if order == "stacked" else w for w in widths]
    parts, begin = [], 0
    for width in ends:
        part = fused.reshape(*cut, *rest)[:, begin : begin + width]
        parts.append(part.reshape(-1, *rest))
        begin += width
    q, k, v = parts
    return q, k, v
