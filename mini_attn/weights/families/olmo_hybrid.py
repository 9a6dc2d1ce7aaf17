"""OLMo Hybrid: the gated delta rule with a norm before it, attention with one behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.weights._described import activation, count, flag, number
from mini_attn.weights._layer_lists import FULL, LINEAR, check_layers
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._fields_shared import BIAS, LISTED, LLAMA, Sizes, like
from mini_attn.weights.families._sizes import size
from mini_attn.weights.families.llama import Relative, gated
from mini_attn.weights.families.qwen_hybrid import delta_of
from mini_attn.weights.hf_rope import rope_from_hf
from mini_attn.weights.hybrid import from_hybrid

NAME = "olmo_hybrid"
EPS = 1e-5  # of the norm of the state's output, whatever the file says of the others

FIELDS: dict[str, Sizes] = {
    NAME: like(
        LLAMA, BIAS, LISTED,
        {"states": {"is": True}, "window": {"is": None},
         "linear_heads": {"key": "linear_num_value_heads", "default": None, "null": "n_heads"},
         "linear_key_heads": {"key": "linear_num_key_heads", "default": None, "null": "n_heads"},
         "linear_head_dim": {"key": "linear_key_head_dim", "default": None, "null": 0},
         "linear_v_head_dim": {
             "key": "linear_value_head_dim", "default": None, "null": "2 * linear_head_dim"},
         "conv_kernel": {"key": "linear_conv_kernel_dim", "default": 4}},
        also="linear_a_log_min linear_a_log_max linear_dt_min linear_dt_max linear_dt_init_floor "
        "linear_allow_neg_eigval",
        qk_norm="width",
    )
}  # fmt: skip


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes."""
    if activation(config, "hidden_act", "silu") != "silu":
        raise ConfigError(f"hidden_act = {config['hidden_act']!r}: convolutions here end with silu")
    if not count(config, "linear_key_head_dim", None):
        width = int(0.75 * size(config, "d_model") / size(config, "linear_key_heads"))
        config = {**config, "linear_key_head_dim": check_count("linear_key_head_dim", width)}
    kinds = _kinds(config, n_layers)
    replaces = flag(config, "linear_allow_neg_eigval", True)
    layers = {
        FULL: _attention(config),
        LINEAR: delta_of(config, EPS, negative_eigenvalues=replaces),
    }
    whole = gated(config, n_layers, tuple(layers[kind] for kind in kinds), Relative())
    placed = {FULL: "after", LINEAR: "before"}
    return replace(whole, norm_placement=tuple(placed[kind] for kind in kinds))


def _kinds(config: Mapping[str, Any], n_layers: int) -> list[str]:
    """Return each layer's kind; where a file says nothing, every fourth sees all, or the last."""
    kinds = size(config, "layer_types")
    if kinds is None:
        stored = size(config, "n_layers")
        kinds = [FULL if layer % 4 == 3 else LINEAR for layer in range(stored)]
        kinds[-1] = kinds[-1] if FULL in kinds else FULL
    check_layers("layer_types", kinds, n_layers, (FULL, LINEAR))
    return list(kinds[:n_layers])


def _attention(config: Mapping[str, Any]) -> AttentionConfig:
    """Return a layer that sees all; it turns nothing where a file says that it has no base."""
    head_dim = size(config, "head_dim")
    given = config.get("rope_parameters")
    turns = not isinstance(given, Mapping) or given.get("rope_theta", True) is not None
    return AttentionConfig(
        size(config, "d_model"),
        size(config, "n_heads"),
        head_dim,
        n_kv_heads=size(config, "n_kv_heads"),
        bias=size(config, "attention_bias"),
        qk_norm=True,
        eps=number(config, "rms_norm_eps", 1e-6),
        rope=rope_from_hf(config, head_dim, layout="half") if turns else None,
        qk_norm_over="width",
    )


def _weights(
    state: Mapping[str, Any], config: DecoderConfig, described: Mapping[str, Any]
) -> dict[str, Any]:
    return from_hybrid(state, config)


FAMILIES = {NAME: Family(_decoder, _weights)}
