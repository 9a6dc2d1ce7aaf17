"""Find the scale with the least error among all scales."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
A row of weights is stored as one scale above 0 and codes: whole numbers from −`levels` to
`levels`, each the one for which scale × code is nearest to its weight. The usual scale, the largest
size of a weight divided by `levels`, cuts no weight off. It is rarely the best. Return for each row
of `W` `(rows, columns)` the least sum of squared errors that any scale reaches, an array `(rows,)`.
It has to be exact up to rounding: no grid of scales is fine enough. A row has at most 16 weights,
and `levels` is at most 7.
"""
STARTER = '''
def least_error(W, levels):
    """The least sum of squared errors of each row, over all scales."""
    raise NotImplementedError
'''

Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: 2, 2 and 3 with codes to 1. The property: rows with one large weight."""
    far = rng.standard_normal((4, 10))
    far[:, 3] *= 6
    return {
        "by hand": [{"W": np.array([[2.0, 2.0, 3.0]]), "levels": 1}],
        "random": [
            {"W": rng.standard_normal((3, 6)), "levels": 3},
            {"W": rng.uniform(-1, 1, (2, 12)), "levels": 7},
        ],
        "property": [{"W": far, "levels": 3}, {"W": far[:2] ** 3, "levels": 1}],
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


def _codes(w: Array, scale: float, levels: float) -> Array:
    return np.rint(w / scale).clip(-levels, levels) if scale > 0 else 0 * w


def _error(w: Array, scale: float, levels: float) -> float:
    """Sum of squared errors at one scale."""
    return float(((w - scale * _codes(w, scale, levels)) ** 2).sum())


def _refit(w: Array, scale: float, levels: float) -> float:
    """The best scale for the codes that belong to another."""
    codes = _codes(w, scale, levels)
    return float(w @ codes / (codes @ codes)) if codes.any() else scale


def _between(w: Array, levels: int) -> Array:
    """A scale between every two at which some code changes."""
    size = np.abs(w[w != 0])
    at = np.sort((size[:, None] / (np.arange(levels) + 0.5)).ravel())
    return (at[1:] + at[:-1]) / 2 if len(at) > 1 else at * 0.9


def _least(w: Array, levels: int) -> float:
    """Over all codes that a scale can lead to, each with its own best scale."""
    if not w.any():
        return 0.0
    usual = float(np.abs(w).max() / levels)
    smallest = float(np.abs(w[w != 0]).min()) / (levels + 1)  # every weight is cut off
    scales = [usual, smallest, *_between(w, levels)]
    return min(_error(w, _refit(w, scale, levels), levels) for scale in scales)


def _usual(w: Array, levels: int) -> float:
    return _error(w, np.abs(w).max() / levels, levels)


def _once(w: Array, levels: int) -> float:
    return _error(w, _refit(w, np.abs(w).max() / levels, levels), levels)


def _in_turns(w: Array, levels: int) -> float:
    scale = np.abs(w).max() / levels
    for _ in range(60):
        scale = _refit(w, scale, levels)
    return _error(w, scale, levels)


def _hit(w: Array, levels: int) -> float:
    """Only scales that hit one weight exactly."""
    size = np.abs(w[w != 0])
    scales = (size[:, None] / np.arange(1, levels + 1)).ravel()
    return min((_error(w, scale, levels) for scale in scales), default=0.0)


def _middles(w: Array, levels: int) -> float:
    """Scales between the places where codes change, not fitted."""
    return min((_error(w, scale, levels) for scale in _between(w, levels)), default=0.0)


def right(inputs: Inputs) -> Array:
    """The least error of each row."""
    return np.array([_least(w, inputs["levels"]) for w in inputs["W"]])


def slips(inputs: Inputs) -> Slips:
    """What comes out with one idea missing."""
    W, levels = inputs["W"], inputs["levels"]

    def each(find: Callable[[Array, int], float]) -> Array:
        return np.array([find(w, levels) for w in W])

    exact = right(inputs)
    found: list[tuple[Any, str]] = [
        (each(_usual), "That is the error of the usual scale. A smaller one cuts the largest "
         "weights off and serves all others better."),
        (each(_once), "The scale is fitted once, to the codes of the usual one. Other codes, of "
         "other scales, can be better."),
        (each(_in_turns), "Codes and scale are improved in turns, from the usual scale on. That "
         "ends at a scale that is the best in its neighbourhood, not of all."),
        (each(_hit), "Only scales are tried that hit one weight exactly. The best one is a "
         "compromise between several."),
        (each(_middles), "The scales lie rightly, one for each set of codes, but for given codes "
         "the best scale follows from a derivative."),
        (exact / W.shape[1], "That is the mean of the squares. Their sum was asked for."),
        (np.sqrt(exact), "That is a root. The sum of the squares was asked for."),
        (0 * exact, "Nothing is cut off: codes end at levels, and a very small scale makes "
         "everything too small."),
        (np.full(len(W), exact.min()), "All rows get the same error. Each has its own scale and "
         "its own error."),
    ]  # fmt: skip
    return found


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """On which side of the least error a row is."""
    wanted, got = right(inputs), outputs["error"]
    i = int(np.flatnonzero(~np.isclose(got, wanted, rtol=1e-6, atol=1e-9))[0])
    if got[i] < wanted[i]:
        return (
            f"Row {i}: {got[i]:.6g} is less than any scale reaches, which is {wanted[i]:.6g}. Are "
            "the codes whole numbers, cut off at levels on both sides?"
        )
    return (
        f"Row {i}: {got[i]:.6g}, and there is a scale with {wanted[i]:.6g}. Only where a code "
        "changes something new begins: how many such scales are there?"
    )


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
    section="Weights",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Hold the codes fixed: how does the error depend on the scale? And when the scale moves a "
        "little, which codes change?",
        "With fixed codes the error is a parabola in the scale, with its lowest point at (w · c) / "
        "(c · c). Codes change only at the scales |w| / (k + ½). Between two of those the codes "
        "are fixed, so there are few sets of codes in all.",
    ),
    common_errors=(
        "Trying a grid of scales: near, and never exact.",
        "Improving codes and scale in turns, which ends at the best of a neighbourhood.",
        "Forgetting that codes end at levels.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
