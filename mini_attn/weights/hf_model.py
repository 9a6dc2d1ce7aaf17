"""A Hugging Face configuration as a model whose costs can be counted, runnable here or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import LinearAttentionConfig
from mini_attn.errors import ConfigError
from mini_attn.models import ModelConfig
from mini_attn.weights._described import mapping
from mini_attn.weights._known import unknown
from mini_attn.weights.families._fields import FIELDS
from mini_attn.weights.families._rules import (
    flattened,
    full_sizes_of,
    kv_heads_of,
    norm_placement_of,
    spans_of,
    sparse_of,
    state_dims_of,
    states_of,
    windows_of,
)
from mini_attn.weights.families._sizes import keys_of, size

__all__ = ["MOST_LAYERS", "model_from_hf", "unknown_keys"]

MOST_LAYERS = 10_000  # a broken file must not make a tuple of billions
COPIED = (
    "n_layers", "d_model", "n_heads", "head_dim", "d_ff", "vocab_size", "max_context",
    "v_head_dim", "qk_norm", "norm", "norm_placement", "mlp_matrices", "learned_positions",
    "tied_embeddings", "embedding_norm", "sinks", "n_kv_shared_layers", "k_eq_v", "v_norm",
    "per_layer_dim", "layer_scalars", "wide_readers", "window_sinks", "out_gate",
)  # fmt: skip
LATENT = ("kv_lora_rank", "q_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim")
INDEXER = ("index_n_heads", "index_head_dim", "index_topk")
COMPRESSED = ("window", "q_lora_rank", "o_groups", "o_lora_rank", *INDEXER)
EXPERTS = (
    "n_experts", "n_shared_experts", "experts_per_token", "expert_d_ff", "router_bias",
    "shared_d_ff", "shared_gate",
)  # fmt: skip
BIASES = {  # of attention and of the MLP
    (True, True): "all", (True, False): "attention", (False, True): "mlp", (False, False): "none",
}  # fmt: skip


def model_from_hf(config: Mapping[str, Any], *, name: str = "own") -> ModelConfig:
    """The sizes that a Hugging Face configuration describes, for its costs.

    ``ModelConfig(...)`` from what ``config.json`` holds

    Parameters
    ----------
    config : mapping
        The file's content. Of a file for images and text, the part for text is read.
    name : str
        The model's name.

    Returns
    -------
    ModelConfig
        For ``mini_attn.cost``. What costs nothing (rotary rules, scales, the activation) keeps
        its default: `config_from_hf` reads that.

    Raises
    ------
    ConfigError
        If the family is unknown, or a number is missing, of another kind or contradicts others.

    Notes
    -----
    Families that ``Decoder`` can't run are read too: DeepSeek's layers with experts, Falcon,
    GPT-NeoX, BLOOM, StarCoder, MPT, and of later ones Kimi K2, GLM-4.5 and 4.7, Qwen3-VL's text,
    Ministral 3, Mistral Small 4, MiniMax-M2, K-EXAONE, Solar Open, Youtu-LLM, DeepSeek-V3.2 and
    V4, GLM-5 and MiMo-V2-Flash. A key that isn't
    known of the family may change the model in a way that no size tells: see `unknown_keys`.

    Examples
    --------
    >>> sizes = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2,
    ...     "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 32,
    ...     "max_position_embeddings": 128}
    >>> model_from_hf({"model_type": "llama", **sizes}).attention
    'gqa'
    """
    config = flattened(_described(config))
    n_layers = size(config, "n_layers")
    if n_layers > MOST_LAYERS:
        raise ConfigError(f"{n_layers} layers are more than any model has ({MOST_LAYERS} are read)")
    sizes = {part: size(config, part) for part in COPIED}
    sizes |= {"n_kv_heads": kv_heads_of(config), "norm_placement": norm_placement_of(config)}
    sizes |= {"biases": _biases(config), **_experts(config, n_layers), **_layers(config, n_layers)}
    sizes |= _full(config, sizes)
    if size(config, "kv_lora_rank"):
        sizes |= {part: size(config, part) or 0 for part in (*LATENT, *INDEXER)}
        sizes["attention"] = "indexed_latent" if sizes["index_topk"] else "mla"
    elif spans := spans_of(config):
        sizes |= {part: size(config, part) for part in COMPRESSED} | {"attention": "csa"} | spans
    family = config["model_type"]
    return ModelConfig(name=name, title=name, source=f"config.json of {family}", **sizes)


def unknown_keys(config: Mapping[str, Any]) -> list[str]:
    """The keys of a configuration that aren't known of its family and aren't off.

    ``[key for key in config if nobody reads it and it changes something]``

    Parameters
    ----------
    config : mapping
        As in `model_from_hf`.

    Returns
    -------
    list of str
        In the file's order.

    Raises
    ------
    ConfigError
        If the family is unknown.

    Examples
    --------
    >>> unknown_keys({"model_type": "llama", "num_hidden_layers": 2, "logit_scale": 0.5})
    ['logit_scale']
    """
    config = _described(config)
    return unknown(config, keys_of(config["model_type"]))


def _described(config: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the configuration of the text model, whose family is known."""
    family = mapping("the configuration", config).get("model_type")
    text = config.get("text_config")
    for part in (config, text if isinstance(text, Mapping) else {}):
        named = part.get("model_type")
        if isinstance(named, str) and named in FIELDS:
            return part
    raise ConfigError(f"model_type must be one of {', '.join(FIELDS)}, got {family!r:.60}")


def _biases(config: Mapping[str, Any]) -> str:
    """Return which projections have biases."""
    attention, mlp = size(config, "attention_bias"), size(config, "mlp_bias")
    return "qkv" if size(config, "qkv_bias") else BIASES[attention, mlp]


def _experts(config: Mapping[str, Any], n_layers: int) -> dict[str, Any]:
    """Return what a mixture of experts has; nothing where no layer has one."""
    if not any(sparse := sparse_of(config, n_layers)):
        return {}
    return {part: size(config, part) for part in EXPERTS} | {"n_dense_layers": sparse.count(False)}


def _layers(config: Mapping[str, Any], n_layers: int) -> dict[str, Any]:
    """Return the variant of attention and which layers keep all; in turn, the turn is enough."""
    windows = windows_of(config, n_layers)
    window = next((window for window in windows if window is not None), None)
    alike = _sharing(size(config, "n_heads"), kv_heads_of(config))
    told = {"attention": "sliding_window" if window else alike, "window": window}
    states = states_of(config, n_layers)
    if any(states):
        full = tuple(layer for layer, keeps in enumerate(states) if not keeps)
        return told | _which(full, n_layers) | {"linear": _linear(config)}
    full = tuple(layer for layer, window in enumerate(windows) if window is None)
    return told if len(full) == n_layers else told | _which(full, n_layers)


def _which(full: tuple[int, ...], n_layers: int) -> dict[str, Any]:
    """Return which layers keep all, where some don't."""
    every = full[0] + 1 if full else 0
    in_turn = full == tuple(range(every - 1, n_layers, every)) if full else True
    return {"full_every": every} if in_turn else {"full_layers": full}


def _linear(config: Mapping[str, Any]) -> LinearAttentionConfig:
    """Return what the layers with a state are made of."""
    key, value = state_dims_of(config)
    return LinearAttentionConfig(
        size(config, "d_model"),
        size(config, "linear_heads"),
        key,
        size(config, "linear_kind"),
        v_head_dim=value,
        n_key_heads=size(config, "linear_key_heads"),
        conv_kernel=size(config, "conv_kernel"),
        conv_bias=size(config, "conv_bias"),
        bias=size(config, "linear_bias"),
        out_bias=size(config, "linear_bias"),
        norm_over=size(config, "linear_norm_over"),
    )


def _sharing(heads: int, shared: int) -> str:
    """Return the variant in which so many heads share so many keys and values."""
    return "mha" if heads == shared else "mqa" if shared == 1 else "gqa"


def _full(config: Mapping[str, Any], sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return sizes of the layers that see all; where every layer does, they're the model's own."""
    full = full_sizes_of(config)
    if sizes["window"] or not any(full.values()):
        return full
    kv_heads = full["full_n_kv_heads"] or sizes["n_kv_heads"]
    own = {"n_kv_heads": kv_heads, "attention": _sharing(sizes["n_heads"], kv_heads)}
    wide = full["full_head_dim"]
    return own | (dict.fromkeys(("head_dim", "v_head_dim"), wide) if wide else {})
