"""One or a few models each of other groups, from GPT-NeoX to the open ones of 2025 and 2026."""

from __future__ import annotations

from typing import Any

from mini_attn.config import LinearAttentionConfig, RopeConfig, YaRN
from mini_attn.models.config import ModelConfig

__all__ = ["ENTRIES"]

_PLAIN: dict[str, Any] = {"family": "Others", "mlp_matrices": 2, "activation": "gelu"}
_BIASED: dict[str, Any] = {**_PLAIN, "biases": "all", "norm": "layer_norm"}
_OLMO: dict[str, Any] = {
    "family": "Others",
    "qk_norm": "width",
    "norm_placement": "after",
    "eps": 1e-6,
    "published": "2024-11",
    "rope": RopeConfig("half", 500000.0),
}
_LONGER = 1.2079441541679836  # as both files have it, what YaRN computes for 8 times the context
# Windows in three of four layers; the fourth is stretched.
_OLMO3: dict[str, Any] = {
    **_OLMO,
    "window": 4096,
    "full_every": 4,
    "local_rope": RopeConfig("half", 500000.0),
    "rope": RopeConfig("half", 500000.0, scaling=YaRN(8.0, 8192, attention_factor=_LONGER)),
    "published": "2025-11",
}
_SIGMOID: dict[str, Any] = {
    "family": "Others",
    "routing": "sigmoid_normalised",
    "router_bias": True,
}
_SHARED: dict[str, Any] = {**_SIGMOID, "n_shared_experts": 1, "experts_per_token": 8}
_MIMO = RopeConfig("half", 10000.0, rotary_dim=64)
_LATENT: dict[str, Any] = {
    "v_head_dim": 128,
    "kv_lora_rank": 512,
    "q_lora_rank": 1536,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
}
_KIMI = YaRN(64.0, original_max_positions=4096, mscale=1.0, mscale_all_dim=1.0)
_SOLAR = YaRN(2.0, original_max_positions=65536)

# Layers with a state: in seven of eight, in three of four.
_LIGHTNING = LinearAttentionConfig(6144, 64, 128, "lightning", norm_over="width")
_DELTA = LinearAttentionConfig(
    3840, 30, 96, "gated_delta", v_head_dim=192, negative_eigenvalues=True, eps=1e-5
)

# n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size, max_context
ENTRIES = (
    ModelConfig("gpt-neox-20b", "GPT-NeoX-20B",
                "black2022neox, section 2; config.json of EleutherAI/gpt-neox-20b", "mha",
                44, 6144, 64, 64, 96, 24576, 50432, 2048,
                rope=RopeConfig("half", 10000.0, rotary_dim=24), published="2022-02", parallel=True,
                **_BIASED),
    ModelConfig("bloom-176b", "BLOOM (176B)",
                "bigscience2022bloom, table 3; config.json of bigscience/bloom", "mha",
                70, 14336, 112, 112, 128, 57344, 250880, 2048,
                alibi=True, tied_embeddings=True, embedding_norm=True, published="2022-07",
                **{**_BIASED, "activation": "gelu_tanh"}),
    ModelConfig("starcoder-15b", "StarCoder (15.5B)",
                "li2023starcoder; config.json of bigcode/starcoder", "mqa",
                40, 6144, 48, 1, 128, 24576, 49152, 8192,
                tied_embeddings=True, learned_positions=8192, published="2023-05",
                **{**_BIASED, "activation": "gelu_tanh"}),
    ModelConfig("mpt-7b", "MPT-7B",
                "mosaicml2023mpt; config.json of mosaicml/mpt-7b", "mha",
                32, 4096, 32, 32, 128, 16384, 50432, 2048,
                alibi=True, tied_embeddings=True, norm="layer_norm_without_bias",
                published="2023-05", **_PLAIN),
    ModelConfig("phi-3-mini", "Phi-3-mini-4k (3.8B)",
                "abdin2024phi3, section 2; config.json of microsoft/Phi-3-mini-4k-instruct",
                "sliding_window", 32, 3072, 32, 32, 96, 8192, 32064, 4096,
                window=2047, family="Others", rope=RopeConfig("half", 10000.0),
                published="2024-04"),
    ModelConfig("olmo-2-7b", "OLMo-2-7B",
                "olmo2024olmo2; config.json of allenai/OLMo-2-1124-7B", "mha",
                32, 4096, 32, 32, 128, 11008, 100352, 4096, **_OLMO),
    ModelConfig("olmo-2-13b", "OLMo-2-13B",
                "olmo2024olmo2; config.json of allenai/OLMo-2-1124-13B", "mha",
                40, 5120, 40, 40, 128, 13824, 100352, 4096, **_OLMO),
    ModelConfig("olmo-3-7b", "OLMo-3-7B",
                "olmo2025olmo3; config.json of allenai/Olmo-3-1025-7B", "sliding_window",
                32, 4096, 32, 32, 128, 11008, 100278, 65536, **_OLMO3),
    ModelConfig("olmo-3-32b", "OLMo-3-32B",
                "olmo2025olmo3; config.json of allenai/Olmo-3-1125-32B", "sliding_window",
                64, 5120, 40, 8, 128, 27648, 100278, 65536, **_OLMO3),
    ModelConfig("olmo-hybrid-7b", "OLMo-Hybrid-7B", "config.json of allenai/Olmo-Hybrid-7B", "mha",
                32, 3840, 30, 30, 128, 11008, 100352, 65536, linear=_DELTA, linear_norms="before",
                full_every=4, qk_norm="width", norm_placement="after", eps=1e-6,
                family="Others", published="2026-03"),
    # As Hugging Face's class turns it: whole heads. The paper turns half of each.
    ModelConfig("minimax-text-01", "MiniMax-Text-01 (456B)",
                "minimax2025, section 2; config.json of MiniMaxAI/MiniMax-Text-01", "gqa",
                80, 6144, 64, 8, 128, 9216, 200064, 10240000, linear=_LIGHTNING,
                full_every=8, n_experts=32, experts_per_token=2, expert_d_ff=9216,
                routing="softmax_normalised", norm_placement="stream",
                stream_scale=3.5565588200778455, rope=RopeConfig("half", 10000000.0),
                family="Others", published="2025-01"),
    ModelConfig("minimax-m2", "MiniMax-M2 (229B)",
                "minimax2026m2; config.json of MiniMaxAI/MiniMax-M2", "gqa",
                62, 3072, 48, 8, 128, 1536, 200064, 196608, qk_norm="width", eps=1e-6,
                n_experts=256, experts_per_token=8, expert_d_ff=1536, published="2025-10",
                rope=RopeConfig("half", 5000000.0, rotary_dim=64), **_SIGMOID),
    ModelConfig("kimi-k2.5", "Kimi-K2.5 (1T)",
                "text part of config.json of moonshotai/Kimi-K2.5", "mla",
                61, 7168, 64, 64, 192, 18432, 163840, 262144,
                n_experts=384, n_dense_layers=1, expert_d_ff=2048, published="2026-01",
                rope=RopeConfig("interleaved", 50000.0, scaling=_KIMI), **_LATENT, **_SHARED),
    # Which layers keep all as its released file lists them, which Hugging Face's class lacks.
    ModelConfig("kimi-linear-48b-a3b", "Kimi-Linear-48B-A3B",
                "kimi2025linear; config.json of moonshotai/Kimi-Linear-48B-A3B-Instruct", "mla",
                27, 2304, 32, 32, 192, 9216, 163840, 1048576,
                linear=LinearAttentionConfig(2304, 32, 128, "kimi_delta", eps=1e-5),
                full_layers=(*range(3, 24, 4), 26), n_experts=256, experts_per_token=8,
                n_dense_layers=1, expert_d_ff=1024, shared_d_ff=1024, routed_scale=2.446,
                published="2025-10", **{**_LATENT, "q_lora_rank": 0}, **_SIGMOID),
    ModelConfig("youtu-llm-2b", "Youtu-LLM-2B", "config.json of tencent/Youtu-LLM-2B", "mla",
                32, 2048, 16, 16, 192, 6144, 128256, 131072, eps=1e-6, tied_embeddings=True,
                rope=RopeConfig("interleaved", 1600000.0), family="Others",
                published="2025-12", **_LATENT),
    ModelConfig("solar-open-100b", "Solar-Open-100B", "config.json of upstage/Solar-Open-100B",
                "gqa", 48, 4096, 64, 8, 128, 1280, 196608, 131072,
                n_experts=128, expert_d_ff=1280, published="2025-12",
                rope=RopeConfig("half", 1000000.0, scaling=_SOLAR), **_SHARED),
    ModelConfig("k-exaone", "K-EXAONE (236B)", "config.json of LGAI-EXAONE/K-EXAONE-236B-A23B",
                "sliding_window", 48, 6144, 64, 8, 128, 18432, 153600, 262144,
                window=128, full_every=4, qk_norm="head", local_rope=RopeConfig("half", 1000000.0),
                n_experts=128, n_dense_layers=1, expert_d_ff=2048, published="2025-12", **_SHARED),
    ModelConfig("mimo-v2-flash", "MiMo-V2-Flash (309B)",
                "config.json of XiaomiMiMo/MiMo-V2-Flash", "sliding_window",
                48, 4096, 64, 8, 192, 16384, 152576, 262144, v_head_dim=128,
                window=128, full_layers=(0, *range(5, 48, 6)), full_n_kv_heads=4, sinks=True,
                window_sinks=True, value_scale=0.707, n_experts=256, experts_per_token=8,
                n_dense_layers=1, expert_d_ff=2048, published="2025-12", local_rope=_MIMO,
                rope=RopeConfig("half", 5000000.0, rotary_dim=64), **_SIGMOID),
)  # fmt: skip
