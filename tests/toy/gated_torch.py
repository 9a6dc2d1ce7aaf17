"""Gated attention in PyTorch."""

from __future__ import annotations

from typing import Any

from mini_attn.torch import GroupedQueryAttention, Linear


class GatedAttention(GroupedQueryAttention):
    """``out = sigmoid(gate_proj(x)) * attention(x)``"""

    def __init__(
        self, config: Any, *, seed: int = 0, dtype: str = "float32", device: Any = None
    ) -> None:
        super().__init__(config, seed=seed, dtype=dtype, device=device)
        kind: dict[str, Any] = {"dtype": dtype, "device": device}
        self.gate_proj = Linear(config.d_model, config.d_model, seed=seed + 9, **kind)

    def forward(self, x: Any, **options: Any) -> Any:
        return super().forward(x, **options) * self.gate_proj(x).sigmoid()
