"""The reference implementation in NumPy: ``import mini_attn.numpy as ma``."""

from __future__ import annotations

from mini_attn.numpy.attention import attention_backward, scaled_dot_product_attention
from mini_attn.numpy.cache import KVCache
from mini_attn.numpy.decoder import Decoder, decode_step, generate, prefill
from mini_attn.numpy.heads import (
    GroupedQueryAttention,
    MultiHeadAttention,
    MultiQueryAttention,
    merge_heads,
    split_heads,
)
from mini_attn.numpy.layers import GatedMLP, PlainMLP, layer_norm, rms_norm
from mini_attn.numpy.mask import causal_mask, combine_masks, visible
from mini_attn.numpy.softmax import logsumexp, softmax, softmax_backward

__all__ = [
    "Decoder",
    "GatedMLP",
    "GroupedQueryAttention",
    "KVCache",
    "MultiHeadAttention",
    "MultiQueryAttention",
    "PlainMLP",
    "attention_backward",
    "causal_mask",
    "combine_masks",
    "decode_step",
    "generate",
    "layer_norm",
    "logsumexp",
    "merge_heads",
    "prefill",
    "rms_norm",
    "scaled_dot_product_attention",
    "softmax",
    "softmax_backward",
    "split_heads",
    "visible",
]
