"""GPT-2 and GPT-3 (learned positions, biases everywhere), gpt-oss (experts, windows, sinks)."""

from __future__ import annotations

from typing import Any

from mini_attn.config import RopeConfig, YaRN
from mini_attn.models.config import ModelConfig

__all__ = ["ENTRIES"]

_GPT2: dict[str, Any] = {
    "family": "GPT-2",
    "mlp_matrices": 2,
    "tied_embeddings": True,
    "transposed_weights": True,
    "activation": "gelu_tanh",
    "biases": "all",
    "norm": "layer_norm",
    "learned_positions": 1024,
    "published": "2019-02",
}
# The same architecture with a longer table. Its sparse layers, every second one, bound what a
# token sees; what the cache keeps is not said, and here it keeps all.
_GPT3: dict[str, Any] = {
    **_GPT2,
    "family": "GPT-3",
    "learned_positions": 2048,
    "published": "2020-05",
}
_OSS: dict[str, Any] = {
    "family": "gpt-oss",
    "window": 128,
    "full_every": 2,
    "experts_per_token": 4,
    "expert_d_ff": 2880,
    "expert_activation": "clamped_swiglu",
    "router_bias": True,
    "biases": "all",
    "sinks": True,
    "published": "2025-08",
    "rope": RopeConfig(
        "half", 150000.0, scaling=YaRN(32.0, original_max_positions=4096, truncate=False)
    ),
}

_TABLE_2 = "radford2019gpt2, table 2; config.json of openai-community/"
_CARD = "openai2025gptoss, table 1; config.json of openai/"

# n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size, max_context
ENTRIES = (
    ModelConfig("gpt2", "GPT-2 (124M)", _TABLE_2 + "gpt2", "mha",
                12, 768, 12, 12, 64, 3072, 50257, 1024, **_GPT2),
    ModelConfig("gpt2-medium", "GPT-2 Medium (355M)", _TABLE_2 + "gpt2-medium", "mha",
                24, 1024, 16, 16, 64, 4096, 50257, 1024, **_GPT2),
    ModelConfig("gpt2-large", "GPT-2 Large (774M)", _TABLE_2 + "gpt2-large", "mha",
                36, 1280, 20, 20, 64, 5120, 50257, 1024, **_GPT2),
    ModelConfig("gpt2-xl", "GPT-2 XL (1.6B)", _TABLE_2 + "gpt2-xl", "mha",
                48, 1600, 25, 25, 64, 6400, 50257, 1024, **_GPT2),
    # Never published as weights, so that there is no config.json; vocabulary as GPT-2's.
    ModelConfig("gpt3", "GPT-3 (175B)", "brown2020gpt3, table 2.1", "mha",
                96, 12288, 96, 96, 128, 49152, 50257, 2048, **_GPT3),
    ModelConfig("gpt-oss-20b", "gpt-oss-20b", _CARD + "gpt-oss-20b", "sliding_window",
                24, 2880, 64, 8, 64, 2880, 201088, 131072, n_experts=32, **_OSS),
    ModelConfig("gpt-oss-120b", "gpt-oss-120b", _CARD + "gpt-oss-120b", "sliding_window",
                36, 2880, 64, 8, 64, 2880, 201088, 131072, n_experts=128, **_OSS),
)  # fmt: skip
