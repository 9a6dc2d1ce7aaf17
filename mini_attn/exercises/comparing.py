"""An answer next to the right one: which output differs, and the case that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = [
    "SINGLE", "TIGHT", "Inputs", "Outputs", "Same", "Symptom", "apart", "by_right", "close",
    "first_wrong", "moves", "named", "wrong_along",
]  # fmt: skip

Inputs = dict[str, Any]
Outputs = dict[str, np.ndarray[Any, Any]]
Same = Callable[..., Any]  # (answer, wanted, moved=0.0) -> whether they are the same
Symptom = Callable[[Inputs, Outputs], str | None] | Mapping[str, str]  # or by the wrong output

TIGHT = 1e-6  # of float64: far above its rounding, far below what a mistake makes
SINGLE = 2.0**-24  # half a step of float32, for numbers around 1
NUDGES = 12  # ways of rounding: what one moves may cancel, where few numbers share a softmax
STEPS = 32  # of them add up in the sums of an exercise, at most
FEW_GIVEN, FEW_WANTED = 24, 8  # numbers that one reads at a glance
DIGITS = (4, 7, 11, 17)  # as many as it takes to tell two numbers apart


def close(
    answer: np.ndarray,
    wanted: np.ndarray,
    moved: float = 0.0,
    *,
    tight: float = TIGHT,
    relative: bool = False,
) -> bool:
    """Return whether two arrays of one shape are the same up to rounding; integers exactly.

    The one tolerance of all exercises. Of float64 it asks ``tight``. A float32 answer is as good
    as float32 allows: steps of its largest number, and what rounding the inputs does to it.

    Parameters
    ----------
    answer, wanted : array
        What came, whose type decides, and what should have come.
    moved : float
        How far rounding the inputs to float32 moves the right answer, see `moves`.
    tight : float
        What float64 may be off: a part of each number, and as much as of a number 1.
    relative : bool
        Whether numbers far below 1 count as much as others: then only a part of each is allowed.

    Returns
    -------
    bool
        Whether they are.

    Examples
    --------
    >>> close(np.array([0.5]), np.array([0.5 + 1e-9])), close(np.array([3]), np.array([4]))
    (True, False)
    >>> wanted = np.array([1000.0])
    >>> close(wanted + 2e-3, wanted), close(np.float32(wanted + 2e-3), wanted, moved=1e-3)
    (False, True)
    """
    if "f" not in answer.dtype.kind + wanted.dtype.kind:
        return np.array_equal(answer, wanted)
    part, off = tight, 0.0 if relative else tight
    if answer.dtype == np.float32:
        part = max(part, STEPS * SINGLE)
        if not relative:
            largest = float(np.abs(wanted).max(initial=0, where=np.isfinite(wanted)))
            off = max(off, STEPS * (SINGLE * largest + moved))
    return bool(np.allclose(answer.astype(float), wanted, rtol=part, atol=off, equal_nan=True))


def _nudged(value: Any, signs: np.random.Generator) -> Any:
    """A given number or array, each number off by half a step of float32."""
    if isinstance(value, float):
        return float(np.float32(value))
    if not isinstance(value, np.ndarray) or value.dtype.kind != "f":
        return value
    return value * (1 + SINGLE * signs.choice([-1.0, 1.0], value.shape))


def moves(
    right: Callable[[Inputs], Any] | None,
    inputs: Inputs,
    outputs: Outputs,
    wanted: Outputs | None = None,
) -> dict[str, float]:
    """Return how far rounding the inputs to float32 moves each output, at most.

    Who computes in float32 cannot come nearer: a score of 900 that is off by half a step moves its
    weight by 5e-5.

    Parameters
    ----------
    right : callable (inputs) -> array or mapping of str to array, or None
        The right answer.
    inputs, outputs : dict
        The case, and what the answer gave.
    wanted : dict, optional
        What the right answer to the case is, where that is known.

    Returns
    -------
    dict of str to float
        By output; nothing where none of them is float32.

    Examples
    --------
    >>> moved = moves(lambda given: np.exp(given["x"]), {"x": np.array([9.0])},
    ...               {"out": np.float32([8103.0])})
    >>> 3e-3 < moved["out"] < 6e-3
    True
    """
    if right is None or all(array.dtype != np.float32 for array in outputs.values()):
        return {}
    signs, names = np.random.default_rng(0), list(outputs)
    first = named(right(inputs), names) if wanted is None else wanted
    largest = dict.fromkeys(first, 0.0)
    for _ in range(NUDGES):
        nudged = {name: _nudged(value, signs) for name, value in inputs.items()}
        second = named(right(nudged), names)
        largest = {n: max(was, _apart(first[n], second[n])) for n, was in largest.items()}
    return largest


def _apart(first: np.ndarray, second: np.ndarray) -> float:
    """The largest difference among numbers that are finite."""
    if first.dtype.kind != "f":
        return 0.0
    known = np.isfinite(first) & np.isfinite(second)
    return float(np.abs(first - second).max(initial=0, where=known))


def named(answer: Any, names: list[str]) -> Outputs:
    """Arrays by the names of the outputs; an array alone is the only output.

    Examples
    --------
    >>> named([1, 2], ["out"])
    {'out': array([1, 2])}
    """
    given = answer if isinstance(answer, Mapping) else {names[0]: answer}
    return {name: np.asarray(array) for name, array in given.items()}


def wrong_along(got: np.ndarray, wanted: np.ndarray, axis: int = 0) -> list[int]:
    """Return which rows, heads or slots are not right, by their place along an axis.

    Parameters
    ----------
    got, wanted : array
        Of one shape.
    axis : int
        The axis.

    Returns
    -------
    list of int
        Their places, in order.

    Examples
    --------
    >>> wrong_along(np.array([[1, 2], [3, 5]]), np.array([[1, 2], [3, 4]]))
    [1]
    """
    pairs = zip(np.moveaxis(got, axis, 0), np.moveaxis(wanted, axis, 0), strict=True)
    return [place for place, (one, other) in enumerate(pairs) if not close(one, other)]


def first_wrong(
    outputs: Outputs, right: Outputs, same: Same, moved: Mapping[str, float] | None = None
) -> str | None:
    """Name of the first output that is not right, in the order of the right ones."""
    by = moved or {}
    wrong = (n for n in right if not same(outputs[n], right[n], by.get(n, 0.0)))
    return next(wrong, None)


def _written(value: Any, digits: int) -> str:
    """A number or a nested list of numbers, as one writes it; never minus zero."""
    if isinstance(value, list):
        return f"[{', '.join(_written(item, digits) for item in value)}]"
    if isinstance(value, float | np.floating):
        return f"{value + 0.0:.{digits}g}"
    return str(value)


def apart(wanted: Any, got: Any) -> tuple[str, str]:
    """Two numbers, or lists of them, with as many digits as it takes to tell them apart.

    Examples
    --------
    >>> apart(1.0, 0.5), apart([1.0, 2.0], [1.0, 2.000001])
    (('1', '0.5'), ('[1, 2]', '[1, 2.000001]'))
    """
    pairs = [(_written(wanted, digits), _written(got, digits)) for digits in DIGITS]
    return next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])


def _given(inputs: Inputs) -> str:
    """The case: its numbers where they are few, else its shapes."""
    arrays = {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
    few = sum(array.size for array in arrays.values()) <= FEW_GIVEN
    plain = {name: value.tolist() if name in arrays else value for name, value in inputs.items()}
    return ", ".join(
        f"{name} = {_written(plain[name], 4)}"
        if few or name not in arrays
        else f"{name} of shape {arrays[name].shape}"
        for name in inputs
    )


def _beside(name: str, got: np.ndarray, wanted: np.ndarray) -> str:
    """Return what should be, and what is: the array, or the first entry that clearly differs."""
    if wanted.size > FEW_WANTED:
        with np.errstate(over="ignore"):
            off = np.abs(got.astype(float) - wanted)
        at = tuple(int(i) for i in np.argwhere(off >= off.max() / 1000)[0])
        name, got, wanted = f"{name}{list(at)}", got[at], wanted[at]
    should, found = apart(wanted.tolist(), got.tolist())
    return f"{name} should be {should}; it is {found}."


def by_right(
    right: Callable[[Inputs], Any],
    same: Same,
    symptom: Symptom,
) -> Callable[[Inputs, Outputs], str | None]:
    """A judge that compares with the right answer, and shows the case where it differs.

    Parameters
    ----------
    right : callable (inputs) -> array or mapping of str to array
        The right answer; several outputs in the order in which they are judged.
    same : callable (array, array, float) -> bool
        Whether an output is right, as `close`.
    symptom : callable (inputs, outputs) -> str or None, or mapping of str to str
        What is true of this case, or of the output that is wrong, said first. It finds the outputs
        that are right without their rounding.

    Returns
    -------
    callable (inputs, outputs) -> str or None
        None where every output is right.

    Examples
    --------
    >>> judge = by_right(lambda given: given["x"] * 2, close, lambda given, outputs: None)
    >>> judge({"x": np.array([1.0])}, {"out": np.array([3.0])})
    'With x = [1]: out should be [2]; it is [3].'
    """

    def judge(inputs: Inputs, outputs: Outputs) -> str | None:
        wanted = named(right(inputs), list(outputs))
        name = first_wrong(outputs, wanted, same, moves(right, inputs, outputs, wanted))
        if name is None:
            return None
        done = list(wanted)[: list(wanted).index(name)]
        verb = "is" if len(done) == 1 else "are"
        so_far = f"{', '.join(done)} {verb} right." if done else None
        shown = f"With {_given(inputs)}: {_beside(name, outputs[name], wanted[name])}"
        known = outputs | {one: wanted[one] for one in done}
        said = symptom[name] if isinstance(symptom, Mapping) else symptom(inputs, known)
        return " ".join(filter(None, (so_far, said, shown)))

    return judge
