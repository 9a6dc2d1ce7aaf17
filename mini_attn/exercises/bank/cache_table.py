"""Write the bytes of a cache for many layouts at once."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Compute the column *cache* for any number of layouts at once. The integer array `numbers` says how
many values a token leaves in one layer, keys and values together. The integer array `windows`, of
the same shape, says how many tokens a layer keeps at most, or 0 where it keeps all. Return the
bytes of the caches of all layers and sequences, as integers in an array of the same shape.
"""
STARTER = '''
def cache_table(
    numbers, windows, n_layers, context, batch, dtype_bytes
):
    """Bytes of each layout's cache."""
    raise NotImplementedError
'''


FACTORS = ("n_layers", "batch", "dtype_bytes")


def _case(
    numbers: list[int], windows: list[int], n_layers: int, context: int, batch: int, size: int
) -> Inputs:
    return {
        "numbers": np.array(numbers), "windows": np.array(windows), "n_layers": n_layers,
        "context": context, "batch": batch, "dtype_bytes": size,
    }  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a latent and a grouped layer. The property: windows cut, but only what is there."""
    drawn = []
    for _ in range(4):
        numbers = rng.integers(1, 512, 5).tolist()
        layers, context, batch, size = (int(n) for n in rng.integers([2, 3, 2, 1], [9, 200, 8, 3]))
        drawn.append(_case(numbers, [0] * 5, layers, context, batch, 2 * size))
    return {
        "by hand": [_case([576, 2048], [0, 0], 3, 10, 5, 2)],
        "random": drawn,
        "property": [_case([256, 256, 512], [0, 100, 7], 4, 1000, 3, 2),
                     _case([256, 256, 512], [0, 100, 7000], 4, 50, 2, 4)],
        "edges": [_case([1], [1], 1, 1, 1, 1), _case([2048] * 2, [0, 4096], 80, 2**20, 1024, 4),
                  _case([64, 32], [5, 6], 2, 5, 3, 2)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """An integer for each layout."""
    return {"total": (inputs["numbers"].shape, "i")}


def _kept(inputs: Inputs) -> np.ndarray:
    windows: np.ndarray = inputs["windows"]
    context = inputs["context"]
    return np.where(windows > 0, np.minimum(windows, context), context)


def _total(
    inputs: Inputs, *, kept: np.ndarray | None = None, times: int = 1, **changed: int
) -> np.ndarray:
    """Numbers, tokens that are kept, layers, batch and bytes multiplied."""
    total = inputs["numbers"].astype(np.int64) * times
    for name in FACTORS:
        total = total * changed.get(name, inputs[name])
    return np.asarray(total * (_kept(inputs) if kept is None else kept))


def right(inputs: Inputs) -> np.ndarray:
    """The bytes of all layers and sequences."""
    return _total(inputs)


def slips(inputs: Inputs) -> Slips:
    """Return what the totals would be with one idea missing, or two."""
    windows: np.ndarray = inputs["windows"]
    context = inputs["context"]
    parts: list[tuple[dict[str, Any], str]] = [
        ({"kept": np.full(windows.shape, context)},
         "Your windows have no effect. A layer with a window keeps that many tokens at most."),
        ({"kept": np.where(windows > 0, windows, context)},
         f"You fill every window, even with tokens that are not there. With {context} tokens it "
         "holds at most that many."),
        ({"kept": np.minimum(windows, context)},
         "You let a window of 0 keep nothing. It means that there is none, so the layer keeps all "
         "tokens."),
        ({"times": 2},
         "You have a factor 2 too many. `numbers` already counts keys and values together."),
        *(({name: 1}, f"You left out a factor: {name} = {inputs[name]} is missing.")
          for name in FACTORS),
        ({"kept": np.ones_like(windows)},
         "You counted one token. Each token that is kept leaves its values."),
        ({"times": 8}, "Those are bits, but dtype_bytes counts bytes."),
        ({"kept": np.where(windows > 0, np.maximum(windows, context), context)},
         "You took the larger of window and context. A layer keeps the smaller of the two."),
        ({"kept": np.where(windows > 0, np.maximum(context - windows, 0), context)},
         "You counted the tokens outside the window. The ones inside are kept."),
        ({"kept": np.minimum(windows, context) if windows.any() else context + 0 * windows},
         "Once any layout has a window, yours with 0 keep nothing. Each layout stands alone, and "
         "0 means that it keeps all its tokens."),
    ]  # fmt: skip
    return [
        (right(inputs).astype(np.int32),
         "Your product is too large for 32 bits and wrapped around. Use 64-bit integers."),
        *with_pairs(partial(_total, inputs), parts),
    ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Say whether a number has overflowed."""
    if (outputs["total"] < 0).any():
        return "Your product is too large for 32 bits and wrapped around. Use 64-bit integers."
    return None


EXERCISE = Exercise(
    id="cache_table",
    page="choosing",
    title="A column of the table",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=12,
    difficulty=1,
    stage="warm-up",
    assessed=False,
    section="The same shape, each cache",
    text=TEXT,
    standalone=(
        "Compute the column *cache*",
        "Compute one column of a table of attention variants, the size of the cache,",
    ),
    starter=STARTER,
    hints=(
        "Every layout obeys one formula. They differ in how many values a token leaves, and how "
        "many tokens are kept.",
        "Tokens kept: the context, or the smaller of window and context where the window is not 0. "
        "Multiply by values, layers, sequences and bytes, in 64-bit integers.",
    ),
    common_errors=(
        "Letting a window keep more tokens than there are.",
        "Reading a window of 0 as a cache that keeps nothing.",
        "Counting keys and values twice.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
