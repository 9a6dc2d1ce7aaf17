"""The form of an answer: what must hold before it can be judged."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.exercises.axes import Misfit
from mini_attn.exercises.spec import Inputs, Outputs

__all__ = ["Missing", "arrays_of", "not_finite", "number_of"]

KINDS = {"f": "floating point", "b": "boolean", "i": "whole numbers"}
WARNINGS = {  # what NumPy said on the way, in a learner's words
    "overflow encountered in exp": "An exponential overflowed.",
    "divide by zero encountered in log": "The logarithm of 0 was taken.",
    "divide by zero encountered in divide": "Something was divided by 0.",
    "invalid value encountered in divide": "0 was divided by 0, or infinity by infinity.",
    "invalid value encountered in subtract": "Infinity was subtracted from infinity.",
}
JUDGED = {"f": np.float64, "b": np.bool_, "i": np.int64, "u": np.int64}  # but float32 stays


class Missing(Exception):
    """A check found what the answer lacks."""

    def __init__(self, name: str, message: str, misfit: Misfit | None = None) -> None:
        super().__init__(message)
        self.name, self.message, self.misfit = name, message, misfit


def _named(value: Any, expected: dict[str, Any]) -> dict[str, Any]:
    """The returned value or values under their names."""
    names = list(expected)
    if len(names) == 1:
        return {names[0]: value}
    if not isinstance(value, tuple) or len(value) != len(names):
        got = f"{len(value)} values" if isinstance(value, tuple) else f"one {type(value).__name__}"
        raise Missing("type", f"Return {len(names)} arrays, ({', '.join(names)}); this is {got}.")
    return dict(zip(names, value, strict=True))


def arrays_of(value: Any, expected: dict[str, tuple[tuple[int, ...], str]]) -> Outputs:
    """The returned arrays, once type, shape and data type are right."""
    named = _named(value, expected)
    for name, item in named.items():
        if type(item).__module__.split(".")[0] == "torch":
            raise Missing(
                "type", f"{name} is a PyTorch tensor; this exercise is about NumPy arrays."
            )
        if not isinstance(item, np.ndarray | np.generic):
            kind = "None (is there a return?)" if item is None else f"a {type(item).__name__}"
            raise Missing("type", f"{name} should be a NumPy array; it is {kind}.")
    arrays = {name: np.asarray(item) for name, item in named.items()}
    for name, (shape, _) in expected.items():
        if arrays[name].shape != shape:
            misfit = Misfit(name, shape, arrays[name].shape)
            raise Missing("shape", str(misfit), misfit)
    for name, (_, kind) in expected.items():
        if arrays[name].dtype.kind not in kind.replace("i", "iu"):  # with a sign or without
            raise Missing(
                "dtype", f"{name} should be {KINDS[kind[0]]}; it is {arrays[name].dtype}."
            )
        if arrays[name].dtype.kind == "f" and arrays[name].itemsize == 2:
            words = f"{name} is float16, which keeps 3 digits: compute in float64, or in float32."
            raise Missing("dtype", words)
    # Copies, as the next call may reuse them; of one type, as a judge computes with them.
    with np.errstate(over="ignore", invalid="ignore"):  # what no float64 holds is not finite
        return {name: array.astype(_judged(array)) for name, array in arrays.items()}


def _judged(array: np.ndarray) -> Any:
    """The type in which a judge sees an array."""
    single = array.dtype.kind == "f" and array.itemsize == 4
    return np.float32 if single else JUDGED[array.dtype.kind]


def not_finite(outputs: Outputs, inputs: Inputs, warned: str) -> str | None:
    """Return where the answer holds NaN or infinity, and what about this case may have made it."""
    for name, array in outputs.items():
        if array.dtype.kind != "f":
            continue
        holes = np.argwhere(~np.isfinite(array))
        if len(holes):
            where = f" at {holes[0].tolist()}" if array.ndim else ""
            more = f" and {len(holes) - 1:,} other places" if len(holes) > 1 else ""
            kind = "NaN" if np.isnan(array[tuple(holes[0])]) else "infinity"
            return f"{name} holds {kind}{where}{more}." + _facts(inputs, warned)
    return None


def _facts(inputs: Inputs, warned: str) -> str:
    """Return what is true of a case that made a number not finite; nothing that is only likely."""
    arrays = {name: item for name, item in inputs.items() if isinstance(item, np.ndarray)}
    facts = [words for sign, words in WARNINGS.items() if sign in warned]
    unset = [n for n, a in arrays.items() if a.dtype.kind == "f" and np.isnan(a).any()]
    if unset:
        facts.append(f"In this case {' and '.join(unset)} came with NaN where nothing is stored.")
    if any(a.dtype.kind == "b" and a.ndim > 1 and not a.any(-1).all() for a in arrays.values()):
        facts.append("In this case a query has nothing to attend to.")
    return "".join(f" {fact}" for fact in facts)


def number_of(answer: Any) -> float:
    """The one number that was answered, once it is there, a number and finite."""
    if answer is None or answer is ...:
        raise Missing("attempted", "Put your number in place of the three dots.")
    if isinstance(answer, np.ndarray) and answer.ndim == 0:
        answer = answer.item()
    if isinstance(answer, bool) or not isinstance(answer, int | float | np.integer | np.floating):
        raise Missing("type", f"The answer is one number; this is a {type(answer).__name__}.")
    try:
        number = float(answer)
    except OverflowError:  # a whole number beyond every float
        number = np.inf
    if not np.isfinite(number):
        raise Missing("finite", "The answer is a finite number of ordinary size.")
    return number
