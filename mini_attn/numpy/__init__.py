"""The reference: attention and what surrounds it in NumPy, written to be read."""

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
from mini_attn.numpy.attention.convolution import short_convolution
from mini_attn.numpy.attention.dot_product import attention_backward, scaled_dot_product_attention
from mini_attn.numpy.attention.mask import causal_mask, combine_masks, visible
from mini_attn.numpy.attention.online import merge_attention, online_attention
from mini_attn.numpy.attention.paged import paged_attention
from mini_attn.numpy.attention.recurrence import (
    chunked_attention,
    feature_map,
    parallel_attention,
    recurrent_attention,
    recurrent_attention_backward,
)
from mini_attn.numpy.attention.softmax import logsumexp, softmax, softmax_backward
from mini_attn.numpy.attention.sparse import bucket_mask, count_blocks, global_mask, strided_mask
from mini_attn.numpy.caches.block_pool import BlockPool
from mini_attn.numpy.caches.cache import KVCache
from mini_attn.numpy.caches.cache_compressed import CompressedCache
from mini_attn.numpy.caches.cache_evicting import EvictingCache
from mini_attn.numpy.caches.cache_indexed import IndexedCache
from mini_attn.numpy.caches.cache_latent import LatentCache
from mini_attn.numpy.caches.cache_nsa import NativeSparseCache
from mini_attn.numpy.caches.cache_paged import PagedKVCache
from mini_attn.numpy.caches.cache_quantized import QuantizedKVCache
from mini_attn.numpy.caches.cache_ring import SlidingWindowCache
from mini_attn.numpy.caches.cache_state import StateCache
from mini_attn.numpy.caches.kept_keys import kept_keys, kv_head_weights, pool_weights
from mini_attn.numpy.compression.conversion import pool_kv_heads, prune_heads
from mini_attn.numpy.compression.pruning import (
    feature_norms,
    head_scores,
    magnitude_scores,
    n_of_m,
    prune_weight,
    prune_weights,
    wanda_scores,
)
from mini_attn.numpy.compression.quantized_layers import (
    QuantizedEmbedding,
    QuantizedLinear,
    quantize_weights,
    stored_bytes,
)
from mini_attn.numpy.compression.rotation import hadamard_rotation
from mini_attn.numpy.compression.small_floats import decode_float, encode_float
from mini_attn.numpy.compression.weight_formats import decode_weight, encode_weight
from mini_attn.numpy.decoding.generation import beam_search, decode_step, generate, prefill
from mini_attn.numpy.decoding.sampling import filter_logits, sample_token
from mini_attn.numpy.decoding.serving import Server
from mini_attn.numpy.layers.basic import (
    MLP,
    Embedding,
    GatedMLP,
    Linear,
    Norm,
    activate,
    layer_norm,
    rms_norm,
)
from mini_attn.numpy.layers.compressed import CompressedAttention
from mini_attn.numpy.layers.decoder import Decoder, DecoderLayer
from mini_attn.numpy.layers.experts import MixtureOfExperts, clamped_swiglu, route
from mini_attn.numpy.layers.heads import (
    GroupedQueryAttention,
    MultiHeadAttention,
    MultiQueryAttention,
    SlidingWindowAttention,
    merge_heads,
    split_heads,
)
from mini_attn.numpy.layers.indexed import IndexedAttention, Indexer, chosen_keys, index_scores
from mini_attn.numpy.layers.latent import MultiHeadLatentAttention
from mini_attn.numpy.layers.linear import LinearAttention
from mini_attn.numpy.layers.nsa import NativeSparseAttention
from mini_attn.numpy.positions.position import (
    LearnedPositions,
    RelativePositions,
    alibi_bias,
    alibi_slopes,
    relative_position_bucket,
    sinusoidal_positions,
)
from mini_attn.numpy.positions.rope import (
    apply_rope,
    convert_rope_layout,
    rope_frequencies,
    rope_table,
)
from mini_attn.numpy.positions.rope_scaling import scale_frequencies

__all__ = [
    "MLP",
    "BlockPool",
    "CacheOverflowError",
    "CacheStateError",
    "CheckFailed",
    "CompressedAttention",
    "CompressedCache",
    "ConfigError",
    "DTypeError",
    "Decoder",
    "DecoderLayer",
    "Embedding",
    "EvictingCache",
    "GatedMLP",
    "GroupedQueryAttention",
    "IndexedAttention",
    "IndexedCache",
    "Indexer",
    "KVCache",
    "LatentCache",
    "LearnedPositions",
    "Linear",
    "LinearAttention",
    "MiniAttnError",
    "MixtureOfExperts",
    "MultiHeadAttention",
    "MultiHeadLatentAttention",
    "MultiQueryAttention",
    "NativeSparseAttention",
    "NativeSparseCache",
    "Norm",
    "PagedKVCache",
    "QuantizedEmbedding",
    "QuantizedKVCache",
    "QuantizedLinear",
    "RelativePositions",
    "Server",
    "ShapeError",
    "SlidingWindowAttention",
    "SlidingWindowCache",
    "StateCache",
    "WidgetStateError",
    "activate",
    "alibi_bias",
    "alibi_slopes",
    "apply_rope",
    "attention_backward",
    "beam_search",
    "bucket_mask",
    "causal_mask",
    "chosen_keys",
    "chunked_attention",
    "clamped_swiglu",
    "combine_masks",
    "convert_rope_layout",
    "count_blocks",
    "decode_float",
    "decode_step",
    "decode_weight",
    "encode_float",
    "encode_weight",
    "feature_map",
    "feature_norms",
    "filter_logits",
    "generate",
    "global_mask",
    "hadamard_rotation",
    "head_scores",
    "index_scores",
    "kept_keys",
    "kv_head_weights",
    "layer_norm",
    "logsumexp",
    "magnitude_scores",
    "merge_attention",
    "merge_heads",
    "n_of_m",
    "online_attention",
    "paged_attention",
    "parallel_attention",
    "pool_kv_heads",
    "pool_weights",
    "prefill",
    "prune_heads",
    "prune_weight",
    "prune_weights",
    "quantize_weights",
    "recurrent_attention",
    "recurrent_attention_backward",
    "relative_position_bucket",
    "rms_norm",
    "rope_frequencies",
    "rope_table",
    "route",
    "sample_token",
    "scale_frequencies",
    "scaled_dot_product_attention",
    "short_convolution",
    "sinusoidal_positions",
    "softmax",
    "softmax_backward",
    "split_heads",
    "stored_bytes",
    "strided_mask",
    "visible",
    "wanda_scores",
]
