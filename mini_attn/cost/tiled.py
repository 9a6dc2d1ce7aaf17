"""Attention of one head in tiles: which are computed, what they move, and what they hold."""

from __future__ import annotations

from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count

__all__ = ["computed_tiles", "tile_bytes", "tiled_pairs", "tiled_traffic"]


def _walks(
    q_len: int, kv_len: int, block_q: int, block_k: int, causal: bool
) -> list[tuple[int, int, int]]:
    """Of each block of queries: its rows, its tiles of keys, and the keys that these hold."""
    for name, size in (("q_len", q_len), ("kv_len", kv_len)):
        check_count(name, size)
    for name, size in (("block_q", block_q), ("block_k", block_k)):
        check_count(name, size)
    if causal and q_len > kv_len:
        raise ConfigError(f"q_len = {q_len} queries cannot be the last of kv_len = {kv_len} keys")
    found = []
    for start in range(0, q_len, block_q):
        rows = min(block_q, q_len - start)
        seen = kv_len - q_len + start + rows if causal else kv_len
        tiles = -(-seen // block_k)
        found.append((rows, tiles, min(tiles * block_k, kv_len)))
    return found


def computed_tiles(
    q_len: int, kv_len: int, *, block_q: int, block_k: int, causal: bool = False
) -> int:
    """Tiles in which some query sees some key; the others are skipped.

    ``sum over blocks of queries of ceil(keys that its last query sees / block_k)``

    Parameters
    ----------
    q_len, kv_len : int
        Queries, which are the last of the keys where attention is causal, and keys.
    block_q, block_k : int
        Queries and keys of a tile; the last may be smaller.
    causal : bool
        Whether a query sees no later key.

    Returns
    -------
    int
        Tiles.

    Raises
    ------
    ConfigError
        If a size is below 1, or causal queries are more than the keys.

    Notes
    -----
    Equals the first number of `count_blocks` for the causal mask.

    References
    ----------
    dao2023flashattention2, section 3.1

    Examples
    --------
    >>> computed_tiles(8, 8, block_q=2, block_k=2, causal=True), computed_tiles(
    ...     8, 8, block_q=2, block_k=2)
    (10, 16)
    """
    return sum(tiles for _, tiles, _ in _walks(q_len, kv_len, block_q, block_k, causal))


def tiled_pairs(
    q_len: int, kv_len: int, *, block_q: int, block_k: int, causal: bool = False
) -> int:
    """Pairs of a query and a key in the tiles that are computed, seen or not.

    ``sum over blocks of queries of their rows times the keys of their tiles``

    Parameters
    ----------
    q_len, kv_len, block_q, block_k, causal
        As in `computed_tiles`.

    Returns
    -------
    int
        Pairs: each costs ``2 * (head_dim + v_head_dim)`` FLOPs.

    Raises
    ------
    ConfigError
        As in `computed_tiles`.

    References
    ----------
    dao2023flashattention2, section 3.1

    Examples
    --------
    >>> tiled_pairs(8, 8, block_q=2, block_k=2, causal=True)
    40
    """
    return sum(rows * keys for rows, _, keys in _walks(q_len, kv_len, block_q, block_k, causal))


def tiled_traffic(
    q_len: int,
    kv_len: int,
    *,
    head_dim: int,
    v_head_dim: int | None = None,
    block_q: int,
    block_k: int,
    causal: bool = False,
) -> dict[str, int]:
    """Numbers that one head moves between the large memory and the fast one.

    ``q: q_len * head_dim once;  k, v: the keys of each block of queries;  out, lse: once``

    Parameters
    ----------
    q_len, kv_len, block_q, block_k, causal
        As in `computed_tiles`.
    head_dim : int
        Size of a query and a key.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.

    Returns
    -------
    dict of str to int
        Numbers read of ``q``, ``k`` and ``v``, written of ``out`` and ``lse``.

    Raises
    ------
    ConfigError
        As in `computed_tiles`.

    Notes
    -----
    A block of queries and its output stay in the fast memory until all of its keys have passed,
    as in `online_attention`. With blocks as large as ``M`` numbers allow, the reads of keys and
    values are ``Θ(q_len * kv_len * head_dim**2 / M)``. The scores are never moved.

    References
    ----------
    dao2022flashattention, theorem 2
    dao2023flashattention2, algorithm 1

    Examples
    --------
    >>> tiled_traffic(8, 8, head_dim=4, block_q=2, block_k=4)
    {'q': 32, 'k': 128, 'v': 128, 'out': 32, 'lse': 8}
    """
    check_count("head_dim", head_dim)
    width = head_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
    keys = sum(keys for _, _, keys in _walks(q_len, kv_len, block_q, block_k, causal))
    return {
        "q": q_len * head_dim,
        "k": keys * head_dim,
        "v": keys * width,
        "out": q_len * width,
        "lse": q_len,
    }


def tile_bytes(
    *,
    head_dim: int,
    v_head_dim: int | None = None,
    block_q: int,
    block_k: int,
    dtype_bytes: int = 2,
) -> int:
    """Bytes that a tile holds in the fast memory.

    ``dtype_bytes * (block_q * head_dim + block_k * (head_dim + v_head_dim))
    + 4 * (block_q * v_head_dim + block_q * block_k + 2 * block_q)``

    Parameters
    ----------
    head_dim : int
        Size of a query and a key.
    v_head_dim : int or None
        Size of a value; None means ``head_dim``.
    block_q, block_k : int
        Queries and keys of the tile.
    dtype_bytes : int
        Bytes of a number in the large memory.

    Returns
    -------
    int
        Queries, keys and values as they are stored; the running output, the tile's scores, the
        maximum and the sum of each row in float32.

    Raises
    ------
    ConfigError
        If a size is below 1.

    Notes
    -----
    Kernels that fetch the next keys while they compute hold two or three blocks of them.

    References
    ----------
    dao2022flashattention, algorithm 1

    Examples
    --------
    >>> tile_bytes(head_dim=64, block_q=128, block_k=128)
    148480
    """
    for name, size in (("head_dim", head_dim), ("block_q", block_q), ("block_k", block_k)):
        check_count(name, size)
    check_count("dtype_bytes", dtype_bytes)
    width = head_dim if v_head_dim is None else check_count("v_head_dim", v_head_dim)
    stored = block_q * head_dim + block_k * (head_dim + width)
    return dtype_bytes * stored + 4 * (block_q * width + block_q * block_k + 2 * block_q)
