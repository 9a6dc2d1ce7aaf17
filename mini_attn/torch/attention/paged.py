"""Attention over tables of blocks: sequences of any lengths in one pool, nothing gathered."""

from __future__ import annotations

import torch
from torch import Tensor

from mini_attn.config import score_factor
from mini_attn.errors import CacheStateError, ConfigError, ShapeError
from mini_attn.shapes import check_count, named_shapes
from mini_attn.torch._module import check_whole
from mini_attn.torch.attention._reading import attend_tiles, check_queries, read_pages
from mini_attn.torch.attention._sinks import fit_sinks, join
from mini_attn.torch.attention._visibility import Visibility
from mini_attn.torch.attention.mask import check_window
from mini_attn.torch.caches.block_pool import BlockPool
from mini_attn.torch.kernels._triton import takes

__all__ = ["paged_attention"]

MOST_ROWS = 64  # queries of a group of heads that one program of the kernel holds


def paged_attention(
    q: Tensor,
    pool: BlockPool,
    block_table: Tensor,
    lengths: Tensor,
    *,
    window: int | None = None,
    sink_tokens: int = 0,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    block_k: int = 64,
) -> tuple[Tensor, Tensor]:
    """Causal attention to keys and values that lie in blocks of a pool.

    ``key of position p of row b = slot p % block_size of block block_table[b, p // block_size]``

    Parameters
    ----------
    q : tensor (batch, n_heads, q_len, head_dim)
        Queries of the last ``q_len`` tokens of each row.
    pool : BlockPool
        Keys and values, those of the queries' tokens too.
    block_table : integer tensor (batch, blocks)
        Blocks of each row in the order of its tokens; what a row does not need is not read.
    lengths : integer tensor (batch,)
        Tokens of each row.
    window, sink_tokens, scale, softcap, sinks
        As in `scaled_dot_product_attention`.
    block_k : int
        Slots to read at a time, in whole blocks of which it is at least one.

    Returns
    -------
    tuple of tensors (out, lse)
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

    PyTorch: on a GPU, where Triton is installed, no gradient is asked for and there are few new
    tokens, a kernel of this package follows the table. The table is looked at on the host.

    References
    ----------
    kwon2023pagedattention, section 4.1
    milakov2018online, algorithm 3

    Examples
    --------
    >>> import torch
    >>> pool = BlockPool(4, n_kv_heads=1, head_dim=4, block_size=2)
    >>> table = torch.tensor([[pool.take(), pool.take()], [pool.take(), -1]])
    >>> q = torch.ones(2, 2, 1, 4)
    >>> out, lse = paged_attention(q, pool, table, torch.tensor([3, 1]))
    >>> lse[:, 0, 0].exp()  # all keys are zero: as many as a row has tokens
    tensor([3., 1.])
    """
    if not isinstance(pool, BlockPool):
        raise ConfigError(f"pool must be a BlockPool, got {pool!r:.60}")
    sizes = check_queries(q, pool, pool._k.dtype)
    check_count("block_k", block_k)
    check_window(True, window, sink_tokens)
    sinks = None if sinks is None else fit_sinks(sinks, sizes["n_heads"])
    scale = score_factor(scale, softcap, sizes["head_dim"])
    table, lengths = check_table(pool, block_table, lengths, sizes["batch"])
    slots, q_len = int(lengths.max()) if len(lengths) else 0, sizes["q_len"]
    rows = q_len * sizes["n_heads"] // pool.n_kv_heads
    if rows <= MOST_ROWS and not sink_tokens and takes(q, pool._k, pool._v):
        from mini_attn.torch.kernels._triton_paged import attend

        arrays = (q, pool._k, pool._v, table, lengths, slots)
        found = attend(*arrays, window=window, scale=scale, softcap=softcap)
        return found if sinks is None else join(*found, sinks)
    visibility = Visibility(
        q_len,
        slots,
        q.device,
        causal=True,
        window=window,
        sink_tokens=sink_tokens,
        q_positions=lengths[:, None] - q_len + torch.arange(q_len, device=q.device),
        kv_positions=torch.arange(slots, device=q.device),
    )
    tiles = read_pages((pool._k, pool._v), table, slots, block_k)
    return attend_tiles(q, tiles, visibility, scale, softcap, sinks, pool.v_head_dim)


def check_table(
    pool: BlockPool, block_table: Tensor, lengths: Tensor, batch: int
) -> tuple[Tensor, Tensor]:
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
    blocks = torch.arange(block_table.shape[1], device=block_table.device)
    needed = blocks * pool.block_size < lengths[:, None]
    for block in set(block_table[needed].tolist()):
        if not 0 <= block < pool.n_blocks:
            raise ConfigError(f"blocks lie in 0 … {pool.n_blocks - 1}, the table names {block}")
        if not pool.references(block):
            raise CacheStateError(f"block {block} of the table is free: nobody holds its tokens")
    return torch.where(needed, block_table, 0), lengths.long()
