"""Hugging Face's configurations of decoders with experts: Mixtral, Qwen3-MoE and gpt-oss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig, ExpertConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.weights._described import activation, count, entry, flag, number
from mini_attn.weights.experts import from_experts
from mini_attn.weights.families._family import Family
from mini_attn.weights.hf_rope import rope_from_hf


@dataclass(frozen=True)
class _Own:
    """What a family's file leaves out, and which keys it may have beside those of all three."""

    n_kv_heads: int
    n_experts: int
    experts_per_token: int
    eps: float
    theta: float
    keys: str
    bias: bool = False
    head_dim: int | None = None
    window: int | None = None


SHARED = """
vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads
head_dim hidden_act max_position_embeddings rms_norm_eps tie_word_embeddings sliding_window
rope_theta rope_scaling rope_parameters partial_rotary_factor original_max_position_embeddings
num_experts_per_tok num_local_experts num_experts
"""
OWN = {
    "mixtral": _Own(8, 8, 2, 1e-5, 1e6, ""),
    "qwen3_moe": _Own(
        4, 128, 8, 1e-6, 1e4,
        "attention_bias use_sliding_window max_window_layers "
        "moe_intermediate_size norm_topk_prob decoder_sparse_step mlp_only_layers", window=4096,
    ),
    "gpt_oss": _Own(
        8, 128, 4, 1e-5, 1.5e5,
        "attention_bias layer_types swiglu_alpha swiglu_limit "
        "experts_per_token initial_context_length", bias=True, head_dim=64, window=128,
    ),
}  # fmt: skip
YARN = {  # gpt-oss's rule, where its file has none
    "rope_type": "yarn", "factor": 32.0, "truncate": False,
    "original_max_position_embeddings": 4096,
}  # fmt: skip


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes."""
    hidden_act = activation(config, "hidden_act", "silu")
    family = OWN[config["model_type"]]
    eps = number(config, "rms_norm_eps", family.eps)
    attentions = _attentions(config, family, n_layers, eps)
    experts = _experts(config, family, hidden_act)
    layers = tuple(experts if sparse else None for sparse in _sparse(config, n_layers))
    return DecoderConfig(
        count(config, "vocab_size"),
        n_layers,
        attentions[0] if len(set(attentions)) == 1 else attentions,
        d_ff=count(config, "intermediate_size"),
        max_positions=count(config, "max_position_embeddings"),
        mlp="gated",
        activation=hidden_act,
        norm="rms_norm",
        positions="none",
        eps=eps,
        tie_embeddings=flag(config, "tie_word_embeddings", False),
        mlp_bias=False,
        experts=experts if all(layers) else layers,
    )


def _attentions(
    config: Mapping[str, Any], family: _Own, n_layers: int, eps: float
) -> tuple[AttentionConfig, ...]:
    """The attention of each layer; the three differ in windows, biases, norms and sinks."""
    kind = config["model_type"]
    d_model, n_heads = count(config, "hidden_size"), count(config, "num_attention_heads")
    head_dim = count(config, "head_dim", family.head_dim) or d_model // n_heads
    described = {**config, "rope_theta": config.get("rope_theta") or family.theta}
    if kind == "gpt_oss" and not (config.get("rope_parameters") or config.get("rope_scaling")):
        described["rope_scaling"] = YARN
    bias = kind != "mixtral" and flag(config, "attention_bias", family.bias)
    rope = rope_from_hf(described, check_count("head_dim", head_dim), layout="half")
    return tuple(
        AttentionConfig(
            d_model,
            n_heads,
            head_dim,
            n_kv_heads=count(config, "num_key_value_heads", family.n_kv_heads) or n_heads,
            bias=bias,
            qk_norm=kind == "qwen3_moe",
            window=window,
            eps=eps,
            rope=rope,
            sinks=kind == "gpt_oss",
        )
        for window in _windows(config, family, n_layers)
    )


def _windows(config: Mapping[str, Any], family: _Own, n_layers: int) -> list[int | None]:
    """The window of each layer: one for all, or gpt-oss's in every second one."""
    window = count(config, "sliding_window", family.window)
    if config["model_type"] != "gpt_oss":
        off = family.window is not None and not flag(config, "use_sliding_window", False)
        return [None if off else window] * n_layers
    kinds = entry(config, "layer_types", None)
    if kinds is None:
        kinds = [("sliding_attention", "full_attention")[layer % 2] for layer in range(n_layers)]
    if not isinstance(kinds, list | tuple) or len(kinds) < n_layers:
        raise ConfigError(f"layer_types must list {n_layers} layers or more, got {kinds!r:.80}")
    for kind in kinds:
        if kind not in ("full_attention", "sliding_attention"):
            raise ConfigError(f"layer_types has {kind!r:.60}, which this package's decoder has not")
    if window is None and "sliding_attention" in kinds[:n_layers]:
        raise ConfigError("layer_types has sliding_attention, but sliding_window is null")
    return [window if kind == "sliding_attention" else None for kind in kinds[:n_layers]]


def _experts(config: Mapping[str, Any], family: _Own, activation: str) -> ExpertConfig:
    """One layer's experts, and how its router's logits become weights."""
    kind = config["model_type"]
    named = [count(config, name, None) for name in ("num_local_experts", "num_experts")]
    found = {number for number in named if number is not None}
    if len(found) > 1:
        raise ConfigError(f"num_local_experts and num_experts are two numbers: {named}")
    sizes = {
        "n_experts": found.pop() if found else family.n_experts,
        "experts_per_token": count(config, "num_experts_per_tok", family.experts_per_token),
    }
    if kind == "qwen3_moe":
        normalised = flag(config, "norm_topk_prob", False)
        return ExpertConfig(
            **sizes,
            d_ff=count(config, "moe_intermediate_size", 768),
            routing="softmax_normalised" if normalised else "softmax",
            activation=activation,
        )
    sizes["d_ff"] = count(config, "intermediate_size")
    if kind == "mixtral":
        return ExpertConfig(**sizes, routing="softmax_normalised", activation=activation)
    return ExpertConfig(  # whatever hidden_act says
        **sizes,
        routing="softmax_of_chosen",
        activation="clamped_swiglu",
        bias=True,
        router_bias=True,
        swiglu_alpha=number(config, "swiglu_alpha", 1.702),
        swiglu_limit=number(config, "swiglu_limit", 7.0),
    )


def _sparse(config: Mapping[str, Any], n_layers: int) -> list[bool]:
    """Return whether each layer has experts; only Qwen3-MoE can leave some out."""
    if config["model_type"] != "qwen3_moe":
        return [True] * n_layers
    step, dense = count(config, "decoder_sparse_step", 1), entry(config, "mlp_only_layers", None)
    dense = [] if dense is None else dense
    if not isinstance(dense, list | tuple):
        raise ConfigError(f"mlp_only_layers must list numbers of layers, got {dense!r:.80}")
    for layer in dense:
        check_count("mlp_only_layers", layer, least=0)
    return [layer not in dense and (layer + 1) % step == 0 for layer in range(n_layers)]


def _family(name: str, order: str) -> Family:
    """Return a family, given how it holds gates and what they multiply; see `from_experts`."""
    return Family(
        _decoder,
        lambda state, config, _: from_experts(state, config, order=order),
        f"{SHARED} {OWN[name].keys}",
    )


FAMILIES = {
    "mixtral": _family("mixtral", "stacked"),
    "qwen3_moe": _family("qwen3_moe", "stacked"),
    "gpt_oss": _family("gpt_oss", "interleaved"),
}
