"""Find the bug: a comparison of two results that lets NaN pass."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
This function is the heart of a test of equivalences, and the test has never failed. Find out why,
and repair it. `first` and `second` are arrays, `eps` is the precision of the type they were
computed in. It should be true exactly if the shapes are equal, all numbers are finite, and the
largest difference is at most `8 * eps` times the largest absolute number of `second`, or times 1
if that is larger. Return a NumPy truth value (`np.bool_`).
"""
STARTER = '''
def same_result(first, second, eps):
    """Whether two results are equal up to rounding."""
    return np.bool_(not (np.abs(first - second) > 8 * eps).any())
'''

FACTOR = 8
Array = np.ndarray
Scale = Callable[[Inputs], Any]


def _pair(first: np.ndarray, second: np.ndarray, eps: float) -> Inputs:
    return {"first": first, "second": second, "eps": eps}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a difference beyond the bound. The property: nothing that is no number passes."""
    base = np.array([[1.0, -2.0], [0.5, 4.0]])
    tiny, huge = base * 1e-6, base * 1e6
    hole = np.where(base > 3, np.nan, base)
    full = np.where(base > 3, np.inf, base)
    wide, ends = np.array([1000.0, 1.0]), np.array([0.0, 1.0])
    drawn = []
    for size in (1e-9, 1e-3, 1.0, 30.0):
        x = rng.standard_normal((3, 4))
        drawn.append(_pair(x + size * 1e-3 * rng.standard_normal((3, 4)), x, 1e-3))
    return {
        "by hand": [_pair(base + 0.1, base, 1e-3), _pair(base.copy(), base, 1e-3),
                    _pair(base - 0.1, base, 1e-3)],
        "random": drawn,
        "property": [_pair(hole, base, 1e-3), _pair(base, hole, 1e-3), _pair(hole, hole, 1e-3),
                     _pair(full, base, 1e-3), _pair(full, full, 1e-3)],
        "edges": [_pair(huge * (1 + 1e-3), huge, 1e-3), _pair(huge * 1.1, huge, 1e-3),
                  _pair(tiny + 1e-3, tiny, 1e-3), _pair(tiny + 0.1, tiny, 1e-3),
                  _pair(base[:1], base[[0, 0]], 1e-3), _pair(base[0], base[:1], 1e-3),
                  # Between the bound and one by each number, by both added, and by `first`.
                  _pair(wide + ends, wide, 1e-3), _pair(ends - wide, -wide, 1e-3),
                  _pair(base * 1.009, base, 1e-3), _pair(wide * 1.065, wide, 2.0**-7)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One truth value."""
    return {"same": ((), "b")}


def right(inputs: Inputs) -> Array:
    """Alike in shape, finite, and within the bound."""
    return np.asarray(_verdict(inputs, _largest, _all_finite, alike=True))


def _largest(inputs: Inputs) -> Any:
    """What the bound is a multiple of: the largest number of `second`, or 1."""
    return max(1.0, float(np.abs(inputs["second"]).max()))


def _all_finite(inputs: Inputs) -> bool:
    return bool(np.isfinite(inputs["first"]).all() and np.isfinite(inputs["second"]).all())


def _verdict(
    inputs: Inputs, scale: Scale, finite: Callable[[Inputs], bool], *, alike: bool
) -> bool:
    """The verdict with another scale, another question for finite numbers, any shape or one."""
    first, second = inputs["first"], inputs["second"]
    if (alike and first.shape != second.shape) or not finite(inputs):
        return False
    with np.errstate(invalid="ignore"):
        return not (np.abs(first - second) > FACTOR * inputs["eps"] * scale(inputs)).any()


_ENOUGH = "ask whether all numbers of both are finite."
_FINITE: tuple[tuple[Callable[[Inputs], bool], str], ...] = (
    (_all_finite, ""),
    (lambda i: True, "A result with NaN or infinity passed. Every comparison with NaN is False, so "
     f'"nothing is larger than the bound" holds: {_ENOUGH}'),
    (lambda i: bool(np.isfinite(i["first"]).all()),
     f"A NaN or an infinity in `second` passes: {_ENOUGH}"),
    (lambda i: bool(np.isfinite(i["second"]).all()),
     f"A NaN or an infinity in `first` passes: {_ENOUGH}"),
    (lambda i: not (np.isnan(i["first"]).any() or np.isnan(i["second"]).any()),
     "Infinity passes. Infinity minus infinity is NaN, and no comparison with NaN is true: "
     f"{_ENOUGH}"),
)  # fmt: skip
_SCALES: tuple[tuple[Scale, str], ...] = (
    (_largest, ""),
    (lambda i: 1.0, "The bound is fixed, but rounding grows with the numbers: it is 8 · eps times "
     "the largest absolute number of `second`, if that is above 1."),
    (lambda i: np.abs(i["second"]).max(), "Where all numbers are small the bound does not shrink "
     "with them: it is at least 8 · eps, as inputs of size 1 were rounded on the way."),
    (lambda i: np.maximum(1.0, np.abs(i["second"])), "Each number has a bound of its own here. One "
     "bound holds for the whole array, by the largest absolute number of `second`."),
    (lambda i: 1.0 + np.abs(i["second"]), "Each number has a bound of its own here, as in "
     "np.allclose. One bound holds for the whole array, by the largest absolute number of "
     "`second`."),
    (lambda i: max(1.0, float(np.abs(i["first"]).max())), "The bound follows the numbers of "
     "`first`, the result under test: one that is too large widens its own bound. Take those of "
     "`second`."),
    (lambda i: 1.0 + np.abs(i["second"]).max(), "1 and the largest number are added. The bound "
     "takes the larger of the two."),
    (lambda i: max(1.0, float(i["second"].max())), "The largest number of `second` is taken with "
     "its sign. Negative numbers are rounded as well: take absolute values first."),
)  # fmt: skip
_SHAPES = "The shapes are not compared: broadcasting compares one row with several and hides it."


def slips(inputs: Inputs) -> Slips:
    """The verdict with one idea missing, or several: then the first of them is named."""
    first, second, eps = inputs["first"], inputs["second"], inputs["eps"]
    signed = alike = first.shape == second.shape
    if alike and _all_finite(inputs):
        signed = bool((first - second).max() <= FACTOR * eps * _largest(inputs))
    else:
        signed = False
    return [
        (True, "It always says that the two are the same."),
        (False, "It always says that the two are not the same."),
        (signed, "A difference below zero passed: take its absolute value."),
        *((_verdict(inputs, scale, finite, alike=shapes), lost or bound or _SHAPES)
          for finite, lost in _FINITE for scale, bound in _SCALES for shapes in (True, False)
          if lost or bound or not shapes),
    ]  # fmt: skip


EXERCISE = Exercise(
    id="same_result",
    page="choosing",
    title="The test that nothing could fail",
    kind="bug",
    groups={"edges": 4},
    minutes=12,
    difficulty=3,
    assessed=True,
    section="Equal by different routes",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Try it on a result that is all NaN, on one of another shape, and on one a thousand times "
        "as large.",
        "First the shapes, then np.isfinite of both, then the largest absolute difference against "
        "8 · eps times the larger of 1 and the largest number of `second`.",
    ),
    common_errors=(
        "Asking whether something is too large: with NaN nothing is.",
        "A fixed bound, which large results fail by mere rounding.",
        "Letting shapes broadcast.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
