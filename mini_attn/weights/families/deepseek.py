"""DeepSeek: latent attention, and experts behind the first few layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import DecoderConfig, LatentConfig
from mini_attn.errors import ConfigError
from mini_attn.weights._described import flag
from mini_attn.weights.deepseek import from_deepseek
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._sizes import size
from mini_attn.weights.families.llama import gated
from mini_attn.weights.hf_rope import rope_from_hf


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes, of its dense layers."""
    dense = size(config, "n_dense_layers")
    if n_layers > dense:
        raise ConfigError(
            f"{n_layers - dense} of {n_layers} layers have experts, which this package's decoder "
            f"has not: only the first {dense} are dense (first_k_dense_replace); pass n_layers"
        )
    rotated = size(config, "qk_rope_head_dim")
    attention = LatentConfig(
        size(config, "d_model"),
        size(config, "n_heads"),
        size(config, "kv_lora_rank"),
        size(config, "qk_nope_head_dim"),
        rotated,
        size(config, "v_head_dim"),
        rope=rope_from_hf(config, rotated, layout=_layout(config), latent=True),
        q_lora_rank=size(config, "q_lora_rank"),
        bias=size(config, "attention_bias"),
    )
    return gated(config, n_layers, attention)


def _layout(config: Mapping[str, Any]) -> str:
    interleaved = flag(config, "rope_interleave", True)
    return "interleaved" if interleaved else "half"


def _weights(
    state: Mapping[str, Any], config: DecoderConfig, described: Mapping[str, Any]
) -> dict[str, Any]:
    return from_deepseek(state, config, layout=_layout(described))


FAMILIES = {
    "deepseek_v2": Family(_decoder, _weights),
    "deepseek_v3": Family(_decoder, _weights, more_layers="num_nextn_predict_layers"),
}
