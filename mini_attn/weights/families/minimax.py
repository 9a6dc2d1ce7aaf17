"""MiniMax-01: lightning attention, layers that see all, and experts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig, ExpertConfig, LinearAttentionConfig
from mini_attn.config.linear import lightning_decay
from mini_attn.errors import ConfigError
from mini_attn.weights._described import activation, number
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._fields_shared import (
    LISTED,
    UNBIASED,
    Sizes,
    chosen,
    kv_heads,
    like,
    window,
)
from mini_attn.weights.families._rules import states_of
from mini_attn.weights.families._sizes import size
from mini_attn.weights.hf_rope import rope_from_hf
from mini_attn.weights.hybrid import from_hybrid

NAME = "minimax"
EPS = 1e-6  # of the norm of the state's output, whatever the file says of the others

FIELDS: dict[str, Sizes] = {
    NAME: like(
        UNBIASED, kv_heads(8), LISTED, window(None), chosen(8, 2),
        {"expert_d_ff": "intermediate_size", "linear_heads": {"is": "n_heads"},
         "linear_head_dim": {"is": "head_dim"}},
        also="block_size full_attn_alpha_factor full_attn_beta_factor linear_attn_alpha_factor "
        "linear_attn_beta_factor mlp_alpha_factor mlp_beta_factor",
        states="behind_each", linear_kind="lightning", linear_norm_over="width", windows="one",
        norm_placement="stream",
    )
}  # fmt: skip


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes."""
    hidden_act, eps = activation(config, "hidden_act", "silu"), number(config, "rms_norm_eps", 1e-5)
    if hidden_act != "silu":
        raise ConfigError(f"hidden_act = {hidden_act!r}: lightning attention here has silu")
    states = states_of(config, n_layers)
    full = _attention(config, eps)
    return DecoderConfig(
        size(config, "vocab_size"),
        n_layers,
        tuple(_lightning(config, layer) if keeps else full for layer, keeps in enumerate(states)),
        d_ff=size(config, "d_ff"),
        max_positions=size(config, "max_context"),
        mlp="gated",
        activation=hidden_act,
        norm="rms_norm",
        positions="none",
        eps=eps,
        tie_embeddings=size(config, "tied_embeddings"),
        mlp_bias=False,
        norm_placement="stream",
        experts=ExpertConfig(
            size(config, "n_experts"),
            size(config, "experts_per_token"),
            size(config, "expert_d_ff"),
            routing="softmax_normalised",
            activation=hidden_act,
        ),
        stream_scales=tuple(_scales(config, keeps) for keeps in states),
    )


def _scales(config: Mapping[str, Any], keeps: bool) -> tuple[float, ...]:
    """Factors of the stream and of what is added to it, around a layer's two blocks."""
    names = (f"{'linear' if keeps else 'full'}_attn", "mlp")
    return tuple(
        number(config, f"{name}_{factor}_factor", 1)
        for name in names
        for factor in ("alpha", "beta")
    )


def _attention(config: Mapping[str, Any], eps: float) -> AttentionConfig:
    """Return a layer that sees all."""
    head_dim = size(config, "head_dim")
    return AttentionConfig(
        size(config, "d_model"),
        size(config, "n_heads"),
        head_dim,
        n_kv_heads=size(config, "n_kv_heads"),
        window=size(config, "window"),
        eps=eps,
        rope=rope_from_hf(config, head_dim, layout="half", theta=1e6),
    )


def _lightning(config: Mapping[str, Any], layer: int) -> LinearAttentionConfig:
    """Return a layer with a state: the later it is, the less it forgets."""
    heads = size(config, "n_heads")
    return LinearAttentionConfig(
        size(config, "d_model"),
        heads,
        size(config, "head_dim"),
        size(config, "linear_kind"),
        decay=lightning_decay(heads, layer, size(config, "n_layers")),
        norm_over=size(config, "linear_norm_over"),
        eps=EPS,
    )


def _weights(
    state: Mapping[str, Any], config: DecoderConfig, described: Mapping[str, Any]
) -> dict[str, Any]:
    return from_hybrid(state, config)


FAMILIES = {NAME: Family(_decoder, _weights)}
