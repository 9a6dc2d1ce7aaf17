"""Qwen3-Next and Qwen3.5: three of four layers keep a state by the gated delta rule."""

from __future__ import annotations

from typing import Any

from mini_attn.config import LinearAttentionConfig, RopeConfig
from mini_attn.models.config import ModelConfig

__all__ = ["ENTRIES"]


def _delta(d_model: int) -> LinearAttentionConfig:
    """Return a layer with a state, of which all these models have as many heads."""
    return LinearAttentionConfig(d_model, 32, 128, "gated_delta", n_key_heads=16)


_QWEN: dict[str, Any] = {
    "family": "Qwen",
    "full_every": 4,
    "out_gate": True,
    "qk_norm": "head",
    "eps": 1e-6,
    "rope": RopeConfig("half", 10000000.0, rotary_dim=64),
}
_EXPERTS: dict[str, Any] = {
    **_QWEN,
    "linear": _delta(2048),
    "expert_d_ff": 512,
    "shared_d_ff": 512,
    "shared_gate": True,
    "routing": "softmax_normalised",
}
_NEXT, _LATER = "2025-09", "2026-02"

# n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size, max_context
ENTRIES = (
    ModelConfig("qwen3-next-80b-a3b", "Qwen3-Next-80B-A3B",
                "config.json of Qwen/Qwen3-Next-80B-A3B-Instruct", "gqa",
                48, 2048, 16, 2, 256, 5120, 151936, 262144,
                n_experts=512, experts_per_token=10, published=_NEXT, **_EXPERTS),
    ModelConfig("qwen3.5-9b", "Qwen3.5-9B", "text part of config.json of Qwen/Qwen3.5-9B", "gqa",
                32, 4096, 16, 4, 256, 12288, 248320, 262144,
                linear=_delta(4096), published=_LATER, **_QWEN),
    ModelConfig("qwen3.5-35b-a3b", "Qwen3.5-35B-A3B",
                "text part of config.json of Qwen/Qwen3.5-35B-A3B", "gqa",
                40, 2048, 16, 2, 256, 512, 248320, 262144,
                n_experts=256, experts_per_token=8, published=_LATER, **_EXPERTS),
)  # fmt: skip
