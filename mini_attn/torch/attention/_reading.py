"""Attention to what a cache holds, read a few blocks or groups at a time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from torch import Tensor

from mini_attn.config import score_factor
from mini_attn.errors import DTypeError, ShapeError
from mini_attn.shapes import check_count, check_heads, named_shapes
from mini_attn.torch._module import check_array
from mini_attn.torch.attention._hidden import visible_product
from mini_attn.torch.attention._sinks import fit_sinks, join
from mini_attn.torch.attention._visibility import Visibility, fit_positions
from mini_attn.torch.attention.mask import check_window
from mini_attn.torch.attention.online import Tile, fold


def check_queries(q: Tensor, held: Any, dtype: Any) -> dict[str, int]:
    """Sizes of queries, after a check that they fit the keys of a pool or cache."""
    sizes = named_shapes(q=(q, "batch n_heads q_len head_dim"))
    check_array("q", q)
    if q.dtype != dtype:
        raise DTypeError(f"the cache holds {dtype}, q is {q.dtype}")
    if sizes["head_dim"] != held.head_dim:
        raise ShapeError(
            f"q has head_dim = {sizes['head_dim']}, the keys have {held.head_dim}: "
            f"got q of shape {tuple(q.shape)}"
        )
    check_heads(sizes["n_heads"], held.n_kv_heads)
    return sizes


def attend_tiles(
    q: Tensor,
    tiles: Iterator[Tile],
    visibility: Visibility,
    scale: float,
    softcap: float | None,
    sinks: Tensor | None,
    v_head_dim: int,
) -> tuple[Tensor, Tensor]:
    """Output in the queries' type, and log-sum-exp."""
    rows = slice(0, q.shape[2])
    options: dict[str, Any] = {"softcap": softcap, "v_head_dim": v_head_dim}
    out, lse = fold(q, tiles, rows, visibility, scale, product=_product, **options)
    if sinks is not None:
        out, lse = join(out, lse, sinks)
    return out.to(q.dtype), lse


def _product(weights: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
    """``weights @ v`` of grouped heads, where hidden values count nothing even if they are NaN."""
    out = weights @ v
    if mask is None or bool(out.isfinite().all()):
        return out
    batch, n_kv_heads, rows = weights.shape[:3]
    n_heads = n_kv_heads * rows // mask.shape[2]
    shown = mask.expand(batch, n_heads, -1, -1).reshape(weights.shape)
    return visible_product(weights, v, shown)


def read_pages(
    arrays: tuple[Tensor, ...], index: Tensor, slots: int, block_k: int
) -> Iterator[Tile]:
    """Keys and values by a table of blocks (batch, blocks), a few blocks at a time."""
    size = arrays[0].shape[2]
    step = max(1, block_k // size)
    for first in range(0, -(-slots // size), step):
        columns = slice(first * size, min((first + step) * size, slots))
        some, n = index[:, first : first + step], columns.stop - columns.start
        yield columns, lambda some=some, n=n: _gathered(arrays, some, n)  # type: ignore[misc]


def _gathered(arrays: tuple[Tensor, ...], some: Tensor, n: int) -> tuple[Tensor, Tensor]:
    """Some blocks as (batch, n_kv_heads, n, width)."""
    # Heads go first, so that the blocks of a head come to lie side by side in the one copy.
    k, v = (
        array.transpose(0, 1)[:, some]  # (n_kv_heads, batch, blocks, block_size, width)
        .transpose(0, 1)
        .reshape(len(some), array.shape[1], -1, array.shape[3])[:, :, :n]
        for array in arrays
    )
    return k, v


class Reading:
    """A cache that is read without being gathered or decoded as a whole."""

    batch: int
    n_kv_heads: int
    head_dim: int
    v_head_dim: int
    _dtype: Any
    _state: Any

    if TYPE_CHECKING:  # which slots, and how to read them, in order

        def _tiles(self, state: Any, block_k: int) -> Iterator[Tile]: ...

    def _turned(self, x: Tensor) -> Tensor:
        """Queries as the keys lie in the tiles, and outputs back from how the values lie there."""
        return x

    def _cached_positions(self, state: Any) -> Tensor | None:
        """Positions of the filled slots, None where they count."""
        return None if state.counted else state.mirror[:, : state.slots]

    def attend(
        self,
        q: Tensor,
        *,
        q_positions: Tensor | None = None,
        window: int | None = None,
        sink_tokens: int = 0,
        scale: float | None = None,
        softcap: float | None = None,
        sinks: Tensor | None = None,
        block_k: int = 64,
    ) -> tuple[Tensor, Tensor]:
        """Attention to all tokens held, some slots at a time.

        ``out, lse = online_attention(q, k_all, v_all, causal=True)``

        Parameters
        ----------
        q : tensor (batch, n_heads, q_len, head_dim)
            Queries.
        q_positions : integer tensor (q_len,) or (batch, q_len), or None
            Their positions; None means those of the last q_len slots.
        window, sink_tokens, scale, softcap, sinks
            As in `scaled_dot_product_attention`.
        block_k : int
            Slots to read at a time, in whole blocks or groups of which it is at least one.

        Returns
        -------
        tuple of tensors (out, lse)
            (batch, n_heads, q_len, v_head_dim) in ``q``'s type, and the natural log-sum-exp of
            the scores (batch, n_heads, q_len) in float32 or wider. A query that sees nothing
            gets zeros, and ``-inf`` or the sink.

        Raises
        ------
        ShapeError
            If axes disagree, or there are more queries than slots and no positions.
        DTypeError
            If the queries' type is not the cache's.
        ConfigError
            If the heads do not divide, or an option is out of range.

        Notes
        -----
        The same as of ``view()``, except for the order of the sums; only the tokens of
        ``block_k`` slots are copied or decoded at a time, where ``view`` makes all of them.
        What nobody sees, as behind a window, is not read.

        References
        ----------
        kwon2023pagedattention, section 4.1
        milakov2018online, algorithm 3

        Examples
        --------
        >>> import torch
        >>> from mini_attn.torch import BlockPool, PagedKVCache
        >>> cache = PagedKVCache(BlockPool(4, 1, 4, block_size=2), batch=1)
        >>> rows = torch.ones(1, 1, 3, 4)
        >>> _ = cache.append(rows, rows)
        >>> cache.attend(torch.zeros(1, 2, 1, 4))[0][0, 0, 0]
        tensor([1., 1., 1., 1.])
        """
        sizes, state = check_queries(q, self, self._dtype), self._state
        if len(q) != self.batch:
            raise ShapeError(f"q has batch = {len(q)}, the cache {self.batch}")
        check_window(True, window, sink_tokens)
        check_count("block_k", block_k)
        sinks = None if sinks is None else fit_sinks(sinks, sizes["n_heads"])
        scale = score_factor(scale, softcap, self.head_dim)
        if q_positions is not None:
            fit_positions("q_positions", q_positions, self.batch, sizes["q_len"])
        elif sizes["q_len"] > state.slots:
            raise ShapeError(
                f"{sizes['q_len']} queries cannot be the last of {state.slots} slots: "
                "append first, or pass q_positions"
            )
        visibility = Visibility(
            sizes["q_len"],
            state.slots,
            q.device,
            causal=True,
            window=window,
            sink_tokens=sink_tokens,
            q_positions=q_positions,
            kv_positions=self._cached_positions(state),
        )
        tiles = self._tiles(state, block_k)
        turned = self._turned(q)
        out, lse = attend_tiles(turned, tiles, visibility, scale, softcap, sinks, self.v_head_dim)
        return self._turned(out).to(q.dtype), lse
