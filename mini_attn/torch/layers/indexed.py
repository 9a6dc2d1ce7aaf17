"""Attention to a few keys that a small indexer chooses for each token."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from mini_attn.config import IndexedConfig
from mini_attn.errors import ConfigError, DTypeError
from mini_attn.shapes import DType, check_count, named_shapes
from mini_attn.torch._module import Module, check_floating, kind_of, wide
from mini_attn.torch.attention._visibility import Visibility
from mini_attn.torch.attention.dot_product import attend
from mini_attn.torch.caches.cache_indexed import IndexedCache
from mini_attn.torch.layers._heads import merge, split
from mini_attn.torch.layers._pass import Pass
from mini_attn.torch.layers.basic import Linear, Norm
from mini_attn.torch.layers.heads import GroupedQueryAttention
from mini_attn.torch.positions._rotary import Rotary
from mini_attn.torch.positions.rope import rotate

__all__ = ["IndexedAttention", "Indexer", "chosen_keys", "index_scores"]


def index_scores(q: Tensor, k: Tensor, head_weights: Tensor) -> Tensor:
    """Score each key for each token, as an indexer does.

    ``scores[i, j] = sum over heads h of head_weights[i, h] * relu(q[h, i] @ k[j]) /
    sqrt(index_n_heads * index_head_dim)``

    Parameters
    ----------
    q : tensor (batch, index_n_heads, q_len, index_head_dim)
        The indexer's queries.
    k : tensor (batch, kv_len, index_head_dim)
        Its keys, one for all heads.
    head_weights : tensor (batch, q_len, index_n_heads)
        What each head counts for a token; it may be negative.

    Returns
    -------
    tensor (batch, q_len, kv_len)
        In float32 or wider.

    Raises
    ------
    ShapeError
        If axes disagree.
    DTypeError
        If the tensors are not of one floating-point dtype.

    Notes
    -----
    ``2 * q_len * kv_len * index_n_heads * (index_head_dim + 1)`` FLOPs. The division changes no
    choice; it keeps the numbers of size 1.

    References
    ----------
    deepseek2025v32, equation 1

    Examples
    --------
    >>> import torch
    >>> q, k = torch.ones(1, 2, 1, 2), torch.tensor([[[1.0, 1.0], [-1.0, -1.0]]])
    >>> index_scores(q, k, torch.ones(1, 1, 2))
    tensor([[[2., 0.]]])
    """
    arrays = {"q": q, "k": k, "head_weights": head_weights}
    for name, array in arrays.items():
        check_floating(name, array)
    named_shapes(
        q=(q, "batch index_n_heads q_len index_head_dim"),
        k=(k, "batch kv_len index_head_dim"),
        head_weights=(head_weights, "batch q_len index_n_heads"),
    )
    if len({array.dtype for array in arrays.values()}) > 1:
        kinds = ", ".join(f"{name} {array.dtype}" for name, array in arrays.items())
        raise DTypeError(f"q, k and head_weights must share one dtype, got {kinds}")
    return indexer_scores(q, k, head_weights)


def indexer_scores(q: Tensor, k: Tensor, head_weights: Tensor) -> Tensor:
    """`index_scores` without checks."""
    batch, n_heads, q_len, width = q.shape
    rows = wide(q).transpose(1, 2).reshape(batch, q_len * n_heads, width)
    products = (rows @ wide(k).transpose(-1, -2)).clamp(min=0).reshape(batch, q_len, n_heads, -1)
    return (wide(head_weights)[:, :, None] @ products)[:, :, 0] * (n_heads * width) ** -0.5


def chosen_keys(scores: Tensor, count: int) -> Tensor:
    """Mark the largest scores of each row.

    ``chosen = rank of scores[..., j] in its row < count``

    Parameters
    ----------
    scores : tensor (..., kv_len)
        What each key is worth; ``-inf`` where it is hidden.
    count : int
        Keys to choose; all, where there are no more.

    Returns
    -------
    boolean tensor, shape as ``scores``
        True at ``min(count, kv_len)`` keys of each row.

    Raises
    ------
    DTypeError
        If the scores are not floating point.
    ConfigError
        If ``count`` is below 1.

    Notes
    -----
    Of equal scores the earlier key is chosen, in every implementation. NaN counts as the
    largest: what is wrong comes to light. A row with fewer keys in sight chooses hidden ones
    too; the mask that hid them goes on hiding them.

    References
    ----------
    deepseek2025v32, equation 2

    Examples
    --------
    >>> import torch
    >>> chosen_keys(torch.tensor([0.2, 0.5, 0.5, 0.5]), 2)
    tensor([False,  True,  True, False])
    """
    check_floating("scores", scores)
    chosen = torch.zeros_like(scores, dtype=torch.bool)
    return chosen.scatter(-1, top_indices(scores, check_count("count", count)), True)


def top_indices(scores: Tensor, count: int) -> Tensor:
    """Places of the largest scores of each row, in their order."""
    ranked = scores.masked_fill(scores.isnan(), torch.inf)
    order = ranked.sort(dim=-1, descending=True, stable=True).indices[..., :count]
    return order.sort(dim=-1).values


class Indexer(Module):
    """Small queries, a key and a weight for each head, by which a token chooses its keys.

    ``q, k, head_weights = wq(x), k_norm(wk(x)), weights_proj(x)``

    Parameters
    ----------
    config : IndexedConfig
        Sizes and options.
    seed : int
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

    Raises
    ------
    ConfigError
        If the configuration is of another kind.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Weights: ``wq``, ``wk``, ``weights_proj`` (out, in) and ``k_norm``, a layer normalization.

    References
    ----------
    deepseek2025v32, section 2.1

    Examples
    --------
    >>> import torch
    >>> sizes = {"index_n_heads": 2, "index_head_dim": 4, "index_topk": 2}
    >>> config = IndexedConfig(d_model=8, n_heads=2, head_dim=4, **sizes)
    >>> [tuple(array.shape) for array in Indexer(config)(torch.ones(1, 3, 8))]
    [(1, 2, 3, 4), (1, 3, 4), (1, 3, 2)]
    """

    def __init__(
        self,
        config: IndexedConfig,
        *,
        seed: int = 0,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        super().__init__()
        if not isinstance(config, IndexedConfig):
            raise ConfigError(f"config must be an IndexedConfig, got {config!r:.60}")
        d_model, width = config.d_model, config.index_head_dim
        self._n_heads = config.index_n_heads
        kind: dict[str, Any] = {"dtype": dtype, "device": device}
        self.wq = Linear(d_model, self._n_heads * width, seed=seed, **kind)
        self.wk = Linear(d_model, width, seed=seed + 1, **kind)
        self.k_norm = Norm(width, "layer_norm", eps=1e-6, **kind)
        self.weights_proj = Linear(d_model, self._n_heads, seed=seed + 2, **kind)
        rope = config.index_rope
        self._rotary = None if rope is None else Rotary(rope, width)

    def _sizes(self) -> dict[str, Any]:
        width, d_model = self.wk._shape()
        return {"d_model": d_model, "index_n_heads": self._n_heads, "index_head_dim": width}

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and head weights of tokens, before any rotation.

        ``q, k, head_weights``

        Parameters
        ----------
        x : tensor (batch, seq, d_model)
            Tokens.

        Returns
        -------
        tuple of tensors (q, k, head_weights)
            (batch, index_n_heads, seq, index_head_dim), (batch, seq, index_head_dim) and
            (batch, seq, index_n_heads).

        Raises
        ------
        ShapeError
            If a shape is wrong.
        DTypeError
            If a dtype is not the weights'.
        """
        q, k = self.wq(x), self.k_norm(self.wk(x))
        return split(q, self._n_heads), k, self.weights_proj(x)

    def _run(self, x: Tensor, forward_pass: Pass) -> tuple[Tensor, Tensor, Tensor]:
        """The same, rotated, without checks."""
        q, k = split(self.wq(x), self._n_heads), self.k_norm(self.wk(x))
        if self._rotary is not None:
            cos, sin = forward_pass.tables(self._rotary, q.dtype)
            q, k = rotate(cos, sin, self._rotary.layout, q, k[:, None])
            k = k[:, 0]
        return q, k, self.weights_proj(x)


class IndexedAttention(GroupedQueryAttention):
    """Grouped-query attention in which each token reads the keys that an indexer chooses.

    ``visible = visible and key among the index_topk largest index_scores of the query``

    Parameters
    ----------
    config : IndexedConfig
        Sizes and options.
    seed : int
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.
    device : torch.device, str or None
        Where the tensors lie; None means PyTorch's default.

    Raises
    ------
    ConfigError
        If the configuration is of another kind.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Weights: as `GroupedQueryAttention`, and those of ``indexer``. Causal unless ``causal=False`` is
    given. All heads read the same keys.
    DeepSeek-V3.2 has this choice before latent attention; here the heads are grouped, the
    indexer's queries come from the tokens, and its key is rotated in the layer's layout. A lone
    token gathers its keys and computes no other products; of several each has keys of its own,
    and those of the others are masked. Where there are no more keys than ``index_topk`` it is
    `GroupedQueryAttention`, to the last bit.

    The choice itself has no gradient: DeepSeek trains the indexer to follow the weights of full
    attention.

    References
    ----------
    deepseek2025v32, section 2.1

    Examples
    --------
    >>> import torch
    >>> sizes = {"index_n_heads": 2, "index_head_dim": 4, "index_topk": 2}
    >>> config = IndexedConfig(d_model=8, n_heads=2, head_dim=4, **sizes)
    >>> IndexedAttention(config)(torch.ones(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    config: IndexedConfig

    def __init__(
        self,
        config: IndexedConfig,
        *,
        seed: int = 0,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        super().__init__(config, seed=seed, dtype=dtype, device=device)
        self.indexer = Indexer(config, seed=seed + 6, dtype=dtype, device=device)
        self._cache_sizes["index_head_dim"] = config.index_head_dim

    def new_cache(self, batch: int, capacity: int) -> IndexedCache:
        """An empty cache that fits this layer.

        ``allocated_bytes = batch * capacity * (n_kv_heads * (head_dim + v_head_dim) +
        index_head_dim) * dtype_bytes``

        Parameters
        ----------
        batch, capacity : int
            Sequences, and slots of each.

        Returns
        -------
        IndexedCache
            In the dtype of the weights.

        Raises
        ------
        ConfigError
            If a number is below 1.
        """
        kind: dict[str, Any] = {**self._cache_sizes, **kind_of(self.q_proj.weight)}
        return IndexedCache(batch, capacity=capacity, **kind)

    def _run(self, x: Tensor, forward_pass: Pass, cache: Any) -> Tensor:
        """The layer without checks; what goes into the cache counts once the pass commits."""
        q, k, v = self._project_at(x, forward_pass.tables)
        index_q, index_k, head_weights = self.indexer._run(x, forward_pass)
        cached, keys = None, forward_pass.positions
        if cache is not None:
            cached = cache._append(k, v, forward_pass.given, forward_pass.transaction, index_k)
            k, v, index_k, keys = cached[:4]
        rule = self.config.window, self.config.sink_tokens
        visibility = forward_pass.visibility(q, k, cached, cache, *rule)
        if k.shape[2] > self.config.index_topk:
            scores = indexer_scores(index_q.detach(), index_k.detach(), head_weights.detach())
            k, v, keys, visibility = self._chosen(k, v, keys, visibility, scores)
        bias = None if self._slopes is None else self._alibi(forward_pass.positions, keys)
        asked = q, k, v, visibility, self._scale, bias, self.config.softcap, self.sinks
        return self.o_proj(merge(attend(*asked)))

    def _chosen(
        self, k: Tensor, v: Tensor, keys: Tensor, visibility: Visibility, scores: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Visibility]:
        """Keys and values to read, their positions, and who of the queries reads which."""
        mask, topk = visibility.whole(), self.config.index_topk
        if mask is not None:  # what no head may see is not chosen
            scores = scores.masked_fill(~mask.any(dim=1), -torch.inf)
        batch, q_len, kv_len = scores.shape
        if q_len > 1:
            chosen = chosen_keys(scores, topk)[:, None]
            both = chosen if mask is None else mask & chosen
            return k, v, keys, Visibility(q_len, kv_len, k.device, mask=both)
        slots = top_indices(scores[:, 0], topk)  # (batch, index_topk)
        k, v = (a.take_along_dim(slots[:, None, :, None], dim=2) for a in (k, v))
        keys = keys.expand(batch, kv_len).gather(1, slots)
        if mask is not None:
            mask = mask.expand(batch, -1, -1, -1).take_along_dim(slots[:, None, None], dim=3)
        return k, v, keys, Visibility(1, topk, k.device, mask=mask)
