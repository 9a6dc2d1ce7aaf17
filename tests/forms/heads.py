"""Heads with keys and values of their own or shared in plain: weights by name, and a cache."""

from __future__ import annotations

from functools import partial
from typing import Any

from mini_attn import plain
from mini_attn.plain import later
from tests.forms import Form

INFINITY = float("inf")
SIZES: dict[str, Any] = {"window": 4}


def form(config: Any, state: dict[str, Any]) -> Form:
    """Return the plain form of a layer with this state."""
    window = INFINITY if config.window is None else config.window
    attend = partial(
        plain.grouped_query_attention,
        n_heads=config.n_heads,
        n_kv_heads=config.n_kv_heads,
        window=window,
        layout=config.rope and config.rope.layout,
    )
    if config.sink_tokens:
        window += config.sink_tokens  # slots
        sinks = {"sink_tokens": config.sink_tokens}
        attend = partial(later.sink_window_attention, **attend.keywords, **sinks)

    def cache(batch: int, capacity: int) -> Any:
        slots = capacity if window == INFINITY else window
        return plain.new_cache(batch, config.n_kv_heads, slots, config.head_dim, config.v_head_dim)

    weights = {name: state[f"{name}_proj.weight"].T for name in "qkvo"}
    return Form(weights, cache, (({}, attend),))
