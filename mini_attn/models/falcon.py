"""Falcon: one key/value head for 71 query heads, and 8 for 128."""

from __future__ import annotations

from typing import Any

from mini_attn.config import RopeConfig
from mini_attn.models.config import ModelConfig

__all__ = ["ENTRIES"]

_FALCON: dict[str, Any] = {
    "family": "Falcon",
    "mlp_matrices": 2,
    "activation": "gelu",
    "tied_embeddings": True,
    "norm": "layer_norm",
    "parallel": True,
    "rope": RopeConfig("half", 10000.0),
    "published": "2023-05",
}
_PAPER = "almazrouei2023falcon; config.json of tiiuae/"

# n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size, max_context
ENTRIES = (
    ModelConfig("falcon-7b", "Falcon-7B", _PAPER + "falcon-7b", "mqa",
                32, 4544, 71, 1, 64, 18176, 65024, 2048, norm_placement="one", **_FALCON),
    ModelConfig("falcon-40b", "Falcon-40B", _PAPER + "falcon-40b", "gqa",
                60, 8192, 128, 8, 64, 32768, 65024, 2048, **_FALCON),
)  # fmt: skip
