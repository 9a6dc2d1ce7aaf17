"""What the cache calculator can be set to: models, variants, types, devices, and their sizes."""

from __future__ import annotations

from typing import Any

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.variants import KINDS, Size, Variant

__all__ = ["BITS", "OWN", "calculator_schema", "layers_apart", "state_sizes"]

OWN = "own"
# Bits of a number; in groups with their scales: 2 and 4 bits in groups of 32 with a float16 scale
# and zero, NVFP4 and MXFP4.
BITS = {
    "float32": 32, "bfloat16": 16, "float16": 16, "float8": 8, "int8": 8, "int4": 4,
    "nvfp4": 4.5, "mxfp4": 4.25, "int4-grouped": 5, "int2-grouped": 3,
}  # fmt: skip


STATE = ("n_heads", "n_key_heads", "head_dim", "v_head_dim", "conv_kernel", "norm_over")


def state_sizes(model: Any) -> dict[str, Any]:
    """Return the sizes of a model's layers with a state; nothing where it has none."""
    state = next(filter(None, map(model.linear_of, range(model.n_layers))), None)
    if state is None:
        return {}
    sizes = {name: getattr(state, name) for name in (*STATE, "conv_bias")}
    biases = "attention" if state.out_bias else "qkv" if state.bias else "none"
    return {"attention": state.variant, **sizes, "biases": biases}


def layers_apart(model: Any) -> dict[str, Any]:
    """Return in what a model's layers differ beyond a window in turn; of most models, nothing."""
    apart = {
        "full_layers": list(model.full_layers),
        "full_head_dim": model.full_head_dim,
        "full_n_kv_heads": model.full_n_kv_heads,
        "shared_layers": model.n_kv_shared_layers,
        "spans": list(model.spans),
        "linear": state_sizes(model),
    }
    return {key: size for key, size in apart.items() if size}


def calculator_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the calculator's schema: every model, variant, type, device and size of a cache."""
    values = {
        "model": [*MODELS, OWN],
        "attention": list(KINDS),
        "dtype": list(BITS),
        "weight_dtype": list(BITS),
        "device": [*cost.DEVICES, OWN],
    }
    asked: dict[str, tuple[Variant, Size]] = {}
    for entry in KINDS.values():
        for size in entry.cache_sizes:
            asked.setdefault(size.name, (entry, size))  # the first that has it says its default
    sizes = {
        name: {
            "type": "int",
            "min": 1,
            "max": size.most,
            "default": dict(entry.compared).get(name, 1),
        }
        for name, (entry, size) in asked.items()
    }
    keys = list(schema)
    first, last = keys.index("v_head_dim") + 1, keys.index("full_every")
    told = {key: schema[key] | {"values": values[key]} for key in values}
    before, behind = ({key: schema[key] for key in part} for part in (keys[:first], keys[last:]))
    return before | sizes | behind | told
