"""Attention over a sequence whose tokens are split over ranks."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from mini_attn.config import score_factor
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.plain import devices as plain
from mini_attn.shapes import check_choice, check_count, check_flag
from mini_attn.torch.attention._sinks import fit_sinks, join
from mini_attn.torch.attention._visibility import Visibility, fit_positions
from mini_attn.torch.attention.dot_product import attend, check_inputs
from mini_attn.torch.attention.mask import check_window
from mini_attn.torch.parallel._ring import Integers, RingAttention, Shards
from mini_attn.torch.parallel.ranks import Ranks

__all__ = ["ring_attention", "shard_positions", "ulysses_attention"]

_CHUNKS = {"contiguous": 1, "zigzag": 2}  # of a rank's shard


def shard_positions(n: int, ranks: Ranks, order: str = "contiguous") -> Tensor:
    """Return the positions of the tokens that this rank holds.

    ``contiguous: rank * n / P + 0, 1, 2, …;  zigzag: chunks rank and 2 P - 1 - rank of 2 P``

    Parameters
    ----------
    n : int
        Tokens of the whole sequence, padding counted.
    ranks : Ranks
        Who takes part.
    order : {"contiguous", "zigzag"}
        One stretch of tokens, or one from the front and its mirror image from the back, with
        which all ranks have equally many keys to read under a causal mask.

    Returns
    -------
    integer tensor (n / P,)
        Positions in ascending order, on the ranks' device. They select this rank's tokens from
        the whole, and rotary tables are made for them.

    Raises
    ------
    ShapeError
        If the tokens can't be split evenly.
    ConfigError
        If the order is unknown.

    References
    ----------
    zhu2024ringflash
    dubey2024llama3, section 3.3.2

    Examples
    --------
    >>> from mini_attn.torch.parallel.ranks import Ranks
    >>> ranks = Ranks(group=None, rank=1, size=2, device=torch.device("cpu"))
    >>> shard_positions(8, ranks), shard_positions(8, ranks, "zigzag")
    (tensor([4, 5, 6, 7]), tensor([2, 3, 4, 5]))
    """
    check_count("n", n)
    own = _all_positions(n, ranks, order)[ranks.rank]
    return torch.as_tensor(own, device=ranks.device)


def _all_positions(n: int, ranks: Ranks, order: str) -> Integers:
    """Positions of every rank's tokens (ranks, n / ranks), on the host."""
    check_choice("order", order, tuple(_CHUNKS))
    parts = ranks.size * _CHUNKS[order]
    if n % parts:
        raise ShapeError(
            f"{n} tokens can't be split into {parts} equal chunks, {_CHUNKS[order]} for each of "
            f"{ranks.size} ranks ({order}): pad to {-(-n // parts) * parts} with positions of -1"
        )
    return plain.shard_positions(n, ranks.size, order)  # type: ignore[no-untyped-call]


def ring_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor | int,
    *,
    ranks: Ranks,
    order: str = "contiguous",
    positions: Tensor | None = None,
    causal: bool = False,
    window: int | None = None,
    sink_tokens: int = 0,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Attend from this rank's queries to the keys of all ranks, which go around a ring.

    ``out, lse = merge(out, lse, attention(q, k_block, v_block))`` for each rank's block

    Parameters
    ----------
    q : tensor (batch, n_heads, seq, head_dim)
        Queries of this rank's tokens, one of P equal shards of the sequence.
    k : tensor (batch, n_kv_heads, seq, head_dim)
        Keys of the same tokens; only these few heads travel, none is repeated.
    v : tensor (batch, n_kv_heads, seq, v_head_dim), or int
        Values of the same tokens. A number means that the first so many numbers of each key are
        its value, as of MLA's latents: then a block is no wider than a key.
    ranks : Ranks
        Who takes part.
    order : {"contiguous", "zigzag"}
        How the tokens are split, as in `shard_positions`.
    positions : integer tensor (seq,) or (batch, seq), or None
        Positions of this rank's tokens, -1 for padding; None means those of `shard_positions`.
    causal, window, sink_tokens, scale, softcap, sinks
        As in `scaled_dot_product_attention`.

    Returns
    -------
    tensor (batch, n_heads, seq, v_head_dim)
        The rows of the whole sequence's attention that belong to this rank, in ``q``'s type.

    Raises
    ------
    ShapeError
        If axes disagree, positions don't fit, or a zigzag shard isn't two equal chunks.
    DTypeError
        If the tensors aren't of one floating-point dtype.
    ConfigError
        If the heads don't divide, or an option is out of range.
    RankError
        If ranks differ in shapes, types or options, or one fails.

    Notes
    -----
    A rank sends ``(rounds - 1) * batch * n_kv_heads * seq * (head_dim + v_head_dim)`` values,
    and in the backward pass twice as many. There are P rounds, or fewer where a window ends
    before the last; a block is sent on while it's used. Pairs of chunks that nobody sees are
    skipped. Gradients of what all ranks hold alike (weights, ``sinks``) are those of this
    rank's tokens: add them up over ranks.

    References
    ----------
    liu2023ring, section 3

    Examples
    --------
    >>> from mini_attn.torch.parallel.ranks import Ranks
    >>> alone = Ranks(group=None, rank=0, size=1, device=torch.device("cpu"))
    >>> q, k = torch.zeros(1, 4, 6, 8), torch.zeros(1, 2, 6, 8)
    >>> ring_attention(q, k, k, ranks=alone, causal=True).shape  # doctest: +SKIP
    torch.Size([1, 4, 6, 8])
    """
    rule, shared = (causal, window, sink_tokens), isinstance(v, int)
    if isinstance(v, int):
        if not 0 < check_count("v", v) <= k.shape[-1]:
            raise ConfigError(
                f"v says how many of a key's {k.shape[-1]} numbers are its value, got {v}"
            )
        v = k[..., :v]
    scale, sinks = _check(q, k, v, ranks, order, positions, rule, scale, softcap, sinks)
    chunks = _CHUNKS[order]
    if q.shape[2] % chunks:
        raise ShapeError(f"a zigzag shard is two equal chunks, got {q.shape[2]} tokens")
    _agree(
        ranks, "ring_attention", (q, k, v, positions, sinks), (order, rule, scale, softcap, shared)
    )
    everywhere = _gathered_positions(ranks, positions, q.shape[2], order)
    if positions is not None:  # what padding holds must not reach a sum, not even as 0 * NaN
        padded = (positions < 0).reshape(-1, 1, q.shape[2], 1)
        k, v = k.masked_fill(padded, 0), v.masked_fill(padded, 0)
        q = q.masked_fill(padded, 0) if causal else q
    shards = Shards(everywhere, chunks, rule, q.device)
    own = k if shared else torch.cat([k, v], dim=-1)
    parts = slice(k.shape[3]), slice(v.shape[3]) if shared else slice(k.shape[3], None)
    out, lse = RingAttention.apply(q, own, parts, ranks, shards, scale, softcap)  # type: ignore[no-untyped-call]
    return (out if sinks is None else join(out, lse, sinks)[0]).to(q.dtype)


def ulysses_attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    ranks: Ranks,
    order: str = "contiguous",
    positions: Tensor | None = None,
    causal: bool = False,
    window: int | None = None,
    sink_tokens: int = 0,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Tensor | None = None,
) -> Tensor:
    """Attend with split heads between two all-to-alls, where tokens come and go split.

    ``out = to_tokens(attention(to_heads(q), to_heads(k), to_heads(v)))``

    Parameters
    ----------
    q : tensor (batch, n_heads, seq, head_dim)
        Queries of this rank's tokens, one of P equal shards of the sequence.
    k : tensor (batch, n_kv_heads, seq, head_dim)
        Keys of the same tokens; P must divide their heads.
    v : tensor (batch, n_kv_heads, seq, v_head_dim)
        Values of the same tokens.
    ranks : Ranks
        Who takes part.
    order : {"contiguous", "zigzag"}
        How the tokens are split, as in `shard_positions`; contiguous needs no mask.
    positions : integer tensor (seq,) or (batch, seq), or None
        Positions of this rank's tokens, -1 for padding; None means those of `shard_positions`.
    causal, window, sink_tokens, scale, softcap, sinks
        As in `scaled_dot_product_attention`.

    Returns
    -------
    tensor (batch, n_heads, seq, v_head_dim)
        The rows of the whole sequence's attention that belong to this rank, in ``q``'s type.

    Raises
    ------
    ShapeError
        If axes disagree or positions don't fit.
    DTypeError
        If the tensors aren't of one floating-point dtype.
    ConfigError
        If the ranks can't share the key/value heads evenly, or an option is out of range.
    RankError
        If ranks differ in shapes, types or options, or one fails.

    Notes
    -----
    With ``numbers = n_heads * (head_dim + v_head_dim) + n_kv_heads * (head_dim + v_head_dim)`` a
    rank sends ``batch * seq * numbers * (P - 1) / P`` values in two messages, and as many in the
    backward pass. Gradients of what all ranks hold alike are parts: add them up over ranks.

    References
    ----------
    jacobs2023ulysses, section 3

    Examples
    --------
    >>> from mini_attn.torch.parallel.ranks import Ranks
    >>> ranks = Ranks(group=None, rank=0, size=4, device=torch.device("cpu"))
    >>> q, k = torch.zeros(1, 4, 6, 8), torch.zeros(1, 2, 6, 8)
    >>> ulysses_attention(q, k, k, ranks=ranks)
    Traceback (most recent call last):
    mini_attn.errors.ConfigError: 4 ranks can't share n_kv_heads = 2 heads evenly: use at most 2 \
ranks, or ring_attention
    """
    rule = causal, window, sink_tokens
    scale, sinks = _check(q, k, v, ranks, order, positions, rule, scale, softcap, sinks)
    n_kv_heads = k.shape[1]
    if n_kv_heads % ranks.size:
        raise ConfigError(
            f"{ranks.size} ranks can't share n_kv_heads = {n_kv_heads} heads evenly: use at most "
            f"{n_kv_heads} ranks, or ring_attention"
        )
    _agree(ranks, "ulysses_attention", (q, k, v, positions, sinks), (order, rule, scale, softcap))
    placed = None
    if positions is not None or order != "contiguous":
        everywhere = _gathered_positions(ranks, positions, q.shape[2], order)
        joined = np.concatenate(list(everywhere), axis=-1)  # (1 or batch, n)
        placed = torch.as_tensor(joined, device=q.device)
    q, k, v = _to_heads(ranks, q, k, v)
    n = q.shape[2]
    names = ("causal", "window", "sink_tokens")
    options: dict[str, Any] = dict(zip(names, rule, strict=True))
    visibility = Visibility(n, n, q.device, q_positions=placed, kv_positions=placed, **options)
    sinks = None if sinks is None else sinks.chunk(ranks.size)[ranks.rank]
    out = attend(q, k, v, visibility, scale, None, softcap, sinks)
    return ranks.all_to_all(out, cut=2, join=1)  # (batch, n_heads, seq, v_head_dim)


def _to_heads(ranks: Ranks, q: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """All tokens of this rank's heads, where all heads of its tokens were.

    A key/value head and the queries of its group travel together, so that it's one message.
    """
    batch, n_heads, seq, head_dim = q.shape
    n_kv_heads, group = k.shape[1], n_heads // k.shape[1]
    rows = q.reshape(batch, n_kv_heads, group, seq, head_dim).transpose(2, 3)
    packed = torch.cat([rows.flatten(3), k, v], dim=-1)  # (batch, n_kv_heads, seq, numbers)
    packed = ranks.all_to_all(packed, cut=1, join=2)  # (batch, n_kv_heads / P, n, numbers)
    rows, k_and_v = packed[..., : group * head_dim], packed[..., group * head_dim :]
    q = rows.reshape(*rows.shape[:3], group, head_dim).transpose(2, 3).flatten(1, 2)
    return q, k_and_v[..., :head_dim], k_and_v[..., head_dim:]


def _check(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    ranks: Ranks,
    order: str,
    positions: Tensor | None,
    rule: tuple[bool, int | None, int],
    scale: float | None,
    softcap: float | None,
    sinks: Tensor | None,
) -> tuple[float, Tensor | None]:
    """Refuse what doesn't fit, before anything is sent; give the scores' factor and the sinks."""
    if not isinstance(ranks, Ranks):
        raise ConfigError(f"ranks must be a Ranks, got {ranks!r:.60}: see Ranks.start")
    check_choice("order", order, tuple(_CHUNKS))
    sizes = check_inputs(q=q, k=k, v=v)
    if sizes["q_len"] != sizes["kv_len"]:
        raise ShapeError(
            f"queries and keys must be of the same tokens, got {sizes['q_len']} queries and "
            f"{sizes['kv_len']} keys"
        )
    check_flag("causal", rule[0])
    check_window(*rule)
    if positions is not None:
        fit_positions("positions", positions, sizes["batch"], sizes["q_len"])
    factor = score_factor(scale, softcap, sizes["head_dim"])
    return factor, None if sinks is None else fit_sinks(sinks, sizes["n_heads"])


def _agree(
    ranks: Ranks, name: str, tensors: tuple[Tensor | None, ...], options: tuple[Any, ...]
) -> None:
    """Refuse ranks that would send each other other shapes, or compute by other rules."""
    kinds = [None if a is None else (tuple(a.shape), a.dtype) for a in tensors]
    graded = torch.is_grad_enabled() and any(
        a.requires_grad for a in tensors[:3] if a is not None
    )  # else one rank would wait for a backward pass that another doesn't run
    ranks.agree((kinds, options, graded), f"shapes, types or options of {name}")


def _gathered_positions(ranks: Ranks, own: Tensor | None, seq: int, order: str) -> Integers:
    """Positions of every rank's tokens (ranks, 1 or batch, seq), on the host."""
    if own is None:
        return _all_positions(seq * ranks.size, ranks, order)[:, None]
    every = ranks.all_gather(own.reshape(1, -1, seq))  # (ranks, 1 or batch, seq)
    return every.cpu().numpy().astype(np.int64)
