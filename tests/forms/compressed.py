"""Entries that stand for several tokens in plain: weights by name, and a cache."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn import plain
from mini_attn.plain.compressed import compressed_attention
from tests.forms import Form

SIZES = {"window": 4, "compress": 2, "index_n_heads": 2, "index_head_dim": 4, "index_topk": 2}


def weights_of(state: dict[str, Any], config: Any) -> dict[str, Any]:
    """Return a layer's weights by the plain form's names."""
    w = {name.removesuffix(".weight"): weight for name, weight in state.items()}
    q = "q_proj" if config.q_lora_rank is None else "q_b_proj"
    W = {"q": w[q].T, "kv": w["kv_proj"].T, "kv_norm": w["kv_norm"]}
    W["sinks"] = w.get("sinks", np.full(config.n_heads, -np.inf))
    if config.q_lora_rank is not None:
        W |= {"q_latent": w["q_a_proj"].T, "q_norm": w["q_a_norm"]}
    if config.o_groups is None:
        W["o"] = w["o_proj"].T
    else:
        o_a = w["o_a_proj"].reshape(config.o_groups, config.o_lora_rank, -1)
        W |= {"o_groups": o_a.swapaxes(1, 2), "o": w["o_b_proj"].T}
    parts = {"entries": "compressor."}
    if config.index_topk is not None:
        parts["index"] = own = "compressor.indexer."
        W["index"] = {"q": w[f"{own}q_b_proj"].T, "heads": w[f"{own}scorer.weights_proj"].T}
    for name, own in parts.items():
        W[name] = W.get(name, {}) | {
            "values": w[f"{own}kv_proj"].T,
            "gates": w[f"{own}gate_proj"].T,
            "bias": w[f"{own}position_bias"],
            "norm": w[f"{own}kv_norm"],
        }
    return W


def new_cache(config: Any, batch: int, capacity: int) -> list[Any]:
    """Return a window, and for entries and the indexer's the tokens that wait and their place."""
    cache: list[Any] = [plain.new_cache(batch, 1, config.window, config.head_dim, 0)]
    series = 1 if config.index_topk is None else 2
    for width in (config.head_dim, config.index_head_dim)[:series]:
        waiting = (batch, 1, series * config.compress, series * width, series * width)
        held = np.zeros((batch, 1, capacity // config.compress, width))
        cache.append((plain.new_cache(*waiting), held))
    return [*cache, None][:3]


def shown(config: Any, cache: list[Any], tokens: int) -> list[Any]:
    """Return what the layer's cache shows after so many tokens, from the plain one."""
    ring, *parts = cache
    parts = [part for part in parts if part is not None]
    entries = [held[:, :, : tokens // config.compress] for _, held in parts]
    waiting = [a[:, :, at >= 0] for (*both, at), _ in ((p[0], p[1]) for p in parts) for a in both]
    split = [np.concatenate(np.split(a, len(parts), axis=-1), axis=1) for a in waiting]
    return [ring[0][:, :, ring[2] >= 0], *entries, *split, np.arange(tokens)]


def form(config: Any, state: dict[str, Any]) -> Form:
    """Return the plain form of a layer with this state."""
    rope = config.rope
    turned = (
        {"rotary_dim": rope.rotary_dim or config.head_dim, "layout": rope.layout} if rope else {}
    )
    attend = partial(
        compressed_attention,
        n_heads=config.n_heads,
        window=config.window,
        compress=config.compress,
        index_topk=config.index_topk,
        **turned,
    )
    return Form(
        weights_of(state, config),
        partial(new_cache, config),
        (({}, attend),),
        shown=partial(shown, config),
    )
