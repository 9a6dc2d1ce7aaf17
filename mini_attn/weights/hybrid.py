"""Weights of decoders some of whose layers keep a state: Qwen3-Next, Kimi Linear and others."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from mini_attn.config import AttentionConfig, DecoderConfig, LinearAttentionConfig
from mini_attn.errors import ShapeError
from mini_attn.shapes import check_choice
from mini_attn.weights.experts import from_experts
from mini_attn.weights.gemma import whole_gain

__all__ = ["from_hybrid"]

_LAYER = re.compile(r"(?:model\.|backbone\.)?(layers\.(0|[1-9][0-9]{0,8})\.)(.+)")
_MIXER = re.compile(r"(?:self_attn|linear_attn|mixer)\.(?:forget_gate\.)?(.+)")
_RENAMED = {  # in layers that keep a state
    "norm.weight": "o_norm.weight", "out_proj.weight": "o_proj.weight",
    "out_proj.bias": "o_proj.bias", "output_gate.weight": "g_proj.weight",
    "in_proj_z.weight": "g_proj.weight", "in_proj_a.weight": "a_proj.weight",
    "in_proj_b.weight": "b_proj.weight",
}  # fmt: skip
_AROUND = {  # what files call otherwise, in any layer
    "norm.weight": "input_layernorm.weight",
    "attention_layer_norm.weight": "input_layernorm.weight",
    "feedforward_layer_norm.weight": "post_attention_layernorm.weight",
}
_PARTS = {  # of names outside the attention
    "shared_experts.": "shared_expert.",
    "block_sparse_moe.": "mlp.",
    "gate.e_score_correction_bias": "e_score_correction_bias",
}
_OUTSIDE = {
    "backbone.embeddings.weight": "embed_tokens.weight",
    "backbone.embedding.weight": "embed_tokens.weight",
    "backbone.norm_f.weight": "norm.weight",
}
# Buffers that follow from the configuration, and modules that predict several tokens.
_LEFT_OUT = re.compile(r"mtp\.|.*\.(slope_rate|query_decay|key_decay|diagonal_decay)$")


def from_hybrid(
    state: Mapping[str, Any], config: DecoderConfig, *, gains: str = "whole"
) -> dict[str, Any]:
    """Weights of decoders with layers that keep a state, under this package's names.

    ``q_proj, k_proj, v_proj, g_proj = rows of in_proj_qkvz``, and so on

    Parameters
    ----------
    state : mapping of str to array
        Weights as Hugging Face names them, with or without the prefix ``model.``: of Qwen3-Next
        and 3.5, MiniMax-01, Mamba-2, Kimi Linear or OLMo Hybrid.
    config : DecoderConfig
        Sizes of the decoder that gets the weights; layers beyond its own are left out.
    gains : {"whole", "less_one"}
        Whether a norm's weights are its gains or one less, as Qwen3-Next's and 3.5's, but for the
        norm of the output of a layer that keeps a state.

    Returns
    -------
    dict of str to array
        For ``Decoder(config).load_state_dict``; views of the given arrays where rows only move.

    Raises
    ------
    ConfigError
        If the weights are quantized, or the experts' are not as `from_experts` needs them.
    ShapeError
        If an array has other axes than the configuration says.

    Notes
    -----
    What a file stacks is cut: queries, keys, values and gates, for each key head or all in a row;
    the queries and output gates of attention, head by head; the three convolutions become one.

    References
    ----------
    yang2024gateddelta

    Examples
    --------
    >>> import numpy as np
    >>> attention = LinearAttentionConfig(8, n_heads=2, head_dim=4, kind="gated_delta")
    >>> config = DecoderConfig(16, 1, attention, d_ff=8, max_positions=8, mlp="gated")
    >>> state = {"model.layers.0.linear_attn.in_proj_ba.weight": np.ones((4, 8))}
    >>> {name: rows.shape for name, rows in from_hybrid(state, config).items()}
    {'layers.0.self_attn.b_proj.weight': (2, 8), 'layers.0.self_attn.a_proj.weight': (2, 8)}
    """
    check_choice("gains", gains, ("whole", "less_one"))
    weights: dict[str, Any] = {}
    apart: dict[str, dict[str, Any]] = {}  # convolutions that files hold one by one
    for name, weight in state.items():
        found = _LAYER.fullmatch(name)
        if _LEFT_OUT.match(name) or (found and int(found[2]) >= config.n_layers):
            continue
        if not found:
            weights[_OUTSIDE.get(name, name.removeprefix("model."))] = weight
            continue
        layer, attention = found[1], config.attentions[int(found[2])]
        mixer = _MIXER.fullmatch(found[3])
        if mixer is None:
            weights[layer + _around(found[3])] = weight
        elif (one := mixer[1].partition("_conv1d.")) and one[1] and len(one[0]) == 1:
            apart.setdefault(f"{layer}self_attn.conv1d.{one[2]}", {})[one[0]] = weight
        else:
            cut = _mixed(name, mixer[1], weight, attention)
            weights |= {f"{layer}self_attn.{own}": part for own, part in cut.items()}
    for name, three in apart.items():
        weights[name] = _flat(_side_by_side([three[part] for part in "qkv" if part in three]))
    if gains == "less_one":
        own = "self_attn.o_norm.weight"
        for name in [n for n in weights if n.endswith("norm.weight") and not n.endswith(own)]:
            weights[name] = whole_gain(weights[name])
    return from_experts(weights, config)


def _around(name: str) -> str:
    """A layer's weight outside its attention, as it is called here."""
    for theirs, ours in _PARTS.items():
        name = name.replace(theirs, ours)
    return _AROUND.get(name, name)


def _mixed(name: str, part: str, weight: Any, attention: Any) -> dict[str, Any]:
    """Return what one array of an attention or of a layer with a state becomes."""
    stacked, _, kind = part.rpartition(".")
    if isinstance(attention, AttentionConfig) and attention.out_gate and stacked == "q_proj":
        widths = {"q_proj": attention.head_dim, "gate_proj": attention.v_head_dim}
        return _cut(name, kind, weight, attention.n_heads, widths)
    if not isinstance(attention, LinearAttentionConfig):
        return {part: weight}
    if stacked == "conv1d":
        return {part: _convolved(name, weight, attention)}
    if not stacked:  # a number or more for each head
        return {part: weight.reshape(-1)}
    layouts = _layouts(attention)
    if stacked in layouts:
        return _cut(name, kind, weight, *layouts[stacked])
    return {_RENAMED.get(part, part): weight}


def _layouts(attention: LinearAttentionConfig) -> dict[str, tuple[int, dict[str, int]]]:
    """Return how files stack projections: in how many groups, with which rows in each."""
    key, group = attention.head_dim, attention.group_size
    value, heads = attention.v_head_dim, attention.n_heads
    keys, values = attention.key_width, attention.value_width
    beside = {"q_proj": key, "k_proj": key, "v_proj": group * value, "g_proj": group * value}
    mamba = {"g_proj": values, "v_proj": values, "k_proj": keys, "q_proj": keys, "a_proj": heads}
    return {
        "in_proj_qkvz": (attention.n_key_heads, beside),
        "in_proj_ba": (attention.n_key_heads, {"b_proj": group, "a_proj": group}),
        "in_proj_qkv": (1, {"q_proj": keys, "k_proj": keys, "v_proj": values}),
        "qkv_proj": (heads, {"q_proj": key, "k_proj": key, "v_proj": value}),
        "in_proj": (1, mamba),
    }


def _cut(
    name: str, kind: str, weight: Any, groups: int, widths: Mapping[str, int]
) -> dict[str, Any]:
    """Cut the rows of one array into those of several, group by group."""
    rows = groups * sum(widths.values())
    if not weight.shape or weight.shape[0] != rows:
        raise ShapeError(f"{name} must have {rows} rows, got {tuple(weight.shape)}")
    rest = tuple(weight.shape[1:])
    cut, begin, parts = weight.reshape(groups, rows // groups, *rest), 0, {}
    for own, width in widths.items():
        parts[f"{own}.{kind}"] = cut[:, begin : begin + width].reshape(groups * width, *rest)
        begin += width
    return parts


def _convolved(name: str, weight: Any, attention: LinearAttentionConfig) -> Any:
    """A convolution's weight (channels, kernel) or bias; Mamba-2's channels lie the other way."""
    weight = _flat(weight)
    if attention.kind != "mamba2":
        return weight
    widths = {"v": attention.value_width, "k": attention.key_width, "q": attention.key_width}
    parts = _cut(name, "", weight, 1, widths)
    return _side_by_side([parts[f"{own}."] for own in "qkv"])


def _flat(weight: Any) -> Any:
    """Weights of channels that don't mix, (channels, kernel), from (channels, 1, kernel)."""
    alone = len(weight.shape) == 3 and weight.shape[1] == 1
    return weight.reshape(weight.shape[0], weight.shape[2]) if alone else weight


def _side_by_side(parts: list[Any]) -> Any:
    """One array with the rows of several."""
    first, rows = parts[0], sum(part.shape[0] for part in parts)
    shape = (rows, *first.shape[1:])
    make = getattr(first, "new_empty", None)  # a tensor's; none where there is only NumPy
    whole, begin = np.empty(shape, first.dtype) if make is None else make(shape), 0
    for part in parts:
        whole[begin : begin + part.shape[0]] = part
        begin += part.shape[0]
    return whole
