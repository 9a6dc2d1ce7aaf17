"""What a family of checkpoints has to say of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from mini_attn.config import DecoderConfig

# Keys that Llama's relatives share.
COMMON = """
vocab_size hidden_size intermediate_size num_hidden_layers num_attention_heads num_key_value_heads
head_dim max_position_embeddings hidden_act rms_norm_eps tie_word_embeddings attention_bias
rope_parameters rope_theta rope_scaling original_max_position_embeddings partial_rotary_factor
"""


@dataclass(frozen=True)
class Family:
    """How one family's ``config.json`` and weights are read.

    Parameters
    ----------
    decoder : callable
        ``decoder(config, n_layers)``, the `DecoderConfig` of the first layers.
    weights : callable
        ``weights(state, config, described)``, the weights under this package's names.
    keys : str
        The keys that the file may have, apart from those that change nothing.
    n_layers : str
        The key of the number of layers.
    more_layers : str
        The key of the number of layers behind the last that the weights may hold, if any.
    """

    decoder: Callable[[Mapping[str, Any], int], DecoderConfig]
    weights: Callable[[Mapping[str, Any], DecoderConfig, Mapping[str, Any]], dict[str, Any]]
    keys: str
    n_layers: str = "num_hidden_layers"
    more_layers: str = ""
