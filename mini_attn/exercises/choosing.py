"""One rule for what is said about a wrong answer.

A foreseen mistake explains an answer if it gives what the answer gave in every case: where it
failed, and where it passed. Of those that do, the simplest is named, which is the first. An answer
that is repaired in part has its mistake in some cases alone: if just one explains all that fail,
it is named as such. Else the smallest failing case is shown, and no more is claimed. So it is with
shapes: what is said about one fits those of all cases.

What no mistake explains, and is right to float32's precision, is right.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mini_attn.exercises.axes import Misfit, ideas_of_shape
from mini_attn.exercises.comparing import Inputs, Outputs, first_wrong, moves, named
from mini_attn.exercises.guesses import TWO
from mini_attn.exercises.spec import GROUPS, Exercise

__all__ = ["Tried", "what_to_say"]


@dataclass(eq=False)
class Tried:
    """What an answer gave to one case.

    Parameters
    ----------
    group : str
        The check that the case belongs to.
    inputs, outputs : dict
        The case, and the arrays that are asked for.
    fault : str or None
        What is wrong with them in this case, None where nothing is.
    finite : bool
        False where an output holds NaN or infinity, which is then the fault.
    rough : bool
        Whether the outputs are right to float32's precision, and no better.
    misfit : Misfit or None
        The output whose shape is the fault.
    """

    group: str
    inputs: Inputs
    outputs: Outputs
    fault: str | None = None
    finite: bool = True
    rough: bool = False
    misfit: Misfit | None = None


def _gives(
    task: Exercise, case: Tried, mistake: Outputs, moved: dict[str, float], *, whole: bool
) -> bool:
    """Return whether a mistake would have given the same in this case.

    Unless the whole counts, numbers that are not finite are left out: what overflowed on the way
    to a mistake is another matter.
    """
    for name, foreseen in mistake.items():
        got = case.outputs[name]
        if foreseen.dtype == object or foreseen.shape != got.shape:
            return False
        if got.dtype.kind == "f":
            known = np.isfinite(got)
            if whole and not np.array_equal(np.isfinite(foreseen), known):
                return False
            if not known.all():
                got, foreseen = got[known], foreseen[known]
        if not task.same(got, foreseen, moved.get(name, 0.0)):
            return False
    return True


def _speaks_of(task: Exercise, first: Tried) -> str | None:
    """The output that a mistake has to speak of: the first that is wrong in the first case."""
    if task.right is None:
        return None
    right = named(task.right(first.inputs), list(first.outputs))
    moved = moves(task.right, first.inputs, first.outputs, right)
    return first_wrong(first.outputs, right, task.same, moved)


def _explain(task: Exercise, tried: list[Tried], first: Tried) -> tuple[str | None, str | None]:
    """The idea of the first mistake that explains every case.

    Where none does, as the second, that of the only one that explains every failing case: then the
    answer has it in these alone, which is said.
    """
    names, about = list(first.outputs), _speaks_of(task, first)
    table = [task.slips(case.inputs) for case in tried]
    moved = [moves(task.right, case.inputs, case.outputs) for case in tried]
    # The cases that failed come first: most mistakes are refuted by one of them.
    order = sorted(range(len(tried)), key=lambda at: not tried[at].fault)
    failing = sum(bool(case.fault) for case in tried)
    partly: list[str] = []
    for number, (_, idea) in enumerate(table[tried.index(first)]):
        explained = 0
        for at in order:
            case, foreseen = tried[at], table[at][number][0]
            mistake = {} if foreseen is None else named(foreseen, names)
            about_it = mistake and (about is None or about in mistake)
            whole = case.finite or case is first
            if not about_it or not _gives(task, case, mistake, moved[at], whole=whole):
                break
            explained += 1
        if explained == len(tried):
            return idea, None
        if explained >= failing:
            partly.append(idea)
    partly = [idea for idea in partly if not idea.startswith(TWO)] or partly  # the simpler ones
    # Truth values come out alike too easily to be sure.
    numbers = first.outputs[about or names[0]].dtype.kind != "b"
    if first.finite and numbers and len(set(partly)) == 1:
        return None, f"Some cases are right. The others come out as with this mistake: {partly[0]}"
    return None, None


def _of_shape(task: Exercise, tried: list[Tried], first: Misfit) -> str:
    """Return what is said about a shape, with the idea that fits those of all cases."""
    ideas = ideas_of_shape(first)
    for case in tried:
        right = task.expected(case.inputs)[first.name][0]
        here = case.misfit if case.misfit and case.misfit.name == first.name else None
        fits = ideas_of_shape(here or Misfit(first.name, right, right))
        ideas = [idea for idea in ideas if idea in fits]
    return " ".join([str(first), *ideas[:1]])


def _effort(case: Tried) -> tuple[bool, int]:
    """Return what it takes to see the fault: integers come first, then how many there are."""
    numbers = sum(np.size(value) for value in (*case.inputs.values(), *case.outputs.values()))
    return case.group != GROUPS[0], numbers


def what_to_say(task: Exercise, tried: list[Tried]) -> tuple[str, str] | None:
    """The check that failed, and the idea that the answer lacks.

    Parameters
    ----------
    task : Exercise
        Which exercise.
    tried : list of Tried
        All cases that could be judged, in the order of checking.

    Returns
    -------
    tuple of two str, or None
        None where no case has a fault, or none but float32's rounding.
    """
    failing = [case for case in tried if case.fault]
    if not failing:
        return None
    first = failing[0]
    if first.misfit:
        return "shape", _of_shape(task, tried, first.misfit)
    check = first.group if first.finite else "finite"
    idea, partly = _explain(task, tried, first)
    if idea is None and all(case.rough for case in failing):
        return None
    if idea or partly:
        return check, str(idea or partly)
    if first.finite and task.right is not None:
        first = min((case for case in failing if case.finite), key=_effort)
    return check, str(first.fault)
