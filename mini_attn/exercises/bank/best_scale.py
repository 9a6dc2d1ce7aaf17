"""Find the scale with the least error among all scales."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
A row of weights is stored as one positive scale and codes: integers from −`levels` to `levels`,
each the one for which scale × code is nearest to its weight. The usual scale, the largest size of a
weight divided by `levels`, doesn't clip any weight. It's rarely the best. For each row of `W`
`(rows, columns)`, return the least sum of squared errors that any scale reaches, an array
`(rows,)`. It has to be exact up to rounding. A row has at most 16 weights, any of which may be 0,
and `levels` is at most 7.
"""
STARTER = '''
def least_error(W, levels):
    """Return each row's least sum of squared errors over all scales."""
    raise NotImplementedError
'''
# Rows whose best codes belong to a narrow range of scales: 0.1 to 0.2% of the largest weight.
NARROW = """
85 78 36 62 19 89 92 63 28 26 61 84 84 44 80 92 72 78 40 27 45 37 48 56 87 8 29 80 59 70 78 41
6 14 16 64 45 26 92 33 95 6 39 38 88 20 99 77 79 86 87 98 10 51 32 39 28 75 9 87 19 41 22 23
80 11 6 79 17 24 33 66 97 42 56 20 68 48 66 89 32 12 68 80 50 52 20 33 91 26 15 27 97 50 78 28
"""

Array = np.ndarray
Find = Callable[[Array, int], Any]


def cases(rng: np.random.Generator) -> Cases:
    """By hand: codes to 1. The property: one large weight, few weights, narrow ranges."""
    far = rng.standard_normal((4, 10))
    far[:, 3] *= 6
    signs = rng.choice([-1.0, 1.0], (6, 16))
    return {
        "by hand": [{"W": np.array([[2.0, 2.0, 3.0], [1.0, -5.0, -3.0]]), "levels": 1}],
        "random": [
            {"W": rng.standard_normal((3, 6)), "levels": 3},
            {"W": rng.uniform(-1, 1, (2, 12)), "levels": 7},
        ],
        "property": [
            {"W": far, "levels": 3},
            {"W": far[:2] ** 3, "levels": 1},
            {"W": np.array([[73.0, 82, 91], [60, 57, 54], [17, 19, 18]]), "levels": 7},
            {"W": rng.standard_normal((24, 3)), "levels": 7},
            {"W": rng.standard_normal((24, 3)), "levels": 1},
            {"W": signs * np.array(NARROW.split(), float).reshape(6, 16), "levels": 7},
        ],
        "edges": [
            {"W": np.zeros((2, 4)), "levels": 3},
            {"W": np.array([[3.0], [-0.5]]), "levels": 7},
            {"W": 1e-4 * np.array([[3.0, -3.0, 3.0, 0.0]]) + 0.0, "levels": 1},
            {"W": rng.standard_normal((1, 16)), "levels": 7},
        ],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One error for each row."""
    return {"error": ((len(inputs["W"]),), "f")}


def _codes(w: Array, scales: Array, levels: int) -> Array:
    """Codes (scales, columns)."""
    return np.rint(w / scales[:, None]).clip(-levels, levels)


def _errors(w: Array, scales: Array, levels: int, power: int = 2) -> Array:
    """Sum of squared errors at each scale, or of their sizes."""
    off = w - scales[:, None] * _codes(w, scales, levels)
    return np.asarray((np.abs(off) ** power).sum(axis=1))


def _refit(w: Array, scales: Array, levels: int) -> Array:
    """The best scale for the codes that belong to each."""
    codes = _codes(w, scales, levels)
    squares = (codes**2).sum(axis=1)
    return np.where(squares > 0, codes @ w / np.maximum(squares, 1), scales)


def _changes(w: Array, levels: int, half: float = 0.5) -> Array:
    """The scales at which some code changes."""
    places = np.arange(levels) + half
    return np.unique(np.abs(w[w != 0])[:, None] / places)


def _between(w: Array, levels: int, below: float | None = 0.0, half: float = 0.5) -> Array:
    """A scale between every two at which some code changes, and one below them all."""
    at = _changes(w, levels, half)
    at = at if below is None else np.concatenate([[below * at[0]], at])
    return (at[1:] + at[:-1]) / 2 if len(at) > 1 else at * 0.9


def _fits(w: Array, levels: int) -> Array:
    """The best scale of each set of codes that can occur."""
    return _refit(w, _between(w, levels), levels)


def _best(w: Array, levels: int) -> float:
    """The best of all scales."""
    fits = _fits(w, levels)
    return float(fits[np.argmin(_errors(w, fits, levels))])


def _at(choose: Find) -> Find:
    """The least error of a row at some scales, or at one."""
    return lambda w, levels: _errors(w, np.atleast_1d(choose(w, levels)), levels).min()


def _usual(w: Array, levels: int) -> Array:
    return np.abs(w).max(keepdims=True) / levels


def _in_turns(w: Array, levels: int) -> Array:
    scale = _usual(w, levels)
    for _ in range(60):
        scale = _refit(w, scale, levels)
    return scale


def _signless(w: Array, levels: int) -> float:
    """Return where no code is below 0."""
    above = np.maximum(w, 0)
    return float(_at(_fits)(above, levels) if above.any() else 0) + float(((w - above) ** 2).sum())


def _sizes(w: Array, levels: int) -> float:
    return float(_errors(w, np.atleast_1d(_best(w, levels)), levels, 1)[0])


def _least_sizes(w: Array, levels: int) -> float:
    return float(_errors(w, _fits(w, levels), levels, 1).min())


def _whole(w: Array, levels: int, below: float | None) -> Array:
    return _refit(w, _between(w, levels, below, 1), levels)


def _size(w: Array) -> Array:
    return np.abs(w[w != 0])


MIDDLES = (
    "You try one scale for each set of codes, which is the right idea. But for given codes the "
    "best "
    "scale follows from a derivative."
)
MISTAKES: list[tuple[Find, str]] = [
    (_at(_usual), "That's the error of the usual scale. A smaller one clips the largest weights "
     "and may serve all others better."),
    (_at(lambda w, n: _refit(w, _usual(w, n), n)), "You fitted the scale once, to the codes of "
     "the usual one. Other codes, of other scales, can be better."),
    (_at(_in_turns), "You improve codes and scale in turns, starting at the usual scale. That ends "
     "at a scale that's the best in its neighborhood, not of all."),
    (_at(lambda w, n: (_size(w)[:, None] / np.arange(1, n + 1)).ravel()), "You only try scales "
     "that hit one weight exactly. The best one is a compromise between several."),
    (_at(lambda w, n: _size(w) / n), "You only try scales at which some weight gets the largest "
     "code exactly. The best one is a compromise between several."),
    (_at(_changes), "You try the scales at which a code changes. The best one is between two of "
     "these."),
    *((_at(partial(_between, below=below)), MIDDLES) for below in (None, 0, 0.5)),
    *((_at(partial(_whole, below=below)), "Your codes change where weight / scale is an "
     "integer. They change halfway between two integers.") for below in (None, 0, 0.5)),
    (_at(lambda w, n: np.maximum(_fits(w, n), _usual(w, n))), "You never clip a weight. A scale "
     "below the usual one may be better."),
    (_at(lambda w, n: np.minimum(_fits(w, n), _usual(w, n))), "You try no scale above the usual "
     "one. One may be better, although it leaves the last code without a weight."),
    (_signless, "Your weights below 0 come back as 0. Codes go down to −levels."),
    *((find, "You summed the sizes of the errors. Sum their squares instead.")
      for find in (_sizes, _least_sizes)),
    (_best, "That's the best scale. Return its error."),
]  # fmt: skip


def _each(find: Find, inputs: Inputs) -> Array:
    """Return what a way finds for each row; a row of zeros has no error."""
    return np.array([find(w, inputs["levels"]) if w.any() else 0.0 for w in inputs["W"]], float)


def right(inputs: Inputs) -> Array:
    """The least error of each row."""
    return _each(_at(_fits), inputs)


def slips(inputs: Inputs) -> Slips:
    """Return what comes out with one idea missing."""
    W, levels, exact = inputs["W"], inputs["levels"], right(inputs)
    one = np.atleast_1d(_best(W.ravel(), levels) if W.any() else 1.0)
    return [
        *((_each(find, inputs), idea) for find, idea in MISTAKES),
        (np.array([_errors(w, one, levels)[0] for w in W]), "You use one scale for all rows. "
         "Each has its own."),
        (exact / W.shape[1], "That's the mean of the squares. Return their sum."),
        (np.sqrt(exact), "You took a root. Return the sum of the squares."),
        (0 * exact, "You don't clip: codes end at levels, and a very small scale makes "
         "everything too small."),
        (np.full(len(W), exact.min()), "You return the same error for all rows. Each has its own "
         "scale and its own error."),
        *((np.where(bad, np.nan, exact), "A weight of 0, or a row of them, leads you to 0/0. Its "
         "code is 0 at any scale, and its error 0.") for bad in ((W == 0).all(1), (W == 0).any(1))),
    ]  # fmt: skip


def _told(one: float, other: float) -> tuple[str, str]:
    """Both numbers, with as many digits as it takes to tell them apart."""
    digits = next(n for n in (6, 9, 12, 17) if n == 17 or f"{one:.{n}g}" != f"{other:.{n}g}")
    return f"{one:.{digits}g}", f"{other:.{digits}g}"


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """On which side of the least error a row is."""
    wanted, got = right(inputs), outputs["error"]
    i = int(np.flatnonzero(~np.isclose(got, wanted, rtol=1e-6, atol=1e-9))[0])
    w, levels = inputs["W"][i], inputs["levels"]
    mine, least = _told(got[i], wanted[i])
    if got[i] < wanted[i]:
        return (
            f"Row {i}: {mine} is less than any scale reaches, which is {least}. Are your codes "
            "integers, clipped at levels on both sides?"
        )
    if not w.any():
        return f"Row {i}: you get {mine}, but a row of zeros has no error."
    fits = _errors(w, _fits(w, levels), levels)
    if np.isclose(fits, got[i], rtol=1e-9, atol=0).any():
        return (
            f"Row {i}: {mine} is the least error in one range of scales, and {least} in another. "
            "Where does such a range end, and which ranges are there?"
        )
    if got[i] < wanted[i] * (1 + 1e-3):
        return (
            f"Row {i}: {mine} is near, but the scale {_best(w, levels):.6g} reaches {least}. For "
            "given codes, which scale is exactly the best?"
        )
    return f"Row {i}: {mine}, but the scale {_best(w, levels):.6g} reaches {least}."


EXERCISE = Exercise(
    id="best_scale",
    page="bits",
    title="The best of all scales",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=25,
    difficulty=4,
    stage="invent",
    assessed=True,
    section="Quantizing weights",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Keep the codes fixed. How does the error depend on the scale? And when the scale moves a "
        "little, which codes change?",
        "With fixed codes, the error is a parabola in the scale with its lowest point at (w · c) / "
        "(c · c). Codes change only at the scales |w| / (k + ½). Between two of those the codes "
        "are fixed, so there are few sets of codes in all.",
    ),
    common_errors=(
        "Trying a grid of scales and leaving each as it is: near, but never exact.",
        "Improving codes and scale in turns, which ends at the best of a neighborhood.",
        "Forgetting that codes end at levels.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
