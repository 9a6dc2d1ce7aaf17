"""Gemma 1 (wide heads), 2 (windows in turn), 3 (five, then all), 4 (layers that share a cache)."""

from __future__ import annotations

from typing import Any

from mini_attn.config import PositionInterpolation, RopeConfig
from mini_attn.models.config import ModelConfig

__all__ = ["ENTRIES"]

_SHORT = RopeConfig("half", 10000.0)
_EVERY: dict[str, Any] = {
    "family": "Gemma",
    "activation": "gelu_tanh",
    "eps": 1e-6,
    "tied_embeddings": True,
    "scaled_embeddings": True,
}
_GEMMA1: dict[str, Any] = {
    **_EVERY,
    "rope": _SHORT,
    "published": "2024-02",
}
_GEMMA2: dict[str, Any] = {
    **_GEMMA1,
    "window": 4096,
    "full_every": 2,
    "norm_placement": "both",
    "softcap": 50.0,
    "logit_softcap": 30.0,
    "published": "2024-06",
}
_GEMMA3: dict[str, Any] = {
    **_EVERY,
    "full_every": 6,
    "norm_placement": "both",
    "qk_norm": "head",
    "local_rope": _SHORT,
    "published": "2025-03",
}
_LONG: dict[str, Any] = {
    **_GEMMA3,
    "window": 1024,
    "rope": RopeConfig("half", 1000000.0, scaling=PositionInterpolation(8.0)),
}
_GEMMA4: dict[str, Any] = {
    **_EVERY,
    "norm_placement": "both",
    "qk_norm": "head",
    "v_norm": True,
    "scale": 1.0,
    "logit_softcap": 30.0,
    "full_head_dim": 512,
    "layer_scalars": True,
    "rope": RopeConfig("half", 1000000.0, rotated_pairs=64),
    "local_rope": _SHORT,
    "published": "2026-04",
}
_SMALL: dict[str, Any] = {**_GEMMA4, "window": 512, "per_layer_dim": 256}

_TABLE_1 = "gemma2024gemma, table 1; config.json of google/"
_TABLE_2 = "gemma2024gemma2, table 1; config.json of google/"
_TABLE_3 = "gemma2025gemma3, section 2; text part of config.json of google/"
_TEXT = "text part of config.json of google/"

# n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size, max_context
ENTRIES = (
    ModelConfig("gemma-2b", "Gemma-2B", _TABLE_1 + "gemma-2b", "mqa",
                18, 2048, 8, 1, 256, 16384, 256000, 8192, **_GEMMA1),
    ModelConfig("gemma-7b", "Gemma-7B", _TABLE_1 + "gemma-7b", "mha",
                28, 3072, 16, 16, 256, 24576, 256000, 8192, **_GEMMA1),
    ModelConfig("gemma-2-2b", "Gemma-2-2B", _TABLE_2 + "gemma-2-2b", "sliding_window",
                26, 2304, 8, 4, 256, 9216, 256000, 8192, **{**_GEMMA2, "published": "2024-07"}),
    ModelConfig("gemma-2-9b", "Gemma-2-9B", _TABLE_2 + "gemma-2-9b", "sliding_window",
                42, 3584, 16, 8, 256, 14336, 256000, 8192, **_GEMMA2),
    ModelConfig("gemma-2-27b", "Gemma-2-27B", _TABLE_2 + "gemma-2-27b", "sliding_window",
                46, 4608, 32, 16, 128, 36864, 256000, 8192, scale=144**-0.5, **_GEMMA2),
    ModelConfig("gemma-3-1b", "Gemma-3-1B", _TABLE_3 + "gemma-3-1b-pt", "sliding_window",
                26, 1152, 4, 1, 256, 6912, 262144, 32768,
                window=512, rope=RopeConfig("half", 1000000.0), **_GEMMA3),
    ModelConfig("gemma-3-4b", "Gemma-3-4B", _TABLE_3 + "gemma-3-4b-pt", "sliding_window",
                34, 2560, 8, 4, 256, 10240, 262208, 131072, **_LONG),
    ModelConfig("gemma-3-12b", "Gemma-3-12B", _TABLE_3 + "gemma-3-12b-pt", "sliding_window",
                48, 3840, 16, 8, 256, 15360, 262208, 131072, **_LONG),
    ModelConfig("gemma-3-27b", "Gemma-3-27B", _TABLE_3 + "gemma-3-27b-pt", "sliding_window",
                62, 5376, 32, 16, 128, 21504, 262208, 131072, scale=168**-0.5, **_LONG),
    ModelConfig("gemma-4-e2b", "Gemma-4-E2B", _TEXT + "gemma-4-E2B", "sliding_window",
                35, 1536, 8, 1, 256, 6144, 262144, 131072,
                full_every=5, n_kv_shared_layers=20, wide_readers=True, **_SMALL),
    ModelConfig("gemma-4-e4b", "Gemma-4-E4B", _TEXT + "gemma-4-E4B", "sliding_window",
                42, 2560, 8, 2, 256, 10240, 262144, 131072,
                full_every=6, n_kv_shared_layers=18, **_SMALL),
    ModelConfig("gemma-4-31b", "Gemma-4-31B", _TEXT + "gemma-4-31B", "sliding_window",
                60, 5376, 32, 16, 256, 21504, 262144, 262144,
                window=1024, full_every=6, full_n_kv_heads=4, k_eq_v=True, **_GEMMA4),
)  # fmt: skip
