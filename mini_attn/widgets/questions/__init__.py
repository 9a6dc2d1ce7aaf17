"""The predictions of all chapters; every number in them is computed, none is typed."""

from __future__ import annotations

from mini_attn.errors import ConfigError
from mini_attn.widgets.questions import kv_cache, kv_cache_bytes
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["QUESTIONS", "Mistake", "Question", "question"]

QUESTIONS: dict[str, Question] = {item.key: item for item in (*kv_cache.ALL, *kv_cache_bytes.ALL)}


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
