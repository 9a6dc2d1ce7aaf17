"""Measure what a trained decoder has learned, on held-out rows."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from mini_attn.stories import Recall, row_probabilities, sample_rows, who_has
from training.loop import Model, word_losses

__all__ = ["measured", "read"]

SEED = 987_654_321  # of rows for measuring; training rows come from other seeds
SURE = 0.05  # nats: where one who knows the language has no doubt left
BATCH = 64


def read(model: Model, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Nats of each word after the first, (rows, length - 1), and the likeliest next words."""
    losses, guesses = [], []
    with torch.inference_mode():
        for part in torch.split(torch.from_numpy(rows), BATCH):
            logits = model(part)
            losses.append(word_losses(logits[:, :-1], part).double())
            guesses.append(logits.argmax(-1))
    return torch.cat(losses).numpy(), torch.cat(guesses).numpy()


@functools.cache
def _held_out(rows: int, length: int, kind: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows of one kind, and the nats of their words for one who knows the language."""
    held = sample_rows(rows, length, SEED, kind=kind)
    chances = row_probabilities(held, kind="mixture")[:, :-1]
    true: NDArray[Any] = -np.log(np.take_along_axis(chances, held[:, 1:, None], axis=2)[..., 0])
    return held, true


def _spread(values: NDArray[Any]) -> dict[str, float]:
    """Mean over rows, and its standard error."""
    means = values.mean(axis=1)
    return {
        "nats": float(means.mean()),
        "standard_error": float(means.std(ddof=1) / len(means) ** 0.5),
    }


def _recall(guesses: NDArray[Any], rows: NDArray[Any], since: int = 0) -> dict[str, Any]:
    """Return how often the likeliest word is right where the story determines it."""
    asked = who_has(rows)
    if since:
        later = asked.positions >= since
        asked = Recall(*(each[later] for each in asked))
    if not len(asked.rows):
        return {"asked": 0}
    right = guesses[asked.rows, asked.positions] == asked.answers
    far = asked.distances >= 64
    return {
        "asked": len(right),
        "right": float(right.mean()),
        "asked_64_back_or_more": int(far.sum()),
        "right_64_back_or_more": float(right[far].mean()) if far.any() else None,
    }


def measured(model: Model, *, rows: int = 256, length: int = 256, since: int = 0) -> dict[str, Any]:
    """Loss and floor of stories and of repeats, and recall, with standard errors.

    Words are counted that a position from ``since`` on foretells.
    """
    found: dict[str, Any] = {"rows": rows, "length": length}
    for kind in ("stories", "repeats"):
        held, true = _held_out(rows, length, kind)
        ours, guesses = read(model, held)
        ours, true = ours[:, since:], true[:, since:]
        found[kind] = {
            "loss": _spread(ours),
            "true": _spread(true),
            "excess": _spread(ours - true),
        }
        if kind == "repeats":
            sure = true < SURE
            found["copying"] = {"words": int(sure.sum()), "nats": float(ours[sure].mean())}
        else:
            found["who_has"] = _recall(guesses, held, since)
    return found
