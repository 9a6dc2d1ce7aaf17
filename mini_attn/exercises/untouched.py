"""A repair exercise that nobody has touched: to say what is wrong would give the fault away.

A function is the starter as long as it compiles to the same code: blanks and comments are no
repair. Only what speaks to a learner asks here; a grader judges the starter like any answer.
"""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import Any

from mini_attn.exercises import cells
from mini_attn.exercises.judging import count_right
from mini_attn.exercises.report import Report
from mini_attn.exercises.runner import run
from mini_attn.exercises.spec import Exercise

__all__ = ["is_starter", "untouched"]


def _code(part: Any) -> Any:
    """A constant of a compiled function, without the lines that it stood on."""
    if not isinstance(part, CodeType):
        return repr(part)
    names = (part.co_names, part.co_varnames, part.co_cellvars, part.co_freevars)
    return part.co_code, names, tuple(map(_code, part.co_consts))


def _compiled(found: Any) -> Any:
    """Return what a function does, as far as it can be compared; None for what is no function."""
    if not isinstance(found, FunctionType):
        return None
    return _code(found.__code__), repr(found.__defaults__), repr(found.__kwdefaults__)


def is_starter(task: Exercise, answer: Any) -> bool:
    """Return whether an answer to a repair exercise is its starter, with the helpers it came with.

    Parameters
    ----------
    task : Exercise
        Which exercise.
    answer : object
        What was handed in.

    Returns
    -------
    bool
        False for an exercise of another kind.

    Examples
    --------
    >>> from mini_attn.exercises import exercise
    >>> is_starter(exercise("late_mask"), abs)
    False
    """
    if task.kind != "bug" or not isinstance(answer, FunctionType):
        return False
    given = cells.namespace()
    before = set(given)
    exec(task.starter, given)
    parts = {name: given[name] for name in set(given) - before - {"__builtins__", task.name}}
    pairs: list[tuple[Any, Any]] = [(given[task.name], answer)]
    pairs += [(part, answer.__globals__.get(name)) for name, part in parts.items()]
    return all(_compiled(one) == _compiled(other) for one, other in pairs)


def untouched(task: Exercise, answer: Any, *, seed: int) -> Report | None:
    """Return what is said of a starter: how much of it is right, and what to do.

    Parameters
    ----------
    task : Exercise
        Which exercise.
    answer : object
        What was handed in.
    seed : int
        Seeds the random cases.

    Returns
    -------
    Report or None
        Neither a diagnosis nor a hint; None for any other answer.
    """
    if not is_starter(task, answer):
        return None
    right, of = count_right(task, lambda inputs: run(answer, inputs), seed=seed)
    words = (
        f"This is the starter as it was given; {right} of {of} cases come out right. "
        "Read it, find the fault and change it."
    )
    return Report(task, "attempted", words)
