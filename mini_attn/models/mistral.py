"""Mistral, with a window, then narrow heads, then a latent; Mixtral, with experts; Ministral."""

from __future__ import annotations

from typing import Any

from mini_attn.config import QueryGrowth, RopeConfig, YaRN
from mini_attn.models.config import ModelConfig

__all__ = ["ENTRIES"]

_LONG: dict[str, Any] = {"family": "Mistral", "rope": RopeConfig("half", 1000000.0)}
_EIGHT: dict[str, Any] = {
    **_LONG,
    "n_experts": 8,
    "experts_per_token": 2,
    "routing": "softmax_normalised",
}

# Two factors of YaRN that cancel out; in latent attention the second stays, with the scores.
_DENSE = YaRN(16.0, 16384, attention_factor=1.0)
_SMALL = YaRN(128.0, 8192, mscale=1.0, mscale_all_dim=1.0)

# n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size, max_context
ENTRIES = (
    ModelConfig("mistral-7b", "Mistral-7B v0.1",
                "jiang2023mistral, table 1; config.json of mistralai/Mistral-7B-v0.1",
                "sliding_window", 32, 4096, 32, 8, 128, 14336, 32000, 32768,
                window=4096, family="Mistral", rope=RopeConfig("half", 10000.0),
                published="2023-09"),
    ModelConfig("mistral-nemo", "Mistral-Nemo (12B)",
                "config.json of mistralai/Mistral-Nemo-Base-2407", "gqa",
                40, 5120, 32, 8, 128, 14336, 131072, 128000, published="2024-07", **_LONG),
    ModelConfig("mixtral-8x7b", "Mixtral-8x7B",
                "jiang2024mixtral, table 1; config.json of mistralai/Mixtral-8x7B-v0.1", "gqa",
                32, 4096, 32, 8, 128, 14336, 32000, 32768, expert_d_ff=14336,
                published="2023-12", **_EIGHT),
    ModelConfig("mixtral-8x22b", "Mixtral-8x22B",
                "config.json of mistralai/Mixtral-8x22B-v0.1", "gqa",
                56, 6144, 48, 8, 128, 16384, 32000, 65536, expert_d_ff=16384,
                published="2024-04", **_EIGHT),
    ModelConfig("ministral-3-8b", "Ministral-3-8B",
                "text part of config.json of mistralai/Ministral-3-8B-Base-2512", "gqa",
                34, 4096, 32, 8, 128, 14336, 131072, 262144, published="2025-12",
                rope=RopeConfig("half", 1000000.0, scaling=_DENSE), family="Mistral",
                query_growth=QueryGrowth(0.1, 16384)),
    ModelConfig("mistral-small-4", "Mistral-Small-4 (119B)",
                "text part of config.json of mistralai/Mistral-Small-4-119B-2603", "mla",
                36, 4096, 32, 32, 128, 12288, 131072, 1048576, published="2026-03", eps=1e-6,
                v_head_dim=128, kv_lora_rank=256, q_lora_rank=1024, qk_nope_head_dim=64,
                qk_rope_head_dim=64, n_experts=128, n_shared_experts=1, experts_per_token=4,
                expert_d_ff=2048, routing="softmax_normalised",
                rope=RopeConfig("interleaved", 10000.0, scaling=_SMALL), family="Mistral",
                query_growth=QueryGrowth(0.1, 8192)),
)  # fmt: skip
