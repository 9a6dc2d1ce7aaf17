"""DeepSeek: the 67B model, those with latent attention, and V4, whose entries are of spans."""

from __future__ import annotations

from typing import Any

from mini_attn.config import RopeConfig, YaRN
from mini_attn.models.config import ModelConfig

__all__ = ["ENTRIES"]


def _latent(mscale: float, **rest: Any) -> dict[str, Any]:
    """Return what the latent models share: 512 numbers and a rotated key of 64 a token."""
    scaling = YaRN(40.0, original_max_positions=4096, mscale=mscale, mscale_all_dim=mscale)
    return {
        "family": "DeepSeek",
        "eps": 1e-6,
        "v_head_dim": 128,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "rope": RopeConfig("interleaved", 10000.0, scaling=scaling),
        **rest,
    }


_LITE = _latent(
    0.707,
    n_experts=64,
    n_shared_experts=2,
    experts_per_token=6,
    n_dense_layers=1,
    routing="softmax",
    published="2024-05",
)
_V2 = _latent(
    0.707,
    n_experts=160,
    n_shared_experts=2,
    experts_per_token=6,
    n_dense_layers=1,
    q_lora_rank=1536,
    routing="softmax",
    published="2024-05",
)
_V3 = _latent(
    1.0,
    n_experts=256,
    n_shared_experts=1,
    experts_per_token=8,
    n_dense_layers=3,
    q_lora_rank=1536,
    routing="sigmoid",
    published="2024-12",
)

# An indexer chooses 2,048 tokens by a key of 128 numbers.
_INDEXER: dict[str, Any] = {"index_n_heads": 64, "index_head_dim": 128}
_V32: dict[str, Any] = {**_V3, **_INDEXER, "index_topk": 2048, "published": "2025-12"}
# Of the weights, those of hyper-connections aren't counted.
_V4: dict[str, Any] = {
    "family": "DeepSeek",
    "eps": 1e-6,
    **_INDEXER,
    "window": 128,
    "compress": 4,
    "o_lora_rank": 1024,
    "sinks": True,
    "n_shared_experts": 1,
    "experts_per_token": 6,
    "routing": "sqrtsoftplus",
    "router_bias": True,
    "rope": RopeConfig("interleaved", 160000.0, 64, YaRN(16.0, 65536, attention_factor=1.0)),
    "published": "2026-04",
}

# n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size, max_context
ENTRIES = (
    ModelConfig("deepseek-67b", "DeepSeek-67B",
                "deepseek2024llm, table 2; config.json of deepseek-ai/deepseek-llm-67b-base",
                "gqa", 95, 8192, 64, 8, 128, 22016, 102400, 4096,
                family="DeepSeek", eps=1e-6, rope=RopeConfig("half", 10000.0),
                published="2023-11"),
    ModelConfig("deepseek-v2-lite", "DeepSeek-V2-Lite (16B)",
                "deepseek2024v2, appendix B; config.json of deepseek-ai/DeepSeek-V2-Lite",
                "mla", 27, 2048, 16, 16, 192, 10944, 102400, 163840, expert_d_ff=1408, **_LITE),
    ModelConfig("deepseek-v2", "DeepSeek-V2 (236B)",
                "deepseek2024v2, section 3.1.2; config.json of deepseek-ai/DeepSeek-V2",
                "mla", 60, 5120, 128, 128, 192, 12288, 102400, 163840, expert_d_ff=1536, **_V2),
    ModelConfig("deepseek-v3", "DeepSeek-V3 (671B)",
                "deepseek2024v3, section 4.2; config.json of deepseek-ai/DeepSeek-V3",
                "mla", 61, 7168, 128, 128, 192, 18432, 129280, 163840,
                expert_d_ff=2048, router_bias=True, **_V3),
    ModelConfig("deepseek-v3.2", "DeepSeek-V3.2 (671B)",
                "deepseek2025v32, section 2.1; config.json of deepseek-ai/DeepSeek-V3.2",
                "indexed_latent", 61, 7168, 128, 128, 192, 18432, 129280, 163840,
                expert_d_ff=2048, router_bias=True, **_V32),
    ModelConfig("deepseek-v4-flash", "DeepSeek-V4-Flash (284B)",
                "deepseek2026v4, section 4.2; config.json of deepseek-ai/DeepSeek-V4-Flash",
                "csa", 43, 4096, 64, 1, 512, 2048, 129280, 1048576, q_lora_rank=1024,
                o_groups=8, index_topk=512, n_experts=256, expert_d_ff=2048,
                spans=(0, 0, *(4, 128) * 20, 4), **_V4),
    ModelConfig("deepseek-v4-pro", "DeepSeek-V4-Pro (1.6T)",
                "deepseek2026v4, section 4.2; config.json of deepseek-ai/DeepSeek-V4-Pro",
                "csa", 61, 7168, 128, 1, 512, 3072, 129280, 1048576, q_lora_rank=1536,
                o_groups=16, index_topk=1024, n_experts=384, expert_d_ff=3072,
                spans=(128, 128, *(4, 128) * 29, 4), **_V4),
)  # fmt: skip
