"""The same names and signatures in PyTorch, for any device and data type."""

from mini_attn.errors import (
    CacheOverflowError,
    CacheStateError,
    CheckFailed,
    ConfigError,
    DTypeError,
    MiniAttnError,
    ShapeError,
    WidgetStateError,
)
from mini_attn.torch.attention import attention_backward, scaled_dot_product_attention
from mini_attn.torch.block_pool import BlockPool
from mini_attn.torch.cache import KVCache
from mini_attn.torch.cache_latent import LatentCache
from mini_attn.torch.cache_paged import PagedKVCache
from mini_attn.torch.cache_quantized import QuantizedKVCache
from mini_attn.torch.cache_ring import SlidingWindowCache
from mini_attn.torch.compiled import compile_decode_step
from mini_attn.torch.conversion import pool_kv_heads, prune_heads
from mini_attn.torch.decoder import Decoder, DecoderLayer
from mini_attn.torch.generation import beam_search, decode_step, generate, prefill
from mini_attn.torch.heads import (
    GroupedQueryAttention,
    MultiHeadAttention,
    MultiQueryAttention,
    SlidingWindowAttention,
    merge_heads,
    split_heads,
)
from mini_attn.torch.latent import MultiHeadLatentAttention
from mini_attn.torch.layers import (
    MLP,
    Embedding,
    GatedMLP,
    Linear,
    Norm,
    activate,
    layer_norm,
    rms_norm,
)
from mini_attn.torch.mask import causal_mask, combine_masks, visible
from mini_attn.torch.online import merge_attention, online_attention
from mini_attn.torch.paged import paged_attention
from mini_attn.torch.position import (
    LearnedPositions,
    RelativePositions,
    alibi_bias,
    alibi_slopes,
    relative_position_bucket,
    sinusoidal_positions,
)
from mini_attn.torch.rope import apply_rope, convert_rope_layout, rope_frequencies, rope_table
from mini_attn.torch.rope_scaling import scale_frequencies
from mini_attn.torch.sampling import filter_logits, sample_token
from mini_attn.torch.serving import Server
from mini_attn.torch.softmax import logsumexp, softmax, softmax_backward

__all__ = [
    "MLP",
    "BlockPool",
    "CacheOverflowError",
    "CacheStateError",
    "CheckFailed",
    "ConfigError",
    "DTypeError",
    "Decoder",
    "DecoderLayer",
    "Embedding",
    "GatedMLP",
    "GroupedQueryAttention",
    "KVCache",
    "LatentCache",
    "LearnedPositions",
    "Linear",
    "MiniAttnError",
    "MultiHeadAttention",
    "MultiHeadLatentAttention",
    "MultiQueryAttention",
    "Norm",
    "PagedKVCache",
    "QuantizedKVCache",
    "RelativePositions",
    "Server",
    "ShapeError",
    "SlidingWindowAttention",
    "SlidingWindowCache",
    "WidgetStateError",
    "activate",
    "alibi_bias",
    "alibi_slopes",
    "apply_rope",
    "attention_backward",
    "beam_search",
    "causal_mask",
    "combine_masks",
    "compile_decode_step",
    "convert_rope_layout",
    "decode_step",
    "filter_logits",
    "generate",
    "layer_norm",
    "logsumexp",
    "merge_attention",
    "merge_heads",
    "online_attention",
    "paged_attention",
    "pool_kv_heads",
    "prefill",
    "prune_heads",
    "relative_position_bucket",
    "rms_norm",
    "rope_frequencies",
    "rope_table",
    "sample_token",
    "scale_frequencies",
    "scaled_dot_product_attention",
    "sinusoidal_positions",
    "softmax",
    "softmax_backward",
    "split_heads",
    "visible",
]
