"""Llama 2, 3, 3.1 and 3.2."""

from __future__ import annotations

from typing import Any

from mini_attn.config import Llama3Scaling, RopeConfig
from mini_attn.models.config import ModelConfig

__all__ = ["ENTRIES"]

_LLAMA2: dict[str, Any] = {
    "family": "Llama",
    "rope": RopeConfig("half", 10000.0),
    "published": "2023-07",
}
_LLAMA3: dict[str, Any] = {
    "family": "Llama",
    "rope": RopeConfig("half", 500000.0),
    "published": "2024-04",
}


def _scaled(factor: float, published: str) -> dict[str, Any]:
    """Llama 3 made longer by its own rule."""
    scaling = Llama3Scaling(factor, original_max_positions=8192)
    rope = RopeConfig("half", 500000.0, scaling=scaling)
    return {**_LLAMA3, "rope": rope, "published": published}


_SECTION_2 = "touvron2023llama2, section 2; config.json of meta-llama/"
_TABLE_3 = "dubey2024llama3, table 3; config.json of meta-llama/"
_CARD = "dubey2024llama3; config.json of meta-llama/"

# n_layers, d_model, n_heads, n_kv_heads, head_dim, d_ff, vocab_size, max_context
ENTRIES = (
    ModelConfig("llama-2-7b", "Llama-2-7B", _SECTION_2 + "Llama-2-7b-hf", "mha",
                32, 4096, 32, 32, 128, 11008, 32000, 4096, **_LLAMA2),
    ModelConfig("llama-2-13b", "Llama-2-13B", _SECTION_2 + "Llama-2-13b-hf", "mha",
                40, 5120, 40, 40, 128, 13824, 32000, 4096, **_LLAMA2),
    ModelConfig("llama-2-70b", "Llama-2-70B", _SECTION_2 + "Llama-2-70b-hf", "gqa",
                80, 8192, 64, 8, 128, 28672, 32000, 4096, **_LLAMA2),
    ModelConfig("llama-3-8b", "Llama-3-8B", _TABLE_3 + "Meta-Llama-3-8B", "gqa",
                32, 4096, 32, 8, 128, 14336, 128256, 8192, **_LLAMA3),
    ModelConfig("llama-3-70b", "Llama-3-70B", _TABLE_3 + "Meta-Llama-3-70B", "gqa",
                80, 8192, 64, 8, 128, 28672, 128256, 8192, **_LLAMA3),
    ModelConfig("llama-3.1-405b", "Llama-3.1-405B", _TABLE_3 + "Llama-3.1-405B", "gqa",
                126, 16384, 128, 8, 128, 53248, 128256, 131072, **_scaled(8.0, "2024-07")),
    ModelConfig("llama-3.2-1b", "Llama-3.2-1B", _CARD + "Llama-3.2-1B", "gqa",
                16, 2048, 32, 8, 64, 8192, 128256, 131072, tied_embeddings=True,
                **_scaled(32.0, "2024-09")),
    ModelConfig("llama-3.2-3b", "Llama-3.2-3B", _CARD + "Llama-3.2-3B", "gqa",
                28, 3072, 24, 8, 128, 8192, 128256, 131072, tied_embeddings=True,
                **_scaled(32.0, "2024-09")),
)  # fmt: skip
