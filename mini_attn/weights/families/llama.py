"""Llama and its relatives; what differs in their sizes, biases and windows is in `_fields`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig, RopeConfig
from mini_attn.weights._described import activation, number
from mini_attn.weights._layer_lists import FULL, SLIDING
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._rules import turning, windows_of
from mini_attn.weights.families._sizes import size
from mini_attn.weights.hf_rope import rope_from_hf, ropes_by_kind
from mini_attn.weights.llama import from_llama


@dataclass(frozen=True)
class Relative:
    """How a relative of Llama differs, and what it takes where its file says nothing.

    Parameters
    ----------
    theta, eps
        Defaults of the rotary base, and of what the norms add.
    by_kind
        Whether layers with a window and layers that see all turn by rules of their own.
    """

    theta: float = 10000.0
    eps: float = 1e-6
    by_kind: bool = False


def relative(**differences: Any) -> Family:
    """Return the family of a relative of Llama, from how it differs beside its fields."""
    return Family(
        partial(decoder, Relative(**differences)),
        lambda state, config, _: from_llama(state, config),
    )


def decoder(own: Relative, config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a relative's file describes."""
    n_heads, d_model = size(config, "n_heads"), size(config, "d_model")
    head_dim, bias = size(config, "head_dim"), size(config, "attention_bias")
    ropes = _ropes(own, config, head_dim)
    eps = number(config, "rms_norm_eps", own.eps)
    norm = size(config, "qk_norm")

    def attention(window: int | None, turns: bool) -> AttentionConfig:
        return AttentionConfig(
            d_model,
            n_heads,
            head_dim,
            n_kv_heads=size(config, "n_kv_heads"),
            bias=bias or size(config, "qkv_bias"),
            out_bias=bias,
            qk_norm=norm != "none",
            window=window,
            eps=eps,
            rope=ropes[FULL if window is None else SLIDING] if turns else None,
            qk_norm_over="head" if norm == "none" else norm,
        )

    layers = tuple(map(attention, windows_of(config, n_layers), turning(config, n_layers)))
    return gated(config, n_layers, layers[0] if len(set(layers)) == 1 else layers, own)


def _ropes(own: Relative, config: Mapping[str, Any], head_dim: int) -> dict[str, RopeConfig]:
    """The rotary embedding of each kind of layer; one base of a file is that of both."""
    if own.by_kind:
        base = config.get("rope_theta"), own.theta
        return ropes_by_kind(config, head_dim, {FULL: base, SLIDING: base})
    rope = rope_from_hf(config, head_dim, layout="half", theta=own.theta)
    return dict.fromkeys((FULL, SLIDING), rope)


def gated(
    config: Mapping[str, Any], n_layers: int, attention: Any, own: Relative = Relative()
) -> DecoderConfig:
    """Return what Llama and its relatives share around the attention."""
    return DecoderConfig(
        size(config, "vocab_size"),
        n_layers,
        attention,
        d_ff=size(config, "d_ff"),
        max_positions=size(config, "max_context"),
        mlp="gated",
        activation=activation(config, "hidden_act", "silu"),
        norm="rms_norm",
        positions="none",
        eps=number(config, "rms_norm_eps", own.eps),
        tie_embeddings=size(config, "tied_embeddings"),
        mlp_bias=size(config, "mlp_bias"),
        norm_placement=size(config, "norm_placement"),
    )


FAMILIES = {
    "llama": relative(),
    "mistral": relative(),
    "qwen2": relative(),
    "qwen3": relative(),
    "phi3": relative(eps=1e-5),
    "olmo2": relative(eps=1e-5),
    "olmo3": relative(theta=500000.0, eps=1e-5, by_kind=True),
    "smollm3": relative(theta=2000000.0),
}
