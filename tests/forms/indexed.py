"""Attention to indexed keys in plain: weights by name, and a cache."""

from __future__ import annotations

from functools import partial
from typing import Any

from mini_attn import plain
from mini_attn.plain import serving
from tests.forms import Form

SIZES = {"index_n_heads": 2, "index_head_dim": 4, "index_topk": 2}


def form(config: Any, state: dict[str, Any]) -> Form:
    """Return the plain form of a layer with this state."""
    names = {"index_q": "wq", "index_k": "wk", "heads": "weights_proj"}
    weights = {name: state[f"{name}_proj.weight"].T for name in "qkvo"}
    weights |= {name: state[f"indexer.{own}.weight"].T for name, own in names.items()}
    weights |= {"norm": state["indexer.k_norm.weight"], "bias": state["indexer.k_norm.bias"]}
    attend = partial(
        serving.indexed_key_attention,
        n_heads=config.n_heads,
        n_kv_heads=config.n_kv_heads,
        index_topk=config.index_topk,
        layout=config.rope and config.rope.layout,
    )

    def cache(batch: int, capacity: int) -> Any:
        sizes = (batch, config.n_kv_heads, capacity, config.head_dim, config.v_head_dim)
        signs = plain.new_cache(batch, 1, capacity, config.index_head_dim, 1)[0]
        return (*plain.new_cache(*sizes), signs)

    return Form(weights, cache, (({}, attend),))
