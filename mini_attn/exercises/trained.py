"""Arrays of the trained decoder, as exercises hand them out: an answer never loads a model."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mini_attn.numpy as ma
from mini_attn.stories import load, sample_rows
from mini_attn.stories.family import film, film_frame
from mini_attn.stories.inside import attention_maps

__all__ = ["LATE", "Heads", "block_row", "maps_of", "story_row", "trained_heads", "trained_stream"]

Array = NDArray[Any]
Heads = tuple[Array, Array, Array]
LATE = -1  # the film's last frame


@lru_cache(maxsize=1)
def _decoder() -> Any:
    return load("mha")


@lru_cache(maxsize=2)
def _filmed(frame: int) -> Any:
    return film_frame(film()["frames"][frame]["step"])


def maps_of(ids: Array, frame: int = LATE) -> Array:
    """Weights (n_layers, n_heads, seq, seq) of a frame of the film for the words ``ids``."""
    return attention_maps(_filmed(frame), ids[None])[:, 0].astype(np.float64)


def story_row(rng: np.random.Generator, length: int) -> Array:
    """The beginning of a story."""
    return sample_rows(1, length, int(rng.integers(2**31)), kind="stories")[0]


def block_row(rng: np.random.Generator, period: int, copies: int = 2) -> Array:
    """The start token, then a block of different words again and again."""
    block = rng.choice(np.arange(1, 118), size=period, replace=False)
    return np.concatenate([[0], np.tile(block, copies)])


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
    model = _decoder()
    sizes = model.config.attentions[layer]
    x = model.embed_tokens(story_row(rng, tokens)[None])
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


def trained_stream(ids: Array) -> tuple[Array, Array, Array]:
    """Return what the trained decoder adds up for the last word of a text, and what reads it.

    ``logits = norm(parts.sum(axis=0)) * gain @ table.T``

    Parameters
    ----------
    ids : integer array (seq,)
        The text.

    Returns
    -------
    tuple of arrays (parts, gain, table)
        In float64: the addends (n_parts, d_model), which are the embedding and, for each layer,
        its heads and its MLP; the gain (d_model,) of the last norm; the embeddings
        (vocab_size, d_model).

    Examples
    --------
    >>> [array.shape for array in trained_stream(np.array([0, 5, 7]))]
    [(11, 64), (64,), (118, 64)]
    """
    model = _decoder()
    x = model.embed_tokens(ids[None])
    parts = [x[0, -1]]
    for layer, maps in zip(model.layers, attention_maps(model, ids[None]), strict=True):
        attn, h = layer.self_attn, layer.input_layernorm(x)
        looked = maps[0, :, -1:] @ attn.project(h, h)[2][0]  # (n_heads, 1, head_dim)
        rows = attn.o_proj.weight.T.reshape(len(looked), looked.shape[-1], -1)  # of each head
        x = x + attn(h)
        added = layer.mlp(layer.post_attention_layernorm(x))
        parts += [*(looked @ rows)[:, 0], added[0, -1]]
        x = x + added
    arrays = np.stack(parts), model.norm.weight, model.embed_tokens.weight
    return tuple(array.astype(np.float64) for array in arrays)  # type: ignore[return-value]
