"""The film of a training: twelve of its frames, and what was measured in all of them.

``python -m training.film`` after ``make train MEMBER=mha``, which leaves a frame every 50 steps.
The chosen frames go beside the member's weights, with one record for pages and pictures.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import mini_attn.numpy as ma
from benchmarks import machine
from mini_attn.errors import ConfigError
from mini_attn.stories import WORDS, family, row_probabilities, sample_rows, who_has
from mini_attn.stories.fetching import note
from mini_attn.stories.inside import attention_maps, word_losses
from mini_attn.stories.members import LONGEST, MEMBERS
from mini_attn.stories.rounding import restored
from mini_attn.weights import load_safetensors
from training.measure import SEED, SURE
from training.run import FRAMES, written

__all__ = ["Measure", "choose", "film"]

Array = NDArray[Any]
COUNT = 12  # frames of the film
WEIGHTS = 1.0, 2.0, 1.0  # of time, copying and stories in the choice: copying is what it is about
NINTHS = 9  # a weight of a map is one digit
SHOWN = 8, 2  # words of the map's block, and how often they come


class Measure:
    """Measurements of one frame, on held-out rows."""

    def __init__(self, rows: int, length: int = LONGEST) -> None:
        self.rows, self.length = rows, length
        self.repeats, self.stories = (
            sample_rows(rows, length, SEED, kind=kind) for kind in ("repeats", "stories")
        )
        true = self._true(self.repeats)
        self.sure = true < SURE
        self.floor = {
            "copying": float(true[self.sure].mean()),
            "stories": float(self._true(self.stories).mean()),
        }
        self.asked = who_has(self.stories)
        words = self.repeats
        # behind[b, i, j]: word j comes right after an earlier place of word i
        after = np.pad(words, ((0, 0), (1, 0)), constant_values=-1)[:, :-1]
        self.behind = np.tril(words[:, :, None] == after[:, None, :])
        self.again = self.behind.any(axis=-1)  # words that have been there before

    def _true(self, rows: Array) -> Array:
        chances = row_probabilities(rows)[:, :-1]
        return -np.log(np.take_along_axis(chances, rows[:, 1:, None], axis=2)[..., 0])

    def __call__(self, model: ma.Decoder) -> dict[str, Any]:
        """Copying and stories in nats per word, recall, and two scores of each head."""
        maps = attention_maps(model, self.repeats)  # (n_layers, rows, n_heads, seq, seq)
        back = np.diagonal(maps, -1, axis1=-2, axis2=-1).mean(axis=(1, 3))
        found = (maps * self.behind[None, :, None]).sum(axis=-1).swapaxes(1, 2)
        copied = found[:, :, self.again].mean(axis=-1)
        guesses = model(self.stories).argmax(axis=-1)
        right = guesses[self.asked.rows, self.asked.positions] == self.asked.answers
        return {
            "copying": _short(word_losses(model, self.repeats)[self.sure].mean()),
            "stories": _short(word_losses(model, self.stories).mean()),
            "right": _short(right.mean()),
            "previous": _short(back),
            "induction": _short(copied),
        }


def _short(values: Any) -> Any:
    """Four decimals: what a page may show."""
    return np.round(np.float64(values), 4).tolist()


def choose(steps: Sequence[int], losses: Array, count: int = COUNT) -> list[int]:
    """Choose the frames: the first, the last, then those where the curve is longest.

    The curve is that of the losses of copying and of stories over the steps, everything divided
    by its range, with twice the weight for copying. Each further frame halves, as nearly as frames
    allow, the longest part that has frames within: equal steps of loss where it falls, equal steps
    of time where it rests.
    """
    if len(steps) < count:
        raise ConfigError(f"a film of {count} frames needs as many, got {len(steps)}")
    curve = np.column_stack([steps, losses])
    pieces = np.diff(curve, axis=0) / np.maximum(np.ptp(curve, axis=0), 1e-9) * WEIGHTS
    along = np.concatenate([[0.0], np.linalg.norm(pieces, axis=1).cumsum()])
    chosen = [0, len(steps) - 1]
    while len(chosen) < count:
        pairs = [(a, b) for a, b in itertools.pairwise(chosen) if b - a > 1]
        a, b = max(pairs, key=lambda pair: along[pair[1]] - along[pair[0]])
        middle = (along[a] + along[b]) / 2
        chosen.append(a + 1 + int(abs(along[a + 1 : b] - middle).argmin()))
        chosen.sort()
    return chosen


def shown_row() -> Array:
    """The short row whose maps the film shows: a block of different words, said twice."""
    size, times = SHOWN
    block = sample_rows(1, size + 1, seed=2, kind="repeats")[:, 1:]
    return np.concatenate([np.zeros((1, 1), block.dtype), *[block] * times], axis=1)


def as_digits(model: ma.Decoder) -> list[list[str]]:
    """Maps of the short row, per layer and head the lower triangles' rows in a text."""
    maps = np.rint(attention_maps(model, shown_row())[:, 0] * NINTHS).astype(int)
    below = np.tril_indices(maps.shape[-1])
    return [["".join(map(str, head[below])) for head in layer] for layer in maps]


def loaded(path: Path) -> ma.Decoder:
    """The decoder of a frame."""
    model = ma.Decoder(MEMBERS["mha"].config(len(WORDS)))
    model.load_state_dict(restored(load_safetensors(path)))
    return model


def film(frames: Path, folder: Path, *, rows: int) -> dict[str, Any]:
    """Measure all frames, choose, and put the chosen and the record into a folder."""
    paths = sorted(frames.glob("*.safetensors"))
    if len(paths) < COUNT:
        raise ConfigError(f"{frames} holds {len(paths)} frames: `make train MEMBER=mha` makes them")
    measure, steps, found = Measure(rows), [int(path.stem) for path in paths], []
    for step, path in zip(steps, paths, strict=True):
        found.append({"step": step, **measure(loaded(path))})
        print(f"[film] step {step}: copying {found[-1]['copying']:.3f}", flush=True)
    chosen = choose(steps, np.array([[one["copying"], one["stories"]] for one in found]))
    record = {
        **machine.describe(),
        "command": "python -m training.film",
        "rows": rows,
        "floor": {name: _short(nats) for name, nats in measure.floor.items()},
        "curve": {
            key: [one[key] for one in found] for key in ("step", "copying", "stories", "right")
        },
        "words": [WORDS[i] for i in shown_row()[0]],
        "frames": [found[i] | {"maps": as_digits(loaded(paths[i]))} for i in chosen],
    }
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.safetensors"):
        old.unlink()
    for i in chosen:
        shutil.copyfile(paths[i], folder / paths[i].name)
    if folder == family.FOLDER / "film":
        note(family.FOLDER, *(f"film/{paths[i].name}" for i in chosen))
    written(folder / "film.json", record)
    return record


def main() -> None:
    """Make the film of the frames in a folder."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--frames", type=Path, default=FRAMES)
    parser.add_argument("--out", type=Path, default=family.FOLDER / "film")
    parser.add_argument("--rows", type=int, default=32)
    options = parser.parse_args()
    record = film(options.frames, options.out, rows=options.rows)
    print("[film] chosen:", *(one["step"] for one in record["frames"]))


if __name__ == "__main__":
    main()
