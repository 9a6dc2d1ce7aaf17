"""Mamba-2: layers with a state and nothing else, no MLP and no positions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from mini_attn.config import DecoderConfig, LinearAttentionConfig
from mini_attn.errors import ConfigError
from mini_attn.weights._described import activation, count, flag, number
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._fields_shared import Sizes
from mini_attn.weights.families._sizes import size
from mini_attn.weights.hybrid import from_hybrid

NAME = "mamba2"
ANY = 2**20  # tokens: nothing in these layers has a longest text

FIELDS: dict[str, Sizes] = {
    NAME: {
        "states": {"is": "everywhere"},
        "linear_kind": {"is": "mamba2"},
        "n_layers": {"key": "num_hidden_layers", "default": 64},
        "d_model": {"key": "hidden_size", "default": 4096},
        "n_heads": {"key": "num_heads", "default": 128},
        "n_kv_heads": {"is": "n_heads"},
        "linear_heads": {"is": "n_heads"},
        "head_dim": {"key": "state_size", "default": 128},
        "linear_head_dim": {"is": "head_dim"},
        "v_head_dim": {"key": "head_dim", "default": 64},
        "linear_v_head_dim": {"is": "v_head_dim"},
        "linear_key_heads": {"key": "n_groups", "default": 8},
        "conv_kernel": {"key": "conv_kernel", "default": 4},
        "vocab_size": {"key": "vocab_size", "default": 32768},
        "max_context": {"is": ANY},
        "d_ff": {"is": 1},
        "mlp_matrices": {"is": 0},
        "linear_bias": {"key": "use_bias", "default": False},
        "conv_bias": {"key": "use_conv_bias", "default": True},
        "also": "layer_norm_epsilon hidden_act residual_in_fp32 rescale_prenorm_residual "
        "time_step_rank time_step_min time_step_max time_step_floor time_step_limit chunk_size "
        "rms_norm norm_before_gate expand",
    }
}


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes."""
    _refuse(config)
    d_model, eps = size(config, "d_model"), number(config, "layer_norm_epsilon", 1e-5)
    bias = size(config, "linear_bias")
    layer = LinearAttentionConfig(
        d_model,
        size(config, "n_heads"),
        size(config, "head_dim"),
        "mamba2",
        v_head_dim=size(config, "v_head_dim"),
        n_key_heads=size(config, "linear_key_heads"),
        conv_kernel=size(config, "conv_kernel"),
        conv_bias=size(config, "conv_bias"),
        bias=bias,
        out_bias=bias,
        eps=eps,
    )
    return DecoderConfig(
        size(config, "vocab_size"),
        n_layers,
        layer,
        d_ff=1,
        max_positions=ANY,
        mlp="none",
        norm="rms_norm",
        positions="none",
        eps=eps,
        tie_embeddings=size(config, "tied_embeddings"),
        mlp_bias=False,
    )


def _refuse(config: Mapping[str, Any]) -> None:
    """Refuse what the layer here would compute otherwise."""
    if activation(config, "hidden_act", "silu") != "silu":
        raise ConfigError(f"hidden_act = {config['hidden_act']!r}: convolutions here end with silu")
    limit = config.get("time_step_limit") or (0.0, math.inf)
    if list(limit) != [0.0, math.inf]:
        raise ConfigError(f"time_step_limit = {limit!s:.60}: steps here have no bounds")
    if not flag(config, "rms_norm", True) or flag(config, "norm_before_gate", False):
        raise ConfigError("rms_norm and norm_before_gate: the output here is gated, then normed")
    inner = size(config, "d_model") * count(config, "expand", 2)
    heads, width = size(config, "n_heads"), size(config, "v_head_dim")
    if inner != heads * width:
        raise ConfigError(
            f"expand * hidden_size = {inner} must be num_heads * head_dim = {heads} * {width}"
        )


def _weights(
    state: Mapping[str, Any], config: DecoderConfig, described: Mapping[str, Any]
) -> dict[str, Any]:
    return from_hybrid(state, config)


FAMILIES = {NAME: Family(_decoder, _weights)}
