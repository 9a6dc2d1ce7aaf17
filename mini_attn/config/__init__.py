"""What a layer or a decoder is made of: frozen, validated, the same for both backends."""

from mini_attn.config.attention import (
    AttentionConfig,
    LatentConfig,
    QueryGrowth,
    score_factor,
)
from mini_attn.config.coding import (
    CACHE_FORMATS,
    Coding,
    FloatCoding,
    codings,
    fixed_scales,
    newest,
    scale_type,
)
from mini_attn.config.compressed import CompressedConfig
from mini_attn.config.decoder import (
    DecoderConfig,
    check_decoder,
    check_room,
    check_sampling,
    check_stop,
)
from mini_attn.config.experts import ExpertConfig, check_chosen
from mini_attn.config.indexed import IndexedConfig
from mini_attn.config.keep_policies import (
    KeepHeavyHitters,
    KeepObserved,
    KeepRecent,
    check_policy,
)
from mini_attn.config.linear import LinearAttentionConfig
from mini_attn.config.nsa import NativeSparseConfig
from mini_attn.config.rope import (
    DynamicNTK,
    Llama3Scaling,
    LongRoPE,
    NTKAware,
    PositionInterpolation,
    RopeConfig,
    RopeFrequencies,
    RopeScaling,
    YaRN,
)
from mini_attn.config.small_float import POWERS_OF_TWO, SMALL_FLOATS, SmallFloat
from mini_attn.config.weight_format import WEIGHT_FORMATS, Pattern, WeightFormat, weight_format

__all__ = [
    "CACHE_FORMATS",
    "POWERS_OF_TWO",
    "SMALL_FLOATS",
    "WEIGHT_FORMATS",
    "AttentionConfig",
    "Coding",
    "CompressedConfig",
    "DecoderConfig",
    "DynamicNTK",
    "ExpertConfig",
    "FloatCoding",
    "IndexedConfig",
    "KeepHeavyHitters",
    "KeepObserved",
    "KeepRecent",
    "LatentConfig",
    "LinearAttentionConfig",
    "Llama3Scaling",
    "LongRoPE",
    "NTKAware",
    "NativeSparseConfig",
    "Pattern",
    "PositionInterpolation",
    "QueryGrowth",
    "RopeConfig",
    "RopeFrequencies",
    "RopeScaling",
    "SmallFloat",
    "WeightFormat",
    "YaRN",
    "check_chosen",
    "check_decoder",
    "check_policy",
    "check_room",
    "check_sampling",
    "check_stop",
    "codings",
    "fixed_scales",
    "newest",
    "scale_type",
    "score_factor",
    "weight_format",
]
