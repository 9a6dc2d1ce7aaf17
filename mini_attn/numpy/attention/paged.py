"""Attention over tables of blocks: sequences of any lengths in one pool, nothing gathered."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import score_factor
from mini_attn.errors import CacheStateError, ConfigError, ShapeError
from mini_attn.numpy._module import check_whole
from mini_attn.numpy.attention._reading import attend_tiles, check_queries, read_pages
from mini_attn.numpy.attention._sinks import fit_sinks
from mini_attn.numpy.attention._visibility import Visibility
from mini_attn.numpy.attention.mask import check_window
from mini_attn.numpy.caches.block_pool import BlockPool
from mini_attn.shapes import check_count, named_shapes

__all__ = ["paged_attention"]

Array = NDArray[Any]


def paged_attention(
    q: Array,
    pool: BlockPool,
    block_table: Array,
    lengths: Array,
    *,
    window: int | None = None,
    sink_tokens: int = 0,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Array | None = None,
    block_k: int = 64,
) -> tuple[Array, Array]:
    """Causal attention to keys and values that lie in blocks of a pool.

    ``key of position p of row b = slot p % block_size of block block_table[b, p // block_size]``

    Parameters
    ----------
    q : array (batch, n_heads, q_len, head_dim)
        Queries of the last ``q_len`` tokens of each row.
    pool : BlockPool
        Keys and values, those of the queries' tokens too.
    block_table : integer array (batch, blocks)
        Blocks of each row in the order of its tokens; what a row does not need is not read.
    lengths : integer array (batch,)
        Tokens of each row.
    window, sink_tokens, scale, softcap, sinks
        As in `scaled_dot_product_attention`.
    block_k : int
        Slots to read at a time, in whole blocks of which it is at least one.

    Returns
    -------
    tuple of arrays (out, lse)
        (batch, n_heads, q_len, v_head_dim) in ``q``'s type, and the natural log-sum-exp of the
        scores (batch, n_heads, q_len) in float32 or wider. A query that sees nothing, as one
        before a row's first token, gets zeros, and ``-inf`` or the sink.

    Raises
    ------
    ShapeError
        If axes disagree or a table is too short for its length.
    DTypeError
        If the queries' type is not the pool's, or table or lengths are not int32 or int64.
    ConfigError
        If there is no such block, the heads do not divide, or an option is out of range.
    CacheStateError
        If a block of a table is free.

    Notes
    -----
    As gathering the blocks first, except for the order of the sums; ``batch * block_k`` slots
    are copied at a time instead of all. Slots behind a row's length are never seen, whatever
    lies in them.

    References
    ----------
    kwon2023pagedattention, section 4.1
    milakov2018online, algorithm 3

    Examples
    --------
    >>> import numpy as np
    >>> pool = BlockPool(4, n_kv_heads=1, head_dim=4, block_size=2)
    >>> table = np.array([[pool.take(), pool.take()], [pool.take(), -1]])
    >>> q = np.ones((2, 2, 1, 4), np.float32)
    >>> out, lse = paged_attention(q, pool, table, np.array([3, 1]))
    >>> np.exp(lse[:, 0, 0])  # all keys are zero: as many as a row has tokens
    array([3., 1.], dtype=float32)
    """
    if not isinstance(pool, BlockPool):
        raise ConfigError(f"pool must be a BlockPool, got {pool!r:.60}")
    sizes = check_queries(q, pool, pool._k.dtype)
    check_count("block_k", block_k)
    check_window(True, window, sink_tokens)
    sinks = None if sinks is None else fit_sinks(sinks, sizes["n_heads"])
    scale = score_factor(scale, softcap, sizes["head_dim"])
    table, lengths = check_table(pool, block_table, lengths, sizes["batch"])
    slots, q_len = int(lengths.max(initial=0)), sizes["q_len"]
    visibility = Visibility(
        q_len,
        slots,
        causal=True,
        window=window,
        sink_tokens=sink_tokens,
        q_positions=lengths[:, None] - q_len + np.arange(q_len),
        kv_positions=np.arange(slots),
    )
    tiles = read_pages((pool._k, pool._v), table, slots, block_k)
    return attend_tiles(q, tiles, visibility, scale, softcap, sinks, pool.v_head_dim)


def check_table(
    pool: BlockPool, block_table: Array, lengths: Array, batch: int
) -> tuple[Array, Array]:
    """The table and the lengths after every check, with block 0 where a row needs none."""
    check_whole("block_table", block_table)
    check_whole("lengths", lengths)
    named_shapes(block_table=(block_table, "batch blocks"), lengths=(lengths, "batch"))
    if len(lengths) != batch:
        raise ShapeError(f"q has batch = {batch}, the table {len(lengths)} rows")
    room = block_table.shape[1] * pool.block_size
    if (lengths < 0).any() or (lengths > room).any():
        raise ShapeError(
            f"lengths must lie in 0 … {room}, the slots of {block_table.shape[1]} blocks, "
            f"got {lengths.tolist()!s:.80}"
        )
    needed = np.arange(block_table.shape[1]) * pool.block_size < lengths[:, None]
    for block in set(block_table[needed].tolist()):
        if not 0 <= block < pool.n_blocks:
            raise ConfigError(f"blocks lie in 0 … {pool.n_blocks - 1}, the table names {block}")
        if not pool.references(block):
            raise CacheStateError(f"block {block} of the table is free: nobody holds its tokens")
    return np.where(needed, block_table, 0), lengths.astype(np.int64)
