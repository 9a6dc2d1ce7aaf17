"""A decoder as plain data, for the JavaScript that runs it: ``js/decoder/weights.js`` reads it."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.config import DecoderConfig, LatentConfig
from mini_attn.errors import ConfigError, DTypeError
from mini_attn.stories.family import stored
from mini_attn.stories.rounding import rounded
from mini_attn.weights import to_numpy

__all__ = ["model_data", "model_script"]


# Options that a page's decoder has not, as the decoders that it runs have them.
_BESIDE = {
    "norm_placement": "before", "embed_scale": None, "logit_softcap": None, "qk_norm_over": "head",
    "experts": None, "chunked": False, "query_growth": None, "kv_sources": None, "k_eq_v": False,
    "v_norm": False, "out_gate": False, "per_layer_dim": 0, "layer_scalars": False,
    "stream_scales": None,
}  # fmt: skip


def _without(options: dict[str, Any]) -> dict[str, Any]:
    """Options that a page's decoder has; another one must be as if it were not there."""
    for name, plain in _BESIDE.items():
        if options.get(name, plain) != plain:
            raise ConfigError(f"pages run decoders with {name} = {plain!r}, got {options[name]!r}")
    return {name: value for name, value in options.items() if name not in _BESIDE}


def _attention(config: Any) -> dict[str, Any]:
    """All options of a layer's attention, and of which kind it is."""
    if config.rope is not None and config.rope.scaling is not None:
        raise ConfigError(
            f"pages run rotary embeddings without a rule for longer contexts, got {config.rope}"
        )
    if config.rope is not None and config.rope.rotated_pairs is not None:
        raise ConfigError(f"pages rotate all pairs, got {config.rope}")
    options = _without(asdict(config))
    if config.rope is not None:
        del options["rope"]["scaling"], options["rope"]["rotated_pairs"]
    return {"kind": "latent" if isinstance(config, LatentConfig) else "heads", **options}


def _config(config: DecoderConfig) -> dict[str, Any]:
    """All options of a decoder: a new one arrives here by itself, and unknown ones are refused."""
    options = _without(asdict(config))
    del options["attention"]
    attentions = [_attention(attention) for attention in config.attentions]
    return {**options, "d_model": config.d_model, "attentions": attentions}


def _tensor(name: str, array: NDArray[Any]) -> dict[str, Any]:
    """Shape, type and numbers, the low byte first."""
    kind = np.dtype(np.int8 if array.dtype == np.int8 else np.float32)
    numbers = np.ascontiguousarray(array, kind.newbyteorder("<"))
    if not np.isfinite(numbers).all():
        raise DTypeError(f"{name} must hold finite floating-point numbers")
    text = base64.b64encode(numbers.tobytes()).decode("ascii")
    return {"shape": list(array.shape), "dtype": kind.name, "base64": text}


def model_data(model: Any, *, eight_bits: bool = True) -> dict[str, Any]:
    """A decoder's configuration and weights, ready for JSON.

    ``weight = scale * code`` for matrices in eight bits

    Parameters
    ----------
    model : str or Decoder
        A member's name, whose file is taken as it is, or a decoder of either backend.
    eight_bits : bool
        Whether a decoder's matrices are rounded as the members' are; otherwise all its weights
        go in float32.

    Returns
    -------
    dict
        ``config``, the options with ``attentions``, one for each layer and of a ``kind``,
        ``"heads"`` or ``"latent"``; ``tensors``, for each name ``shape``, ``dtype`` and
        ``base64``.

    Raises
    ------
    ConfigError
        If there is no such member, or JavaScript cannot run such a decoder.
    DTypeError
        If a weight is not finite.

    Examples
    --------
    >>> from mini_attn.config import AttentionConfig, DecoderConfig
    >>> from mini_attn.numpy import Decoder
    >>> attention = AttentionConfig(d_model=8, n_heads=2, head_dim=4)
    >>> data = model_data(Decoder(DecoderConfig(16, 1, attention, d_ff=32, max_positions=8)))
    >>> data["tensors"]["layers.0.self_attn.q_proj.weight.scale"]["shape"]
    [8, 1]
    """
    config: Any
    weights: Mapping[str, NDArray[Any]]
    if isinstance(model, str):
        config, weights = stored(model)
    else:
        config = getattr(model, "config", None)
        if not isinstance(config, DecoderConfig):
            raise ConfigError(f"model must be a Decoder or a member's name, got {model!r:.60}")
        weights = to_numpy(model.state_dict())
        weights = rounded(weights) if eight_bits else weights
    tensors = {name: _tensor(name, array) for name, array in weights.items()}
    return {"config": _config(config), "tensors": tensors}


def model_script(name: str) -> str:
    """A member as a page's script of its own, which also runs from a file.

    ``livingModels[name] = {check, data}``

    Parameters
    ----------
    name : str
        A member's name.

    Returns
    -------
    str
        JavaScript; ``check`` is the CRC-32 of all the tensors' base64, one after the other.

    Raises
    ------
    ConfigError
        If there is no such member.

    Examples
    --------
    >>> model_script("unknown")
    Traceback (most recent call last):
    mini_attn.errors.ConfigError: unknown member 'unknown': one of mha, gqa, mqa, mla, ...
    """
    data = model_data(name)
    numbers = "".join(tensor["base64"] for tensor in data["tensors"].values())
    found = json.dumps({"check": zlib.crc32(numbers.encode()), "data": data}, separators=(",", ":"))
    return f"(globalThis.livingModels??={{}})[{json.dumps(name)}]={found};\n"
