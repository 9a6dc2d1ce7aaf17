"""Gated attention in PyTorch, and its cache."""

from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F

from mini_attn.torch import (
    GroupedQueryAttention,
    KVCache,
    Linear,
    merge_heads,
    scaled_dot_product_attention,
)


class GatedCache(KVCache):
    """Keys, values and gates: the gate of a token is kept as one more number of its value."""

    def __init__(self, *sizes: int, v_head_dim: int, **kind: Any) -> None:
        super().__init__(*sizes, v_head_dim=v_head_dim + 1, **kind)

    def _check_fits(self, *, v_head_dim: int, **sizes: Any) -> None:
        super()._check_fits(v_head_dim=v_head_dim + 1, **sizes)

    def append(self, k: Any, v: Any, gates: Any, **options: Any) -> Any:
        super().append(k, torch.cat([v, gates], dim=-1), **options)
        return self.view()

    def view(self) -> Any:
        k, packed, positions = super().view()
        return k, packed[..., :-1], packed[..., -1:], positions


class GatedAttention(GroupedQueryAttention):
    """``out = softmax(scores + log(sigmoid(gate_proj(x)))) @ v``, the gates those of the keys"""

    def __init__(
        self, config: Any, *, seed: int = 0, dtype: str = "float32", device: Any = None
    ) -> None:
        kind: dict[str, Any] = {"dtype": dtype, "device": device}
        super().__init__(config.ungated(), seed=seed, **kind)
        self.gate_proj = Linear(config.d_model, config.n_kv_heads, seed=seed + 9, **kind)

    def new_cache(self, batch: int, capacity: int) -> Any:
        sizes = (batch, self.config.n_kv_heads, self.config.head_dim, capacity)
        weight = self.gate_proj.weight
        kind: dict[str, Any] = {
            "dtype": str(weight.dtype).removeprefix("torch."),
            "device": weight.device,
        }
        return GatedCache(*sizes, v_head_dim=self.config.v_head_dim, **kind)

    def forward(
        self, x: Any, *, cache: Any = None, positions: Any = None, causal: bool = True
    ) -> Any:
        q, k, v = self.project(x, x)
        gates = F.logsigmoid(self.gate_proj(x)).transpose(1, 2)[..., None]
        new = x.shape[1]
        places = seen = torch.arange(new) if cache is None else cache.next_positions(new)
        if positions is not None:
            places = seen = positions
        if cache is not None:
            k, v, gates, seen = cache.append(k, v, gates, positions=positions)
        # (batch, n_kv_heads, kv_len, 1) to one row of scores for each query head
        bias = gates.transpose(-1, -2).repeat_interleave(self.config.group_size, dim=1)
        out = scaled_dot_product_attention(
            q, k, v, bias=bias, causal=causal, scale=self.config.scale,
            window=self.config.window, q_positions=places, kv_positions=seen,
        )  # fmt: skip
        return self.o_proj(merge_heads(out))
