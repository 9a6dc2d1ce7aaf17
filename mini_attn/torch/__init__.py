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
from mini_attn.torch.attention.convolution import short_convolution
from mini_attn.torch.attention.dot_product import attention_backward, scaled_dot_product_attention
from mini_attn.torch.attention.mask import causal_mask, combine_masks, visible
from mini_attn.torch.attention.online import merge_attention, online_attention
from mini_attn.torch.attention.paged import paged_attention
from mini_attn.torch.attention.recurrence import (
    chunked_attention,
    feature_map,
    parallel_attention,
    recurrent_attention,
    recurrent_attention_backward,
)
from mini_attn.torch.attention.softmax import logsumexp, softmax, softmax_backward
from mini_attn.torch.attention.sparse import bucket_mask, count_blocks, global_mask, strided_mask
from mini_attn.torch.caches.block_pool import BlockPool
from mini_attn.torch.caches.cache import KVCache
from mini_attn.torch.caches.cache_compressed import CompressedCache
from mini_attn.torch.caches.cache_evicting import EvictingCache
from mini_attn.torch.caches.cache_indexed import IndexedCache
from mini_attn.torch.caches.cache_latent import LatentCache
from mini_attn.torch.caches.cache_nsa import NativeSparseCache
from mini_attn.torch.caches.cache_paged import PagedKVCache
from mini_attn.torch.caches.cache_quantized import QuantizedKVCache
from mini_attn.torch.caches.cache_ring import SlidingWindowCache
from mini_attn.torch.caches.cache_state import StateCache
from mini_attn.torch.caches.kept_keys import kept_keys, kv_head_weights, pool_weights
from mini_attn.torch.compression.conversion import pool_kv_heads, prune_heads
from mini_attn.torch.compression.pruning import (
    feature_norms,
    head_scores,
    magnitude_scores,
    n_of_m,
    prune_weight,
    prune_weights,
    wanda_scores,
)
from mini_attn.torch.compression.quantized_layers import (
    QuantizedEmbedding,
    QuantizedLinear,
    quantize_weights,
    stored_bytes,
)
from mini_attn.torch.compression.rotation import hadamard_rotation
from mini_attn.torch.compression.small_floats import decode_float, encode_float
from mini_attn.torch.compression.weight_formats import decode_weight, encode_weight
from mini_attn.torch.decoding.generation import beam_search, decode_step, generate, prefill
from mini_attn.torch.decoding.sampling import filter_logits, sample_token
from mini_attn.torch.decoding.serving import Server
from mini_attn.torch.kernels.compiled import compile_decode_step
from mini_attn.torch.layers.basic import (
    MLP,
    Embedding,
    GatedMLP,
    Linear,
    Norm,
    activate,
    layer_norm,
    rms_norm,
)
from mini_attn.torch.layers.compressed import CompressedAttention
from mini_attn.torch.layers.decoder import Decoder, DecoderLayer
from mini_attn.torch.layers.experts import MixtureOfExperts, clamped_swiglu, route
from mini_attn.torch.layers.heads import (
    GroupedQueryAttention,
    MultiHeadAttention,
    MultiQueryAttention,
    SlidingWindowAttention,
    merge_heads,
    split_heads,
)
from mini_attn.torch.layers.indexed import IndexedAttention, Indexer, chosen_keys, index_scores
from mini_attn.torch.layers.latent import MultiHeadLatentAttention
from mini_attn.torch.layers.linear import LinearAttention
from mini_attn.torch.layers.nsa import NativeSparseAttention
from mini_attn.torch.positions.position import (
    LearnedPositions,
    RelativePositions,
    alibi_bias,
    alibi_slopes,
    relative_position_bucket,
    sinusoidal_positions,
)
from mini_attn.torch.positions.rope import (
    apply_rope,
    convert_rope_layout,
    rope_frequencies,
    rope_table,
)
from mini_attn.torch.positions.rope_scaling import scale_frequencies

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
    "compile_decode_step",
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
