"""All variants of attention at one shape, for the table that compares them. Data only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mini_attn import cost
from mini_attn.models import MODELS, ModelConfig
from mini_attn.variants import REGISTRY, Variant

__all__ = ["ONE_SHAPE", "comparison"]

_BASE = MODELS["llama-3-8b"]


def _changes(entry: Variant) -> dict[str, Any]:
    """Return what a variant changes of the model: what it fixes, and sizes of its own."""
    return {"attention": entry.name, **entry.fix(_BASE.named_sizes), **dict(entry.compared)}


# Llama-3-8B with each kind of attention in turn; all other sizes are the same.
ONE_SHAPE: dict[str, ModelConfig] = {
    name: replace(_BASE, **_changes(entry))
    for name, entry in REGISTRY.items()
    if entry.in_comparison
}


def _flops(model: ModelConfig, kv_len: int) -> int:
    """All products of one cached step."""
    form = REGISTRY[model.attention].step_form
    parts = cost.matmul_flops(model, q_len=1, kv_len=kv_len, causal="exact", form=form)
    return sum(parts.values())


def _chosen(model: ModelConfig) -> int | None:
    """Keys that a query reads at the most, or None where it reads all that are kept."""
    if _branches(model):
        return None
    costs, many = REGISTRY[model.attention].costs(), 2**20
    read = costs.pairs(model, 1, many, "exact", None)
    return None if read == many else int(read)


def _branches(model: ModelConfig) -> dict[str, int] | None:
    """Sizes by which means of blocks, a few blocks and a window are read; None elsewhere."""
    if not any(field.per for field in REGISTRY[model.attention].cache):
        return None
    return {name: getattr(model, name) for name in ("block_size", "n_blocks", "window")}


def _scan_flops(model: ModelConfig, chosen: int) -> int:
    """FLOPs for each key that the choice looks at, in all layers."""
    return _flops(model, 2 * chosen + 1) - _flops(model, 2 * chosen)


def _scan_numbers(model: ModelConfig, chosen: int) -> int:
    """Numbers of one layer for each key that the choice looks at."""
    costs = REGISTRY[model.attention].costs()
    reads = [costs.read(model, 1, 2 * chosen + more, None) for more in (0, 1)]
    return int(reads[1] - reads[0])


def _entry(name: str, model: ModelConfig) -> dict[str, Any]:
    """Return what a step costs: a part per token that runs, and a part per key that it meets.

    ``read`` and ``row_flops`` are those of all weights; the logits' share stands beside them. Where
    a variant chooses so many keys, the choice compares one query with each key at a price of its
    own, and reads numbers of its own, once there are more keys than are chosen. With branches a
    pair stands for two, one of the chosen blocks and one of the window.
    """
    pair = _flops(model, 2) - _flops(model, 1)
    logit_flops, logit_read = cost.step_operations(model, kv_len=1, dtype_bytes=1)["logits"]
    entry, chosen = REGISTRY[name], _chosen(model)
    return {
        "name": name,
        "title": entry.title,
        "short": (entry.short or entry.title).format(**model.named_sizes),
        "n_layers": model.n_layers,
        "fields": [
            {"name": field.name, "numbers": field.numbers(model), "tokens": field.tokens(model)}
            for field in entry.cache
        ],
        "chosen": chosen,
        "branches": _branches(model),
        "scan_flops": _scan_flops(model, chosen) if chosen else 0,
        "scan_numbers": _scan_numbers(model, chosen) if chosen else 0,
        "window": model.window if entry.length_rule == "window" else None,
        "parameters": cost.parameter_count(model),
        "read": cost.step_bytes(model, kv_len=1, dtype_bytes=1)["weights"],
        "row_flops": _flops(model, 1) - pair,
        "pair_flops": pair,
        "logit_flops": logit_flops,
        "logit_read": logit_read,
    }


def comparison() -> dict[str, Any]:
    """Return what the widget needs of the variants, all at the shape of one model.

    Returns
    -------
    dict
        ``base``, the model's title, and ``variants``, one entry each.
    """
    return {
        "base": _BASE.title,
        "variants": [_entry(name, model) for name, model in ONE_SHAPE.items()],
    }
