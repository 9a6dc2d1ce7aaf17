"""What the roofline widget knows of a pass: FLOPs by row and by pair, numbers read, rates."""

from __future__ import annotations

from typing import Any

from mini_attn import cost
from mini_attn.models import MODELS

__all__ = ["SHOWN", "roofline"]

# One published model for each way to share heads, one that a single device cannot hold, and one
# whose layers keep a state but for every fourth.
SHOWN = ("llama-2-7b", "llama-3-8b", "starcoder-15b", "llama-3-70b", "olmo-hybrid-7b")
WITH_KEYS = ("scores", "weighted sum", "write", "solve")


def _met(model: Any, q_len: int, kv_len: int) -> int:
    """FLOPs of products with what is kept, a state's included."""
    work = cost.matmul_flops(model, q_len=q_len, kv_len=kv_len, causal="exact")
    return sum(work.get(part, 0) for part in WITH_KEYS)


def _states(model: Any, pair_flops: int) -> dict[str, Any]:
    """Work and numbers of all layers with a state, by token and by pair of a chunk."""
    first, two, three = (
        _met(model, tokens, tokens) - tokens * (tokens + 1) // 2 * pair_flops
        for tokens in (1, 2, 3)
    )
    pair = (2 * three - 3 * two) // 3  # two tokens are one pair of a chunk, three are three
    states = [own for i in range(model.n_layers) if (own := model.linear_of(i)) is not None]
    return {
        "first": first,
        "pair": pair,
        "row": (two - pair) // 2,
        "numbers": sum(own.n_heads * own.head_dim * own.v_head_dim for own in states),
        "tail": sum(2 * own.key_width + own.value_width for own in states),
        "taps": states[0].conv_kernel - 1 if states else 0,
        "layers": len(states),
    }


def _model(name: str) -> dict[str, Any]:
    """A model's work taken apart; the widget multiplies by rows, pairs and sequences."""
    model = MODELS[name]
    work = cost.matmul_flops(model, q_len=1, kv_len=1, batch=1)
    pair_flops = _met(model, 1, 2) - _met(model, 1, 1)
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
        "pair_flops": pair_flops,
        "logit_flops": work["logits"],
        "logit_read": moved["logits"][1],
        "kept": cost.cache_bytes_per_token(model, dtype_bytes=1),
        "state": _states(model, pair_flops),
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
