"""What attention costs: FLOPs, bytes and time bounds, computed in plain integers."""

from mini_attn.cost.communication import (
    Collective,
    Communication,
    Link,
    communication,
    device_cache_bytes,
    device_cache_values,
    fitted_link,
    idle_share,
    ring_pairs,
)
from mini_attn.cost.compressed import CompressedCost, entry_pairs
from mini_attn.cost.experts import expected_experts, expert_bounds
from mini_attn.cost.heads import HeadsCost
from mini_attn.cost.indexed import IndexedCost, block_reads, indexer_flops
from mini_attn.cost.indexed_latent import IndexedLatentCost
from mini_attn.cost.latent import (
    LatentCost,
    cheaper_form,
    latent_bytes,
    latent_crossover,
    latent_flops,
    latent_seconds,
)
from mini_attn.cost.linear import LinearCost
from mini_attn.cost.memory import (
    Factor,
    cache_bytes,
    cache_bytes_per_token,
    cache_formula,
    copied_rows,
    head_copies,
)
from mini_attn.cost.nsa import NativeSparseCost, branch_pairs
from mini_attn.cost.parameters import active_parameter_count, parameter_count
from mini_attn.cost.products import product_bytes, product_flops, product_traffic
from mini_attn.cost.recurrence import recurrence_crossover, recurrence_flops, state_bytes
from mini_attn.cost.roofline import (
    DEVICES,
    Device,
    arithmetic_intensity,
    measured_device,
    roofline_seconds,
)
from mini_attn.cost.rotary import rotary_flops
from mini_attn.cost.steps import (
    activation_bytes,
    cache_intensity,
    step_bytes,
    step_operations,
    step_seconds,
)
from mini_attn.cost.storage import Contiguous, Evicting, Paged, Quantized, Ring
from mini_attn.cost.tiled import computed_tiles, tile_bytes, tiled_pairs, tiled_traffic
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
    "Collective",
    "Communication",
    "CompressedCost",
    "Contiguous",
    "Device",
    "Evicting",
    "Factor",
    "HeadsCost",
    "IndexedCost",
    "IndexedLatentCost",
    "LatentCost",
    "LinearCost",
    "Link",
    "NativeSparseCost",
    "Paged",
    "Quantized",
    "Ring",
    "activation_bytes",
    "active_parameter_count",
    "arithmetic_intensity",
    "attention_flops",
    "block_reads",
    "branch_pairs",
    "cache_bytes",
    "cache_bytes_per_token",
    "cache_formula",
    "cache_intensity",
    "cheaper_form",
    "communication",
    "computed_tiles",
    "copied_rows",
    "decode_step_flops",
    "device_cache_bytes",
    "device_cache_values",
    "elementwise_ops",
    "entry_pairs",
    "expected_experts",
    "expert_bounds",
    "fitted_link",
    "generation_flops",
    "head_copies",
    "idle_share",
    "indexer_flops",
    "latent_bytes",
    "latent_crossover",
    "latent_flops",
    "latent_seconds",
    "matmul_flops",
    "measured_device",
    "parameter_count",
    "product_bytes",
    "product_flops",
    "product_traffic",
    "recurrence_crossover",
    "recurrence_flops",
    "ring_pairs",
    "roofline_seconds",
    "rotary_flops",
    "state_bytes",
    "step_bytes",
    "step_operations",
    "step_seconds",
    "tile_bytes",
    "tiled_pairs",
    "tiled_traffic",
    "token_passes",
    "visible_pairs",
]
