"""Patterns of a few keys for each query, and how many blocks of the square they leave."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import DTypeError, ShapeError
from mini_attn.numpy._module import check_positions
from mini_attn.shapes import check_count

__all__ = ["bucket_mask", "count_blocks", "global_mask", "strided_mask"]

Array = NDArray[Any]


def strided_mask(q_positions: Array, kv_positions: Array, stride: int) -> Array:
    """Keys at a whole number of strides before the query.

    ``mask = kv_pos >= 0 and kv_pos <= q_pos and (q_pos - kv_pos) % stride == 0``

    Parameters
    ----------
    q_positions : integer array (q_len,) or (batch, q_len)
        Position of each query.
    kv_positions : integer array (kv_len,) or (batch, kv_len)
        Position of each key; -1 marks an empty or padded slot.
    stride : int
        Distance of the keys.

    Returns
    -------
    boolean array (q_len, kv_len) or (batch, q_len, kv_len)
        True where the query may attend.

    Raises
    ------
    DTypeError
        If the positions are not int32 or int64.
    ShapeError
        If the positions have the wrong axes or batches differ.
    ConfigError
        If the stride is below 1.

    Notes
    -----
    Patterns join by ``|``: a window or every so many keys is
    ``visible(…, causal=True, window=stride) | strided_mask(…, stride)``. With both, two layers
    bring every token to every later one. `combine_masks` takes what all of its masks allow.

    References
    ----------
    child2019sparse, section 4.2

    Examples
    --------
    >>> import numpy as np
    >>> strided_mask(np.array([5]), np.arange(7), 2).astype(int)
    array([[0, 1, 0, 1, 0, 1, 0]])
    """
    q, kv = _pair(q_positions, kv_positions)
    behind = q - kv
    return (kv >= 0) & (behind >= 0) & (behind % check_count("stride", stride) == 0)


def global_mask(q_positions: Array, kv_positions: Array, tokens: int) -> Array:
    """The first tokens see all, and all see them.

    ``mask = q_pos >= 0 and kv_pos >= 0 and (q_pos < tokens or kv_pos < tokens)``

    Parameters
    ----------
    q_positions : integer array (q_len,) or (batch, q_len)
        Position of each query.
    kv_positions : integer array (kv_len,) or (batch, kv_len)
        Position of each key; -1 marks an empty or padded slot.
    tokens : int
        How many first positions.

    Returns
    -------
    boolean array (q_len, kv_len) or (batch, q_len, kv_len)
        True where the query may attend.

    Raises
    ------
    DTypeError
        If the positions are not int32 or int64.
    ShapeError
        If the positions have the wrong axes or batches differ.
    ConfigError
        If ``tokens`` is below 1.

    Notes
    -----
    Not causal by itself: in a decoder combine it with a causal mask, which leaves its columns.

    References
    ----------
    beltagy2020longformer, section 3.1
    zaheer2020bigbird, section 2

    Examples
    --------
    >>> import numpy as np
    >>> global_mask(np.arange(3), np.arange(3), 1).astype(int)
    array([[1, 1, 1],
           [1, 0, 0],
           [1, 0, 0]])
    """
    q, kv = _pair(q_positions, kv_positions)
    few = check_count("tokens", tokens)
    return (q >= 0) & (kv >= 0) & ((q < few) | (kv < few))


def bucket_mask(q_buckets: Array, kv_buckets: Array) -> Array:
    """Keys in the query's own bucket.

    ``mask = kv_bucket >= 0 and q_bucket == kv_bucket``

    Parameters
    ----------
    q_buckets : integer array (q_len,) or (batch, q_len)
        Bucket of each query, for example its hash.
    kv_buckets : integer array (kv_len,) or (batch, kv_len)
        Bucket of each key; -1 is none.

    Returns
    -------
    boolean array (q_len, kv_len) or (batch, q_len, kv_len)
        True where the query may attend.

    Raises
    ------
    DTypeError
        If the buckets are not int32 or int64.
    ShapeError
        If the buckets have the wrong axes or batches differ.

    Notes
    -----
    Sorted by bucket, the tokens that see each other stand in few blocks; in their own order
    they are spread over all of them, and none can be skipped.

    References
    ----------
    kitaev2020reformer, section 2

    Examples
    --------
    >>> import numpy as np
    >>> bucket_mask(np.array([1, 0]), np.array([0, 1, 1])).astype(int)
    array([[0, 1, 1],
           [1, 0, 0]])
    """
    q, kv = _pair(q_buckets, kv_buckets, "buckets")
    return (kv >= 0) & (q == kv)


def count_blocks(mask: Array, block_q: int, block_k: int) -> tuple[int, int]:
    """Blocks of a mask in which somebody sees something, and all blocks.

    ``seen = number of (i, j) with any(mask[block i of queries, block j of keys])``

    Parameters
    ----------
    mask : boolean array (..., q_len, kv_len)
        True = may attend.
    block_q, block_k : int
        Queries and keys of a block; the last may be smaller.

    Returns
    -------
    tuple of int (seen, all)
        Leading axes are looked at together, as one walk over blocks serves them all.

    Raises
    ------
    DTypeError
        If the mask is not boolean.
    ShapeError
        If it has fewer than two axes.
    ConfigError
        If a block is below 1.

    Notes
    -----
    `online_attention` computes those that are seen and skips the others. A pattern saves time
    only where it leaves whole blocks empty.

    References
    ----------
    dao2022flashattention, section 3.3

    Examples
    --------
    >>> import numpy as np
    >>> count_blocks(np.tri(6, dtype=bool), 2, 2)
    (6, 9)
    """
    if not isinstance(mask, np.ndarray) or mask.dtype != np.bool_:
        kind = getattr(mask, "dtype", type(mask).__name__)
        raise DTypeError(f"a mask must be boolean (True = may attend), got {kind}")
    if mask.ndim < 2:
        raise ShapeError(f"mask must be (..., q_len, kv_len), got shape {mask.shape}")
    check_count("block_q", block_q)
    check_count("block_k", block_k)
    q_len, kv_len = mask.shape[-2:]
    some = mask.reshape(-1, q_len, kv_len).any(axis=0)
    rows = -(-q_len // block_q)
    columns = -(-kv_len // block_k)
    whole = np.zeros((rows * block_q, columns * block_k), bool)
    whole[:q_len, :kv_len] = some
    seen = whole.reshape(rows, block_q, columns, block_k).any(axis=(1, 3))
    return int(seen.sum()), rows * columns


def _pair(q: Array, kv: Array, what: str = "positions") -> tuple[Array, Array]:
    """Queries in a column and keys in a row, after the checks."""
    for name, given in ((f"q_{what}", q), (f"kv_{what}", kv)):
        check_positions(name, given)
    if q.ndim == kv.ndim == 2 and len(q) != len(kv):
        raise ShapeError(f"q_{what} has batch = {len(q)}, kv_{what} batch = {len(kv)}")
    return q[..., :, None], kv[..., None, :]
