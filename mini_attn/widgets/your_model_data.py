"""What the page *Your model* reads files with, and the listed models and devices by their sizes."""

from __future__ import annotations

from typing import Any

from mini_attn import cost
from mini_attn.config.linear import KINDS
from mini_attn.models import MODELS
from mini_attn.weights._known import HARMLESS
from mini_attn.weights.families._fields import BASE, FIELDS
from mini_attn.weights.hf_model import COMPRESSED, COPIED, EXPERTS, INDEXER, LATENT, MOST_LAYERS
from mini_attn.widgets.cache_calculator_data import state_sizes

__all__ = ["SIZES", "your_model"]

# What the costs of a model depend on, and what it is without.
SIZES: dict[str, Any] = {
    "attention": "", **dict.fromkeys(COPIED, 0), "n_kv_heads": 0, "biases": "none",
    **dict.fromkeys((*LATENT, *INDEXER, *EXPERTS, "n_dense_layers"), 0),
    **dict.fromkeys(("o_groups", "o_lora_rank", "compress"), 0), "spans": [],
    "window": None, "full_every": 0,
    "full_layers": [], **dict.fromkeys(("full_head_dim", "full_n_kv_heads"), 0),
    "k_eq_v": False, "v_norm": False, "layer_scalars": False, "wide_readers": False,
    "norm": "rms_norm", "norm_placement": "before", "qk_norm": "none", "mlp_matrices": 3,
    "window_sinks": False, "tied_embeddings": False, "embedding_norm": False, "sinks": False,
    "router_bias": False, "out_gate": False, "shared_gate": False, "linear": {},
}  # fmt: skip


def _told(model: Any) -> dict[str, Any]:
    """Return a model's sizes by name, without what is usual."""
    sizes = {name: getattr(model, name) for name in SIZES} | {
        "full_layers": list(model.full_layers),
        "spans": list(model.spans),
        "linear": state_sizes(model),
    }
    return {name: size for name, size in sizes.items() if size != SIZES[name]}


def your_model() -> dict[str, Any]:
    """Fields of each family, harmless keys, listed models, and devices with their rates.

    Returns
    -------
    dict
        As ``js/data/your_model.json`` holds it.
    """
    return {
        "base": BASE,
        "families": FIELDS,
        "harmless": " ".join(sorted(HARMLESS)),
        "copied": COPIED,
        "latent": LATENT,
        "indexer": INDEXER,
        "compressed": COMPRESSED,
        "experts": EXPERTS,
        "most_layers": MOST_LAYERS,
        "linear_rules": {
            name: {part: getattr(rule, part) for part in ("decay", "delta", "shares_keys")}
            | {"norm_over": rule.norm_over}
            for name, rule in KINDS.items()
        },
        "sizes": SIZES,
        "models": [
            {"name": model.name, "title": model.title, "family": model.family} | _told(model)
            for model in MODELS.values()
        ],
        "devices": [
            {
                "key": key,
                "bytes_per_second": device.bytes_per_second,
                "flops_per_second": device.flops_per_second["bfloat16"],
            }
            for key, device in cost.DEVICES.items()
        ],
    }
