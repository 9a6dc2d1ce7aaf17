"""Attention that reads the keys and values of an earlier layer."""

from __future__ import annotations

from typing import Any

from torch import Tensor

from mini_attn.config import AttentionConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import DType
from mini_attn.torch._module import check_tokens
from mini_attn.torch.layers._heads import split
from mini_attn.torch.layers._pass import Kept, begin_pass
from mini_attn.torch.layers.heads import GroupedQueryAttention
from mini_attn.torch.positions.rope import rotate


class CrossLayerAttention(GroupedQueryAttention):
    """Attention without projections of keys and values: a decoder gives it an earlier layer's.

    Those were normalized and rotated where they were made; its own queries are here. It has
    ``q_proj`` and ``o_proj``, with ``qk_norm`` also ``q_norm``, and ``sinks`` where there are any.
    """

    _reads = True

    def __init__(
        self,
        config: AttentionConfig,
        *,
        seed: int = 0,
        dtype: DType = "float32",
        device: Any = None,
    ) -> None:
        super().__init__(config, seed=seed, dtype=dtype, device=device)
        del self.k_proj
        if not config.k_eq_v:
            del self.v_proj
        if config.qk_norm:
            del self.k_norm

    def new_cache(self, batch: int, capacity: int) -> Any:
        """Refuse: the layer keeps nothing."""
        raise ConfigError(
            "this layer reads an earlier layer's keys and values and has no cache: "
            "Decoder.new_caches makes one for each layer that keeps its own"
        )

    def project(self, x: Tensor, context: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Refuse: the layer makes no keys and values."""
        raise ConfigError("this layer reads an earlier layer's keys and values and projects none")

    def forward(  # type: ignore[override]
        self, x: Tensor, *, cache: Any = None, positions: Tensor | None = None
    ) -> Tensor:
        """Gather from what a decoder hands over in the place of a cache."""
        check_tokens("x", x, self.q_proj.weight)
        if not isinstance(cache, Kept):
            raise ConfigError(
                "this layer reads an earlier layer's keys and values, which its decoder hands it: "
                "call the decoder"
            )
        return self._run(x, begin_pass(x, None, positions), cache)

    _checked_call = forward  # type: ignore[assignment]

    def _project_at(self, x: Tensor, tables: Any) -> tuple[Tensor, Any, Any]:
        """Queries alone, rotated by the tables of the tokens' positions."""
        q = self.q_proj(x)
        if self.config.qk_norm and self.config.qk_norm_over == "width":
            q = self.q_norm(q)
        q = split(q, self.config.n_heads)  # (batch, n_heads, q_len, head_dim)
        if self.config.qk_norm and self.config.qk_norm_over == "head":
            q = self.q_norm(q)
        if self._rotary is not None:
            cos, sin = tables(self._rotary, q.dtype)
            (q,) = rotate(cos, sin, self._rotary.layout, q)
        return q, None, None
