"""An answer beside the right one: which output differs, and the case that shows it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

__all__ = ["Inputs", "Outputs", "by_right", "close", "first_wrong", "named"]

Inputs = dict[str, Any]
Outputs = dict[str, np.ndarray[Any, Any]]

FEW_GIVEN, FEW_WANTED = 24, 8  # numbers that one reads at a glance
DIGITS = (4, 7, 11, 17)  # as many as it takes to tell two numbers apart


def close(answer: np.ndarray, wanted: np.ndarray) -> bool:
    """Whether two arrays of one shape are the same up to rounding; whole numbers exactly.

    Examples
    --------
    >>> close(np.array([0.5]), np.array([0.5 + 1e-9])), close(np.array([3]), np.array([4]))
    (True, False)
    """
    if "f" not in answer.dtype.kind + wanted.dtype.kind:
        return np.array_equal(answer, wanted)
    return bool(np.allclose(answer, wanted, rtol=1e-6, atol=1e-6))


def named(answer: Any, names: list[str]) -> Outputs:
    """Arrays by the names of the outputs; an array alone is the only output.

    Examples
    --------
    >>> named([1, 2], ["out"])
    {'out': array([1, 2])}
    """
    given = answer if isinstance(answer, Mapping) else {names[0]: answer}
    return {name: np.asarray(array) for name, array in given.items()}


def first_wrong(
    outputs: Outputs, right: Outputs, same: Callable[[np.ndarray, np.ndarray], Any]
) -> str | None:
    """Name of the first output that is not right, in the order of the right ones."""
    return next((name for name in right if not same(outputs[name], right[name])), None)


def _written(value: Any, digits: int) -> str:
    """A number or a nested list of numbers, as one writes it; never minus zero."""
    if isinstance(value, list):
        return f"[{', '.join(_written(item, digits) for item in value)}]"
    if isinstance(value, float | np.floating):
        return f"{value + 0.0:.{digits}g}"
    return str(value)


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
    """What should be, and what is: the array, or the first entry that clearly differs."""
    if wanted.size > FEW_WANTED:
        with np.errstate(over="ignore"):
            off = np.abs(got.astype(float) - wanted)
        at = tuple(int(i) for i in np.argwhere(off >= off.max() / 1000)[0])
        name, got, wanted = f"{name}{list(at)}", got[at], wanted[at]
    pairs = [(_written(wanted.tolist(), n), _written(got.tolist(), n)) for n in DIGITS]
    should, found = next((pair for pair in pairs if pair[0] != pair[1]), pairs[-1])
    return f"{name} should be {should}; it is {found}."


def by_right(
    right: Callable[[Inputs], Any],
    same: Callable[[np.ndarray, np.ndarray], Any],
    symptom: Callable[[Inputs, Outputs], str | None],
) -> Callable[[Inputs, Outputs], str | None]:
    """A judge that compares with the right answer, and shows the case where it differs.

    Parameters
    ----------
    right : callable (inputs) -> array or mapping of str to array
        The right answer; several outputs in the order in which they are judged.
    same : callable (array, array) -> bool
        Whether an output is right.
    symptom : callable (inputs, outputs) -> str or None
        What is true of this case, said first.

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
        name = first_wrong(outputs, wanted, same)
        if name is None:
            return None
        done = list(wanted)[: list(wanted).index(name)]
        verb = "is" if len(done) == 1 else "are"
        so_far = f"{', '.join(done)} {verb} right." if done else None
        shown = f"With {_given(inputs)}: {_beside(name, outputs[name], wanted[name])}"
        return " ".join(filter(None, (so_far, symptom(inputs, outputs), shown)))

    return judge
