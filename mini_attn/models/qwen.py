"""Qwen2.5 (biases of queries, keys and values), Qwen3 (their norms; experts) and Qwen3-VL."""

from __future__ import annotations

from typing import Any

from mini_attn.config import RopeConfig
from mini_attn.models.config import ModelConfig

__all__ = ["ENTRIES"]

_QWEN2: dict[str, Any] = {
    "family": "Qwen",
    "rope": RopeConfig("half", 1000000.0),
    "biases": "qkv",
    "eps": 1e-6,
    "published": "2024-09",
}
_QWEN3: dict[str, Any] = {
    "family": "Qwen",
    "rope": RopeConfig("half", 1000000.0),
    "qk_norm": "head",
    "eps": 1e-6,
    "published": "2025-04",
}
_EXPERTS: dict[str, Any] = {
    **_QWEN3,
    "n_experts": 128,
    "experts_per_token": 8,
    "routing": "softmax_normalised",
}
_VL: dict[str, Any] = {"rope": RopeConfig("half", 5000000.0), "published": "2025-10"}

_TABLE_25 = "qwen2024qwen25, section 2; config.json of Qwen/"
_TABLE_3 = "yang2025qwen3, tables 1 and 2; config.json of Qwen/"
_TEXT = "text part of config.json of Qwen/"  # months: the news of github.com/QwenLM/Qwen3-VL

# n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size, max_context
ENTRIES = (
    ModelConfig("qwen2.5-7b", "Qwen2.5-7B", _TABLE_25 + "Qwen2.5-7B", "gqa",
                28, 3584, 28, 4, 128, 18944, 152064, 131072, **_QWEN2),
    ModelConfig("qwen2.5-72b", "Qwen2.5-72B", _TABLE_25 + "Qwen2.5-72B", "gqa",
                80, 8192, 64, 8, 128, 29568, 152064, 131072, **{**_QWEN2, "eps": 1e-5}),
    ModelConfig("qwen3-0.6b", "Qwen3-0.6B", _TABLE_3 + "Qwen3-0.6B", "gqa",
                28, 1024, 16, 8, 128, 3072, 151936, 40960, tied_embeddings=True, **_QWEN3),
    ModelConfig("qwen3-8b", "Qwen3-8B", _TABLE_3 + "Qwen3-8B", "gqa",
                36, 4096, 32, 8, 128, 12288, 151936, 40960, **_QWEN3),
    ModelConfig("qwen3-32b", "Qwen3-32B", _TABLE_3 + "Qwen3-32B", "gqa",
                64, 5120, 64, 8, 128, 25600, 151936, 40960, **_QWEN3),
    ModelConfig("qwen3-30b-a3b", "Qwen3-30B-A3B", _TABLE_3 + "Qwen3-30B-A3B", "gqa",
                48, 2048, 32, 4, 128, 6144, 151936, 40960, expert_d_ff=768, **_EXPERTS),
    ModelConfig("qwen3-235b-a22b", "Qwen3-235B-A22B", _TABLE_3 + "Qwen3-235B-A22B", "gqa",
                94, 4096, 64, 4, 128, 12288, 151936, 40960, expert_d_ff=1536, **_EXPERTS),
    ModelConfig("qwen3-vl-4b", "Qwen3-VL-4B", _TEXT + "Qwen3-VL-4B-Instruct", "gqa",
                36, 2560, 32, 8, 128, 9728, 151936, 262144, tied_embeddings=True,
                **{**_QWEN3, **_VL}),
    ModelConfig("qwen3-vl-8b", "Qwen3-VL-8B", _TEXT + "Qwen3-VL-8B-Instruct", "gqa",
                36, 4096, 32, 8, 128, 12288, 151936, 262144, **{**_QWEN3, **_VL}),
    ModelConfig("qwen3-vl-32b", "Qwen3-VL-32B", _TEXT + "Qwen3-VL-32B-Instruct", "gqa",
                64, 5120, 64, 8, 128, 25600, 151936, 262144, **{**_QWEN3, **_VL}),
    ModelConfig("qwen3-vl-30b-a3b", "Qwen3-VL-30B-A3B",
                _TEXT + "Qwen3-VL-30B-A3B-Instruct", "gqa",
                48, 2048, 32, 4, 128, 6144, 151936, 262144, expert_d_ff=768,
                **{**_EXPERTS, **_VL}),
    ModelConfig("qwen3-vl-235b-a22b", "Qwen3-VL-235B-A22B",
                _TEXT + "Qwen3-VL-235B-A22B-Instruct", "gqa",
                94, 4096, 64, 4, 128, 12288, 151936, 262144, expert_d_ff=1536,
                **{**_EXPERTS, **_VL, "published": "2025-09"}),
)  # fmt: skip
