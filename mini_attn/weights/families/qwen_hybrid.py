"""Qwen3-Next and the text of Qwen3.5: three layers with a state, then one that sees all."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig, ExpertConfig, LinearAttentionConfig
from mini_attn.errors import ConfigError
from mini_attn.weights._described import activation, flag, number
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._fields_shared import BIAS, LISTED, LLAMA, Sizes, chosen, like
from mini_attn.weights.families._rules import sparse_of, state_dims_of, states_of
from mini_attn.weights.families._sizes import size
from mini_attn.weights.hf_rope import rope_from_hf
from mini_attn.weights.hybrid import from_hybrid

STATES: Sizes = {  # sizes of the layers that keep a state
    "states": {"is": "in_turn"},
    "linear_kind": {"is": "gated_delta"},
    "linear_heads": {"key": "linear_num_value_heads", "default": 32},
    "linear_key_heads": {"key": "linear_num_key_heads", "default": 16},
    "linear_head_dim": {"key": "linear_key_head_dim", "default": 128},
    "linear_v_head_dim": {"key": "linear_value_head_dim", "default": 128},
    "conv_kernel": {"key": "linear_conv_kernel_dim", "default": 4},
}
_SHARED: Sizes = like(
    LLAMA, BIAS, LISTED, STATES,
    {"n_kv_heads": {"key": "num_key_value_heads", "default": 4},
     "n_heads": {"key": "num_attention_heads", "default": 16},
     "head_dim": {"key": "head_dim", "default": 256, "null": "d_model // n_heads"},
     "max_context": {"key": "max_position_embeddings", "default": 32768},
     "full_every": {"key": "full_attention_interval", "default": 4},
     "window": {"is": None}},
    out_gate=True,
    also="attn_output_gate mamba_ssm_dtype mtp_num_hidden_layers mtp_use_dedicated_embeddings "
    "mlp_only_layers output_gate_type",
    qk_norm="head",
)  # fmt: skip
_EXPERTS: Sizes = chosen(512, 10) | {
    "expert_d_ff": {"key": "moe_intermediate_size", "default": 512},
    "shared_d_ff": {"key": "shared_expert_intermediate_size", "default": 512},
    "shared_gate": {"is": True},
}
FIELDS: dict[str, Sizes] = {
    "qwen3_next": like(
        _SHARED, _EXPERTS,
        {"n_kv_heads": {"key": "num_key_value_heads", "default": 2},
         "d_ff": {"key": "intermediate_size", "default": 5632},
         "sparse_every": {"key": "decoder_sparse_step", "default": 1},
         "dense_layers": {"list": "mlp_only_layers"}},
        also="norm_topk_prob", dense="listed",
    ),
    "qwen3_5_text": _SHARED,
    "qwen3_5_moe_text": like(
        _SHARED, _EXPERTS, chosen(256, 8),
        {"n_kv_heads": {"key": "num_key_value_heads", "default": 2},
         "d_ff": {"is": "expert_d_ff"}},
        also="intermediate_size", dense="listed",
    ),
}  # fmt: skip
SAID = {"attn_output_gate": True, "output_gate_type": "swish"}  # of what the classes always do
PLAIN_ROPE = ("mrope_section", "mrope_interleaved")  # for text all three positions are one


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes."""
    for name, value in SAID.items():
        if config.get(name, value) not in (value, None):
            raise ConfigError(
                f"{name} = {config[name]!r:.60} is not known: the layers have {value!r}"
            )
    hidden_act, eps = activation(config, "hidden_act", "silu"), number(config, "rms_norm_eps", 1e-6)
    if hidden_act != "silu":
        raise ConfigError(f"hidden_act = {hidden_act!r}: convolutions here are followed by silu")
    full, state = _attention(config, eps), delta_of(config, eps)
    attentions = tuple(state if keeps else full for keeps in states_of(config, n_layers))
    experts = tuple(
        _mixture(config, hidden_act) if sparse else None for sparse in _sparse(config, n_layers)
    )
    return DecoderConfig(
        size(config, "vocab_size"),
        n_layers,
        attentions[0] if len(set(attentions)) == 1 else attentions,
        d_ff=size(config, "d_ff"),
        max_positions=size(config, "max_context"),
        mlp="gated",
        activation=hidden_act,
        norm="rms_norm",
        positions="none",
        eps=eps,
        tie_embeddings=size(config, "tied_embeddings"),
        mlp_bias=False,
        experts=experts if len(set(experts)) > 1 else experts[0],
    )


def delta_of(config: Mapping[str, Any], eps: float, **options: Any) -> LinearAttentionConfig:
    """Return a layer with the gated delta rule."""
    key, value = state_dims_of(config)
    return LinearAttentionConfig(
        size(config, "d_model"),
        size(config, "linear_heads"),
        key,
        size(config, "linear_kind"),
        v_head_dim=value,
        n_key_heads=size(config, "linear_key_heads"),
        conv_kernel=size(config, "conv_kernel"),
        eps=eps,
        **options,
    )


def _attention(config: Mapping[str, Any], eps: float) -> AttentionConfig:
    """Return a layer that sees all, a quarter of whose heads turns and whose output has a gate."""
    head_dim = size(config, "head_dim")
    described = {"partial_rotary_factor": 0.25, **config}
    given = config.get("rope_parameters") or config.get("rope_scaling")
    if isinstance(given, Mapping):
        described["rope_parameters"] = {k: v for k, v in given.items() if k not in PLAIN_ROPE}
    return AttentionConfig(
        size(config, "d_model"),
        size(config, "n_heads"),
        head_dim,
        n_kv_heads=size(config, "n_kv_heads"),
        bias=size(config, "attention_bias"),
        qk_norm=True,
        eps=eps,
        rope=rope_from_hf(described, head_dim, layout="half"),
        out_gate=True,
    )


def _sparse(config: Mapping[str, Any], n_layers: int) -> list[bool]:
    """Return whether each layer has experts."""
    if size(config, "n_experts"):
        return sparse_of(config, n_layers)
    return [False] * n_layers


def _mixture(config: Mapping[str, Any], hidden_act: str) -> ExpertConfig:
    """Return a layer's experts, and the one that every token takes."""
    normalised = config["model_type"] != "qwen3_next" or flag(config, "norm_topk_prob", True)
    return ExpertConfig(
        size(config, "n_experts"),
        size(config, "experts_per_token"),
        size(config, "expert_d_ff"),
        routing="softmax_normalised" if normalised else "softmax",
        activation=hidden_act,
        shared_d_ff=size(config, "shared_d_ff"),
        shared_gate=True,
    )


def _weights(
    state: Mapping[str, Any], config: DecoderConfig, described: Mapping[str, Any]
) -> dict[str, Any]:
    return from_hybrid(state, config, gains="less_one")


FAMILIES = {name: Family(_decoder, _weights) for name in FIELDS}
