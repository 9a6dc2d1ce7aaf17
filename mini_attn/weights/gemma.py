"""Weights of Gemma, whose norms store what is added to a gain of 1."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import DecoderConfig
from mini_attn.weights.llama import from_llama

__all__ = ["from_gemma"]


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
    gains = {name: _gain(weights[name]) for name in weights if name.endswith("norm.weight")}
    return {**weights, **gains}


def _gain(weight: Any) -> Any:
    """One more than what is stored, in float32 or wider."""
    if str(weight.dtype).removeprefix("torch.") in ("float16", "bfloat16"):
        weight = weight.float() if hasattr(weight, "float") else weight.astype("float32")
    return 1 + weight
