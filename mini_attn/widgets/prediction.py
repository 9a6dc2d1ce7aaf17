"""A prediction: a question that asks for a number, with a sentence for each foreseen mistake."""

from __future__ import annotations

from typing import Any

import traitlets

from mini_attn.widgets.base import LivingWidget, carried
from mini_attn.widgets.questions import Question, inline
from mini_attn.widgets.questions import question as find

__all__ = ["Prediction"]


def _told(number: float) -> str:
    """With up to four decimals, as js/questions/judge.js writes it."""
    whole, _, decimals = f"{number:,.4f}".partition(".")
    return ".".join(filter(None, (whole, decimals.rstrip("0"))))


def _answer(question: Question) -> str:
    return f"{_told(question.answer)} {question.unit}. {question.explanation}"


class Prediction(LivingWidget):
    """Ask for a number before it is shown.

    Parameters
    ----------
    question : str
        ``"<page>/<name>"``, a key of `mini_attn.widgets.questions.QUESTIONS`.
    attempt : str
        What the reader has typed last, at most 40 characters; a cell can read it.

    Raises
    ------
    WidgetStateError
        If there is no such question.

    Notes
    -----
    The view judges the attempt. It takes what people write: ``5050``, ``5,050``, ``5.05e3``,
    ``about 5050``, ``100·101/2``, ``√192``, ``20%``, ``38.6 million`` and units, as in ``7.37 MB``.

    Examples
    --------
    >>> print(Prediction("kv-cache/larger"))  # doctest: +ELLIPSIS
    Predict: GPT-2 has 12 layers with 12 heads, ...
    Answer: 0.5 times. ...
    """

    _widget = "prediction"
    _question = traitlets.Dict().tag(sync=True)

    def __init__(self, question: str, **state: Any) -> None:
        super().__init__(question=question, **state)
        self._question = find(self.question).data()

    def __repr__(self) -> str:
        question = find(self.question)
        return f"Predict: {question.text}\nAnswer: {_answer(question)}"

    def _data(self) -> str:
        return carried(self._question, " data-question")

    def _picture(self) -> str:
        """The question and its closed answer, for a reader without JavaScript."""
        question = find(self.question)
        return (
            f'<div class="predict predict-fallback"><p class="predict-kicker">Predict</p>'
            f'<p class="predict-text">{inline(question.text)}</p>'
            f"<details><summary>The answer</summary><p>{inline(_answer(question))}</p></details>"
            "</div>"
        )
