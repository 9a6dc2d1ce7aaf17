"""One prediction: a question, its computed answer, and what each foreseen mistake lacks."""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from mini_attn.errors import ConfigError

__all__ = ["KINDS", "Mistake", "Question", "inline"]

# What is asked for. js/prediction/judge.js has words for each, where nothing explains a number.
KINDS = (
    "product", "quotient", "ratio", "sum", "count", "share", "place", "shape", "crossover",
    "formula",
)  # fmt: skip


def inline(text: str) -> str:
    """Escaped markup; code in backticks is the only markup of questions, hints and errors."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(text))


@dataclass(frozen=True)
class Mistake:
    """A wrong number that a known slip leads to, and what was missing.

    Parameters
    ----------
    value : int or float
        The number that the slip gives.
    message : str
        One or two sentences that name the missing idea; code in backticks.
    """

    value: float
    message: str


@dataclass(frozen=True)
class Question:
    """One prediction.

    Parameters
    ----------
    key : str
        ``"<page>/<name>"``.
    text : str
        The question; code in backticks, no other markup.
    answer : int or float
        The computed answer.
    unit : str
        What the number counts, in the plural, for example ``"token passes"``. With ``"bytes"``
        a reader may also answer in kB, MB, GB or KiB, MiB, GiB.
    tolerance : float
        Largest relative difference that still counts as right; 0 means exact. With one above 0 a
        number of two digits or more is also right if the answer rounds to it.
    explanation : str
        One sentence that says why.
    mistakes : tuple of Mistake
        In the order in which they are looked for.
    kind : str
        One of `KINDS`: what a reader whose number nothing explains should write down.
    signed : bool
        Whether such a number may be 0 or below, as a score or the number of a head may. Else a
        reader is told that the answer is above zero.

    Raises
    ------
    ConfigError
        If the answer is no positive number, a text is empty, the kind is unknown, or a mistake is
        the answer.
    """

    key: str
    text: str
    answer: float
    unit: str
    explanation: str
    mistakes: tuple[Mistake, ...]
    tolerance: float = 0.0
    kind: str = "formula"
    signed: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.answer, bool) or self.answer <= 0:
            raise ConfigError(f"{self.key}: the answer must be above 0, got {self.answer!r}")
        if not 0 <= self.tolerance < 0.1:
            raise ConfigError(f"{self.key}: tolerance must be 0 to 0.1, got {self.tolerance!r}")
        if not (self.text and self.unit and self.explanation):
            raise ConfigError(f"{self.key}: text, unit and explanation must not be empty")
        if self.kind not in KINDS:
            raise ConfigError(
                f"{self.key}: kind must be one of {', '.join(KINDS)}, got {self.kind!r}"
            )
        seen: list[float] = [self.answer]
        for mistake in self.mistakes:
            for other in seen:
                if abs(mistake.value - other) <= self.tolerance * max(mistake.value, other):
                    raise ConfigError(
                        f"{self.key}: {mistake.value:,} cannot be told from {other:,}"
                    )
            seen.append(mistake.value)
