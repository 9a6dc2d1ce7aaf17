"""Gemma 4's text decoders as their configuration files describe them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig, RopeConfig
from mini_attn.config.decoder import last_alike
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.weights._described import activation, entry, flag, mapping, number
from mini_attn.weights._layer_lists import FULL, SLIDING
from mini_attn.weights.families import _fields
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._rules import windows_of
from mini_attn.weights.families._sizes import size
from mini_attn.weights.gemma import from_gemma4
from mini_attn.weights.hf_rope import ropes_by_kind

NAME = "gemma4_text"
OVERRIDES = {"head_dim", "num_key_value_heads"}

FIELDS = {
    NAME: _fields.GEMMA | {
        "n_kv_heads": {"key": "num_key_value_heads", "default": 4},
        "n_heads": {"key": "num_attention_heads", "default": 8},
        "vocab_size": {"key": "vocab_size", "default": 262144},
        "max_context": {"key": "max_position_embeddings", "default": 131072},
        "window": {"key": "sliding_window", "default": 512},
        "layer_types": {"list": "layer_types"},
        "windows": {"is": "in_turn_then_full"},
        "full_every": {"is": 6},
        "full_head_dim": {"key": "global_head_dim", "default": 512},
        "full_n_kv_heads": {
            "key": "num_global_key_value_heads", "default": 0, "null": 0, "least": 0,
        },
        "full_heads_asked": {"key": "attention_k_eq_v", "default": False},
        "n_kv_shared_layers": {"key": "num_kv_shared_layers", "default": 0, "least": 0},
        "k_eq_v": {"key": "attention_k_eq_v", "default": False},
        "v_norm": {"is": True},
        "per_layer_dim": {
            "key": "hidden_size_per_layer_input", "default": 256, "null": 0, "least": 0,
        },
        "layer_scalars": {"is": True},
        "wide_readers": {"key": "use_double_wide_mlp", "default": False},
        "qk_norm": {"is": "head"},
        "norm_placement": {"is": "both"},
        "also": _fields.GEMMA["also"] + " final_logit_softcapping enable_moe_block num_experts "
        "top_k_experts moe_intermediate_size vocab_size_per_layer_input per_layer_config",
    }
}  # fmt: skip


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes: norms around, inputs and a scalar for each layer.

    The last layers may read the keys and values of the last that keeps its own and sees as far.
    """
    _refuse(config)
    stored, d_model = size(config, "n_layers"), size(config, "d_model")
    windows, d_ff = windows_of(config, stored), size(config, "d_ff")
    own = max(0, stored - size(config, "n_kv_shared_layers"))
    sources = _sources(windows, own)[:n_layers]
    wide = 2 if size(config, "wide_readers") else 1
    return DecoderConfig(
        size(config, "vocab_size"),
        n_layers,
        _layers(config, windows[:n_layers], d_model),
        d_ff=tuple(d_ff * (wide if layer >= own else 1) for layer in range(n_layers)),
        max_positions=size(config, "max_context"),
        mlp="gated",
        activation=activation(config, "hidden_activation", "gelu_pytorch_tanh"),
        norm="rms_norm",
        positions="none",
        eps=number(config, "rms_norm_eps", 1e-6),
        tie_embeddings=size(config, "tied_embeddings"),
        mlp_bias=False,
        norm_placement="both",
        embed_scale=d_model**0.5,
        logit_softcap=number(config, "final_logit_softcapping", None),
        kv_sources=sources,
        per_layer_dim=size(config, "per_layer_dim"),
        layer_scalars=True,
    )


def _refuse(config: Mapping[str, Any]) -> None:
    """Refuse what this package's decoder has not."""
    if flag(config, "enable_moe_block", False):
        raise ConfigError("enable_moe_block: this decoder has no MLP and experts side by side")
    if entry(config, "use_bidirectional_attention", None) == "all":
        raise ConfigError("use_bidirectional_attention: this package's decoder looks back only")
    words = size(config, "vocab_size")
    table = check_count("vocab_size_per_layer_input",
                        config.get("vocab_size_per_layer_input", words))  # fmt: skip
    if size(config, "per_layer_dim") and table != words:
        raise ConfigError(
            f"vocab_size_per_layer_input = {table} must be vocab_size = {words}: each token has a "
            "row in both tables"
        )


def _sources(windows: list[int | None], own: int) -> tuple[int, ...]:
    """Return for each layer the one whose keys and values it reads."""
    sources = last_alike(windows, own)
    lacking = {window for window, source in zip(windows, sources, strict=True) if source is None}
    if lacking:
        raise ConfigError(
            f"num_kv_shared_layers = {len(windows) - own} of {len(windows)} leaves no layer that "
            f"keeps keys and values with {FULL if None in lacking else SLIDING}"
        )
    return tuple(source for source in sources if source is not None)


def _layers(
    config: Mapping[str, Any], windows: list[int | None], d_model: int
) -> tuple[AttentionConfig, ...]:
    """The attention of each layer; those that see all have sizes of their own."""
    k_eq_v, bias = size(config, "k_eq_v"), size(config, "attention_bias")
    eps = number(config, "rms_norm_eps", 1e-6)
    full = _full_sizes(config)
    heads = full["n_kv_heads"] if k_eq_v and full["n_kv_heads"] else size(config, "n_kv_heads")
    if "per_layer_config" in config:  # what they say there holds in any case
        heads = full["n_kv_heads"] or heads
    of_all = (full["head_dim"], heads, _rope(config, FULL, full["head_dim"]), k_eq_v)
    near = size(config, "head_dim")
    of_some = (near, size(config, "n_kv_heads"), _rope(config, SLIDING, near), False)
    return tuple(
        AttentionConfig(
            d_model,
            size(config, "n_heads"),
            head_dim,
            n_kv_heads=n_kv_heads,
            bias=bias,
            qk_norm=True,
            v_norm=True,
            k_eq_v=keys_alone,
            window=window,
            scale=1.0,
            eps=eps,
            rope=rope,
        )
        for window in windows
        for head_dim, n_kv_heads, rope, keys_alone in (of_all if window is None else of_some,)
    )


def _full_sizes(config: Mapping[str, Any]) -> dict[str, int]:
    """Sizes of the layers that see all: of published files, or as Hugging Face saves them."""
    sizes = {"head_dim": size(config, "full_head_dim"),
             "n_kv_heads": size(config, "full_n_kv_heads")}  # fmt: skip
    if "per_layer_config" not in config:
        return sizes
    given = mapping("per_layer_config", config["per_layer_config"])
    windows = windows_of(config, size(config, "n_layers"))
    full = {str(i) for i, window in enumerate(windows) if window is None}
    told = [dict(mapping("per_layer_config", each)) for each in given.values()]
    told = told or [{}]  # the same sizes in all layers
    known = all(each == told[0] and each.keys() <= OVERRIDES for each in told)
    if (given and {str(layer) for layer in given} != full) or not known:
        raise ConfigError(
            f"per_layer_config must say the same of each layer with {FULL} and of no other, "
            f"got {given!s:.120}"
        )
    head_dim = told[0].get("head_dim", size(config, "head_dim"))
    heads = told[0].get("num_key_value_heads", size(config, "n_kv_heads"))
    return {"head_dim": check_count("head_dim", head_dim),
            "n_kv_heads": check_count("num_key_value_heads", heads)}  # fmt: skip


def _rope(config: Mapping[str, Any], kind: str, head_dim: int) -> RopeConfig:
    """The rotary embedding of one kind of layer; of "proportional" only the fastest pairs turn."""
    usual = {"rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1e6}
    given = mapping("rope_parameters", config.get("rope_parameters") or {})
    rules = {**given, FULL: given.get(FULL) or usual}
    base = config.get("rope_theta"), 10000.0
    return ropes_by_kind({**config, "rope_parameters": rules}, head_dim, {kind: base})[kind]


def _weights(
    state: Mapping[str, Any], config: DecoderConfig, described: Mapping[str, Any]
) -> dict[str, Any]:
    return from_gemma4(state, config)


FAMILIES = {NAME: Family(_decoder, _weights)}
