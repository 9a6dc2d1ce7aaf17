"""The text of an exercise outside its chapter: plain Markdown that stands alone.

In a chapter a task may say "the equation above" or "as in exercise 1". On a sheet the equation
comes with it, a reference is spelled out, and what cannot be said in a sentence is named with
its chapter and section. The bank has the words.
"""

from __future__ import annotations

import re

from classroom.sheets.chapter import chapter_title, equation
from mini_attn.exercises.markdown import plain_markdown
from mini_attn.exercises.spec import exercise

__all__ = ["REFERENCE", "source_line", "standalone"]

REFERENCE = re.compile(r"equation \{eq\}`([\w-]+)`")


def source_line(exercise_id: str) -> str:
    """Return which chapter an exercise is from, and the section with a definition that it needs."""
    found = exercise(exercise_id)
    line = f"From the chapter *{chapter_title(found.page)}*"
    return f"{line}; see its section *{found.definition}*." if found.definition else f"{line}."


def standalone(exercise_id: str, key: str = "") -> str:
    """Return the task in plain Markdown, with the equation that it speaks of.

    Parameters
    ----------
    exercise_id : str
        Which exercise.
    key : str
        Of the student whose numbers it has; empty for the book's.

    Raises
    ------
    ConfigError
        If there is no such exercise.
    """
    found = exercise(exercise_id).for_student(key)
    text = found.text.replace(*found.standalone)
    labels = dict.fromkeys(REFERENCE.findall(text))
    text = REFERENCE.sub("the equation below", text)
    for label in labels:
        came = equation(found.page, label)
        text += f"\n\nThe equation, from the section *{came.section}*:\n\n{came.source}\n\n"
        text += found.letters
    return plain_markdown(text).strip()
