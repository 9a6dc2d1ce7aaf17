"""One or two models each of other groups: ALiBi, partial rotation, norms over all heads."""

from __future__ import annotations

from typing import Any

from mini_attn.config import RopeConfig
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
)  # fmt: skip
