"""Attention to a few keys that a small indexer chooses for each token."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import IndexedConfig
from mini_attn.errors import ConfigError, DTypeError
from mini_attn.numpy._module import Module, check_floating
from mini_attn.numpy.attention._visibility import Visibility
from mini_attn.numpy.attention.dot_product import attend_in_full
from mini_attn.numpy.caches.cache_indexed import IndexedCache
from mini_attn.numpy.layers._heads import merge, split
from mini_attn.numpy.layers._pass import Pass
from mini_attn.numpy.layers.basic import Linear, Norm
from mini_attn.numpy.layers.heads import GroupedQueryAttention
from mini_attn.numpy.positions._rotary import Rotary
from mini_attn.numpy.positions.rope import rotate
from mini_attn.shapes import DType, check_count, named_shapes

__all__ = ["IndexedAttention", "Indexer", "chosen_keys", "index_scores"]

Array = NDArray[Any]


def index_scores(q: Array, k: Array, head_weights: Array) -> Array:
    """Score each key for each token, as an indexer does.

    ``scores[i, j] = sum over heads h of head_weights[i, h] * relu(q[h, i] @ k[j]) /
    sqrt(index_n_heads * index_head_dim)``

    Parameters
    ----------
    q : array (batch, index_n_heads, q_len, index_head_dim)
        The indexer's queries.
    k : array (batch, kv_len, index_head_dim)
        Its keys, one for all heads.
    head_weights : array (batch, q_len, index_n_heads)
        What each head counts for a token; it may be negative.

    Returns
    -------
    array (batch, q_len, kv_len)
        In float32 or wider.

    Raises
    ------
    ShapeError
        If axes disagree.
    DTypeError
        If the arrays are not of one floating-point dtype.

    Notes
    -----
    ``2 * q_len * kv_len * index_n_heads * (index_head_dim + 1)`` FLOPs. The division changes no
    choice; it keeps the numbers of size 1.

    References
    ----------
    deepseek2025v32, equation 1

    Examples
    --------
    >>> import numpy as np
    >>> q, k = np.ones((1, 2, 1, 2)), np.array([[[1.0, 1.0], [-1.0, -1.0]]])
    >>> index_scores(q, k, np.ones((1, 1, 2)))
    array([[[2., 0.]]])
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


def indexer_scores(q: Array, k: Array, head_weights: Array) -> Array:
    """`index_scores` without checks."""
    batch, n_heads, q_len, width = q.shape
    kind = np.promote_types(q.dtype, np.float32)
    q, k, head_weights = (a.astype(kind, copy=False) for a in (q, k, head_weights))
    rows = q.swapaxes(1, 2).reshape(batch, q_len * n_heads, width)
    products = np.maximum(rows @ k.swapaxes(-1, -2), 0).reshape(batch, q_len, n_heads, -1)
    return (head_weights[:, :, None] @ products)[:, :, 0] * (n_heads * width) ** -0.5


def chosen_keys(scores: Array, count: int) -> Array:
    """Mark the largest scores of each row.

    ``chosen = rank of scores[..., j] in its row < count``

    Parameters
    ----------
    scores : array (..., kv_len)
        What each key is worth; ``-inf`` where it is hidden.
    count : int
        Keys to choose; all, where there are no more.

    Returns
    -------
    boolean array, shape as ``scores``
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
    >>> import numpy as np
    >>> chosen_keys(np.array([0.2, 0.5, 0.5, 0.5]), 2)
    array([False,  True,  True, False])
    """
    check_floating("scores", scores)
    chosen = np.zeros(scores.shape, bool)
    np.put_along_axis(chosen, top_indices(scores, check_count("count", count)), True, axis=-1)
    return chosen


def top_indices(scores: Array, count: int) -> Array:
    """Places of the largest scores of each row, in their order."""
    ranked = np.where(np.isnan(scores), np.inf, scores)
    order = np.argsort(-ranked, axis=-1, kind="stable")[..., :count]
    return np.sort(order, axis=-1)


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
    >>> import numpy as np
    >>> sizes = {"index_n_heads": 2, "index_head_dim": 4, "index_topk": 2}
    >>> config = IndexedConfig(d_model=8, n_heads=2, head_dim=4, **sizes)
    >>> [array.shape for array in Indexer(config)(np.ones((1, 3, 8), np.float32))]
    [(1, 2, 3, 4), (1, 3, 4), (1, 3, 2)]
    """

    def __init__(self, config: IndexedConfig, *, seed: int = 0, dtype: DType = "float32") -> None:
        if not isinstance(config, IndexedConfig):
            raise ConfigError(f"config must be an IndexedConfig, got {config!r:.60}")
        d_model, width = config.d_model, config.index_head_dim
        self._n_heads = config.index_n_heads
        self.wq = Linear(d_model, self._n_heads * width, seed=seed, dtype=dtype)
        self.wk = Linear(d_model, width, seed=seed + 1, dtype=dtype)
        self.k_norm = Norm(width, "layer_norm", eps=1e-6, dtype=dtype)
        self.weights_proj = Linear(d_model, self._n_heads, seed=seed + 2, dtype=dtype)
        rope = config.index_rope
        self._rotary = None if rope is None else Rotary(rope, width)

    def _sizes(self) -> dict[str, Any]:
        width, d_model = self.wk._shape()
        return {"d_model": d_model, "index_n_heads": self._n_heads, "index_head_dim": width}

    def __call__(self, x: Array) -> tuple[Array, Array, Array]:
        """Queries, keys and head weights of tokens, before any rotation.

        ``q, k, head_weights``

        Parameters
        ----------
        x : array (batch, seq, d_model)
            Tokens.

        Returns
        -------
        tuple of arrays (q, k, head_weights)
            (batch, index_n_heads, seq, index_head_dim), (batch, seq, index_head_dim) and
            (batch, seq, index_n_heads).

        Raises
        ------
        ShapeError
            If a shape is wrong.
        DTypeError
            If a dtype is not the weights'.
        """
        q, k = self.wq(x), self.k_norm._run(self.wk(x))
        return split(q, self._n_heads), k, self.weights_proj(x)

    def _run(self, x: Array, forward_pass: Pass) -> tuple[Array, Array, Array]:
        """The same, rotated, without checks."""
        q, k = split(self.wq._run(x), self._n_heads), self.k_norm._run(self.wk._run(x))
        if self._rotary is not None:
            cos, sin = forward_pass.tables(self._rotary, q.dtype)
            q, k = rotate(cos, sin, self._rotary.layout, q, k[:, None])
            k = k[:, 0]
        return q, k, self.weights_proj._run(x)


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
    >>> import numpy as np
    >>> sizes = {"index_n_heads": 2, "index_head_dim": 4, "index_topk": 2}
    >>> config = IndexedConfig(d_model=8, n_heads=2, head_dim=4, **sizes)
    >>> IndexedAttention(config)(np.ones((1, 3, 8), np.float32)).shape
    (1, 3, 8)
    """

    config: IndexedConfig

    def __init__(self, config: IndexedConfig, *, seed: int = 0, dtype: DType = "float32") -> None:
        super().__init__(config, seed=seed, dtype=dtype)
        self.indexer = Indexer(config, seed=seed + 6, dtype=dtype)
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
        kind: dict[str, Any] = {**self._cache_sizes, "dtype": self.q_proj.weight.dtype.name}
        return IndexedCache(batch, capacity=capacity, **kind)

    def _run(self, x: Array, forward_pass: Pass, cache: Any) -> Array:
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
            scores = indexer_scores(index_q, index_k, head_weights)
            k, v, keys, visibility = self._chosen(k, v, keys, visibility, scores)
        bias = None if self._slopes is None else self._alibi(forward_pass.positions, keys)
        asked = q, k, v, visibility, self._scale, bias, self.config.softcap, self.sinks
        return self.o_proj._run(merge(attend_in_full(*asked).out))

    def _chosen(
        self, k: Array, v: Array, keys: Array, visibility: Visibility, scores: Array
    ) -> tuple[Array, Array, Array, Visibility]:
        """Keys and values to read, their positions, and who of the queries reads which."""
        mask, topk = visibility.whole(), self.config.index_topk
        if mask is not None:  # what no head may see is not chosen
            scores = np.where(mask.any(axis=1), scores, -np.inf)
        batch, q_len, kv_len = scores.shape
        if q_len > 1:
            chosen = chosen_keys(scores, topk)[:, None]
            both = chosen if mask is None else mask & chosen
            return k, v, keys, Visibility(q_len, kv_len, mask=both)
        slots = top_indices(scores[:, 0], topk)  # (batch, index_topk)
        k, v = (np.take_along_axis(a, slots[:, None, :, None], axis=2) for a in (k, v))
        keys = np.take_along_axis(np.broadcast_to(keys, (batch, kv_len)), slots, axis=1)
        if mask is not None:
            full = np.broadcast_to(mask, (batch, *mask.shape[1:3], kv_len))
            mask = np.take_along_axis(full, slots[:, None, None], axis=3)
        return k, v, keys, Visibility(1, topk, mask=mask)
