"""Gated attention in NumPy, and its cache."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.numpy import (
    GroupedQueryAttention,
    KVCache,
    Linear,
    merge_heads,
    scaled_dot_product_attention,
)


class GatedCache(KVCache):
    """Keys, values and gates: the gate of a token is kept as one more number of its value."""

    def __init__(self, *sizes: int, v_head_dim: int, dtype: str = "float32") -> None:
        super().__init__(*sizes, v_head_dim=v_head_dim + 1, dtype=dtype)

    def _check_fits(self, *, v_head_dim: int, **sizes: Any) -> None:
        super()._check_fits(v_head_dim=v_head_dim + 1, **sizes)

    def append(self, k: Any, v: Any, gates: Any, **options: Any) -> Any:
        super().append(k, np.concatenate([v, gates], axis=-1), **options)
        return self.view()

    def view(self) -> Any:
        k, packed, positions = super().view()
        return k, packed[..., :-1], packed[..., -1:], positions


class GatedAttention(GroupedQueryAttention):
    """``out = softmax(scores + log(sigmoid(gate_proj(x)))) @ v``, the gates those of the keys"""

    def __init__(self, config: Any, *, seed: int = 0, dtype: str = "float32") -> None:
        super().__init__(config.ungated(), seed=seed, dtype=dtype)
        self.gate_proj = Linear(config.d_model, config.n_kv_heads, seed=seed + 9, dtype=dtype)

    def new_cache(self, batch: int, capacity: int) -> Any:
        sizes = (batch, self.config.n_kv_heads, self.config.head_dim, capacity)
        dtype = self.gate_proj.weight.dtype.name
        return GatedCache(*sizes, v_head_dim=self.config.v_head_dim, dtype=dtype)

    def __call__(
        self, x: Any, *, cache: Any = None, positions: Any = None, causal: bool = True
    ) -> Any:
        q, k, v = self.project(x, x)
        gates = -np.log1p(np.exp(-self.gate_proj(x))).swapaxes(1, 2)[..., None]
        new = x.shape[1]
        places = seen = np.arange(new) if cache is None else cache.next_positions(new)
        if positions is not None:
            places = seen = positions
        if cache is not None:
            k, v, gates, seen = cache.append(k, v, gates, positions=positions)
        # (batch, n_kv_heads, kv_len, 1) to one row of scores for each query head
        bias = gates.swapaxes(-1, -2).repeat(self.config.group_size, axis=1)
        out = scaled_dot_product_attention(
            q, k, v, bias=bias, causal=causal, scale=self.config.scale,
            window=self.config.window, q_positions=places, kv_positions=seen,
        )  # fmt: skip
        return self.o_proj(merge_heads(out))
