"""All query heads over one vector per token, which serves as their key and as their value."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

import torch
from torch import Tensor

from mini_attn.torch._module import wide
from mini_attn.torch.attention._sinks import join
from mini_attn.torch.attention._visibility import Visibility
from mini_attn.torch.attention.dot_product import attend, attend_with_sum, merge_over_ranks


def each_head(x: Tensor, weight: Tensor) -> Tensor:
    """Tokens (batch, n_heads, seq, a) by each head's own matrix (n_heads, a, b), not copied."""
    rows = x.transpose(0, 1).flatten(1, 2)  # (n_heads, batch * seq, a)
    out = torch.bmm(rows, weight).unflatten(1, (x.shape[0], x.shape[2]))  # type: ignore[no-untyped-call]
    return out.transpose(0, 1)


def _shared_scores(q: Tensor, keys: Tensor) -> Tensor:
    """Products of q (batch, n_heads, q_len, dim) with one key a token (batch, kv_len, dim)."""
    return _scores(q.flatten(1, 2), keys, 1).view(*q.shape[:3], -1)


def attend_latents(
    q: Tensor,
    q_rope: Tensor,
    latent: Tensor,
    rope_key: Tensor,
    visibility: Visibility,
    scale: float,
    sinks: Tensor | None = None,
) -> Tensor:
    """Gather for each query from the latents it may see, (batch, n_heads, q_len, rank)."""
    kernel = _kernel(q, q_rope, latent) if visibility.mask is None else None
    if kernel is not None:
        try:
            places = _positions(visibility, len(q))
            out: Tensor = kernel.attend(
                q, q_rope, latent, rope_key, scale, places=places, sinks=sinks
            )
            return out
        except kernel.OutOfResources:
            pass  # a device with too little shared memory for a tile
    shared = latent[:, None]  # one key/value head, which all query heads read
    if visibility.hides and _graded(q, q_rope, latent, rope_key):
        # As one product: a hidden NaN would reach the gradients through scores made apart.
        keys = torch.cat([shared, rope_key[:, None]], dim=-1)
        return attend(torch.cat([q, q_rope], dim=-1), keys, shared, visibility, scale, sinks=sinks)
    if not visibility.hides:
        return _streamed(q, q_rope, latent, rope_key, scale, sinks)
    bias = scale * _shared_scores(wide(q_rope), wide(rope_key))
    return attend(q, shared, shared, visibility, scale, bias, sinks=sinks)


def attend_latents_of_ranks(
    q: Tensor,
    q_rope: Tensor,
    latent: Tensor,
    rope_key: Tensor,
    w_uv: Tensor,
    visibility: Visibility,
    scale: float,
    sinks: Tensor | None = None,
) -> Tensor:
    """Gather from the latents of all ranks, each its own, (batch, n_heads, q_len, v_head_dim).

    Values are made before ranks merge: a head's value is shorter than a latent.
    """
    shared = latent[:, None]
    keys = torch.cat([shared, rope_key[:, None]], dim=-1)  # (batch, 1, kv_len, rank + rope)
    queries = torch.cat([q, q_rope], dim=-1)
    out, lse = attend_with_sum(queries, keys, shared, visibility, scale)
    values = each_head(out, w_uv.transpose(-1, -2))
    return merge_over_ranks(visibility.ranks, values, lse, sinks).to(q.dtype)


def _graded(*tensors: Tensor) -> bool:
    """Return whether a gradient will be asked for."""
    return torch.is_grad_enabled() and any(map(attrgetter("requires_grad"), tensors))


def _kernel(*tensors: Tensor) -> Any:
    """The module of the kernel, where there is a device for it and no gradient to find."""
    latent = tensors[-1]
    fits = latent.element_size() <= 4 and latent.shape[2] <= 512
    if not (latent.is_cuda and fits) or _graded(*tensors) or torch.compiler.is_compiling():
        return None
    try:
        from mini_attn.torch.kernels import _triton_latent
    except ImportError:
        return None
    return _triton_latent


def _positions(visibility: Visibility, batch: int) -> tuple[Tensor, Tensor] | None:
    """Positions (batch, q_len) of the queries and (batch, kv_len) of the keys, as views."""
    if visibility.all_placed:
        return None
    q_positions, kv_positions = visibility.positions()
    if not visibility.causal:  # the kernel compares: they come after all keys
        last = torch.iinfo(kv_positions.dtype).max
        q_positions = kv_positions.new_full((visibility.q_len,), last)
    return q_positions.expand(batch, -1), kv_positions.expand(batch, -1)


def _streamed(
    q: Tensor,
    q_rope: Tensor,
    latent: Tensor,
    rope_key: Tensor,
    scale: float,
    sinks: Tensor | None,
) -> Tensor:
    """Attention to all latents. Both parts of the scores are added: no joined key is made."""
    held, keys = wide(latent), wide(rope_key)
    rows, turned = (wide(part).flatten(1, 2) * scale for part in (q, q_rope))
    blocks = _blocks(held)
    scores = _scores(rows, held, blocks) + _scores(turned, keys, blocks)
    out = _weighted_sum(torch.softmax(scores, dim=-1), held, blocks)
    out = out.view(q.shape)
    if sinks is not None:
        out, _ = join(out, torch.logsumexp(scores, dim=-1).view(q.shape[:3]), sinks)
    return out.to(q.dtype)


def _blocks(held: Tensor) -> int:
    """Into how many blocks of tokens a product is cut; 1 leaves it whole."""
    threads = torch.get_num_threads()
    if held.device.type != "cpu" or held.shape[0] > 1 or threads == 1 or held.nbytes < 2**20:
        return 1
    # PyTorch shares the members of a batch of products out among the threads, and a block of
    # latents stays in a core's cache; one product with few rows would gain nothing from threads.
    return 4 * threads


def _cut(held: Tensor, blocks: int) -> tuple[Tensor, Tensor]:
    """Equal blocks (blocks, size, dim) of the only sequence, and the few tokens left over."""
    size = held.shape[1] // blocks
    return held[0, : blocks * size].view(blocks, size, -1), held[0, blocks * size :]


def _scores(rows: Tensor, keys: Tensor, blocks: int) -> Tensor:
    """Rows (batch, rows, dim) by keys (batch, kv_len, dim): (batch, rows, kv_len)."""
    if blocks == 1:
        return torch.bmm(rows, keys.transpose(1, 2))
    main, rest = _cut(keys, blocks)
    scores = torch.bmm(rows.expand(blocks, -1, -1), main.transpose(1, 2))  # (blocks, rows, size)
    return torch.cat([scores.transpose(0, 1).flatten(1), rows[0] @ rest.t()], dim=1)[None]


def _weighted_sum(weights: Tensor, held: Tensor, blocks: int) -> Tensor:
    """Weights (batch, rows, kv_len) by latents (batch, kv_len, rank)."""
    if blocks == 1:
        return torch.bmm(weights, held)
    main, rest = _cut(held, blocks)
    count = main.shape[0] * main.shape[1]
    parts = weights[0, :, :count].reshape(-1, *main.shape[:2]).transpose(0, 1)
    return (torch.bmm(parts, main).sum(dim=0) + weights[0, :, count:] @ rest)[None]
