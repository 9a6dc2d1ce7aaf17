"""Mistral, with a window and with heads narrower than the width, and Mixtral, with experts."""

from __future__ import annotations

from typing import Any

from mini_attn.config import RopeConfig
from mini_attn.models.config import ModelConfig

__all__ = ["ENTRIES"]

_LONG: dict[str, Any] = {"family": "Mistral", "rope": RopeConfig("half", 1000000.0)}
_EIGHT: dict[str, Any] = {
    **_LONG,
    "n_experts": 8,
    "experts_per_token": 2,
    "routing": "softmax_normalised",
}

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
)  # fmt: skip
