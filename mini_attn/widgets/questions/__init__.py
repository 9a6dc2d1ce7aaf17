"""The predictions of all chapters; every number in them is computed, none is typed."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from mini_attn.errors import ConfigError
from mini_attn.widgets.questions.question import Mistake, Question, inline

__all__ = ["AGAIN", "QUESTIONS", "Mistake", "Question", "inline", "question"]

# One module or more per chapter, found by their files: a chapter adds its own and edits no list.
_CHAPTERS = sorted(
    path.stem
    for path in Path(__file__).parent.glob("*.py")
    if path.stem not in ("__init__", "question")
)
QUESTIONS: dict[str, Question] = {
    item.key: item for name in _CHAPTERS for item in import_module(f"{__name__}.{name}").ALL
}


def _again() -> dict[str, tuple[Question, ...]]:
    """The questions with other numbers that a module may have, by the key that they share."""
    found: dict[str, tuple[Question, ...]] = {}
    for name in _CHAPTERS:
        for item in getattr(import_module(f"{__name__}.{name}"), "AGAIN", ()):
            found[item.key] = (*found.get(item.key, ()), item)
    return found


# For a reader who is asked again after days. A page that was built has no Python to draw them.
AGAIN = _again()


def question(key: str) -> Question:
    """The question for a key.

    Parameters
    ----------
    key : str
        For example ``"kv-cache/passes"``.

    Returns
    -------
    Question
        The question.

    Raises
    ------
    ConfigError
        If there is none.

    Examples
    --------
    >>> question("kv-cache/passes").answer
    5050
    """
    if key not in QUESTIONS:
        raise ConfigError(f"question must be one of {', '.join(QUESTIONS)}, got {key!r}")
    return QUESTIONS[key]
