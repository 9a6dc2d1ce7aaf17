"""GPT-2: learned positions, a plain MLP, biases everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mini_attn.config import AttentionConfig, DecoderConfig
from mini_attn.errors import ConfigError
from mini_attn.shapes import check_count
from mini_attn.weights._described import activation, count, flag, number
from mini_attn.weights.families._family import Family
from mini_attn.weights.gpt2 import from_gpt2

KEYS = """
vocab_size n_positions n_ctx n_embd n_layer n_head n_inner activation_function resid_pdrop
embd_pdrop attn_pdrop layer_norm_epsilon tie_word_embeddings scale_attn_weights
scale_attn_by_inverse_layer_idx reorder_and_upcast_attn add_cross_attention summary_type
summary_use_proj summary_activation summary_proj_to_labels summary_first_dropout n_special
predict_special_tokens output_past num_labels gradient_checkpointing
"""


def _decoder(config: Mapping[str, Any], n_layers: int) -> DecoderConfig:
    """Return the decoder that a file describes."""
    if flag(config, "add_cross_attention", False):
        raise ConfigError("cross-attention layers are not part of this package's decoder")
    d_model, n_heads = count(config, "n_embd"), count(config, "n_head")
    head_dim = check_count("n_embd // n_head", d_model // n_heads)
    first = None if flag(config, "scale_attn_weights", True) else 1.0
    falls = flag(config, "scale_attn_by_inverse_layer_idx", False)
    eps = number(config, "layer_norm_epsilon", 1e-5)

    def attention(layer: int) -> AttentionConfig:
        scale = (first or head_dim**-0.5) / (layer + 1) if falls and layer else first
        return AttentionConfig(d_model, n_heads, head_dim, bias=True, scale=scale, eps=eps)

    layers = tuple(map(attention, range(n_layers)))
    return DecoderConfig(
        count(config, "vocab_size"),
        n_layers,
        layers[0] if len(set(layers)) == 1 else layers,
        d_ff=count(config, "n_inner", None) or 4 * d_model,
        max_positions=count(config, "n_positions"),
        activation=activation(config, "activation_function", "gelu_new"),
        eps=eps,
        tie_embeddings=flag(config, "tie_word_embeddings", True),
    )


FAMILIES = {
    "gpt2": Family(
        _decoder, lambda state, config, _: from_gpt2(state, config), KEYS, n_layers="n_layer"
    )
}
