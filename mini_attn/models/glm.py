"""GLM-4.7: grouped heads, and a small one with a latent; GLM-5: a latent and an indexer."""

from __future__ import annotations

from typing import Any

from mini_attn.config import RopeConfig
from mini_attn.models.config import ModelConfig

__all__ = ["ENTRIES"]

_GLM: dict[str, Any] = {
    "family": "GLM",
    "n_shared_experts": 1,
    "routing": "sigmoid_normalised",
    "router_bias": True,
}

# n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size, max_context
ENTRIES = (
    ModelConfig("glm-4.7", "GLM-4.7 (355B)", "config.json of zai-org/GLM-4.7", "gqa",
                92, 5120, 96, 8, 128, 12288, 151552, 202752, biases="qkv", qk_norm="head",
                n_experts=160, experts_per_token=8, expert_d_ff=1536, n_dense_layers=3,
                published="2025-12",
                rope=RopeConfig("half", 1000000.0, rotary_dim=64), **_GLM),
    ModelConfig("glm-4.7-flash", "GLM-4.7-Flash (30B)", "config.json of zai-org/GLM-4.7-Flash",
                "mla", 47, 2048, 20, 20, 256, 10240, 154880, 202752,
                v_head_dim=256, kv_lora_rank=512, q_lora_rank=768, qk_nope_head_dim=192,
                qk_rope_head_dim=64, n_experts=64, experts_per_token=4, expert_d_ff=1536,
                n_dense_layers=1, published="2026-01", rope=RopeConfig("interleaved", 1000000.0),
                **_GLM),
    ModelConfig("glm-5", "GLM-5 (744B)", "config.json of zai-org/GLM-5", "indexed_latent",
                78, 6144, 64, 64, 256, 12288, 154880, 202752,
                v_head_dim=256, kv_lora_rank=512, q_lora_rank=2048, qk_nope_head_dim=192,
                qk_rope_head_dim=64, index_n_heads=32, index_head_dim=128, index_topk=2048,
                n_experts=256, experts_per_token=8, expert_d_ff=2048, n_dense_layers=3,
                published="2026-02", rope=RopeConfig("interleaved", 1000000.0), **_GLM),
)  # fmt: skip
