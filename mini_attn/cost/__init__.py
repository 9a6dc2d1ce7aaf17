"""What attention costs: FLOPs, bytes and time bounds, computed in plain integers."""

from mini_attn.cost.memory import (
    Factor,
    cache_bytes,
    cache_bytes_per_token,
    cache_formula,
    copied_rows,
    parameter_count,
    step_bytes,
)
from mini_attn.cost.roofline import DEVICES, Device, arithmetic_intensity, roofline_seconds
from mini_attn.cost.work import (
    attention_flops,
    decode_step_flops,
    elementwise_ops,
    generation_flops,
    matmul_flops,
    token_passes,
    visible_pairs,
)

__all__ = [
    "DEVICES",
    "Device",
    "Factor",
    "arithmetic_intensity",
    "attention_flops",
    "cache_bytes",
    "cache_bytes_per_token",
    "cache_formula",
    "copied_rows",
    "decode_step_flops",
    "elementwise_ops",
    "generation_flops",
    "matmul_flops",
    "parameter_count",
    "roofline_seconds",
    "step_bytes",
    "token_passes",
    "visible_pairs",
]
