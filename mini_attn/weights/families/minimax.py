"""MiniMax-01: lightning attention, layers that see all, and experts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig, ExpertConfig, LinearAttentionConfig
from mini_attn.errors import ConfigError
from mini_attn.weights._described import activation, number
from mini_attn.weights._layer_lists import FULL, LINEAR, check_layers
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
from mini_attn.weights.families._sizes import size
from mini_attn.weights.hf_rope import rope_from_hf
from mini_attn.weights.hybrid import from_hybrid

NAME = "minimax"
EPS = 1e-6  # of the norm of the state's output, whatever the file says of the others

FIELDS: dict[str, Sizes] = {
    NAME: like(
        UNBIASED, kv_heads(8), LISTED, window(None), chosen(8, 2),
        {"states": {"is": True}, "expert_d_ff": "intermediate_size"},
        also="block_size full_attn_alpha_factor full_attn_beta_factor linear_attn_alpha_factor "
        "linear_attn_beta_factor mlp_alpha_factor mlp_beta_factor",
    )
}  # fmt: skip


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes."""
    hidden_act, eps = activation(config, "hidden_act", "silu"), number(config, "rms_norm_eps", 1e-5)
    if hidden_act != "silu":
        raise ConfigError(f"hidden_act = {hidden_act!r}: lightning attention here has silu")
    kinds = _kinds(config, n_layers)
    full = _attention(config, eps)
    return DecoderConfig(
        size(config, "vocab_size"),
        n_layers,
        tuple(
            full if kind == FULL else _lightning(config, layer) for layer, kind in enumerate(kinds)
        ),
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
        stream_scales=tuple(_scales(config, kind) for kind in kinds),
    )


def _kinds(config: Mapping[str, Any], n_layers: int) -> list[str]:
    """Return each layer's kind; where a file says nothing, every second keeps a state."""
    kinds = size(config, "layer_types")
    if kinds is None:
        kinds = [LINEAR if layer % 2 else FULL for layer in range(n_layers)]
    check_layers("layer_types", kinds, n_layers, (FULL, LINEAR))
    return list(kinds[:n_layers])


def _scales(config: Mapping[str, Any], kind: str) -> tuple[float, ...]:
    """Factors of the stream and of what is added to it, around a layer's two blocks."""
    names = (f"{'full' if kind == FULL else 'linear'}_attn", "mlp")
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
    heads, layers = size(config, "n_heads"), size(config, "n_layers")
    share = 1 - layer / (layers - 1 + 1e-5) + 1e-5
    return LinearAttentionConfig(
        size(config, "d_model"),
        heads,
        size(config, "head_dim"),
        "lightning",
        decay=tuple(2 ** (-8 * (head + 1) / heads) * share for head in range(heads)),
        norm_over="width",
        eps=EPS,
    )


def _weights(
    state: Mapping[str, Any], config: DecoderConfig, described: Mapping[str, Any]
) -> dict[str, Any]:
    return from_hybrid(state, config)


FAMILIES = {NAME: Family(_decoder, _weights)}
