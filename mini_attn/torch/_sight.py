"""Who sees whom, fitted to the heads: masks, positions and biases as attention takes them."""

from __future__ import annotations

import torch
from torch import Tensor

from mini_attn.errors import ShapeError
from mini_attn.torch.mask import check_sight, combine_masks, visible


def find_seen(
    mask: Tensor | None,
    causal: bool,
    window: int | None,
    q_positions: Tensor | None,
    kv_positions: Tensor | None,
    sizes: dict[str, int],
    device: torch.device,
) -> Tensor | None:
    """Mask and positions together, True = may attend; None if everything is visible."""
    masks = [None if mask is None else fit_heads("mask", mask, sizes)]
    placed = q_positions is not None or kv_positions is not None
    if causal or window is not None or placed:
        places = find_places(causal, q_positions, kv_positions, sizes, device)
        seen = visible(*places, causal=causal, window=window)
        masks.append(fit_heads("positions", seen, sizes, exact=True))
    return combine_masks(*masks)


def find_places(
    causal: bool,
    q_positions: Tensor | None,
    kv_positions: Tensor | None,
    sizes: dict[str, int],
    device: torch.device,
) -> tuple[Tensor, Tensor]:
    """Positions of the queries and of the keys, those that were not given as they follow."""
    q_len, kv_len = sizes["q_len"], sizes["kv_len"]
    if kv_positions is None:
        kv_positions = torch.arange(kv_len, device=device)
    if q_positions is None and not causal:
        q_positions = torch.zeros(q_len, dtype=torch.int64, device=device)  # not compared
    elif q_positions is None:
        if q_len > kv_len:
            raise ShapeError(
                f"{q_len} causal queries cannot be the last of {kv_len} keys: pass q_positions"
            )
        q_positions = kv_positions[..., kv_len - q_len :]
    return q_positions, kv_positions


def check_places(
    places: tuple[Tensor, Tensor], causal: bool, window: int | None, sizes: dict[str, int]
) -> None:
    """Refuse positions that do not fit the queries and keys, without comparing them."""
    check_sight(*places, causal, window)
    for name, place in zip(("q", "kv"), places, strict=True):
        full = (sizes["batch"], sizes[f"{name}_len"])
        if place.shape[-1] != full[1] or (place.ndim == 2 and len(place) not in (1, full[0])):
            raise ShapeError(
                f"{name}_positions must be {full[1:]} or {full}, got shape {tuple(place.shape)}"
            )


def fit_heads(name: str, tensor: Tensor, sizes: dict[str, int], *, exact: bool = False) -> Tensor:
    """View a mask or bias as (batch, n_heads, q_len, kv_len), ones where it does not vary."""
    full = tuple(sizes[axis] for axis in ("batch", "n_heads", "q_len", "kv_len"))
    shape = tuple(getattr(tensor, "shape", ()))
    four = (1, 1, *shape) if len(shape) == 2 else shape
    four = (shape[0], 1, *shape[1:]) if len(shape) == 3 else four
    fits = len(four) == 4 and all(a in (1, b) for a, b in zip(four, full, strict=True))
    if not fits or (exact and four[2:] != full[2:]):
        raise ShapeError(
            f"{name} must fit (batch, n_heads, q_len, kv_len) = {full} as (q_len, kv_len), "
            f"(batch, q_len, kv_len) or with all four axes, got shape {shape}"
        )
    return tensor.reshape(four)
