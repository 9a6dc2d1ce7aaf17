"""Attention layers: projections into heads, attention, projection back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.caching.validation import check_cache
from mini_attn.config import AttentionConfig, score_factor
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.numpy._module import Module, check_tokens
from mini_attn.numpy.attention._sinks import draw_sinks
from mini_attn.numpy.attention._visibility import check_visibility
from mini_attn.numpy.attention.dot_product import attend_in_full
from mini_attn.numpy.attention.mask import check_window
from mini_attn.numpy.caches.cache import KVCache
from mini_attn.numpy.caches.cache_ring import SlidingWindowCache
from mini_attn.numpy.layers._heads import draw_norms, grown, merge, opened, split
from mini_attn.numpy.layers._pass import Kept, Pass, begin_pass
from mini_attn.numpy.layers.basic import Linear, normalise_rms
from mini_attn.numpy.positions._rotary import Rotary
from mini_attn.numpy.positions.position import alibi_slopes, fall_with_distance
from mini_attn.numpy.positions.rope import rotate
from mini_attn.shapes import DType, check_count, named_shapes

__all__ = [
    "GroupedQueryAttention",
    "MultiHeadAttention",
    "MultiQueryAttention",
    "SlidingWindowAttention",
    "merge_heads",
    "split_heads",
]

Array = NDArray[Any]


def split_heads(x: Array, n_heads: int) -> Array:
    """Cut the last axis into heads.

    ``out[b, h, s] = x[b, s, h * head_dim : (h + 1) * head_dim]``

    Parameters
    ----------
    x : array (batch, seq, n_heads * head_dim)
        Projected tokens.
    n_heads : int
        Number of heads.

    Returns
    -------
    array (batch, n_heads, seq, head_dim)
        A view.

    Raises
    ------
    ShapeError
        If the last axis cannot be cut evenly.
    ConfigError
        If ``n_heads`` is below 1.

    Notes
    -----
    No element is moved: only the axes are read in another order.

    References
    ----------
    vaswani2017attention, section 3.2.2

    Examples
    --------
    >>> import numpy as np
    >>> split_heads(np.zeros((1, 5, 8)), 2).shape
    (1, 2, 5, 4)
    """
    width = named_shapes(np.ndarray, x=(x, "batch seq width"))["width"]
    if width % check_count("n_heads", n_heads):
        raise ShapeError(f"the last axis, {width}, is no multiple of n_heads = {n_heads}")
    return split(x, n_heads)


def merge_heads(x: Array) -> Array:
    """Put the heads side by side: the inverse of `split_heads`.

    ``out[b, s, h * head_dim : (h + 1) * head_dim] = x[b, h, s]``

    Parameters
    ----------
    x : array (batch, n_heads, seq, head_dim)
        One result per head.

    Returns
    -------
    array (batch, seq, n_heads * head_dim)
        A copy, as the heads do not lie side by side in memory.

    Raises
    ------
    ShapeError
        If there are not four axes.

    Notes
    -----
    Head 0 comes first.

    References
    ----------
    vaswani2017attention, section 3.2.2

    Examples
    --------
    >>> import numpy as np
    >>> merge_heads(np.zeros((1, 2, 5, 4))).shape
    (1, 5, 8)
    """
    named_shapes(np.ndarray, x=(x, "batch n_heads seq head_dim"))
    return merge(x)


class GroupedQueryAttention(Module):
    """Attention whose query heads share key/value heads in groups.

    ``out = merge_heads(attention(q_proj(x), k_proj(x), v_proj(x))) @ o_proj``

    Parameters
    ----------
    config : AttentionConfig
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
    Weights: ``q_proj``, ``k_proj``, ``v_proj``, ``o_proj`` (out, in) with biases where the
    configuration says so, with ``k_eq_v`` no ``v_proj``; with ``qk_norm`` also ``q_norm`` and
    ``k_norm``, as long as a head or, over the ``"width"``, as all heads together; with ``sinks``
    also ``sinks`` (n_heads,), drawn with standard deviation 1. Causal unless ``causal=False`` is
    given; `scaled_dot_product_attention` is causal only if asked.

    References
    ----------
    ainslie2023gqa, section 2.2

    Examples
    --------
    >>> import numpy as np
    >>> config = AttentionConfig(d_model=8, n_heads=4, head_dim=2, n_kv_heads=2)
    >>> GroupedQueryAttention(config)(np.ones((1, 3, 8), np.float32)).shape
    (1, 3, 8)
    """

    def __init__(self, config: AttentionConfig, *, seed: int = 0, dtype: DType = "float32") -> None:
        if not isinstance(config, AttentionConfig):
            raise ConfigError(f"config must be an AttentionConfig, got {config!r:.60}")
        check_count("seed", seed, least=0)
        self.config = config
        q_width, k_width = (n * config.head_dim for n in (config.n_heads, config.n_kv_heads))
        out_width, v_width = (n * config.v_head_dim for n in (config.n_heads, config.n_kv_heads))
        bias, out_bias, d_model = config.bias, bool(config.out_bias), config.d_model
        self.sinks = draw_sinks(config.n_heads, seed + 5, dtype) if config.sinks else None
        self.q_proj = Linear(d_model, q_width, bias=bias, seed=seed, dtype=dtype)
        self.k_proj = Linear(d_model, k_width, bias=bias, seed=seed + 1, dtype=dtype)
        if not config.k_eq_v:
            self.v_proj = Linear(d_model, v_width, bias=bias, seed=seed + 2, dtype=dtype)
        self.o_proj = Linear(out_width, d_model, bias=out_bias, seed=seed + 3, dtype=dtype)
        if config.out_gate:
            self.gate_proj = Linear(d_model, out_width, bias=bias, seed=seed + 6, dtype=dtype)
        if config.qk_norm:
            self.q_norm, self.k_norm = draw_norms(config, dtype=dtype)
        self._rotary = None if config.rope is None else Rotary(config.rope, config.head_dim)
        self._slopes = alibi_slopes(config.n_heads) if config.alibi else None
        sizes = ("n_kv_heads", "head_dim", "v_head_dim")
        self._cache_sizes = {name: getattr(config, name) for name in sizes}
        self._scale = score_factor(config.scale, config.softcap, config.head_dim)

    _outer: Pass | None = None  # a decoder's, while it makes the public call

    def new_cache(self, batch: int, capacity: int) -> KVCache | SlidingWindowCache:
        """An empty cache that fits this layer.

        ``allocated_bytes = batch * n_kv_heads * capacity * (head_dim + v_head_dim) * dtype_bytes``

        Parameters
        ----------
        batch, capacity : int
            Sequences, and slots of each.

        Returns
        -------
        KVCache or SlidingWindowCache
            In the dtype of the weights; a ring where the layer has a window.

        Raises
        ------
        ConfigError
            If a number is below 1.
        """
        kind: dict[str, Any] = {**self._cache_sizes, "dtype": self.q_proj.weight.dtype.name}
        if self.config.window is None:
            return KVCache(batch, capacity=capacity, **kind)
        kind |= {"window": self.config.window, "sink_tokens": self.config.sink_tokens}
        return SlidingWindowCache(batch, capacity=capacity, **kind)

    def __call__(
        self,
        x: Array,
        *,
        context: Array | None = None,
        cache: KVCache | None = None,
        mask: Array | None = None,
        positions: Array | None = None,
        causal: bool = True,
    ) -> Array:
        """Let each token gather from those it may attend to.

        ``out = merge_heads(attention(q_proj(x), k_proj(x), v_proj(x))) @ o_proj``

        Parameters
        ----------
        x : array (batch, q_len, d_model)
            Tokens.
        context : array (batch, kv_len, d_model) or None
            Where keys and values come from; all of it is visible. None means from ``x``.
        cache : KVCache or None
            Past keys and values, to which those of ``x`` are appended.
        mask : boolean array, shapes as in `scaled_dot_product_attention`, or None
            True = may attend; None allows all that positions allow.
        positions : integer array (q_len,) or (batch, q_len), or None
            Positions of ``x``, -1 for padding; None continues the cache, or counts from 0.
        causal : bool
            Whether a token sees only itself and what is before; without ``context`` only.

        Returns
        -------
        array (batch, q_len, d_model)
            Gathered tokens; a padded token gets the output projection's bias.

        Raises
        ------
        ShapeError
            If a shape is wrong.
        DTypeError
            If a dtype is not the weights'.
        ConfigError
            If ``context`` comes with ``cache`` or ``positions``, a window is not causal, or
            the cache keeps fewer keys than the layer sees.
        CacheOverflowError
            If the cache is full. After any error the cache is as it was.
        """
        check_tokens("x", x, self.q_proj.weight)
        if context is not None:
            return self._cross(x, context, cache, mask, positions)
        check_window(causal, self.config.window)
        forward_pass = begin_pass(x, cache, positions, causal=causal, mask=mask)
        if cache is not None:
            check_cache(cache, self, len(x), x.dtype)
        out = self._run(x, forward_pass, cache)
        if cache is not None:
            forward_pass.transaction.commit()
        if self._outer is not None:
            self._outer.latest = forward_pass.latest
        return out

    _checked_call = __call__

    def _run(self, x: Array, forward_pass: Pass, cache: Any) -> Array:
        """The layer without checks; what goes into the cache counts once the pass commits."""
        q, k, v = self._project_at(x, forward_pass.tables)
        if self.config.query_growth is not None:
            q = grown(q, self.config.query_growth, forward_pass.positions)
        cached, watched = None, getattr(cache, "watches", False)
        if isinstance(cache, Kept):  # what another layer keeps
            k, v, cached, cache = cache
        elif cache is not None:
            cached = cache._append(k, v, forward_pass.given, forward_pass.transaction)
            k, v = cached.k, cached.v
        forward_pass.latest = Kept(k, v, cached, cache)
        rule = self.config.window, self.config.sink_tokens, self.config.chunked
        visibility = forward_pass.visibility(q, k, cached, cache, *rule)
        keys = forward_pass.positions if cached is None else cached.positions
        bias = None if self._slopes is None else self._alibi(forward_pass.positions, keys)
        asked = q, k, v, visibility, self._scale, bias, self.config.softcap, self.sinks
        found = attend_in_full(*asked)
        if watched:  # it forgets by what each key has got
            cache._observe(found.weights, forward_pass.transaction)
        if self.config.out_gate:
            return self._leave(x, found.out)
        return self.o_proj._run(merge(found.out))

    def _leave(self, x: Array, out: Array) -> Array:
        """Open the gates of what the heads have gathered, and leave."""
        merged = merge(out)  # (batch, q_len, n_heads * v_head_dim)
        return self.o_proj._run(opened(merged, self.gate_proj._run(x)))

    def _project_at(self, x: Array, tables: Any) -> tuple[Array, Array, Array]:
        """Queries, keys and values, rotated by the tables of the tokens' positions."""
        q, k, v = self._project(x, x)
        if self._rotary is not None:
            cos, sin = tables(self._rotary, q.dtype)
            q, k = rotate(cos, sin, self._rotary.layout, q, k)
        return q, k, v

    def _alibi(self, positions: Array, keys: Array) -> Array:
        """The bias (1 or batch, n_heads, q_len, kv_len) of the keys' distances."""
        assert self._slopes is not None
        bias = fall_with_distance(self._slopes, positions, keys)
        return bias if bias.ndim == 4 else bias[None]

    def _cross(
        self, x: Array, context: Array, cache: Any, mask: Array | None, positions: Array | None
    ) -> Array:
        """Attention to other tokens, all of which are visible unless a mask hides them."""
        check_tokens("context", context, self.k_proj.weight)
        if cache is not None or positions is not None:
            raise ConfigError("context excludes cache and positions: those belong to x")
        if self._rotary is not None or self._slopes is not None:
            raise ConfigError("rope and alibi need positions, and context has none")
        q, k, v = self.project(x, context)
        sizes = {"batch": len(q), "n_heads": q.shape[1], "q_len": q.shape[2], "kv_len": k.shape[2]}
        visibility = check_visibility(sizes, mask, False, None, 0, None, None)
        out = attend_in_full(
            q, k, v, visibility, self._scale, None, self.config.softcap, self.sinks
        ).out
        return self._leave(x, out) if self.config.out_gate else self.o_proj._run(merge(out))

    def project(self, x: Array, context: Array) -> tuple[Array, Array, Array]:
        """Queries of ``x``, keys and values of ``context``, cut into heads.

        ``q, k, v = q_proj(x), k_proj(context), v_proj(context)``

        Parameters
        ----------
        x : array (batch, q_len, d_model)
            Tokens that ask.
        context : array (batch, kv_len, d_model)
            Tokens that answer.

        Returns
        -------
        tuple of arrays (q, k, v)
            (batch, n_heads, q_len, head_dim), (batch, n_kv_heads, kv_len, head_dim) and
            (batch, n_kv_heads, kv_len, v_head_dim).

        Raises
        ------
        ShapeError
            If a shape is wrong.
        DTypeError
            If a dtype is not the weights'.
        """
        check_tokens("x", x, self.q_proj.weight)
        check_tokens("context", context, self.k_proj.weight)
        named_shapes(x=(x, "batch q_len d_model"), context=(context, "batch kv_len d_model"))
        return self._project(x, context)

    def _project(self, x: Array, context: Array) -> tuple[Array, Array, Array]:
        """`project` without checks."""
        config = self.config
        q, k = self.q_proj._run(x), self.k_proj._run(context)  # (batch, seq, heads * head_dim)
        v = k if config.k_eq_v else self.v_proj._run(context)
        v = split(v, config.n_kv_heads)  # (batch, n_kv_heads, seq, v_head_dim)
        if config.v_norm:
            v = normalise_rms(v, 1.0, config.eps)
        if config.qk_norm and config.qk_norm_over == "width":
            q, k = self.q_norm._run(q), self.k_norm._run(k)
        q, k = split(q, config.n_heads), split(k, config.n_kv_heads)  # (…, seq, head_dim)
        if config.qk_norm and config.qk_norm_over == "head":
            q, k = self.q_norm._run(q), self.k_norm._run(k)
        return q, k, v


class MultiHeadAttention(GroupedQueryAttention):
    """Attention in which every query head has its own key/value head.

    ``out = concatenate(head_1, ..., head_n) @ o_proj``

    Parameters
    ----------
    config : AttentionConfig
        Sizes and options, with ``n_kv_heads == n_heads``.
    seed : int
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If heads are shared.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    The case of `GroupedQueryAttention` with groups of one head, causal like it.

    References
    ----------
    vaswani2017attention, section 3.2.2

    Examples
    --------
    >>> import numpy as np
    >>> config = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> MultiHeadAttention(config)(np.ones((1, 3, 8), np.float32)).shape
    (1, 3, 8)
    """

    def __init__(self, config: AttentionConfig, *, seed: int = 0, dtype: DType = "float32") -> None:
        super().__init__(config, seed=seed, dtype=dtype)
        if config.n_kv_heads != config.n_heads:
            raise ConfigError(
                f"MultiHeadAttention needs n_kv_heads = n_heads = {config.n_heads}, "
                f"got {config.n_kv_heads}: use GroupedQueryAttention"
            )


class MultiQueryAttention(GroupedQueryAttention):
    """Attention in which all query heads share one key/value head.

    ``out = concatenate(head_1, ..., head_n) @ o_proj, all heads with the same k and v``

    Parameters
    ----------
    config : AttentionConfig
        Sizes and options, with ``n_kv_heads == 1``.
    seed : int
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If there is more than one key/value head.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    The case of `GroupedQueryAttention` with one group, causal like it.

    References
    ----------
    shazeer2019mqa, section 3

    Examples
    --------
    >>> import numpy as np
    >>> config = AttentionConfig(d_model=8, n_heads=2, head_dim=4, n_kv_heads=1)
    >>> MultiQueryAttention(config)(np.ones((1, 3, 8), np.float32)).shape
    (1, 3, 8)
    """

    def __init__(self, config: AttentionConfig, *, seed: int = 0, dtype: DType = "float32") -> None:
        super().__init__(config, seed=seed, dtype=dtype)
        if config.n_kv_heads != 1:
            raise ConfigError(
                f"MultiQueryAttention needs n_kv_heads = 1, got {config.n_kv_heads}: "
                "use GroupedQueryAttention"
            )


class SlidingWindowAttention(GroupedQueryAttention):
    """Attention in which a token sees itself and the ``window - 1`` tokens before it.

    ``visible = 0 <= q_position - kv_position < window``

    Parameters
    ----------
    config : AttentionConfig
        Sizes and options, with a ``window``.
    seed : int
        Seeds the weights: two layers of the same sizes and seed begin with equal weights.
    dtype : str or data type
        Data type or its name, as ``"float32"``.

    Raises
    ------
    ConfigError
        If there is no window.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Always causal. Its cache is a ring that holds ``window`` tokens however long the text is.
    Through ``n_layers`` layers a token is reached from ``n_layers * (window - 1)`` tokens away.
    With ``sink_tokens`` the first positions stay visible and have slots of their own before the
    ring.

    References
    ----------
    beltagy2020longformer, section 3.1
    jiang2023mistral, section 2

    Examples
    --------
    >>> import numpy as np
    >>> config = AttentionConfig(d_model=8, n_heads=2, head_dim=4, window=2)
    >>> SlidingWindowAttention(config)(np.ones((1, 3, 8), np.float32)).shape
    (1, 3, 8)
    """

    def __init__(self, config: AttentionConfig, *, seed: int = 0, dtype: DType = "float32") -> None:
        super().__init__(config, seed=seed, dtype=dtype)
        if config.window is None:
            raise ConfigError("SlidingWindowAttention needs a window: use GroupedQueryAttention")
