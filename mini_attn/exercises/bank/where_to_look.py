"""Pencil: the position that an induction head looks at."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.questions import NumberQuestion, Remark, above, below, foreseen

CHOICES = {"period": tuple(range(21, 30)), "place": tuple(range(3, 18))}


class Numbers(NamedTuple):
    """Words of a block, and which word of its second copy looks."""

    period: int = 13
    place: int = 5

    @property
    def own(self) -> int:
        """The position of the word that looks."""
        return self.period + self.place

    @property
    def right(self) -> int:
        """The answer."""
        return self.place + 1


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: a row is `<s>`, then {n.period} different words, then the same {n.period}
words in the same order again. Positions start at 0, so `<s>` has position 0. An induction head
has learned to copy without error. The decoder now reads word number {n.place} of the second copy,
counted from 1. At which position does the head look?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    return {
        n.place: "You found the same word in the first copy. The head looks at the word that "
        "followed it, because that's the one to say next.",
        n.place - 1: "You went to the word before the earlier copy. The head looks at the word "
        "after it.",
        n.place + 2: "You went one too far. Take the word right after the earlier copy, and start "
        "counting with `<s>` at 0.",
        n.own: "That's the position of the word that looks. The head finds its earlier copy and "
        "looks just after that.",
        n.own - 1: "You took the word before, as a previous-token head does. An induction head "
        "looks just after an earlier copy of its own word.",
        n.own + 1: "The model hasn't read that word yet. It's the one to predict. The head finds "
        "it in the first copy.",
        n.period - 1: "That's how many positions back the head looks. Which position is that?",
        n.period: "That's how far apart a word and its earlier copy are. Which position does the "
        "head look at?",
    }


def _number(n: Numbers) -> NumberQuestion:
    far = f"The head can only look at positions 0 to {n.own}, which are whole numbers."
    return NumberQuestion(
        answer=n.right,
        unit="(position)",
        mistakes=foreseen(_mistakes(n)),
        otherwise=(
            Remark(far, high=below(0)),
            Remark(far, low=above(n.own)),
            Remark(far, fractional=True),
            Remark(
                "It isn't {value:,.6g}. Write the row down with its positions. Find the word that "
                "the decoder reads, then its earlier copy, then what came right after that."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="where_to_look",
        page="model",
        title="Where does it look?",
        kind="pencil",
        groups={"by hand": 2},
        minutes=5,
        difficulty=1,
        stage="warm-up",
        assessed=False,
        section="Which head does what",
        text=_text(n),
        number=_number(n),
        hints=(
            "What does an induction head look for, and does it look at that or next to it?",
            f"In the first copy the word is at position {n.place}. What followed it is one "
            "position later.",
        ),
        common_errors=(
            "Looking at the earlier copy itself instead of at what came after it.",
            "Giving the distance instead of the position.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
