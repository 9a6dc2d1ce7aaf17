"""A published model's folder: its configuration and its weights."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from mini_attn._json import json_file
from mini_attn.config import DecoderConfig
from mini_attn.errors import ConfigError, MiniAttnError
from mini_attn.shapes import check_choice
from mini_attn.weights._described import count
from mini_attn.weights._quantised import refuse_quantised, refuse_quantised_config
from mini_attn.weights._tied import has_own_head
from mini_attn.weights.families import FAMILIES
from mini_attn.weights.families._fields import FIELDS
from mini_attn.weights.families._sizes import size
from mini_attn.weights.files import load_safetensors
from mini_attn.weights.hf_config import config_from_hf, family_of

__all__ = ["from_hf", "read_checkpoint"]

LAYER = re.compile(r"(?:model\.layers|layers|transformer\.h|h)\.([0-9]{1,9})")


def from_hf(
    state: Mapping[str, Any], described: Mapping[str, Any], *, config: DecoderConfig | None = None
) -> dict[str, Any]:
    """Weights as Hugging Face names and stores them, by the family that their file names.

    ``weights = FAMILIES[model_type].weights(state, config, described)``

    Parameters
    ----------
    state : mapping of str to array
        ``state_dict()`` of a model with or without its head, or the content of its files.
    described : mapping
        The content of the model's ``config.json``.
    config : DecoderConfig or None
        The decoder that gets the weights, if it has fewer layers or another rotary layout;
        None means `config_from_hf` of the description.

    Returns
    -------
    dict of str to array
        For ``Decoder(config).load_state_dict``.

    Raises
    ------
    ConfigError
        If the weights are quantized, missing or not of that family, there are more layers than
        the description says, or it ties the embeddings to another ``lm_head``.

    Examples
    --------
    >>> import numpy as np
    >>> described = {"model_type": "llama", "vocab_size": 8, "hidden_size": 4,
    ...     "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 8,
    ...     "max_position_embeddings": 16}
    >>> list(from_hf({"model.embed_tokens.weight": np.ones((8, 4))}, described))
    ['embed_tokens.weight']
    """
    family = family_of(described)
    config = config_from_hf(described) if config is None else config
    _check_layers(state, described)
    return FAMILIES[family].weights(state, config, described)


def read_checkpoint(
    folder: str | os.PathLike[str], *, backend: str = "numpy", n_layers: int | None = None
) -> tuple[DecoderConfig, dict[str, Any]]:
    """Configuration and weights of a model in Hugging Face's files.

    ``config.json`` and ``model.safetensors``, or its parts and their index

    Parameters
    ----------
    folder : path
        Where the files are.
    backend : {"numpy", "torch"}
        Arrays or tensors.
    n_layers : int or None
        Only the first layers; None means all.

    Returns
    -------
    tuple (DecoderConfig, dict of str to array)
        For ``Decoder(config)`` and its ``load_state_dict``.

    Raises
    ------
    ConfigError
        If a file is missing or broken, the weights are quantized, or the model needs what this
        package's decoder has not. The message names the file.
    ShapeError, DTypeError
        If a weight has other axes than its layout says, or a type that the backend has not.

    Notes
    -----
    Embeddings that ``config.json`` ties to a head are kept apart where the weights hold another
    head, as Hugging Face does.

    With LongRoPE, as Phi-3's files ask for it, each step rotates by the factors of its own length:
    keys that are cached before the context grows past the trained one keep the short factors.
    Hugging Face's Phi-3 drops its cache there and computes all keys anew with the long factors;
    `generate` without caches does the same at each step.

    Nothing in the files is believed before it was checked: no code in them runs, an index
    cannot lead out of the folder, and no number makes more memory than the files have.

    Examples
    --------
    >>> read_checkpoint("no-such-folder")
    Traceback (most recent call last):
    mini_attn.errors.ConfigError: no-such-folder has no config.json
    """
    check_choice("backend", backend, ("numpy", "torch"))
    if not isinstance(folder, str | os.PathLike):
        raise ConfigError(f"folder must be a path, got {folder!r:.60} ({type(folder).__name__})")
    folder = Path(folder)
    if not os.path.isfile(folder / "config.json"):
        raise ConfigError(f"{folder} has no config.json")
    with _naming("config.json"):
        described = json_file(folder / "config.json")
        config = config_from_hf(described, n_layers=n_layers)
        refuse_quantised_config(described)
    whole = folder / "model.safetensors"
    path = whole if os.path.isfile(whole) else folder / "model.safetensors.index.json"
    if not os.path.isfile(path):
        raise ConfigError(f"{folder} has neither {whole.name} nor {path.name}")
    with _naming(path.name):
        state = load_safetensors(path, backend=backend)
        refuse_quantised(state)
        if config.tie_embeddings and has_own_head(state):
            config = replace(config, tie_embeddings=False)
        return config, from_hf(state, described, config=config)


def _check_layers(state: Mapping[str, Any], described: Mapping[str, Any]) -> None:
    """Refuse layers beyond those described; modules that predict several tokens follow them."""
    family = FAMILIES[family_of(described)]
    key = FIELDS[described["model_type"]]["n_layers"]
    known = stored = size(described, "n_layers")
    if family.more_layers:
        known += count(described, family.more_layers, 0, least=0) or 0
    for name in state:
        number = LAYER.match(name)
        if number and int(number[1]) >= known:
            raise ConfigError(f"{name} is of a layer beyond the last: {key} = {stored}")


@contextmanager
def _naming(file: str) -> Iterator[None]:
    """Errors of this package say which file they are about."""
    try:
        yield
    except MiniAttnError as fault:
        if file in str(fault):
            raise
        raise type(fault)(f"{file}: {fault}") from None
