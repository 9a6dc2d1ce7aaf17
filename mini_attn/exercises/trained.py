"""Arrays of the trained decoder, as exercises hand them out: an answer never loads a model."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Heads", "trained_heads"]

Array = NDArray[Any]
Heads = tuple[Array, Array, Array]


@lru_cache(maxsize=1)
def _decoder() -> Any:
    from mini_attn.stories import load  # read when an exercise asks for it, not before

    return load("mha")


def trained_heads(
    rng: np.random.Generator, tokens: int, *, layer: int = 1, rotated: bool = True
) -> Heads:
    """Queries, keys and values of all heads of a layer, on a story that is drawn.

    ``q, k, v = split_heads(norm(x) @ W_q), split_heads(norm(x) @ W_k), split_heads(norm(x) @ W_v)``

    Parameters
    ----------
    rng : numpy.random.Generator
        Chooses the story.
    tokens : int
        Words that are read.
    layer : int
        0 or 1: the layer of the trained multi-head decoder.
    rotated : bool
        Whether queries and keys are rotated to their positions, as a cache holds them.

    Returns
    -------
    tuple of arrays (q, k, v)
        In float64, each (n_heads, tokens, head_dim).

    Examples
    --------
    >>> [array.shape for array in trained_heads(np.random.default_rng(0), 6)]
    [(4, 6, 16), (4, 6, 16), (4, 6, 16)]
    """
    import mini_attn.numpy as ma
    from mini_attn.stories import sample_rows

    model = _decoder()
    sizes = model.config.attentions[layer]
    ids = sample_rows(1, tokens, int(rng.integers(2**31)), kind="stories")
    x = model.embed_tokens(ids)
    for below in model.layers[:layer]:
        x = below(x)
    x = model.layers[layer].input_layernorm(x)
    attention = model.layers[layer].self_attn
    q, k, v = (
        ma.split_heads(project(x), sizes.n_heads).astype(np.float64)
        for project in (attention.q_proj, attention.k_proj, attention.v_proj)
    )
    if rotated:
        inv_freq, _, _ = ma.rope_frequencies(sizes.head_dim, theta=sizes.rope.theta)
        cos, sin = ma.rope_table(np.arange(tokens), inv_freq, dtype="float64")
        q, k = (ma.apply_rope(part, cos, sin, layout=sizes.rope.layout) for part in (q, k))
    return q[0], k[0], v[0]
