"""Kimi Linear: Kimi delta attention, latents that nothing turns, and experts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import DecoderConfig, ExpertConfig, LatentConfig, LinearAttentionConfig
from mini_attn.errors import ConfigError
from mini_attn.weights._described import activation, count, flag, number
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._fields_shared import LATENT, LISTED, Sizes, like
from mini_attn.weights.families._rules import flattened, sparse_of, states_of
from mini_attn.weights.families._sizes import size
from mini_attn.weights.hybrid import from_hybrid

NAME = "kimi_linear"

FIELDS: dict[str, Sizes] = {
    NAME: like(
        LATENT, LISTED,
        {"linear_kind": {"is": "kimi_delta"}, "full_every": {"is": 4},
         "q_lora_rank": {"key": "q_lora_rank", "default": None, "null": None},
         "max_context": {
             "key": ["max_position_embeddings", "model_max_length"], "default": 1048576},
         "n_experts": {"key": ["num_local_experts", "num_experts"], "default": 256},
         "shared_d_ff": {
             "key": ["n_shared_experts", "num_shared_experts"], "default": 1, "least": 0,
             "times": "expert_d_ff"},
         "experts_per_token": {
             "key": ["num_experts_per_tok", "num_experts_per_token"], "default": 8},
         "expert_d_ff": {"key": "moe_intermediate_size", "default": 1024},
         "n_dense_layers": {"key": "first_k_dense_replace", "default": 1, "least": 0},
         "linear_heads": {"key": "linear_num_heads", "default": 32},
         "linear_head_dim": {"key": "linear_head_dim", "default": 128},
         "conv_kernel": {"key": "linear_conv_kernel_dim", "default": 4},
         "sparse_layers": {"list": "mlp_layer_types"}},
        also="linear_attn_config moe_renormalize num_expert_group moe_router_activation_func "
        "mla_use_nope use_grouped_topk",
        states="after_each", dense="named", router_bias=True,
    )
}  # fmt: skip


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes."""
    config = flattened(config)
    hidden_act, eps = activation(config, "hidden_act", "silu"), number(config, "rms_norm_eps", 1e-5)
    _refuse(config, hidden_act)
    full, state = _latent(config), _delta(config, eps)
    experts = tuple(
        _experts(config, hidden_act) if sparse else None for sparse in sparse_of(config, n_layers)
    )
    attentions = tuple(state if keeps else full for keeps in states_of(config, n_layers))
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
        experts=experts if any(experts) else None,
    )


def _refuse(config: Mapping[str, Any], hidden_act: str) -> None:
    """Refuse what the layers here would compute otherwise."""
    if hidden_act != "silu":
        raise ConfigError(f"hidden_act = {hidden_act!r}: convolutions here end with silu")
    if config.get("moe_router_activation_func", "sigmoid") != "sigmoid":
        raise ConfigError("moe_router_activation_func: experts here are chosen by sigmoids")
    if config.get("mla_use_nope", True) is not True:
        raise ConfigError("mla_use_nope = False: nothing turns in Kimi Linear's layers here")
    named = "norm_topk_prob" if "norm_topk_prob" in config else "moe_renormalize"
    if not flag(config, named, True):
        raise ConfigError(f"{named} = False: weights of experts chosen by sigmoids here sum to 1")
    named = "n_group" if "n_group" in config else "num_expert_group"
    groups, taken = (count(config, name, 1) or 1 for name in (named, "topk_group"))
    if groups != taken:
        raise ConfigError(f"{named} = {groups}: experts here are not chosen by groups")


def _latent(config: Mapping[str, Any]) -> LatentConfig:
    """Return a layer that sees all, through a latent; its norms add what its class does."""
    return LatentConfig(
        size(config, "d_model"),
        size(config, "n_heads"),
        size(config, "kv_lora_rank"),
        size(config, "qk_nope_head_dim"),
        size(config, "qk_rope_head_dim"),
        size(config, "v_head_dim"),
        rope=None,
        q_lora_rank=size(config, "q_lora_rank"),
        bias=size(config, "attention_bias"),
    )


def _delta(config: Mapping[str, Any], eps: float) -> LinearAttentionConfig:
    """Return a layer with a state."""
    return LinearAttentionConfig(
        size(config, "d_model"),
        size(config, "linear_heads"),
        size(config, "linear_head_dim"),
        size(config, "linear_kind"),
        conv_kernel=size(config, "conv_kernel"),
        eps=eps,
    )


def _experts(config: Mapping[str, Any], hidden_act: str) -> ExpertConfig:
    """Return a layer's experts, and those that every token takes as one of their width."""
    width = size(config, "expert_d_ff")
    return ExpertConfig(
        size(config, "n_experts"),
        size(config, "experts_per_token"),
        width,
        routing="sigmoid_normalised",
        activation=hidden_act,
        router_bias=True,
        shared_d_ff=size(config, "shared_d_ff"),
        routed_scale=number(config, "routed_scaling_factor", 2.446),
    )


def _weights(
    state: Mapping[str, Any], config: DecoderConfig, described: Mapping[str, Any]
) -> dict[str, Any]:
    return from_hybrid(state, config)


FAMILIES = {NAME: Family(_decoder, _weights)}
