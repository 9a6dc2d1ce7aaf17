"""One prediction: a question in the text of a chapter that asks for a number before it's shown."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass
from typing import Any

from mini_attn.errors import ConfigError
from mini_attn.questions import Mistake, NumberQuestion

__all__ = ["Mistake", "Question", "inline"]


def inline(text: str) -> str:
    """Escaped markup; code in backticks is the only markup of questions, hints and errors."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))


@dataclass(frozen=True, kw_only=True)
class Question(NumberQuestion):
    """One prediction.

    Parameters
    ----------
    key : str
        ``"<page>/<name>"``.
    text : str
        The question; code in backticks, no other markup.
    answer, unit, mistakes, tolerance, within, otherwise, leads_to, kind, explanation
        As in `mini_attn.questions.NumberQuestion`.
    signed, lenient : bool
        The same. A reader guesses, and most answers are above zero.

    Raises
    ------
    ConfigError
        As there, and if the text or the explanation is empty.
    """

    key: str
    text: str
    signed: bool = False
    lenient: bool = True

    @property
    def name(self) -> str:
        """Return what an error calls it."""
        return self.key

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (self.text and self.explanation):
            raise ConfigError(f"{self.key}: text and explanation must not be empty")

    def data(self) -> dict[str, Any]:
        """Return what a page shows and judges by, as JSON holds it."""
        return {"key": self.key, "text": self.text} | super().data()
