"""What a family of checkpoints has to say of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mini_attn.config import DecoderConfig


@dataclass(frozen=True)
class Family:
    """How one family's ``config.json`` and weights are read; `FIELDS` has its keys.

    Parameters
    ----------
    decoder : callable
        ``decoder(config, n_layers)``, the `DecoderConfig` of the first layers.
    weights : callable
        ``weights(state, config, described)``, the weights under this package's names.
    more_layers : str
        The key of the number of layers behind the last that the weights may hold, if any.
    """

    decoder: Callable[[Mapping[str, Any], int], DecoderConfig]
    weights: Callable[[Mapping[str, Any], DecoderConfig, Mapping[str, Any]], dict[str, Any]]
    more_layers: str = ""
