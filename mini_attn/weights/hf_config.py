"""Hugging Face's configuration files in this package's terms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import DecoderConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.weights._described import mapping
from mini_attn.weights._known import refuse_unknown
from mini_attn.weights.families import FAMILIES
from mini_attn.weights.families._sizes import keys_of, size
from mini_attn.weights.hf_model import MOST_LAYERS

__all__ = ["config_from_hf"]

LACKING = {  # what this package's decoder has not, and families need that are often asked for
    "bert": "attention to both sides",
    "bloom": "a norm of the embeddings",
    "deepseek_v4": "hyper-connections, and experts that a table chooses by token: "
    "compressed_from_hf reads its attention layers",
    "falcon": "attention and MLP in parallel",
    "gemma3": "images beside the text: pass its text_config, whose model_type is gemma3_text, and "
    "the weights whose names begin with language_model, without that beginning",
    "gpt_neox": "attention and MLP in parallel",
    "llama4": "an expert that all tokens share, and a router that weighs what experts are given",
    "llama4_text": "an expert that all tokens share, and a router that weighs what experts are "
    "given; its attention alone can be had: AttentionConfig has chunked and query_growth",
    "mamba": "state-space layers",
    "mpt": "norms without biases beside ALiBi",
    "nemotron_h": "layers that are a state, attention or experts alone",
    "phi": "attention and MLP in parallel",
    "qwen3_5": "images beside the text: pass its text_config, whose model_type is qwen3_5_text, "
    "and the weights whose names begin with model.language_model, without that beginning",
    "qwen3_5_moe": "images beside the text: pass its text_config, whose model_type is "
    "qwen3_5_moe_text, and the weights of model.language_model, without that beginning",
    "qwen2_moe": "layers with experts",
    "t5": "an encoder, and biases by bucket",
}


def config_from_hf(config: Mapping[str, Any], *, n_layers: int | None = None) -> DecoderConfig:
    """The decoder that a Hugging Face configuration describes.

    ``DecoderConfig(...)`` from what ``config.json`` holds

    Parameters
    ----------
    config : mapping
        The file's content, or ``to_dict()`` of a configuration object.
    n_layers : int or None
        Only the first layers; None means all.

    Returns
    -------
    DecoderConfig
        For ``Decoder``, and for the loader of the family's weights.

    Raises
    ------
    ConfigError
        If the family is unknown, a number is missing or of another kind, a key is not known of
        the family, or the model needs what this package's decoder has not.

    Notes
    -----
    `FAMILIES` has an entry for each family. What a file leaves out has Hugging Face's default
    value.

    Examples
    --------
    >>> sizes = {"vocab_size": 64, "hidden_size": 16, "num_hidden_layers": 2,
    ...     "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 32,
    ...     "max_position_embeddings": 128}
    >>> config_from_hf({"model_type": "llama", **sizes}).attention.group_size
    2
    """
    family = family_of(config)
    stored = size(config, "n_layers")
    if stored > MOST_LAYERS:
        raise ConfigError(f"{stored} layers are more than any model has ({MOST_LAYERS} are read)")
    wanted = stored if n_layers is None else check_count("n_layers", n_layers, least=0)
    if not 1 <= wanted <= stored:
        raise ConfigError(f"n_layers must lie in 1 … {stored}, got {wanted}")
    refuse_unknown(config, keys_of(family))
    return FAMILIES[family].decoder(config, wanted)


def family_of(config: Mapping[str, Any]) -> str:
    """The family that a configuration names, if its layers can be run here."""
    family = mapping("the configuration", config).get("model_type")
    if isinstance(family, str) and family in FAMILIES:
        return family
    needed = LACKING.get(family) if isinstance(family, str) else None
    reason = f"its decoder needs {needed}" if needed else "how its layers are made is not known"
    if family is None:
        reason = "the file does not say what it describes"
    raise ConfigError(
        f"model_type must be one of {', '.join(FAMILIES)}, got {family!r:.60}: {reason}"
    )
