"""Native sparse attention in plain: weights by name, and a cache."""

from __future__ import annotations

from functools import partial
from typing import Any

from mini_attn import plain
from mini_attn.plain import serving
from tests.forms import Form

SIZES = {"block_size": 2, "n_blocks": 2, "window": 4}


def form(config: Any, state: dict[str, Any]) -> Form:
    """Return the plain form of a layer with this state."""
    weights = {name: state[f"{name}_proj.weight"].T for name in "qkvo"}
    weights["gates"] = state["gate_proj.weight"].T
    names = ("n_heads", "n_kv_heads", "block_size", "n_blocks", "window")
    attend = partial(
        serving.native_sparse_attention,
        layout=config.rope and config.rope.layout,
        **{name: getattr(config, name) for name in names},
    )

    def cache(batch: int, capacity: int) -> Any:
        sizes = (batch, config.n_kv_heads, capacity, config.head_dim, config.v_head_dim)
        return plain.new_cache(*sizes)

    def means(arrays: list[Any]) -> list[Any]:
        n = arrays[0].shape[2] // config.block_size
        whole = [a[:, :, : n * config.block_size] for a in arrays]
        shape = (n, config.block_size)
        return [a.reshape(*a.shape[:2], *shape, a.shape[3]).mean(axis=3) for a in whole]

    return Form(weights, cache, (({}, attend),), means)
