"""OLMo Hybrid: the gated delta rule with a norm before it, attention with one behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig
from mini_attn.errors import ConfigError
from mini_attn.weights._described import activation, flag, number
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._fields_shared import BIAS, LISTED, LLAMA, Sizes, like
from mini_attn.weights.families._rules import states_of
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
        {"window": {"is": None},
         "linear_heads": {"key": "linear_num_value_heads", "default": None, "null": "n_heads"},
         "linear_key_heads": {"key": "linear_num_key_heads", "default": None, "null": "n_heads"},
         "linear_head_dim": {"key": "linear_key_head_dim", "default": None, "null": 0},
         "linear_v_head_dim": {
             "key": "linear_value_head_dim", "default": None, "null": 0},
         "conv_kernel": {"key": "linear_conv_kernel_dim", "default": 4}},
        also="linear_a_log_min linear_a_log_max linear_dt_min linear_dt_max linear_dt_init_floor "
        "linear_allow_neg_eigval",
        states="in_turn_or_last", full_every=4, linear_kind="gated_delta", qk_norm="width",
        norm_placement="after",
    )
}  # fmt: skip


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes."""
    if activation(config, "hidden_act", "silu") != "silu":
        raise ConfigError(f"hidden_act = {config['hidden_act']!r}: convolutions here end with silu")
    states = states_of(config, n_layers)
    replaces = flag(config, "linear_allow_neg_eigval", True)
    full, state = _attention(config), delta_of(config, EPS, negative_eigenvalues=replaces)
    layers = tuple(state if keeps else full for keeps in states)
    whole = gated(config, n_layers, layers, Relative())
    placed = tuple("before" if keeps else size(config, "norm_placement") for keeps in states)
    return replace(whole, norm_placement=placed)


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
