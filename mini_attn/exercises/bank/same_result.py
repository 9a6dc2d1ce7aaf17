"""Find the bug: a comparison of two results that lets NaN pass."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
This function is the heart of a test of equivalences. A result full of NaN passed it, and a correct
one with values in the thousands did not. Find out why, and repair it. `first` and `second` are
arrays, and `eps` is the precision of the type they were computed in. It should be true exactly if
the shapes are equal, all values are finite, and the largest difference is at most `8 * eps` times
the largest absolute value of `second`, or times 1 if that is larger. Return a NumPy truth value
(`np.bool_`).
"""
STARTER = '''
def same_result(first, second, eps):
    """Whether two results are equal up to rounding."""
    return np.bool_(not (np.abs(first - second) > 8 * eps).any())
'''

FACTOR = 8


def _pair(first: np.ndarray, second: np.ndarray, eps: float) -> Inputs:
    return {"first": first, "second": second, "eps": eps}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a difference beyond the bound. The property: nothing that is no number passes."""
    hand = np.array([[1.0, -2.0], [0.5, 4.0]])
    base = hand + rng.uniform(-0.05, 0.05, (2, 2))
    tiny, huge = base * 1e-6, base * 1e6
    hole = np.where(base > 3, np.nan, base)
    full = np.where(base > 3, np.inf, base)
    wide, ends = np.array([1000.0, 1.0]), np.array([0.0, 1.0])
    many = np.eye(12)[0]  # a large difference beside many that are none
    drawn = []
    for size in (1e-9, 1e-3, 1.0, 30.0):
        x = rng.standard_normal((3, 4))
        drawn.append(_pair(x + size * 1e-3 * rng.standard_normal((3, 4)), x, 1e-3))
    drawn.append(_pair(base / 4 + 0.05, base / 4, 1e-2))  # a coarser type
    return {
        "by hand": [_pair(hand + 0.1, hand, 1e-3), _pair(hand.copy(), hand, 1e-3),
                    _pair(hand - 0.1, hand, 1e-3)],
        "random": drawn,
        "property": [_pair(hole, base, 1e-3), _pair(base, hole, 1e-3), _pair(hole, hole, 1e-3),
                     _pair(full, base, 1e-3), _pair(full, full, 1e-3),
                     _pair(base, full, 1e-3)],  # an infinite bound would hold everything
        "edges": [_pair(huge * (1 + 1e-3), huge, 1e-3), _pair(huge * 1.1, huge, 1e-3),
                  _pair(tiny + 1e-3, tiny, 1e-3), _pair(tiny + 0.1, tiny, 1e-3),
                  _pair(base[:1], base[[0, 0]], 1e-3), _pair(base[0], base[:1], 1e-3),
                  # Between the bound and one by each number, by both added, and by `first`.
                  _pair(wide + ends, wide, 1e-3), _pair(ends - wide, -wide, 1e-3),
                  _pair(base * 1.009, base, 1e-3), _pair(wide * 1.065, wide, 2.0**-7),
                  _pair(ends * 1.0625, ends, 2.0**-7), _pair(many + 4e-3 * many[::-1], many, 1e-4),
                  _pair(many + 4e-4, many, 1e-4)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One truth value."""
    return {"same": ((), "b")}


def _sound(inputs: Inputs, asked: str) -> bool:
    """Return whether the numbers that are asked about are finite."""
    arrays = {name: inputs[name] for name in ("first", "second") if asked in (name, "both")}
    if asked == "nan":
        return not any(np.isnan(inputs[name]).any() for name in ("first", "second"))
    if asked == "first, within":  # nothing is within NaN, and everything within infinity
        return bool(np.isfinite(inputs["first"]).all() and not np.isnan(inputs["second"]).any())
    return all(np.isfinite(array).all() for array in arrays.values())


def _room(inputs: Inputs, bound: str) -> Any:
    """Return what the bound is a multiple of."""
    first, second = inputs["first"], np.abs(inputs["second"])
    rooms = {
        "largest": lambda: max(1.0, float(second.max())),
        "fixed": lambda: 1.0,
        "relative": second.max,
        "each": lambda: np.maximum(1.0, second),
        "each relative": lambda: second,
        "each added": lambda: 1.0 + second,
        "added": lambda: 1.0 + second.max(),
        "first": lambda: max(1.0, float(np.abs(first).max())),
        "signed": lambda: max(1.0, float(inputs["second"].max())),
    }
    return rooms[bound]()


def _verdict(
    inputs: Inputs,
    *,
    absolute: bool = True,
    finite: str = "both",
    bound: str = "largest",
    shapes: bool = True,
    over: str = "largest",
    below: bool = False,
) -> np.ndarray:
    """The verdict, or what it becomes by another choice."""
    first, second = inputs["first"], inputs["second"]
    if (first.shape != second.shape and shapes) or not _sound(inputs, finite):
        return np.array(False)
    with np.errstate(invalid="ignore"):
        away = np.abs(first - second) if absolute else first - second
        room = FACTOR * inputs["eps"] * _room(inputs, bound)
        away = {"largest": away, "mean": away.mean(), "sum": away.sum()}[over]
        return np.array(not ((away >= room) if below else (away > room)).any())


def right(inputs: Inputs) -> np.ndarray:
    """Return whether the two are the same by the rule."""
    return _verdict(inputs)


def slips(inputs: Inputs) -> Slips:
    """Return what the verdict would be with one idea missing, or two."""
    first, second = inputs["first"], inputs["second"]
    away = FACTOR * inputs["eps"]
    near = first.shape == second.shape and np.allclose(first, second, away, away, equal_nan=True)
    return [
        *with_pairs(partial(_verdict, inputs), MISTAKES),
        (np.array(near), "You let NaN or infinity pass where both have it in the same place. "
         "Return false as soon as one value is not finite."),
        (_verdict(inputs, finite="none", bound="fixed", shapes=False), MISTAKES[0][1]),
        (np.array(first.shape == second.shape and np.allclose(first, second, away, 0)),
         f"You give each value its own bound. {_ONE}"),
        (np.array(np.allclose(first, second, away, away)), "As in allclose, equal infinities "
         f"pass, shapes are not compared, and each value has its own bound. {_ONE}"),
        (np.array(True), "Your answer is always true, whatever the two arrays are."),
        (np.array(False), "Your answer is always false, whatever the two arrays are."),
        (~_verdict(inputs), "You reversed the verdict."),
    ]  # fmt: skip


_ONE = "One bound holds for the whole array, by the largest absolute value of `second`."
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"finite": "none"},
     "You let NaN or infinity pass. Every comparison with NaN is False, so "
     '"nothing is larger than the bound" holds. Ask whether all are finite.'),
    ({"absolute": False}, "You let a difference below zero pass. Take its absolute value."),
    ({"bound": "fixed"},
     f"Your bound is fixed. Rounding grows with the values, so it should be {FACTOR} · eps times "
     "the largest absolute value of `second`, where that is more than 1."),
    ({"bound": "relative"},
     "Your bound shrinks with small values. It does not shrink below "
     f"{FACTOR} · eps, because inputs of size 1 were rounded on the way."),
    ({"shapes": False},
     "You let arrays of different shapes pass. Because of broadcasting, one row was compared with "
     "several."),
    ({"finite": "first"}, "You let NaN or infinity in `second` pass. Check both arrays."),
    ({"finite": "first, within"},
     "You let infinity in `second` pass. It makes the bound infinite, so everything is within. "
     "Check that both arrays are finite."),
    ({"finite": "second"}, "You let NaN or infinity in `first` pass. Check both arrays."),
    ({"finite": "nan"},
     "You let infinity pass. Ask whether all values are finite, not only whether they are NaN."),
    ({"bound": "each"}, f"You give each value its own bound. {_ONE}"),
    ({"bound": "each relative"}, f"You give each value its own bound. {_ONE}"),
    ({"bound": "each added"}, f"You give each value its own bound, as in allclose. {_ONE}"),
    ({"bound": "added"},
     "You added 1 and the largest value. The bound takes the larger of the two."),
    ({"bound": "first"},
     "Your bound follows `first`, the result under test. One that is too large widens its own "
     "bound. Take the values of `second`."),
    ({"bound": "signed"},
     "You took the largest value of `second` with its sign. Negative values are rounded as well. "
     "Take absolute values first."),
    ({"over": "mean"},
     "You compared the mean of the differences. One value that is far off hides in it. Take the "
     "largest."),
    ({"over": "sum"},
     "You added up the differences, so many small ones fail together. The largest counts."),
    ({"below": True}, "You rejected a difference exactly at the bound. *At most* includes it."),
]  # fmt: skip


EXERCISE = Exercise(
    id="same_result",
    page="choosing",
    title="The test that NaN passed",
    kind="bug",
    groups={"edges": 4},
    minutes=12,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="Equal by different routes",
    complaint=Complaint(
        "numbers",
        "CI is green, and the kernel returns NaN. A correct kernel fails because its outputs are "
        "in the thousands.",
        "[MIOpen, pull request 1400](https://github.com/ROCm/MIOpen/pull/1400): drivers failed a "
        "result only if `error > tolerance`, which is false for NaN.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Try it on a result that is all NaN, on one of another shape, and on one a thousand times "
        "as large.",
        "First compare the shapes, then np.isfinite of both, then the largest absolute difference "
        "with 8 · eps times the larger of 1 and the largest value of `second`.",
    ),
    common_errors=(
        "Asking whether something is too large. With NaN, nothing is.",
        "A fixed bound, which large results exceed by mere rounding.",
        "Letting shapes broadcast.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
