"""DeepSeek: latent attention, and experts behind the first few layers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import DecoderConfig, LatentConfig
from mini_attn.errors import ConfigError
from mini_attn.weights._described import count, flag
from mini_attn.weights.deepseek import from_deepseek
from mini_attn.weights.families._family import COMMON, Family
from mini_attn.weights.families.llama import gated
from mini_attn.weights.hf_rope import rope_from_hf

KEYS = f"""{COMMON}
kv_lora_rank q_lora_rank qk_nope_head_dim qk_rope_head_dim qk_head_dim v_head_dim rope_interleave
first_k_dense_replace mlp_bias pretraining_tp num_nextn_predict_layers num_mtp_layers
"""
EXPERTS = """
moe_intermediate_size moe_layer_freq n_group n_routed_experts n_shared_experts norm_topk_prob
num_experts num_experts_per_tok num_local_experts routed_scaling_factor scoring_func topk_group
topk_method aux_loss_alpha seq_aux ep_size
"""


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes, of its dense layers."""
    second = config["model_type"] == "deepseek_v2"
    dense = count(config, "first_k_dense_replace", 0 if second else 3, least=0) or 0
    if n_layers > dense:
        raise ConfigError(
            f"{n_layers - dense} of {n_layers} layers have experts, which this package's decoder "
            f"has not: only the first {dense} are dense (first_k_dense_replace); pass n_layers"
        )
    rotated = count(config, "qk_rope_head_dim")
    attention = LatentConfig(
        count(config, "hidden_size"),
        count(config, "num_attention_heads"),
        count(config, "kv_lora_rank"),
        count(config, "qk_nope_head_dim"),
        rotated,
        count(config, "v_head_dim"),
        rope=rope_from_hf(config, rotated, layout=_layout(config), latent=True),
        q_lora_rank=count(config, "q_lora_rank", 1536),
        bias=flag(config, "attention_bias", False),
    )
    mlp_bias = second and flag(config, "mlp_bias", False)
    return gated(config, n_layers, attention, mlp_bias)


def _layout(config: Mapping[str, Any]) -> str:
    interleaved = flag(config, "rope_interleave", True)
    return "interleaved" if interleaved else "half"


def _weights(
    state: Mapping[str, Any], config: DecoderConfig, described: Mapping[str, Any]
) -> dict[str, Any]:
    return from_deepseek(state, config, layout=_layout(described))


FAMILIES = {
    "deepseek_v2": Family(_decoder, _weights, f"{KEYS} {EXPERTS}"),
    "deepseek_v3": Family(
        _decoder, _weights, f"{KEYS} {EXPERTS}", more_layers="num_nextn_predict_layers"
    ),
}
