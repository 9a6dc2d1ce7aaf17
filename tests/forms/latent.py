"""Latent attention in plain: weights by name, and a cache."""

from __future__ import annotations

from functools import partial
from typing import Any

from mini_attn import plain
from mini_attn.config import RopeConfig
from tests.forms import Form

SIZES: dict[str, Any] = {
    "kv_lora_rank": 5,
    "q_lora_rank": 3,
    "qk_rope_head_dim": 4,
    "rope": RopeConfig(layout="interleaved"),
}


def form(config: Any, state: dict[str, Any]) -> Form:
    """Return the plain form of a layer with this state."""
    down = state["kv_a_proj_with_mqa.weight"].T
    up = state["kv_b_proj.weight"].reshape(config.n_heads, -1, config.kv_lora_rank).swapaxes(1, 2)
    weights = {
        "latent": down[:, : config.kv_lora_rank],
        "latent_norm": state["kv_a_layernorm.weight"],
        "k_rope": down[:, config.kv_lora_rank :],
        "uk": up[:, :, : config.qk_nope_head_dim],
        "uv": up[:, :, config.qk_nope_head_dim :],
        "o": state["o_proj.weight"].T,
    }
    if config.q_lora_rank is None:
        weights["q"] = state["q_proj.weight"].T
    else:
        weights["q_latent"] = state["q_a_proj.weight"].T
        weights["q_norm"] = state["q_a_layernorm.weight"]
        weights["q"] = state["q_b_proj.weight"].T

    def cache(batch: int, capacity: int) -> Any:
        return plain.new_cache(batch, 1, capacity, config.kv_lora_rank, config.qk_rope_head_dim)

    layout = config.rope.layout
    ways = tuple(
        ({"form": form.__name__}, partial(plain.latent_attention, form=form, layout=layout))
        for form in (plain.expanded, plain.absorbed)
    )
    return Form(weights, cache, ways)
