"""Attention tile by tile: the softmax of a row whose scores are never together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from mini_attn.config import score_factor
from mini_attn.errors import DTypeError
from mini_attn.shapes import check_count, named_shapes
from mini_attn.torch._module import check_array, wide
from mini_attn.torch.attention._hidden import without_hidden
from mini_attn.torch.attention._sinks import fit_sinks, join
from mini_attn.torch.attention._visibility import Visibility, check_visibility, cut, fit_bias
from mini_attn.torch.attention.dot_product import _grouped, check_inputs, score
from mini_attn.torch.kernels._fused import by_own_kernel

__all__ = ["merge_attention", "online_attention"]

Tile = tuple[slice, Callable[[], tuple[Tensor, Tensor]]]
Product = Callable[[Tensor, Tensor, Any], Tensor]


def online_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    mask: Tensor | None = None,
    causal: bool = False,
    window: int | None = None,
    sink_tokens: int = 0,
    q_positions: Tensor | None = None,
    kv_positions: Tensor | None = None,
    bias: Tensor | None = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
    block_q: int = 64,
    block_k: int = 64,
) -> tuple[Tensor, Tensor]:
    """Attention that sees a few keys at a time and corrects itself.

    ``m' = max(m, scores);  l' = exp(m - m') l + sum(exp(scores - m'));
    out' = exp(m - m') out + exp(scores - m') @ v``

    Parameters
    ----------
    q : tensor (batch, n_heads, q_len, head_dim)
        Queries.
    k : tensor (batch, n_kv_heads, kv_len, head_dim)
        Keys; query head ``h`` reads key/value head ``h // (n_heads // n_kv_heads)``.
    v : tensor (batch, n_kv_heads, kv_len, v_head_dim)
        Values.
    mask, causal, window, sink_tokens, q_positions, kv_positions, bias, scale, softcap, sinks
        As in `scaled_dot_product_attention`.
    block_q, block_k : int
        Queries and keys of a tile.

    Returns
    -------
    tuple of tensors (out, lse)
        (batch, n_heads, q_len, v_head_dim) in ``q``'s type, and the natural log-sum-exp of the
        scores (batch, n_heads, q_len) in float32 or wider; it counts the sink. A query that
        sees nothing gets zeros, and ``-inf`` or the sink.

    Raises
    ------
    ShapeError
        If axes disagree or positions do not fit.
    DTypeError
        If the tensors are not of one floating-point dtype or the mask is not boolean.
    ConfigError
        If the heads do not divide, or an option is out of range.

    Notes
    -----
    The FLOPs of `scaled_dot_product_attention`, less the tiles that nobody sees; memory for
    ``batch * n_heads * block_q * block_k`` scores instead of ``q_len * kv_len``. Exact: the
    order of the sums differs, nothing else.

    A sink counts once: where keys come in parts that `merge_attention` puts together, give it
    to one part, whichever, and to no other.

    PyTorch: on a GPU, where Triton is installed and there is no mask, bias or gradient, a kernel
    of this package does the same with tiles of its own.

    References
    ----------
    milakov2018online, algorithm 3
    dao2022flashattention, algorithm 1

    Examples
    --------
    >>> import torch
    >>> q, k, v = torch.zeros(1, 1, 1, 4), torch.zeros(1, 1, 3, 4), torch.ones(1, 1, 3, 2)
    >>> out, lse = online_attention(q, k, v, block_k=2)
    >>> out[0, 0, 0], lse[0, 0]
    (tensor([1., 1.]), tensor([1.0986]))
    """
    sizes = check_inputs(q=q, k=k, v=v)
    sinks = None if sinks is None else fit_sinks(sinks, sizes["n_heads"])
    scale = score_factor(scale, softcap, sizes["head_dim"])
    check_count("block_q", block_q)
    check_count("block_k", block_k)
    rule = (mask, causal, window, sink_tokens, q_positions, kv_positions)
    visibility = check_visibility(sizes, q.device, *rule)
    bias = None if bias is None else fit_bias(bias, sizes)
    asked = q, k, v, visibility, scale, bias, softcap, (block_q, block_k)
    out, lse = attend_by_tiles(*asked)
    return (out, lse) if sinks is None else join(out, lse, sinks)


def attend_by_tiles(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visibility: Visibility,
    scale: float,
    bias: Tensor | None = None,
    softcap: float | None = None,
    blocks: tuple[int, int] = (64, 64),
) -> tuple[Tensor, Tensor]:
    """`online_attention` without checks and without sinks."""
    if bias is None:
        found = by_own_kernel(q, k, v, visibility, scale, softcap)
        if found is not None:
            return found

    def compute(q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, ...]:
        return _rows_of_tiles(q, k, v, visibility, scale, bias, softcap, blocks)

    out, lse = without_hidden(q, k, v, visibility, compute)
    return out, lse


def _rows_of_tiles(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    visibility: Visibility,
    scale: float,
    bias: Tensor | None,
    softcap: float | None,
    blocks: tuple[int, int],
) -> tuple[Tensor, Tensor]:
    """All queries, a block of them after the other."""
    outs = [q.new_zeros(*q.shape[:2], 0, v.shape[3])]  # of no queries
    sums = [wide(q.new_zeros(*q.shape[:2], 0))]
    for start in range(0, q.shape[2], blocks[0]):
        rows = slice(start, min(start + blocks[0], q.shape[2]))
        out, lse = fold(
            q[:, :, rows],
            _slices(k, v, blocks[1]),
            rows,
            visibility,
            scale,
            v_head_dim=v.shape[3],
            bias=bias,
            softcap=softcap,
        )
        outs.append(out.to(q.dtype))
        sums.append(lse)
    return torch.cat(outs, dim=2), torch.cat(sums, dim=2)


def _slices(k: Tensor, v: Tensor, block_k: int) -> Iterator[Tile]:
    """Keys and values that lie in one tensor, some at a time."""
    for start in range(0, k.shape[2], block_k):
        columns = slice(start, min(start + block_k, k.shape[2]))
        yield columns, lambda at=columns: (k[:, :, at], v[:, :, at])  # type: ignore[misc]


def fold(
    q: Tensor,
    tiles: Iterable[Tile],
    rows: slice,
    visibility: Visibility,
    scale: float,
    *,
    v_head_dim: int,
    bias: Tensor | None = None,
    softcap: float | None = None,
    product: Product | None = None,
) -> tuple[Tensor, Tensor]:
    """A block of queries against all keys: output and log-sum-exp in float32 or wider.

    A tile is which keys it has, and how to read them; what nobody sees is not read. `product`
    makes the sum of the values; None is the matrix product, into which hidden NaN would come.
    """
    q = wide(q).contiguous() * scale
    top = q.new_full(q.shape[:3], -torch.inf)
    total, out = torch.zeros_like(top), q.new_zeros(*q.shape[:3], v_head_dim)
    for columns, read in tiles:
        mask = visibility.tile(rows, columns)
        if mask is False:
            continue
        k, v = read()
        part = None if bias is None else cut(bias, rows, columns)
        scores = score(q, k, softcap, part, mask)
        new_top = torch.maximum(top, scores.amax(dim=-1))
        shift = new_top.masked_fill(new_top == -torch.inf, 0)  # a row that has seen nothing yet
        weights = torch.exp(scores - shift[..., None])
        keep = torch.exp(top - shift)  # 0 for a first tile: what was there counts nothing
        total = total * keep + weights.sum(dim=-1)
        grouped = _grouped(weights, k.shape[1])
        part_out = grouped @ wide(v) if product is None else product(grouped, wide(v), mask)
        out = out * keep[..., None] + part_out.reshape(out.shape)
        top = new_top
    empty = total == 0
    lse = (top + total.masked_fill(empty, 1).log()).masked_fill(empty, -torch.inf)
    return out / total.masked_fill(empty, 1)[..., None], lse


def merge_attention(
    out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor
) -> tuple[Tensor, Tensor]:
    """The attention over two sets of keys, from the attention over each.

    ``lse = log(exp(lse_a) + exp(lse_b));  out = exp(lse_a - lse) out_a + exp(lse_b - lse) out_b``

    Parameters
    ----------
    out_a, out_b : tensor (batch, n_heads, q_len, v_head_dim)
        Outputs of the same queries over different keys.
    lse_a, lse_b : tensor (batch, n_heads, q_len)
        Natural log-sum-exp of their scores, ``-inf`` where nothing was seen.

    Returns
    -------
    tuple of tensors (out, lse)
        As if the keys had been together.

    Raises
    ------
    ShapeError
        If axes disagree.
    DTypeError
        If the outputs' types differ, or a tensor is not floating point.

    Notes
    -----
    Associative and symmetric up to rounding, so that parts may be merged in any order. Some
    libraries give base-2 sums: multiply those by ``log(2)`` first.

    References
    ----------
    dao2022flashattention, section 3.1

    Examples
    --------
    >>> import torch
    >>> a, b = torch.zeros(1, 1, 1, 2), torch.ones(1, 1, 1, 2)
    >>> same = torch.zeros(1, 1, 1)
    >>> out, lse = merge_attention(a, same, b, same)
    >>> float(out[0, 0, 0, 0])
    0.5
    """
    axes = "batch n_heads q_len"
    named_shapes(
        out_a=(out_a, f"{axes} v_head_dim"),
        out_b=(out_b, f"{axes} v_head_dim"),
        lse_a=(lse_a, axes),
        lse_b=(lse_b, axes),
    )
    for name, array in (("out_a", out_a), ("out_b", out_b), ("lse_a", lse_a), ("lse_b", lse_b)):
        check_array(name, array)
    kinds = {str(out_a.dtype), str(out_b.dtype)}
    if len(kinds) > 1 or not all(a.is_floating_point() for a in (out_a, lse_a, lse_b)):
        raise DTypeError(
            "out_a and out_b must share one floating-point dtype and the sums be floating point, "
            f"got {out_a.dtype}, {out_b.dtype}, {lse_a.dtype} and {lse_b.dtype}"
        )
    out, lse = merge_parts(out_a, lse_a, out_b, lse_b)
    return out.to(out_a.dtype), lse


def merge_parts(
    out_a: Tensor, lse_a: Tensor, out_b: Tensor, lse_b: Tensor
) -> tuple[Tensor, Tensor]:
    """`merge_attention` without checks, in float32 or wider."""
    top = torch.maximum(lse_a, lse_b)
    shift = top.masked_fill(top == -torch.inf, 0)  # neither saw anything
    share_a, share_b = torch.exp(lse_a - shift), torch.exp(lse_b - shift)
    total = share_a + share_b
    safe = total.masked_fill(total == 0, 1)
    out = (share_a / safe)[..., None] * wide(out_a) + (share_b / safe)[..., None] * wide(out_b)
    lse = (shift + safe.log()).masked_fill(total == 0, -torch.inf)
    return out, lse
