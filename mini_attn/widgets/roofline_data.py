"""What the roofline widget knows of a pass: FLOPs by row and by pair, numbers read, rates."""

from __future__ import annotations

from typing import Any

from mini_attn import cost
from mini_attn.models import MODELS

__all__ = ["SHOWN", "roofline"]

# One published model for each way to share heads, and one that a single device cannot hold.
SHOWN = ("llama-2-7b", "llama-3-8b", "starcoder-15b", "llama-3-70b")


def _model(name: str) -> dict[str, Any]:
    """A model's work taken apart; the widget multiplies by rows, pairs and sequences."""
    model = MODELS[name]
    work = cost.matmul_flops(model, q_len=1, kv_len=1, batch=1)
    moved = cost.step_operations(model, kv_len=1, dtype_bytes=1)
    return {
        "name": name,
        "title": model.title,
        "n_layers": model.n_layers,
        "n_heads": model.n_heads,
        "n_kv_heads": model.n_kv_heads,
        "parameters": cost.parameter_count(model),
        "read": moved["products"][1],
        "row_flops": work["projections"] + work["output"] + work["mlp"],
        "pair_flops": work["scores"] + work["weighted sum"],
        "logit_flops": work["logits"],
        "logit_read": moved["logits"][1],
        "kept": cost.cache_bytes_per_token(model, dtype_bytes=1),
    }


def roofline() -> dict[str, Any]:
    """The widget's models and devices.

    Returns
    -------
    dict
        ``models`` with their FLOPs for one row, pair and sequence and their numbers read and
        kept; ``devices`` with their rates in bfloat16.
    """
    devices = [
        {
            "key": key,
            "name": device.name,
            "memory_bytes": device.memory_bytes,
            "bytes_per_second": device.bytes_per_second,
            "flops_per_second": device.flops_per_second["bfloat16"],
        }
        for key, device in cost.DEVICES.items()
    ]
    return {"models": [_model(name) for name in SHOWN], "devices": devices}
