"""Weights of a trained model's heads, as inputs of exercises; no answer sees the model."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.stories import sample_rows
from mini_attn.stories.family import film, film_frame
from mini_attn.stories.inside import attention_maps

__all__ = ["LATE", "block_row", "maps_of", "story_row"]

Array = NDArray[Any]
LATE = -1  # the film's last frame


@lru_cache(maxsize=2)
def _model(frame: int) -> Any:
    return film_frame(film()["frames"][frame]["step"])


def maps_of(ids: Array, frame: int = LATE) -> Array:
    """Weights (n_layers, n_heads, seq, seq) of a frame of the film for the words ``ids``."""
    return attention_maps(_model(frame), ids[None])[:, 0].astype(np.float64)


def story_row(rng: np.random.Generator, length: int) -> Array:
    """The beginning of a story."""
    return sample_rows(1, length, int(rng.integers(2**31)), kind="stories")[0]


def block_row(rng: np.random.Generator, period: int, copies: int = 2) -> Array:
    """The start token, then a block of different words again and again."""
    block = rng.choice(np.arange(1, 118), size=period, replace=False)
    return np.concatenate([[0], np.tile(block, copies)])
