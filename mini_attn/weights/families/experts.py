"""Hugging Face's configurations of decoders with experts: Mixtral, Qwen3-MoE, gpt-oss, MiniMax."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig, ExpertConfig
from mini_attn.errors import ConfigError
from mini_attn.weights._described import activation, count, flag, mapping, number
from mini_attn.weights.experts import from_experts
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._rules import sparse_of, windows_of
from mini_attn.weights.families._sizes import size
from mini_attn.weights.hf_rope import rope_from_hf

ROPE_THETA = {"mixtral": 1e6, "qwen3_moe": 1e4, "gpt_oss": 1.5e5, "minimax_m2": 5e6}
EPS = {"qwen3_moe": 1e-6, "minimax_m2": 1e-6}
YARN = {  # gpt-oss's rule, where its file has none
    "rope_type": "yarn", "factor": 32.0, "truncate": False,
    "original_max_position_embeddings": 4096,
}  # fmt: skip
SAID = {  # by MiniMax-M2's files of what its class has; other values were of earlier models
    "scoring_func": "sigmoid", "use_routing_bias": True, "use_qk_norm": True,
    "qk_norm_type": "per_layer", "shared_intermediate_size": 0, "layernorm_mlp_beta": 1.0,
    "layernorm_full_attention_beta": 1.0, "layernorm_linear_attention_beta": 1.0,
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
    if kind == "minimax_m2":
        described |= _minimax(config, head_dim)
    if kind == "gpt_oss" and not (config.get("rope_parameters") or config.get("rope_scaling")):
        described["rope_scaling"] = YARN
    rope, norm = rope_from_hf(described, head_dim, layout="half"), size(config, "qk_norm")
    return tuple(
        AttentionConfig(
            size(config, "d_model"),
            size(config, "n_heads"),
            head_dim,
            n_kv_heads=size(config, "n_kv_heads"),
            bias=size(config, "attention_bias"),
            qk_norm=norm != "none",
            window=window,
            eps=eps,
            rope=rope,
            sinks=size(config, "sinks"),
            qk_norm_over="head" if norm == "none" else norm,
        )
        for window in windows_of(config, n_layers)
    )


def _minimax(config: Mapping[str, Any], head_dim: int) -> dict[str, Any]:
    """The share of each head that turns, once nothing speaks of an earlier MiniMax."""
    for name, value in SAID.items():
        if config.get(name, value) not in (value, None):
            raise ConfigError(
                f"{name} = {config[name]!r:.60} is not that of MiniMax-M2, whose layers have "
                f"{value!r}: the model may compute something else"
            )
    kinds = config.get("attn_type_list") or [1]
    if not isinstance(kinds, list | tuple) or any(kind != 1 for kind in kinds):
        raise ConfigError(
            f"attn_type_list must have 1 for each layer, got {kinds!s:.80}: the others are linear "
            "attention, which this package's decoder has not"
        )
    given = mapping("rope_parameters", config.get("rope_parameters") or {})
    share = number(given, "partial_rotary_factor", None)
    share = number(config, "partial_rotary_factor", None) if share is None else share
    turned = count(config, "rotary_dim", None)
    if turned is None or share == turned / head_dim:
        return {}
    if share is not None:
        raise ConfigError(
            f"rotary_dim = {turned} is {turned / head_dim:g} of head_dim = {head_dim}, and "
            f"partial_rotary_factor says {share:g}"
        )
    return {"partial_rotary_factor": turned / head_dim}


def _experts(config: Mapping[str, Any], activation: str) -> ExpertConfig:
    """One layer's experts, and how its router's logits become weights."""
    kind = config["model_type"]
    sizes = {
        "n_experts": size(config, "n_experts"),
        "experts_per_token": size(config, "experts_per_token"),
        "d_ff": size(config, "expert_d_ff"),
    }
    if kind == "minimax_m2":
        routing = "sigmoid_normalised"
        return ExpertConfig(**sizes, routing=routing, activation=activation, router_bias=True)
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


def _family(order: str, more_layers: str = "") -> Family:
    """Return a family, given how it holds gates and what they multiply; see `from_experts`."""
    return Family(
        _decoder, lambda state, config, _: from_experts(state, config, order=order), more_layers
    )


FAMILIES = {
    "mixtral": _family("stacked"),
    "qwen3_moe": _family("stacked"),
    "gpt_oss": _family("interleaved"),
    "minimax_m2": _family("stacked", more_layers="num_mtp_modules"),
}
