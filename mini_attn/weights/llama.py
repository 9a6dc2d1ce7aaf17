"""Weights of Llama and of its relatives, whose names this package shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig, RopeConfig
from mini_attn.errors import ConfigError, ShapeError
from mini_attn.shapes import check_choice
from mini_attn.weights._quantised import refuse_quantised
from mini_attn.weights._tied import check_head
from mini_attn.weights.fused import split_qkv
from mini_attn.weights.rows import rope_rows, with_rows

__all__ = ["from_llama"]


def from_llama(
    state: Mapping[str, Any], config: DecoderConfig, *, layout: str = "half"
) -> dict[str, Any]:
    """Weights of Llama and of families with its names, as Mistral, Qwen3, Phi-3 and OLMo 3.

    ``q_proj = q_proj[rows that the configuration's rotary layout asks for]``

    Parameters
    ----------
    state : mapping of str to array
        Weights as Hugging Face names them, with or without the prefix ``model.``.
    config : DecoderConfig
        Sizes of the decoder that gets the weights; layers beyond its own are left out.
    layout : {"half", "interleaved"}
        Rotary layout of the given weights: Hugging Face's is "half", Meta's "interleaved".

    Returns
    -------
    dict of str to array
        For ``Decoder(config).load_state_dict``; the given arrays, but for reordered rows.

    Raises
    ------
    ConfigError
        If the configuration has another kind of attention, or the weights are quantized, or the
        configuration ties the embeddings and the weights hold another ``lm_head``.

    Notes
    -----
    ``lm_head`` is left out where the embeddings are tied, and so are the frequencies that old
    files hold.

    References
    ----------
    touvron2023llama2, section 2.2

    Examples
    --------
    >>> import numpy as np
    >>> config = DecoderConfig(
    ...     16, 1, AttentionConfig(8, 2, 4), d_ff=8, max_positions=8, mlp="gated",
    ...     activation="silu", norm="rms_norm", positions="none", mlp_bias=False)
    >>> list(from_llama({"model.norm.weight": np.ones(8)}, config))
    ['norm.weight']
    """
    if not all(map(_is_known, config.attentions)):
        raise ConfigError("latent attention has weights of its own: use from_deepseek")
    check_choice("layout", layout, ("half", "interleaved"))
    weights = plain_names(state, config)
    for layer, attention in enumerate(config.attentions):
        if not isinstance(attention, AttentionConfig):
            continue
        prefix = f"layers.{layer}."
        _split_fused(weights, prefix, attention, config.layer_d_ff[layer])
        if attention.rope is not None:
            _reorder(weights, f"{prefix}self_attn.", attention, attention.rope, layout)
    return weights


def _is_known(attention: Any) -> bool:
    """Return whether no rows of a layer have to be put in another order, or how is known."""
    turns_no_latent = getattr(attention, "rope", None) is None
    return isinstance(attention, AttentionConfig) or turns_no_latent


def plain_names(state: Mapping[str, Any], config: DecoderConfig) -> dict[str, Any]:
    """The weights of the layers that the decoder has, without prefix and derived tables."""
    refuse_quantised(state)
    check_head(state, config)
    weights = {}
    for name, weight in state.items():
        short = name.removeprefix("model.")
        kind, _, rest = short.partition(".")
        layer = rest.partition(".")[0]
        if kind == "layers" and layer.isdecimal() and int(layer[:9]) >= config.n_layers:
            continue
        if name.endswith("inv_freq") or (config.tie_embeddings and kind == "lm_head"):
            continue
        weights[short] = weight
    return weights


def _split_fused(
    weights: dict[str, Any], prefix: str, attention: AttentionConfig, d_ff: int
) -> None:
    """Phi-3 stacks the projections that read the same input."""
    qkv = weights.pop(f"{prefix}self_attn.qkv_proj.weight", None)
    if qkv is not None:
        parts = split_qkv(qkv, attention, order="stacked")
        for name, part in zip("qkv", parts, strict=True):
            weights[f"{prefix}self_attn.{name}_proj.weight"] = part
    name = f"{prefix}mlp.gate_up_proj.weight"
    gate_up = weights.pop(name, None)
    if gate_up is not None:
        if tuple(gate_up.shape[:1]) != (2 * d_ff,):
            raise ShapeError(f"{name} must have {2 * d_ff} rows, got {tuple(gate_up.shape)}")
        weights[f"{prefix}mlp.gate_proj.weight"] = gate_up[:d_ff]
        weights[f"{prefix}mlp.up_proj.weight"] = gate_up[d_ff:]


def _reorder(
    weights: dict[str, Any],
    prefix: str,
    attention: AttentionConfig,
    rope: RopeConfig,
    layout: str,
) -> None:
    """Give queries and keys, and the gains that normalize them, the layout of the decoder."""
    turned = rope.rotary_dim or attention.head_dim
    heads = {"q_proj": attention.n_heads, "k_proj": attention.n_kv_heads, "q_norm": 1, "k_norm": 1}
    if attention.qk_norm_over == "width":
        heads |= {"q_norm": attention.n_heads, "k_norm": attention.n_kv_heads}
    for name, n_heads in heads.items():
        rows = rope_rows(n_heads, attention.head_dim, turned, source=layout, target=rope.layout)
        for kind in ("weight", "bias"):
            full = f"{prefix}{name}.{kind}"
            if rows is not None and full in weights:
                weights[full] = with_rows(full, weights[full], rows)
