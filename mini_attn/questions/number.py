"""A question that asks for a number, as data: its judges know nothing else."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from string import Formatter
from typing import Any

from mini_attn.errors import ConfigError

__all__ = [
    "KINDS", "LeadsTo", "Mistake", "NumberQuestion", "Remark", "above", "below", "foreseen",
    "near",
]  # fmt: skip

# What is asked for, and what a reader should do again where nothing explains a number.
KINDS = {
    "product": "Write the product out, factor by factor.",
    "quotient": "Write down what is divided by what, and the unit of each.",
    "ratio": "Write down both quantities, then divide the one by the other.",
    "sum": "Write the sum out, and look at what each step adds.",
    "count": "Draw a small case and count in it.",
    "share": "What is the whole, and which part of it is asked for?",
    "place": "Number the first few, and see where this one falls.",
    "shape": "Write down the shape of each array.",
    "crossover": "Write down what each side costs for an unknown number, and set them equal.",
    "formula": "Write the formula down, then put the numbers in.",
}
# A factor would say little of what is counted one by one, of a share, a place or a shape.
FACTORLESS = ("count", "share", "place", "shape")

EXACT = 1e-12  # of a number that can be found exactly
TYPED = 0.005  # how near a foreseen fraction (59.5 sequences) is typed by somebody who guesses
ROUNDING = 1 + 1e-9  # what is typed at the very edge counts
NUMBERS = ("value", "ratio", "factor", "leads_to")  # of a remark, each with its format
WORDS = ("large", "many", "times_too_many")
FORMAT = re.compile(r",?\.\d+[gf]")  # those that widgets/js/questions/written.js knows
LEADS = ("over", "steps", "weight")


def above(limit: float) -> float:
    """Return the smallest number above a limit, for a range that begins behind it."""
    return math.nextafter(limit, math.inf)


def below(limit: float) -> float:
    """Return the largest number below a limit, for a range that ends before it."""
    return math.nextafter(limit, -math.inf)


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
class Remark:
    """What is said to any number of a range that no mistake explains.

    Parameters
    ----------
    message : str
        Sentences, in which ``{value:.4g}`` is the number that was typed, ``{ratio:.3g}`` that over
        the answer, ``{factor:.3g}`` the same or its inverse, whichever is above 1, and
        ``{leads_to:.3g}`` what the number leads to. ``{large}`` is "large" or "small", ``{many}``
        is "many" or "few", and ``{times_too_many}`` is "2.0 times too many" or "a little too few".
    low, high : float
        The smallest and the largest number of the range; see `above` and `below`.
    fractional : bool
        Whether whole numbers are left out.
    """

    message: str
    low: float = -math.inf
    high: float = math.inf
    fractional: bool = False

    def __post_init__(self) -> None:
        for _, name, form, conversion in Formatter().parse(self.message):
            if name is None:
                continue
            known = FORMAT.fullmatch(form or "") if name in NUMBERS else name in WORDS and not form
            if not known or conversion:
                raise ConfigError(f"no page can write {{{name}:{form}}} of {self.message!r}")

    @property
    def is_plain(self) -> bool:
        """Return whether it says the same to every number."""
        return "{" not in self.message

    def covers(self, value: float) -> bool:
        """Return whether a number lies in the range."""
        left_out = self.fractional and float(value).is_integer()
        return self.low <= value <= self.high and not left_out

    def data(self) -> dict[str, Any]:
        """Return it as a page gets it: without limits where there are none."""
        limits = {"low": self.low, "high": self.high}
        finite = {name: limit for name, limit in limits.items() if math.isfinite(limit)}
        return {"message": self.message, "fractional": self.fractional, **finite}


def near(value: float, message: str, tolerance: float) -> Remark:
    """Return a remark on the numbers around one, for a mistake that is rarer than the foreseen."""
    low, high = sorted((value * (1 - tolerance), value * (1 + tolerance)))
    return Remark(message, low, high)


@dataclass(frozen=True)
class LeadsTo:
    """What the number that was typed leads to, for a remark to tell.

    Parameters
    ----------
    kind : {"over", "steps", "weight"}
        The number over `by`; how many steps of `by` begin from `start` up to it; or the softmax
        weight of a score beside as many scores of 0.
    by, start : float
        As `kind` says.
    """

    kind: str
    by: float
    start: float = 0.0

    def __post_init__(self) -> None:
        if self.kind not in LEADS:
            raise ConfigError(f"kind must be one of {', '.join(LEADS)}, got {self.kind!r}")

    def number(self, value: float) -> float:
        """Return what a number leads to."""
        if self.kind == "over":
            return value / self.by
        if self.kind == "steps":
            return math.floor((value - self.start) / self.by) + 1.0
        return 1 / (1 + self.by * math.exp(-max(-700.0, min(value, 700.0))))


def foreseen(mistakes: Mapping[float, str] | Mapping[int, str]) -> tuple[Mistake, ...]:
    """Return mistakes from a table of wrong numbers and the idea that each lacks."""
    return tuple(Mistake(value, message) for value, message in mistakes.items())


@dataclass(frozen=True, kw_only=True)
class NumberQuestion:
    """A question that asks for a number.

    Parameters
    ----------
    answer : int or float
        The right number.
    unit : str
        What the number counts, in the plural, for example ``"token passes"``. With ``"bytes"``
        a reader may also answer in kB, MB, GB or KiB, MiB, GiB.
    mistakes : tuple of Mistake
        Foreseen wrong numbers, in the order in which they are looked for.
    tolerance : float
        Largest relative difference that still counts; 0 means exact.
    within : float
        Largest absolute difference that still counts, where that is more.
    otherwise : tuple of Remark
        What is said to a number that is neither right nor foreseen: the first that covers it.
    leads_to : LeadsTo or None
        What the remarks may tell of such a number.
    kind : str
        One of `KINDS`: what a reader should do again where no remark covers a number.
    explanation : str
        One sentence that says why the answer is right; empty where that isn't told.
    signed : bool
        Whether a number may be 0 or below. Else a reader is told that the answer is above zero.
    lenient : bool
        Whether a reader only guesses. Then a number of two digits or more is also right where
        there is a `tolerance` and the answer rounds to it, a foreseen fraction is recognized with
        fewer digits, and a size without its unit may be taken for one of GB.

    Raises
    ------
    ConfigError
        If the answer is no positive number, the unit is empty, the kind is unknown, or a mistake
        can't be told from the answer or from an earlier one.
    """

    answer: float
    unit: str
    mistakes: tuple[Mistake, ...] = ()
    tolerance: float = 0.0
    within: float = 0.0
    otherwise: tuple[Remark, ...] = ()
    leads_to: LeadsTo | None = None
    kind: str = "formula"
    explanation: str = ""
    signed: bool = True
    lenient: bool = False

    @property
    def name(self) -> str:
        """Return what an error calls it."""
        return f"the question for {self.unit}"

    def __post_init__(self) -> None:
        if isinstance(self.answer, bool) or self.answer <= 0:
            raise ConfigError(f"{self.name}: the answer must be above 0, got {self.answer!r}")
        if not 0 <= self.tolerance < 0.1:
            raise ConfigError(f"{self.name}: tolerance must be 0 to 0.1, got {self.tolerance!r}")
        if not self.unit:
            raise ConfigError(f"{self.name}: unit must not be empty")
        if self.kind not in KINDS:
            kinds = ", ".join(KINDS)
            raise ConfigError(f"{self.name}: kind must be one of {kinds}, got {self.kind!r}")
        if self.leads_to is None and any("{leads_to" in one.message for one in self.otherwise):
            raise ConfigError(f"{self.name}: a remark tells what a number leads to: what is it?")
        self._check_apart()

    def _check_apart(self) -> None:
        """Refuse mistakes that nobody would be told of."""
        for mistake in self.mistakes:
            first = self.mistake_at(mistake.value) or mistake
            same = first.message == mistake.message and first.value != mistake.value
            if self.is_right(mistake.value):
                other = self.answer
            elif first is mistake or same:
                continue
            else:
                other = first.value
            raise ConfigError(f"{self.name}: {mistake.value:,} cannot be told from {other:,}")

    @property
    def off(self) -> float:
        """Return how far from the answer a number may be."""
        return self._off(self.answer, self.tolerance)

    def off_by(self, mistake: Mistake) -> float:
        """Return how far from a mistake's number a typed one can be and still count as it.

        A guesser who rounds a foreseen fraction to two digits still means it, unless another
        number that the question knows is as near.
        """
        value = float(mistake.value)
        if not self.lenient or value.is_integer():
            return self._off(value, self.tolerance)
        known = [self.answer, *(other.value for other in self.mistakes)]
        nearest = min(abs(value - other) for other in known if other != value)
        half_a_digit = 0.5 * 10.0 ** (math.floor(math.log10(abs(value))) - 1)
        return max(self._off(value, TYPED), min(half_a_digit, nearest / 2) * ROUNDING)

    def _off(self, value: float, tolerance: float) -> float:
        return max(max(tolerance, EXACT) * abs(value), self.within) * ROUNDING

    def is_right(self, value: float) -> bool:
        """Return whether a number counts as the answer."""
        return abs(value - self.answer) <= self.off

    def mistake_at(self, value: float) -> Mistake | None:
        """Return the first mistake that explains a number."""
        return next((m for m in self.mistakes if abs(value - m.value) <= self.off_by(m)), None)

    def remark_at(self, value: float) -> Remark | None:
        """Return the first remark that covers a number."""
        return next((remark for remark in self.otherwise if remark.covers(value)), None)

    def data(self) -> dict[str, Any]:
        """Return what a page's judge reads, as JSON holds it."""
        return {
            "answer": self.answer, "off": self.off, "unit": self.unit,
            "tolerance": self.tolerance, "explanation": self.explanation,
            "signed": self.signed, "lenient": self.lenient,
            "again": KINDS[self.kind], "by_factor": self.kind not in FACTORLESS,
            "mistakes": [
                {"value": m.value, "off": self.off_by(m), "message": m.message}
                for m in self.mistakes
            ],
            "otherwise": [remark.data() for remark in self.otherwise],
            "leads_to": vars(self.leads_to) if self.leads_to else None,
        }  # fmt: skip
