"""Latent attention: keys and values made of one small vector for each token."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import LatentConfig
from mini_attn.cost.latent import pick_form
from mini_attn.errors import ConfigError
from mini_attn.numpy._module import Module, check_tokens
from mini_attn.numpy.attention._sinks import draw_sinks
from mini_attn.numpy.attention.dot_product import attend_in_full
from mini_attn.numpy.caches.cache_latent import LatentCache
from mini_attn.numpy.layers._heads import merge, split
from mini_attn.numpy.layers._pass import Pass, begin_pass
from mini_attn.numpy.layers.basic import Linear, Norm, normalise_rms
from mini_attn.numpy.positions._rotary import Rotary
from mini_attn.numpy.positions.rope import rotate
from mini_attn.shapes import DType, check_choice, check_count

__all__ = ["MultiHeadLatentAttention"]

Array = NDArray[Any]


class MultiHeadLatentAttention(Module):
    """Attention that caches one normed latent and one rotated key for all heads.

    ``latent = norm(x @ W_a);  k, v = [latent @ W_UK, rope(x @ W_r)], latent @ W_UV``

    Parameters
    ----------
    config : LatentConfig
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
    Weights: ``q_proj``, or ``q_a_proj``, ``q_a_layernorm`` and ``q_b_proj`` where queries are
    compressed too; ``kv_a_proj_with_mqa`` (latent, then rotated key), ``kv_a_layernorm``,
    ``kv_b_proj`` (of each head W_UK, then W_UV), ``o_proj``; names and rows as in Hugging Face.
    Of a head's query the last ``qk_rope_head_dim`` numbers rotate. With ``sinks`` also ``sinks``
    (n_heads,), drawn with standard deviation 1. Causal unless ``causal=False`` is given;
    `scaled_dot_product_attention` is causal only if asked.

    References
    ----------
    deepseek2024v2, section 2.1 and appendix C

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import RopeConfig
    >>> config = LatentConfig(8, 2, 4, 2, 2, 3, rope=RopeConfig(layout="interleaved"))
    >>> layer = MultiHeadLatentAttention(config)
    >>> layer(np.ones((1, 3, 8), np.float32)).shape
    (1, 3, 8)
    """

    def __init__(self, config: LatentConfig, *, seed: int = 0, dtype: DType = "float32") -> None:
        if not isinstance(config, LatentConfig):
            raise ConfigError(f"config must be a LatentConfig, got {config!r:.60}")
        check_count("seed", seed, least=0)
        self.config = config
        rope, width = config.rope, config.qk_rope_head_dim
        self._rotary = None if rope is None else Rotary(rope, width)
        factor = config.head_dim**-0.5 * (
            1.0 if self._rotary is None else self._rotary.logit_factor
        )
        self._scale = float(factor if config.scale is None else config.scale)
        d_model, heads, rank = config.d_model, config.n_heads, config.kv_lora_rank
        q_rank, q_width = config.q_lora_rank, heads * config.head_dim
        kv_width = heads * (config.qk_nope_head_dim + config.v_head_dim)
        plain: dict[str, Any] = {"dtype": dtype}
        into: dict[str, Any] = {"dtype": dtype, "bias": config.bias}
        self.sinks = draw_sinks(heads, seed + 5, dtype) if config.sinks else None
        if q_rank is None:
            self.q_proj = Linear(d_model, q_width, seed=seed, **plain)
        else:
            self.q_a_proj = Linear(d_model, q_rank, seed=seed + 4, **into)
            self.q_a_layernorm = Norm(q_rank, "rms_norm", eps=config.eps, dtype=dtype)
            self.q_b_proj = Linear(q_rank, q_width, seed=seed, **plain)
        rotated = config.qk_rope_head_dim
        self._cache_sizes = {"kv_lora_rank": rank, "qk_rope_head_dim": rotated}
        self.kv_a_proj_with_mqa = Linear(d_model, rank + rotated, seed=seed + 1, **into)
        self.kv_a_layernorm = Norm(rank, "rms_norm", eps=config.eps, dtype=dtype)
        self.kv_b_proj = Linear(rank, kv_width, seed=seed + 2, **plain)
        self.o_proj = Linear(heads * config.v_head_dim, d_model, seed=seed + 3, **into)

    def new_cache(self, batch: int, capacity: int) -> LatentCache:
        """An empty cache that fits this layer.

        ``allocated_bytes = batch * capacity * (kv_lora_rank + qk_rope_head_dim) * dtype_bytes``

        Parameters
        ----------
        batch, capacity : int
            Sequences, and slots of each.

        Returns
        -------
        LatentCache
            In the dtype of the weights.

        Raises
        ------
        ConfigError
            If a number is below 1.
        """
        sizes = (self.config.kv_lora_rank, self.config.qk_rope_head_dim)
        return LatentCache(batch, *sizes, capacity, dtype=self.o_proj.weight.dtype.name)

    def __call__(
        self,
        x: Array,
        *,
        cache: LatentCache | None = None,
        mask: Array | None = None,
        positions: Array | None = None,
        causal: bool = True,
        form: str | None = None,
    ) -> Array:
        """Let each token gather from those it may attend to.

        ``expanded: softmax(scale * (q_nope @ (latent @ W_UK).T + q_rope @ k_rope.T)) @ (latent
        @ W_UV);  absorbed: softmax(scale * ((q_nope @ W_UK.T) @ latent.T + q_rope @ k_rope.T))
        @ latent @ W_UV``

        Parameters
        ----------
        x : array (batch, q_len, d_model)
            Tokens.
        cache : LatentCache or None
            Latents and rotated keys of the past, to which those of ``x`` are appended.
        mask : boolean array, shapes as in `scaled_dot_product_attention`, or None
            True = may attend; None allows all that positions allow.
        positions : integer array (q_len,) or (batch, q_len), or None
            Positions of ``x``, -1 for padding; None continues the cache, or counts from 0.
        causal : bool
            Whether a token sees only itself and what is before.
        form : {"expanded", "absorbed"} or None
            Make keys and values of every latent, or take queries and outputs to the latent; None
            chooses the form with fewer FLOPs, `mini_attn.cost.cheaper_form`.

        Returns
        -------
        array (batch, q_len, d_model)
            Gathered tokens, the same in both forms within rounding; a padded token gets the
            output projection's bias.

        Raises
        ------
        ShapeError
            If a shape is wrong.
        DTypeError
            If a dtype is not the weights'.
        ConfigError
            If the form is unknown or a position is out of order.
        CacheOverflowError
            If the cache is full. After any error the cache is as it was.
        """
        if form is not None:
            check_choice("form", form, ("expanded", "absorbed"))
        check_tokens("x", x, self.kv_a_proj_with_mqa.weight)
        forward_pass = begin_pass(x, cache, positions, causal=causal, mask=mask)
        if cache is not None:
            cache._check_fits(batch=len(x), dtype=x.dtype, **self._cache_sizes)
        out = self._run(x, forward_pass, cache, form)
        if cache is not None:
            forward_pass.transaction.commit()
        return out

    _checked_call = __call__

    def _run(self, x: Array, forward_pass: Pass, cache: Any, form: str | None = None) -> Array:
        """The layer without checks; what goes into the cache counts once the pass commits."""
        q_nope, q_rope, latent, rope_key = self._project(x, forward_pass)
        cached, n_heads = None, self.config.n_heads
        if cache is not None:
            one = latent[:, None], rope_key[:, None]  # head of a cache's keys and values
            cached = cache._append(*one, forward_pass.given, forward_pass.transaction)
            latent, rope_key = cached.k, cached.v
        if form is None:
            form = pick_form(self.config, x.shape[1], latent.shape[1])
        nope, up = self.config.qk_nope_head_dim, self.kv_b_proj.weight
        bias = self._rope_scores(q_rope, rope_key)
        if form == "expanded":  # keys and values of every head, made of every latent
            k_and_v = split(latent @ up.T, n_heads)
            q, k, v = q_nope, k_and_v[..., :nope], k_and_v[..., nope:]
        else:  # queries taken to the latent, which all heads read as their key and their value
            w_uk = up.reshape(n_heads, -1, latent.shape[2])[:, :nope]  # (n_heads, nope, rank)
            q, k = q_nope @ w_uk, latent[:, None]
            v = k
        visibility = forward_pass.visibility(q, k, cached, cache, None)
        out = attend_in_full(q, k, v, visibility, self._scale, bias, sinks=self.sinks).out
        if form == "absorbed":
            w_uv = up.reshape(n_heads, -1, latent.shape[2])[:, nope:]  # (n_heads, v, rank)
            out = out @ w_uv.swapaxes(-1, -2)
        return self.o_proj._run(merge(out))

    def _project(self, x: Array, forward_pass: Pass) -> tuple[Array, Array, Array, Array]:
        """Queries in two parts, and what is cached: the normed latent and the rotated key."""
        rank, nope = self.config.kv_lora_rank, self.config.qk_nope_head_dim
        if self.config.q_lora_rank is None:
            q = self.q_proj._run(x)
        else:
            q = self.q_b_proj._run(self.q_a_layernorm._run(self.q_a_proj._run(x)))
        q = split(q, self.config.n_heads)  # (batch, n_heads, q_len, nope + rope)
        both = self.kv_a_proj_with_mqa._run(x)  # (batch, q_len, rank + rope)
        # Normed before it is cached: W_UK then meets nothing but a product and can change sides.
        latent = normalise_rms(both[..., :rank], self.kv_a_layernorm.weight, self.config.eps)
        # One key for all heads, rotated before it is cached; the latent has no position.
        if self._rotary is None:
            return q[..., :nope], q[..., nope:], latent, both[..., rank:]
        (cos, sin), layout = forward_pass.tables(self._rotary, q.dtype), self._rotary.layout
        q_rope, rope_key = rotate(cos, sin, layout, q[..., nope:], both[:, None, :, rank:])
        return q[..., :nope], q_rope, latent, rope_key[:, 0]

    def _rope_scores(self, q_rope: Array, rope_key: Array) -> Array:
        """The rotated part of the scores (batch, n_heads, q_len, kv_len), alike in both forms."""
        batch, n_heads, q_len, width = q_rope.shape
        kind = np.promote_types(q_rope.dtype, np.float32)
        # All heads' queries are stacked as rows of one product with the shared key.
        rows = q_rope.reshape(batch, n_heads * q_len, width).astype(kind, copy=False)
        scores = self._scale * rows @ rope_key.astype(kind, copy=False).swapaxes(-1, -2)
        return np.asarray(scores.reshape(batch, n_heads, q_len, rope_key.shape[1]))
