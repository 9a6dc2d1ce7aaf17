"""Who sees whom, fitted to the heads: masks, positions and biases as attention takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mini_attn.errors import ShapeError
from mini_attn.numpy.mask import check_sight, combine_masks, visible

Array = NDArray[Any]


def find_seen(
    mask: Array | None,
    causal: bool,
    window: int | None,
    q_positions: Array | None,
    kv_positions: Array | None,
    sizes: dict[str, int],
) -> Array | None:
    """Mask and positions together, True = may attend; None if everything is visible."""
    masks = [None if mask is None else fit_heads("mask", mask, sizes)]
    placed = q_positions is not None or kv_positions is not None
    if causal or window is not None or placed:
        places = find_places(causal, q_positions, kv_positions, sizes)
        seen = visible(*places, causal=causal, window=window)
        masks.append(fit_heads("positions", seen, sizes, exact=True))
    return combine_masks(*masks)


def find_places(
    causal: bool, q_positions: Array | None, kv_positions: Array | None, sizes: dict[str, int]
) -> tuple[Array, Array]:
    """Positions of the queries and of the keys, those that were not given as they follow."""
    q_len, kv_len = sizes["q_len"], sizes["kv_len"]
    if kv_positions is None:
        kv_positions = np.arange(kv_len)
    if q_positions is None and not causal:
        q_positions = np.zeros(q_len, np.int64)  # not compared
    elif q_positions is None:
        if q_len > kv_len:
            raise ShapeError(
                f"{q_len} causal queries cannot be the last of {kv_len} keys: pass q_positions"
            )
        q_positions = np.asarray(kv_positions)[..., kv_len - q_len :]
    return q_positions, kv_positions


def check_places(
    places: tuple[Array, Array], causal: bool, window: int | None, sizes: dict[str, int]
) -> None:
    """Refuse positions that do not fit the queries and keys, without comparing them."""
    check_sight(*places, causal, window)
    for name, place in zip(("q", "kv"), places, strict=True):
        full = (sizes["batch"], sizes[f"{name}_len"])
        if place.shape[-1] != full[1] or (place.ndim == 2 and len(place) not in (1, full[0])):
            raise ShapeError(
                f"{name}_positions must be {full[1:]} or {full}, got shape {place.shape}"
            )


def fit_heads(name: str, array: Array, sizes: dict[str, int], *, exact: bool = False) -> Array:
    """View a mask or bias as (batch, n_heads, q_len, kv_len), ones where it does not vary."""
    full = tuple(sizes[axis] for axis in ("batch", "n_heads", "q_len", "kv_len"))
    shape = tuple(getattr(array, "shape", ()))
    four = (1, 1, *shape) if len(shape) == 2 else shape
    four = (shape[0], 1, *shape[1:]) if len(shape) == 3 else four
    fits = len(four) == 4 and all(a in (1, b) for a, b in zip(four, full, strict=True))
    if not fits or (exact and four[2:] != full[2:]):
        raise ShapeError(
            f"{name} must fit (batch, n_heads, q_len, kv_len) = {full} as (q_len, kv_len), "
            f"(batch, q_len, kv_len) or with all four axes, got shape {shape}"
        )
    return array.reshape(four)
