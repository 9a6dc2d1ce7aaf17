"""What a trained decoder has learned, on rows that nobody has trained on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import mini_attn.torch as mt
from mini_attn.stories import row_probabilities, sample_rows, who_has
from training.loop import next_word_losses

__all__ = ["measured"]

SEED = 987_654_321  # of rows for measuring; training rows come from other seeds
SURE = 0.05  # nats: where one who knows the language has no doubt left
BATCH = 32


def _by_batch(rows: NDArray[Any], ask: Callable[[Tensor], Tensor]) -> NDArray[Any]:
    """What is asked of all rows, a batch of them after the other."""
    parts = [torch.from_numpy(rows[i : i + BATCH]) for i in range(0, len(rows), BATCH)]
    with torch.inference_mode():
        return torch.cat([ask(part) for part in parts]).numpy()


def _losses(model: mt.Decoder, rows: NDArray[Any]) -> NDArray[Any]:
    """Nats of each word after the first, (rows, length - 1)."""
    return _by_batch(rows, lambda part: next_word_losses(model, part).double())


def _true_losses(rows: NDArray[Any], kind: str) -> NDArray[Any]:
    """The same of one who knows the language."""
    chances = row_probabilities(rows, kind=kind)[:, :-1]
    return -np.log(np.take_along_axis(chances, rows[:, 1:, None], axis=2)[..., 0])


def _spread(values: NDArray[Any]) -> dict[str, float]:
    """Mean over rows, and its standard error."""
    means = values.mean(axis=1)
    return {
        "nats": float(means.mean()),
        "standard_error": float(means.std(ddof=1) / len(means) ** 0.5),
    }


def _recall(model: mt.Decoder, rows: NDArray[Any]) -> dict[str, Any]:
    """How often the likeliest word is right where it follows from who has what."""
    asked = who_has(rows)
    if not len(asked.rows):
        return {"asked": 0}
    guesses = _by_batch(rows, lambda part: model(part).argmax(-1))
    right = guesses[asked.rows, asked.positions] == asked.answers
    far = asked.distances >= 64
    return {
        "asked": len(right),
        "right": float(right.mean()),
        "asked_64_back_or_more": int(far.sum()),
        "right_64_back_or_more": float(right[far].mean()) if far.any() else None,
    }


def measured(model: mt.Decoder, *, rows: int = 256, length: int = 256) -> dict[str, Any]:
    """Loss and floor of stories and of repeats, and recall, with standard errors."""
    found: dict[str, Any] = {"rows": rows, "length": length}
    for kind in ("stories", "repeats"):
        held = sample_rows(rows, length, SEED, kind=kind)
        ours, true = _losses(model, held), _true_losses(held, "mixture")
        found[kind] = {
            "loss": _spread(ours),
            "true": _spread(true),
            "excess": _spread(ours - true),
        }
        if kind == "repeats":
            sure = true < SURE
            found["copying"] = {"words": int(sure.sum()), "nats": float(ours[sure].mean())}
        else:
            found["who_has"] = _recall(model, held)
    return found
