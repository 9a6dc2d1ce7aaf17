"""What earns the points of an open question, which no check decides: people read the answer."""

from __future__ import annotations

from textwrap import fill

from mini_attn.errors import ConfigError
from mini_attn.exercises.report import LINE
from mini_attn.exercises.spec import Exercise

__all__ = ["refuse_open", "rubric_words"]


def refuse_open(task: Exercise) -> None:
    """Raise where an answer is asked for its points and people have to give them.

    Raises
    ------
    ConfigError
        If the exercise is an open question.
    """
    if task.kind == "open":
        words = "has an answer in words: people mark it, by its rubric, and no check does"
        raise ConfigError(f"{task.id} {words}")


def rubric_words(task: Exercise) -> str:
    """Return what a reader is told who asks for a check.

    Parameters
    ----------
    task : Exercise
        An open question.

    Returns
    -------
    str
        Lines for a cell's output: who marks it, and what earns how many points.
    """
    lines = [
        f"{task.title}: {task.points} points, marked by people",
        "  No check can judge an answer in words. Read yours once more with these in mind:",
    ]
    for says, points in task.rubric.items():
        lines.append(f"  □ {points} point{'s' if points > 1 else ''}: {says}")
    return "\n".join(fill(line, LINE, subsequent_indent="    ") for line in lines)
