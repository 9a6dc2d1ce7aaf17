"""Layers with a state in plain: weights by name, and a cache."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.plain import linear
from mini_attn.plain import state as plain_state
from tests.forms import Form

SIZES = {"conv_kernel": 3}
# Other forms of the same rule, which take the same arguments.
RULES = (
    plain_state.recurrent_attention,
    plain_state.parallel_attention,
    partial(plain_state.chunked_attention, chunk=3),
)


def form(config: Any, state: dict[str, Any]) -> Form:
    """Return the plain form of a layer with this state."""
    weights: dict[str, Any] = {
        name.removesuffix(".weight").removesuffix("_proj"): weight.T
        for name, weight in state.items()
        if name.endswith("_proj.weight")
    }
    weights |= {name: state[name] for name in ("A_log", "dt_bias", "D") if name in state}
    weights |= {"norm": state["o_norm.weight"], "head_dim": config.head_dim, "scale": config.scale}
    weights |= {"rates": np.array(config.decay or ()), "most": 1 + config.negative_eigenvalues}
    if config.conv_kernel > 1:
        weights["conv"] = state["conv1d.weight"]
    layer = getattr(linear, f"{config.kind}_layer")
    ways = tuple(({}, partial(layer, n_heads=config.n_heads, rule=rule)) for rule in RULES)

    def shown(cache: list[Any], tokens: int) -> list[Any]:
        keys, tails = config.key_width, []
        if config.conv_kernel > 1:
            tail = cache[1][:, -min(tokens, config.conv_kernel - 1) :]
            tails = np.split(tail, [keys, 2 * keys], axis=2)
        return [cache[0], *tails, np.array([tokens - 1])]

    return Form(weights, lambda batch, capacity: [None, None, 0], ways, shown=shown)
