"""Latent attention: keys and values made of one small vector for each token."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from mini_attn.config import LatentConfig
from mini_attn.cost.latent import pick_form
from mini_attn.errors import ConfigError
from mini_attn.shapes import DType, check_choice, check_count
from mini_attn.torch._module import Module, check_tokens, kind_of
from mini_attn.torch.attention._latent_attention import (
    attend_latents,
    attend_latents_of_ranks,
    each_head,
)
from mini_attn.torch.attention._sinks import draw_sinks
from mini_attn.torch.attention._visibility import Visibility, of_one_token
from mini_attn.torch.attention.dot_product import attend
from mini_attn.torch.caches.cache_latent import LatentCache
from mini_attn.torch.layers._heads import merge, split
from mini_attn.torch.layers._pass import Pass, begin_pass, working_dtype
from mini_attn.torch.layers.basic import Linear, Norm
from mini_attn.torch.positions._rotary import Rotary
from mini_attn.torch.positions.rope import rotate

__all__ = ["MultiHeadLatentAttention"]


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
    >>> import torch
    >>> from mini_attn.config import RopeConfig
    >>> config = LatentConfig(8, 2, 4, 2, 2, 3, rope=RopeConfig(layout="interleaved"))
    >>> layer = MultiHeadLatentAttention(config)
    >>> layer(torch.ones(1, 3, 8)).shape
    torch.Size([1, 3, 8])
    """

    def __init__(
        self,
        config: LatentConfig,
        *,
        seed: int = 0,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        super().__init__()
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
        plain: dict[str, Any] = {"dtype": dtype, "device": device}
        into: dict[str, Any] = {**plain, "bias": config.bias}
        self.sinks = draw_sinks(heads, seed + 5, **plain) if config.sinks else None
        if q_rank is None:
            self.q_proj = Linear(d_model, q_width, seed=seed, **plain)
        else:
            self.q_a_proj = Linear(d_model, q_rank, seed=seed + 4, **into)
            self.q_a_layernorm = Norm(q_rank, "rms_norm", eps=config.eps, **plain)
            self.q_b_proj = Linear(q_rank, q_width, seed=seed, **plain)
        rotated = config.qk_rope_head_dim
        self._cache_sizes = {"kv_lora_rank": rank, "qk_rope_head_dim": rotated}
        self.kv_a_proj_with_mqa = Linear(d_model, rank + rotated, seed=seed + 1, **into)
        self.kv_a_layernorm = Norm(rank, "rms_norm", eps=config.eps, **plain)
        self.kv_b_proj = Linear(rank, kv_width, seed=seed + 2, **plain)
        # Row by row in memory, so that each head's part is one block: absorbing reads it so.
        self.kv_b_proj.weight = nn.Parameter(self.kv_b_proj.weight.detach().contiguous())
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
        return LatentCache(batch, *sizes, capacity, **kind_of(self.o_proj.weight))

    def forward(
        self,
        x: Tensor,
        *,
        cache: LatentCache | None = None,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        causal: bool = True,
        form: str | None = None,
    ) -> Tensor:
        """Let each token gather from those it may attend to.

        ``expanded: softmax(scale * (q_nope @ (latent @ W_UK).T + q_rope @ k_rope.T)) @ (latent
        @ W_UV);  absorbed: softmax(scale * ((q_nope @ W_UK.T) @ latent.T + q_rope @ k_rope.T))
        @ latent @ W_UV``

        Parameters
        ----------
        x : tensor (batch, q_len, d_model)
            Tokens.
        cache : LatentCache or None
            Latents and rotated keys of the past, to which those of ``x`` are appended.
        mask : boolean tensor, shapes as in `scaled_dot_product_attention`, or None
            True = may attend; None allows all that positions allow.
        positions : integer tensor (q_len,) or (batch, q_len), or None
            Positions of ``x``, -1 for padding; None continues the cache, or counts from 0.
        causal : bool
            Whether a token sees only itself and what is before.
        form : {"expanded", "absorbed"} or None
            Make keys and values of every latent, or take queries and outputs to the latent; None
            chooses the form with fewer FLOPs, `mini_attn.cost.cheaper_form`.

        Returns
        -------
        tensor (batch, q_len, d_model)
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
            cache._check_fits(batch=len(x), dtype=working_dtype(x), **self._cache_sizes)
        out = self._run(x, forward_pass, cache, form)
        if cache is not None:
            forward_pass.transaction.commit()
        return out

    _checked_call = forward

    def _run(self, x: Tensor, forward_pass: Pass, cache: Any, form: str | None = None) -> Tensor:
        """The layer without checks; what goes into the cache counts once the pass commits."""
        rotary = self._rotary
        tables = None if rotary is None else forward_pass.tables(rotary, working_dtype(x))
        q_nope, q_rope, latent, rope_key = self._project(x, tables)
        cached = None
        if cache is not None:
            one = latent[:, None], rope_key[:, None]  # head of a cache's keys and values
            cached = cache._append(*one, forward_pass.given, forward_pass.transaction)
            latent, rope_key = cached.k, cached.v
        visibility = forward_pass.visibility(q_nope, latent[:, None], cached, cache, None)
        if form is None:
            form = pick_form(self.config, x.shape[1], latent.shape[1])
        attend_in = self._expanded if form == "expanded" else self._absorbed
        return self.o_proj(merge(attend_in(q_nope, q_rope, latent, rope_key, visibility)))

    def _static_step(
        self,
        x: Tensor,
        positions: Tensor,
        slot: Tensor,
        arrays: list[Tensor],
        kv_positions: Tensor,
    ) -> Tensor:
        """One token (batch, 1, d_model) into a slot of whole cache arrays; unchecked, traceable."""
        rotary = self._rotary
        tables = None if rotary is None else rotary.tables(positions, working_dtype(x))
        q_nope, q_rope, latent, rope_key = self._project(x, tables)
        for cached, new in zip(arrays, (latent, rope_key), strict=True):
            cached.index_copy_(1, slot, new)
        visibility = of_one_token(positions, kv_positions, None)
        latent, rope_key = arrays
        return self.o_proj(merge(self._absorbed(q_nope, q_rope, latent, rope_key, visibility)))

    def _project(
        self, x: Tensor, tables: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Queries in two parts, and what is cached: the normed latent and the rotated key."""
        rank, nope = self.config.kv_lora_rank, self.config.qk_nope_head_dim
        if self.config.q_lora_rank is None:
            q = self.q_proj(x)
        else:
            q = self.q_b_proj(self.q_a_layernorm(self.q_a_proj(x)))
        q = split(q, self.config.n_heads)  # (batch, n_heads, q_len, nope + rope)
        both = self.kv_a_proj_with_mqa(x)  # (batch, q_len, rank + rope)
        # Normed before it is cached: W_UK then meets nothing but a product and can change sides.
        latent = self.kv_a_layernorm(both[..., :rank])
        # One key for all heads, rotated before it is cached; the latent has no position.
        if tables is None or self._rotary is None:
            return q[..., :nope], q[..., nope:], latent, both[..., rank:]
        (cos, sin), layout = tables, self._rotary.layout
        q_rope, rope_key = rotate(cos, sin, layout, q[..., nope:], both[:, None, :, rank:])
        return q[..., :nope], q_rope, latent, rope_key[:, 0]

    def _expanded(
        self,
        q_nope: Tensor,
        q_rope: Tensor,
        latent: Tensor,
        rope_key: Tensor,
        visibility: Visibility,
    ) -> Tensor:
        """Keys and values of every head from every latent, then plain attention."""
        k_and_v = split(self.kv_b_proj(latent), self.config.n_heads)
        nope = self.config.qk_nope_head_dim
        k_nope, v = k_and_v[..., :nope], k_and_v[..., nope:]
        # A fused kernel wants whole keys; with them no score is ever written to memory.
        shared = rope_key[:, None].expand(-1, self.config.n_heads, -1, -1)
        q, k = torch.cat([q_nope, q_rope], dim=-1), torch.cat([k_nope, shared], dim=-1)
        return attend(q, k, v, visibility, self._scale, sinks=self.sinks)

    def _absorbed(
        self,
        q_nope: Tensor,
        q_rope: Tensor,
        latent: Tensor,
        rope_key: Tensor,
        visibility: Visibility,
    ) -> Tensor:
        """Queries to the latent, attention to one shared key, and from the latent to values."""
        nope, n_heads = self.config.qk_nope_head_dim, self.config.n_heads
        weight = self.kv_b_proj.weight.view(n_heads, -1, latent.shape[2])
        w_uk, w_uv = weight[:, :nope], weight[:, nope:]  # views (n_heads, nope or v, rank)
        q = each_head(q_nope, w_uk)  # (batch, n_heads, q_len, rank)
        rest = visibility, self._scale, self.sinks
        if visibility.ranks is not None:
            return attend_latents_of_ranks(q, q_rope, latent, rope_key, w_uv, *rest)
        gathered = attend_latents(q, q_rope, latent, rope_key, *rest)
        return each_head(gathered, w_uv.transpose(-1, -2))
