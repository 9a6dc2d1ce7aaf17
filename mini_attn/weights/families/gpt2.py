"""GPT-2: learned positions, a plain MLP, biases everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig
from mini_attn.errors import ConfigError
from mini_attn.weights._described import activation, flag, number
from mini_attn.weights.families._family import Family
from mini_attn.weights.families._sizes import size
from mini_attn.weights.gpt2 import from_gpt2


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes."""
    if flag(config, "add_cross_attention", False):
        raise ConfigError("cross-attention layers are not part of this package's decoder")
    d_model, n_heads = size(config, "d_model"), size(config, "n_heads")
    head_dim = size(config, "head_dim")
    first = None if flag(config, "scale_attn_weights", True) else 1.0
    falls = flag(config, "scale_attn_by_inverse_layer_idx", False)
    eps = number(config, "layer_norm_epsilon", 1e-5)

    def attention(layer: int) -> AttentionConfig:
        scale = (first or head_dim**-0.5) / (layer + 1) if falls and layer else first
        return AttentionConfig(d_model, n_heads, head_dim, bias=True, scale=scale, eps=eps)

    layers = tuple(map(attention, range(n_layers)))
    return DecoderConfig(
        size(config, "vocab_size"),
        n_layers,
        layers[0] if len(set(layers)) == 1 else layers,
        d_ff=size(config, "d_ff"),
        max_positions=size(config, "max_context"),
        activation=activation(config, "activation_function", "gelu_new"),
        eps=eps,
        tie_embeddings=size(config, "tied_embeddings"),
    )


FAMILIES = {"gpt2": Family(_decoder, lambda state, config, _: from_gpt2(state, config))}
