"""Attention layers: projections, heads, cache; MHA, GQA and MQA are one class and a number."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mini_attn.config import AttentionConfig
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.shapes import check_count, named_shapes
from mini_attn.torch.attention import scaled_dot_product_attention
from mini_attn.torch.cache import KVCache
from mini_attn.torch.dtypes import dtype_of
from mini_attn.torch.layers import Linear, rms_norm

__all__ = [
    "GroupedQueryAttention",
    "MultiHeadAttention",
    "MultiQueryAttention",
    "merge_heads",
    "split_heads",
]


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the features of each token into heads.

    ``heads[b, h, t, i] = x[b, t, h * head_dim + i]``

    Parameters
    ----------
    x : array (batch, seq, n_heads * head_dim)
        Projected tokens.
    n_heads : int
        Number of heads.

    Returns
    -------
    array (batch, n_heads, seq, head_dim)
        A view of ``x``.

    Raises
    ------
    ShapeError
        If the features do not divide into ``n_heads``.
    ConfigError
        If ``n_heads`` is below 1.

    Notes
    -----
    No number moves: only the shape and the strides change.

    References
    ----------
    vaswani2017attention, section 3.2.2

    Examples
    --------
    >>> import torch
    >>> split_heads(torch.zeros(1, 5, 8), 2).shape
    torch.Size([1, 2, 5, 4])
    """
    sizes = named_shapes(x=(x, "batch seq features"))
    check_count("n_heads", n_heads)
    if sizes["features"] % n_heads:
        raise ShapeError(f"{sizes['features']} features do not divide into {n_heads} heads")
    batch, seq = sizes["batch"], sizes["seq"]
    return x.reshape(batch, seq, n_heads, sizes["features"] // n_heads).transpose(1, 2)


def merge_heads(heads: Tensor) -> Tensor:
    """Put the heads of each token side by side again.

    ``x[b, t, h * head_dim + i] = heads[b, h, t, i]``

    Parameters
    ----------
    heads : array (batch, n_heads, seq, head_dim)
        Output of each head.

    Returns
    -------
    array (batch, seq, n_heads * head_dim)
        The inverse of `split_heads`.

    Raises
    ------
    ShapeError
        If there are not four axes.

    Notes
    -----
    Copies when ``seq`` and ``n_heads`` are both above 1.

    References
    ----------
    vaswani2017attention, section 3.2.2

    Examples
    --------
    >>> import torch
    >>> merge_heads(torch.zeros(1, 2, 5, 4)).shape
    torch.Size([1, 5, 8])
    """
    sizes = named_shapes(heads=(heads, "batch n_heads seq head_dim"))
    return heads.transpose(1, 2).reshape(
        sizes["batch"], sizes["seq"], sizes["n_heads"] * sizes["head_dim"]
    )


class MultiHeadAttention(nn.Module):
    """Attention with its projections; the key/value heads may be fewer than the query heads.

    ``y = merge(attention(split(x @ W_q), split(x @ W_k), split(x @ W_v))) @ W_o``

    Parameters
    ----------
    config : AttentionConfig
        Sizes and options.
    seed : int
        Seeds the weights.
    dtype : str
        Name of the data type.

    Raises
    ------
    ConfigError
        If the configuration does not fit the class.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    Weights: ``q_proj``, ``k_proj``, ``v_proj``, ``o_proj``, and ``q_norm``, ``k_norm`` with
    ``qk_norm``. Parameters and FLOPs of the projections do not depend on how ``d_model`` is
    cut into heads.

    References
    ----------
    vaswani2017attention, section 3.2.2
    ainslie2023gqa, section 2.2

    Examples
    --------
    >>> import torch
    >>> layer = MultiHeadAttention(AttentionConfig(8, 2, 4))
    >>> layer(torch.zeros(1, 5, 8)).shape
    torch.Size([1, 5, 8])
    """

    def __init__(
        self, config: AttentionConfig, *, seed: int = 0, dtype: str = "float32", device: Any = None
    ) -> None:
        super().__init__()
        self._check_config(config)
        self.config = config
        q_size, k_size = config.n_heads * config.head_dim, config.kv_heads * config.head_dim
        v_size, out_size = config.kv_heads * config.value_dim, config.n_heads * config.value_dim
        bias, d_model = config.bias, config.d_model
        self.q_proj = Linear(d_model, q_size, bias=bias, seed=seed, dtype=dtype, device=device)
        self.k_proj = Linear(d_model, k_size, bias=bias, seed=seed + 1, dtype=dtype, device=device)
        self.v_proj = Linear(d_model, v_size, bias=bias, seed=seed + 2, dtype=dtype, device=device)
        out_bias = bool(config.out_bias)
        self.o_proj = Linear(
            out_size, d_model, bias=out_bias, seed=seed + 3, dtype=dtype, device=device
        )
        if config.qk_norm:
            self.q_norm = nn.Parameter(
                torch.ones(config.head_dim, dtype=dtype_of(dtype), device=device)
            )
            self.k_norm = nn.Parameter(
                torch.ones(config.head_dim, dtype=dtype_of(dtype), device=device)
            )

    def _check_config(self, config: AttentionConfig) -> None:
        """Subclasses say which numbers of key/value heads are theirs."""

    def new_cache(self, batch: int, capacity: int) -> KVCache:
        """An empty cache that fits this layer.

        Parameters
        ----------
        batch, capacity : int
            Sequences, and tokens there is room for.

        Returns
        -------
        KVCache
            In the dtype of the weights.
        """
        config = self.config
        return KVCache(
            batch,
            config.kv_heads,
            config.head_dim,
            capacity,
            v_head_dim=config.value_dim,
            dtype=str(self.q_proj.weight.dtype).removeprefix("torch."),
            device=self.q_proj.weight.device,
        )

    def forward(
        self,
        x: Tensor,
        *,
        context: Tensor | None = None,
        cache: KVCache | None = None,
        positions: Tensor | None = None,
        mask: Tensor | None = None,
        causal: bool = True,
    ) -> Tensor:
        """Attend from the tokens ``x``.

        Parameters
        ----------
        x : array (batch, q_len, d_model)
            Tokens that ask.
        context : array (batch, kv_len, d_model) or None
            Tokens that are read (cross-attention, never causal); None means ``x`` itself.
        cache : KVCache or None
            Keys and values of earlier tokens; those of ``x`` are appended.
        positions : integer array (batch, q_len) or None
            Positions of ``x``, -1 for padding; None counts on from the cache.
        mask : boolean array or None
            Further restriction, True = may attend.
        causal : bool
            Whether a token sees only itself and what came before.

        Returns
        -------
        array (batch, q_len, d_model)
            Output of the layer.
        """
        config = self.config
        if context is not None and cache is not None:
            raise ConfigError("pass context= or cache=, not both: a context does not grow")
        source = x if context is None else context
        q = split_heads(self.q_proj(x), config.n_heads)  # (batch, n_heads, q_len, head_dim)
        k = split_heads(self.k_proj(source), config.kv_heads)
        v = split_heads(self.v_proj(source), config.kv_heads)
        if config.qk_norm:
            q = rms_norm(q, self.q_norm, eps=config.eps)
            k = rms_norm(k, self.k_norm, eps=config.eps)
        kv_positions = positions
        if cache is not None:
            k, v, kv_positions = cache.append(k, v, positions=positions)
        causal = causal and context is None
        if causal and config.window is None and cache is not None:
            # One new token is the last one and sees every key, unless some slots are padding.
            causal = x.shape[1] > 1 or cache.has_padding
            kv_positions = kv_positions if causal else None
        out = scaled_dot_product_attention(
            q,
            k,
            v,
            mask=mask,
            causal=causal,
            window=config.window if causal else None,
            kv_positions=kv_positions if context is None else None,
            scale=config.scale,
            softcap=config.softcap,
        )
        return self.o_proj(merge_heads(out))


class GroupedQueryAttention(MultiHeadAttention):
    """Attention in which each key/value head serves a group of query heads.

    ``kv_head(h) = h // (n_heads // n_kv_heads)``

    Parameters
    ----------
    config : AttentionConfig
        Must give ``n_kv_heads``.
    seed : int
        Seeds the weights.
    dtype : str
        Name of the data type.

    Raises
    ------
    ConfigError
        If the heads do not divide.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    The cache and its reading shrink by ``n_heads / n_kv_heads``; the FLOPs of scores and
    weighted sum stay. With all heads it is multi-head, with one it is multi-query attention.

    References
    ----------
    ainslie2023gqa, section 2.2

    Examples
    --------
    >>> layer = GroupedQueryAttention(AttentionConfig(8, 4, 2, n_kv_heads=2))
    >>> layer.k_proj.weight.shape
    torch.Size([4, 8])
    """


class MultiQueryAttention(MultiHeadAttention):
    """Attention in which all query heads read one key/value head.

    ``kv_head(h) = 0``

    Parameters
    ----------
    config : AttentionConfig
        With ``n_kv_heads=1``.
    seed : int
        Seeds the weights.
    dtype : str
        Name of the data type.

    Raises
    ------
    ConfigError
        If ``n_kv_heads`` is not 1.
    DTypeError
        If the data type is unknown.

    Notes
    -----
    The cache shrinks by ``n_heads``.

    References
    ----------
    shazeer2019mqa, section 3

    Examples
    --------
    >>> MultiQueryAttention(AttentionConfig(8, 4, 2, n_kv_heads=1)).k_proj.weight.shape
    torch.Size([2, 8])
    """

    def _check_config(self, config: AttentionConfig) -> None:
        if config.kv_heads != 1:
            raise ConfigError(f"multi-query attention has n_kv_heads = 1, got {config.kv_heads}")
