"""Weights of DeepSeek-V2 and V3, whose attention is latent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import DecoderConfig, LatentConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_choice
from mini_attn.weights.llama import plain_names
from mini_attn.weights.rows import rope_rows, with_rows

__all__ = ["from_deepseek"]


def from_deepseek(
    state: Mapping[str, Any], config: DecoderConfig, *, layout: str = "interleaved"
) -> dict[str, Any]:
    """Weights of DeepSeek-V2's or V3's dense layers under this package's names.

    ``q_b_proj, kv_a_proj_with_mqa = the same, rotary rows in the configuration's layout``

    Parameters
    ----------
    state : mapping of str to array
        Weights as Hugging Face names them, with or without the prefix ``model.``.
    config : DecoderConfig
        Sizes of the decoder that gets the weights; layers beyond its own are left out.
    layout : {"half", "interleaved"}
        Rotary layout of the given weights; the published ones are "interleaved".

    Returns
    -------
    dict of str to array
        For ``Decoder(config).load_state_dict``; the given arrays, but for reordered rows.

    Raises
    ------
    ConfigError
        If the configuration has no latent attention, or a layer has experts or is quantized.

    Notes
    -----
    Only the last ``qk_rope_head_dim`` rows of each head, and of the projection into the
    latent, turn; all others keep their places.

    References
    ----------
    deepseek2024v2, section 2.1.3

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import RopeConfig
    >>> attention = LatentConfig(8, 2, 4, 2, 4, 2, rope=RopeConfig("half"))
    >>> config = DecoderConfig(
    ...     16, 1, attention, d_ff=8, max_positions=8, mlp="gated", activation="silu",
    ...     norm="rms_norm", positions="none", mlp_bias=False)
    >>> name = "layers.0.self_attn.kv_a_proj_with_mqa.weight"
    >>> from_deepseek({name: np.arange(8)[:, None]}, config)[name].T
    array([[0, 1, 2, 3, 4, 6, 5, 7]])
    """
    if not all(isinstance(attention, LatentConfig) for attention in config.attentions):
        raise ConfigError("every layer must have latent attention (LatentConfig)")
    check_choice("layout", layout, ("half", "interleaved"))
    weights = plain_names(state, config)
    for name in weights:
        if ".mlp.experts." in name or ".mlp.gate.weight" in name:
            raise ConfigError(f"{name} belongs to a mixture of experts: only dense layers run here")
    for layer, attention in enumerate(config.attentions):
        if attention.rope is not None:
            _reorder(weights, f"layers.{layer}.self_attn.", attention, layout)
    return weights


def _reorder(weights: dict[str, Any], prefix: str, attention: Any, layout: str) -> None:
    """Give the rotated rows of queries and of the shared key the layout of the decoder."""
    rotated, plain = attention.qk_rope_head_dim, attention.qk_nope_head_dim
    turned = attention.rope.rotary_dim or rotated
    latent = attention.kv_lora_rank
    parts = {  # heads, rows before those that turn
        "q_proj": (attention.n_heads, plain),
        "q_b_proj": (attention.n_heads, plain),
        "kv_a_proj_with_mqa": (1, latent),
    }
    for name, (heads, first) in parts.items():
        rows = rope_rows(
            heads, first + rotated, turned, source=layout, target=attention.rope.layout, first=first
        )
        for kind in ("weight", "bias"):
            full = f"{prefix}{name}.{kind}"
            if rows is not None and full in weights:
                weights[full] = with_rows(full, weights[full], rows)
