"""All variants of attention at one shape, for the table that compares them. Data only."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mini_attn import cost
from mini_attn.models import MODELS, ModelConfig
from mini_attn.variants import REGISTRY

__all__ = ["ONE_SHAPE", "comparison"]

_BASE = MODELS["llama-3-8b"]
_HEADS = {"mha": _BASE.n_heads, "mqa": 1, "mla": _BASE.n_heads}
_OWN: dict[str, dict[str, Any]] = {
    "sliding_window": {"window": 4096},
    # The sizes of DeepSeek-V2's heads and latent, with queries projected directly.
    "mla": {
        "head_dim": 192,
        "v_head_dim": 128,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "kv_lora_rank": 512,
    },
}

# Llama-3-8B with each kind of attention in turn; all other sizes are the same.
ONE_SHAPE: dict[str, ModelConfig] = {
    name: replace(
        _BASE,
        attention=name,
        n_kv_heads=_HEADS.get(name, _BASE.n_kv_heads),
        **_OWN.get(name, {}),
    )
    for name in REGISTRY
}


def _short(model: ModelConfig) -> str:
    """A name with the size that decides."""
    if model.attention == "mla":
        return f"Latent, {model.kv_lora_rank} + {model.qk_rope_head_dim}"
    if model.window is not None:
        return f"Window, {model.window:,}"
    return {"mha": "Multi-head", "mqa": "Multi-query"}.get(
        model.attention, f"Grouped, {model.n_kv_heads} KV"
    )


def _flops(model: ModelConfig, kv_len: int) -> int:
    """All products of one cached step."""
    form = "absorbed" if model.attention == "mla" else None
    parts = cost.matmul_flops(model, q_len=1, kv_len=kv_len, causal="exact", form=form)
    return sum(parts.values())


def _entry(name: str, model: ModelConfig) -> dict[str, Any]:
    """What a step costs: a part for each token that runs, and one for each key that it meets."""
    pair = _flops(model, 2) - _flops(model, 1)
    fields = REGISTRY[name].cache
    return {
        "name": name,
        "title": REGISTRY[name].title,
        "short": _short(model),
        "n_layers": model.n_layers,
        "fields": [{"name": field.name, "numbers": field.numbers(model)} for field in fields],
        "window": model.window if REGISTRY[name].length_rule == "window" else None,
        "parameters": cost.parameter_count(model),
        "read": cost.step_bytes(model, kv_len=1, dtype_bytes=1)["weights"],
        "row_flops": _flops(model, 1) - pair,
        "pair_flops": pair,
    }


def comparison() -> dict[str, Any]:
    """What the widget needs of the variants, all at the shape of one model.

    Returns
    -------
    dict
        ``base``, the model's title, and ``variants``, one entry each.
    """
    return {
        "base": _BASE.title,
        "variants": [_entry(name, model) for name, model in ONE_SHAPE.items()],
    }
