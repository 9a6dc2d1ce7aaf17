"""Weights of Gemma, whose norms store what is added to a gain of 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import DecoderConfig
from mini_attn.weights.llama import from_llama

PER_LAYER = {  # of the decoder, and of each layer
    "embed_tokens_per_layer": "per_layer_inputs.embed_tokens",
    "per_layer_model_projection": "per_layer_inputs.projection",
    "per_layer_projection_norm": "per_layer_inputs.norm",
    "per_layer_input_gate": "per_layer.gate",
    "per_layer_projection": "per_layer.projection",
    "post_per_layer_input_norm": "per_layer.norm",
}
MADE = ("k_proj", "v_proj", "k_norm")  # by layers that keep keys and values

__all__ = ["from_gemma", "from_gemma4"]


def from_gemma(
    state: Mapping[str, Any], config: DecoderConfig, *, layout: str = "half"
) -> dict[str, Any]:
    """Weights of Gemma 1, 2 or 3 under this package's names, with whole gains.

    ``norm.weight = 1 + norm.weight``

    Parameters
    ----------
    state : mapping of str to array
        Weights as Hugging Face names them, with or without the prefix ``model.``.
    config : DecoderConfig
        Sizes of the decoder that gets the weights; layers beyond its own are left out.
    layout : {"half", "interleaved"}
        Rotary layout of the given weights: Hugging Face's is "half".

    Returns
    -------
    dict of str to array
        For ``Decoder(config).load_state_dict``; the given arrays, but for gains and reordered
        rows. Gains in half precision come back in float32.

    Raises
    ------
    ConfigError
        If the configuration has another kind of attention, or the weights are quantized.

    Notes
    -----
    ``1 + weight`` of a bfloat16 weight from ``2**-16`` on is exact in float32. A decoder in
    bfloat16 rounds the sum to 8 bits, by at most ``2**-9`` of the gain, where Hugging Face's
    classes add in float32 in each pass.

    References
    ----------
    gemma2024gemma2, section 2

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig
    >>> config = DecoderConfig(
    ...     16, 1, AttentionConfig(8, 2, 4), d_ff=8, max_positions=8, mlp="gated",
    ...     norm="rms_norm", positions="none", mlp_bias=False)
    >>> from_gemma({"model.norm.weight": np.full(2, 0.5)}, config)
    {'norm.weight': array([1.5, 1.5])}
    """
    weights = from_llama(state, config, layout=layout)
    gains = {name: whole_gain(weights[name]) for name in weights if name.endswith("norm.weight")}
    return {**weights, **gains}


def whole_gain(weight: Any) -> Any:
    """One more than what is stored, in float32 or wider."""
    if str(weight.dtype).removeprefix("torch.") in ("float16", "bfloat16"):
        weight = weight.float() if hasattr(weight, "float") else weight.astype("float32")
    return 1 + weight


def from_gemma4(
    state: Mapping[str, Any], config: DecoderConfig, *, layout: str = "half"
) -> dict[str, Any]:
    """Weights of Gemma 4's text decoder under this package's names.

    ``per_layer_inputs.embed_tokens = embed_tokens_per_layer[:, : n_layers * per_layer_dim]``

    Parameters
    ----------
    state : mapping of str to array
        Weights as Hugging Face names them, with or without the prefix ``model.``.
    config : DecoderConfig
        Sizes of the decoder that gets the weights; layers beyond its own are left out.
    layout : {"half", "interleaved"}
        Rotary layout of the given weights: Hugging Face's is "half".

    Returns
    -------
    dict of str to array
        For ``Decoder(config).load_state_dict``; the given arrays, but for reordered rows and what
        is cut to fewer layers. Projections that files hold of layers which read another's keys
        and values are left out: nothing uses them.

    Raises
    ------
    ConfigError
        If the configuration has another kind of attention, or the weights are quantized.

    Notes
    -----
    Gains are whole, unlike those of Gemma 1 to 3.

    Examples
    --------
    >>> import numpy as np
    >>> from mini_attn.config import AttentionConfig
    >>> config = DecoderConfig(
    ...     16, 1, AttentionConfig(8, 2, 4), d_ff=8, max_positions=8, mlp="gated",
    ...     norm="rms_norm", positions="none", mlp_bias=False)
    >>> list(from_gemma4({"model.layers.0.per_layer_input_gate.weight": np.ones((2, 8))}, config))
    ['layers.0.per_layer.gate.weight']
    """
    weights, width = {}, config.n_layers * config.per_layer_dim
    for name, weight in from_llama(state, config, layout=layout).items():
        parts = name.split(".")
        if parts[0] == "layers":
            reads = config.sources[int(parts[1])] != int(parts[1])
            if reads and len(parts) > 3 and parts[3] in MADE:
                continue
            parts[2] = PER_LAYER.get(parts[2], parts[2])
        else:
            parts[0] = PER_LAYER.get(parts[0], parts[0])
        if parts[0].startswith("per_layer_inputs.") and not parts[0].endswith("norm"):
            weight = weight[:, :width] if parts[0].endswith("embed_tokens") else weight[:width]
        weights[".".join(parts)] = weight
    return weights
