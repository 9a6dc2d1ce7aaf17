"""Hugging Face's configurations of decoders with experts: Mixtral, Qwen3-MoE and gpt-oss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig, ExpertConfig
from mini_attn.weights._described import activation, flag, number
from mini_attn.weights.experts import from_experts
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._rules import sparse_of, windows_of
from mini_attn.weights.families._sizes import size
from mini_attn.weights.hf_rope import rope_from_hf

ROPE_THETA = {"mixtral": 1e6, "qwen3_moe": 1e4, "gpt_oss": 1.5e5}
EPS = {"qwen3_moe": 1e-6}
YARN = {  # gpt-oss's rule, where its file has none
    "rope_type": "yarn", "factor": 32.0, "truncate": False,
    "original_max_position_embeddings": 4096,
}  # fmt: skip


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes."""
    hidden_act = activation(config, "hidden_act", "silu")
    eps = number(config, "rms_norm_eps", EPS.get(config["model_type"], 1e-5))
    attentions = _attentions(config, n_layers, eps)
    experts = _experts(config, hidden_act)
    layers = tuple(experts if sparse else None for sparse in sparse_of(config, n_layers))
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
        experts=experts if all(layers) else layers,
    )


def _attentions(
    config: Mapping[str, Any], n_layers: int, eps: float
) -> tuple[AttentionConfig, ...]:
    """The attention of each layer; the three differ in windows, biases, norms and sinks."""
    kind, head_dim = config["model_type"], size(config, "head_dim")
    described = {**config, "rope_theta": config.get("rope_theta") or ROPE_THETA[kind]}
    if kind == "gpt_oss" and not (config.get("rope_parameters") or config.get("rope_scaling")):
        described["rope_scaling"] = YARN
    rope = rope_from_hf(described, head_dim, layout="half")
    return tuple(
        AttentionConfig(
            size(config, "d_model"),
            size(config, "n_heads"),
            head_dim,
            n_kv_heads=size(config, "n_kv_heads"),
            bias=size(config, "attention_bias"),
            qk_norm=size(config, "qk_norm") == "head",
            window=window,
            eps=eps,
            rope=rope,
            sinks=size(config, "sinks"),
        )
        for window in windows_of(config, n_layers)
    )


def _experts(config: Mapping[str, Any], activation: str) -> ExpertConfig:
    """One layer's experts, and how its router's logits become weights."""
    kind = config["model_type"]
    sizes = {
        "n_experts": size(config, "n_experts"),
        "experts_per_token": size(config, "experts_per_token"),
        "d_ff": size(config, "expert_d_ff"),
    }
    if kind != "gpt_oss":
        normalised = kind == "mixtral" or flag(config, "norm_topk_prob", False)
        routing = "softmax_normalised" if normalised else "softmax"
        return ExpertConfig(**sizes, routing=routing, activation=activation)
    return ExpertConfig(  # whatever hidden_act says
        **sizes,
        routing="softmax_of_chosen",
        activation="clamped_swiglu",
        bias=True,
        router_bias=True,
        swiglu_alpha=number(config, "swiglu_alpha", 1.702),
        swiglu_limit=number(config, "swiglu_limit", 7.0),
    )


def _family(order: str) -> Family:
    """Return a family, given how it holds gates and what they multiply; see `from_experts`."""
    return Family(_decoder, lambda state, config, _: from_experts(state, config, order=order))


FAMILIES = {
    "mixtral": _family("stacked"),
    "qwen3_moe": _family("stacked"),
    "gpt_oss": _family("interleaved"),
}
