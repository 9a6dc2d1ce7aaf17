"""Attention in tiles: a small fast memory, a large slow one, and what moves between them."""

from __future__ import annotations

from mini_attn.widgets.base import LivingWidget

__all__ = ["FlashTiles"]


class FlashTiles(LivingWidget):
    """One head computed tile by tile: bytes moved, FLOPs, and what the fast memory holds.

    For each block of queries the loop goes through the blocks of keys and values. A value in the
    large memory takes 2 bytes; sums, scores and statistics in the fast memory take 4.

    Parameters
    ----------
    tokens : {256, 512, 1024, 2048, 4096}
        Queries, and keys.
    head_dim : {64, 128}
        Size of a query, a key and a value.
    block_q, block_k : {16, 32, 64, 128, 256}
        Queries and keys of a tile.
    memory : int
        The fast memory in kB, 24 to 256.
    causal : bool
        Whether tiles above the diagonal are skipped, and those on it masked in part.
    written : bool
        Whether the scores are written to the large memory.
    step : int
        How far the loop is, 0 to 64: tile number ``ceil(step * tiles / 64)``; 64 is the end.

    Raises
    ------
    WidgetStateError
        If a value is out of range or a name unknown; the state stays.

    Examples
    --------
    >>> tiles = FlashTiles(memory=100)
    >>> tiles.block_q = 64
    >>> tiles.state["block_q"], tiles.state["block_k"]
    (64, 128)
    """

    _widget = "flash_tiles"
    caption = (
        "Attention of one head for 1,024 tokens, in tiles of 128 queries and 128 keys. Tile 13 of "
        "36 is computed, and the 28 above the diagonal are skipped. The loop moves 1.44 MB. With "
        "materialized scores it moves 6.16 MB, for the same products."
    )
