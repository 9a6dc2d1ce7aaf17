"""Gemma 1, 2 and 3 as their configuration files describe them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig, RopeConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_number
from mini_attn.weights._described import activation, flag, number
from mini_attn.weights._layer_lists import FULL, SLIDING
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._rules import windows_of
from mini_attn.weights.families._sizes import size
from mini_attn.weights.gemma import from_gemma
from mini_attn.weights.hf_rope import rope_from_hf, ropes_by_kind

# What a file may leave out beside its sizes.
DEFAULTS: dict[str, dict[str, Any]] = {
    "gemma": {},
    "gemma2": {
        "query_pre_attn_scalar": 256,
        "attn_logit_softcapping": 50.0,
        "final_logit_softcapping": 30.0,
    },
    "gemma3_text": {"query_pre_attn_scalar": 256},
}
WINDOWED = ("gemma2", "gemma3_text")


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes.

    Embeddings are scaled. From the second on, norms surround each block and windows alternate.
    """
    family = config["model_type"]
    config = {**DEFAULTS[family], **config}
    if flag(config, "use_bidirectional_attention", False):
        raise ConfigError("use_bidirectional_attention: this package's decoder looks back only")
    d_model, windowed = size(config, "d_model"), family in WINDOWED
    layers = _layers(config, n_layers, d_model)
    return DecoderConfig(
        size(config, "vocab_size"),
        n_layers,
        layers[0] if len(set(layers)) == 1 else layers,
        d_ff=size(config, "d_ff"),
        max_positions=size(config, "max_context"),
        mlp="gated",
        activation=_activation(config),
        norm="rms_norm",
        positions="none",
        eps=number(config, "rms_norm_eps", 1e-6),
        tie_embeddings=size(config, "tied_embeddings"),
        mlp_bias=False,
        norm_placement=size(config, "norm_placement"),
        embed_scale=d_model**0.5,
        logit_softcap=number(config, "final_logit_softcapping", None) if windowed else None,
    )


def _layers(config: Mapping[str, Any], n_layers: int, d_model: int) -> tuple[AttentionConfig, ...]:
    """The attention of each layer."""
    family, head_dim = config["model_type"], size(config, "head_dim")
    bias = size(config, "attention_bias")
    windows, ropes = windows_of(config, n_layers), _ropes(config, head_dim)
    scale = None  # as the heads' size has it
    if family in WINDOWED:
        width = check_number("query_pre_attn_scalar", config["query_pre_attn_scalar"], above=0)
        scale = None if width == head_dim else width**-0.5
    # The third replaced the bound of the scores by norms of queries and keys, and reads none.
    softcap = number(config, "attn_logit_softcapping", None) if family == "gemma2" else None
    return tuple(
        AttentionConfig(
            d_model,
            size(config, "n_heads"),
            head_dim,
            n_kv_heads=size(config, "n_kv_heads"),
            bias=bias,
            qk_norm=size(config, "qk_norm") == "head",
            softcap=softcap,
            window=window,
            scale=scale,
            eps=number(config, "rms_norm_eps", 1e-6),
            rope=ropes[FULL if window is None else SLIDING],
        )
        for window in windows
    )


def _activation(config: Mapping[str, Any]) -> str:
    """The gate's non-linearity; the first files say "gelu" and mean its approximation."""
    if config["model_type"] != "gemma":
        return activation(config, "hidden_activation", "gelu_pytorch_tanh")
    name = activation(config, "hidden_act", "gelu_pytorch_tanh")
    return "gelu_tanh" if name == "gelu" else name


def _ropes(config: Mapping[str, Any], head_dim: int) -> dict[str, RopeConfig]:
    """The rotary embedding of each kind of layer; Gemma 3 has two, and stretches only one."""
    if config["model_type"] != "gemma3_text":
        return dict.fromkeys((FULL, SLIDING), rope_from_hf(config, head_dim, layout="half"))
    bases = {
        FULL: (config.get("rope_theta"), 1000000.0),
        SLIDING: (config.get("rope_local_base_freq"), 10000.0),
    }
    return ropes_by_kind(config, head_dim, bases)


def _weights(
    state: Mapping[str, Any], config: DecoderConfig, described: Mapping[str, Any]
) -> dict[str, Any]:
    return from_gemma(state, config)


FAMILIES = {name: Family(_decoder, _weights) for name in DEFAULTS}
