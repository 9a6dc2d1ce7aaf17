"""Pencil: the loss of a model that can do nothing but copy."""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.questions import LeadsTo, NumberQuestion, Remark, foreseen
from mini_attn.stories.vocabulary import WORDS

CHOICES = {
    "words": (64, 90, 117, 150, 200),
    "period": (9, 10, 11, 12, 13, 14, 15, 17),
    "copies": (3, 4, 5),
}


class Numbers(NamedTuple):
    """Words of the vocabulary without the start token, words of the block, and its copies."""

    words: int = len(WORDS) - 1
    period: int = 13
    copies: int = 3

    @property
    def length(self) -> int:
        """Words of the row."""
        return self.period * self.copies

    @property
    def right(self) -> float:
        """The answer."""
        return (self.period + 1) * math.log(self.words) / self.length


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: after `<s>` a row holds a block of {n.period} different words out of
{n.words}, any of them as likely as any other, {n.copies} times in all: {n.length} words. A model
only does induction. If the word it reads has come up before, it says with certainty what
came after the latest copy. If not, it guesses, with probability 1/{n.words} for each word. What's
its mean loss in nats over the {n.length} words? Give at least three digits.
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    period, length = n.period, n.length
    one = math.log(n.words)
    there = f"There are {n.copies}: {length} words."
    return {
        period * one / length: (
            f"You counted {period} guesses. Go through the row at the seam. What does the model "
            "read when it has to predict the first word of the second copy?"
        ),
        (period - 1) * one / length: (
            "You're missing one guess in the first copy. The word after `<s>` is a guess, too."
        ),
        (period + 1) * one / (length + 1): (
            f"You counted `<s>` as a word. The start token is given, so divide by {length}."
        ),
        (period + n.copies - 1) * one / length: (
            "You let every copy begin with a guess. At the second seam the block's last word has "
            "come up before, so the model knows what followed it."
        ),
        (period + 1) * math.log(n.words + 1) / length: (
            f"You let the model guess `<s>`. It's in no block, so a guess has probability "
            f"1/{n.words}."
        ),
        (period + 1) * math.log2(n.words) / length: (
            "Your answer is in bits. For nats, take the natural logarithm."
        ),
        (period + 1) * math.log10(n.words) / length: (
            "You took the logarithm to base 10. Take the natural one."
        ),
        (period + 1) * one: f"That's the sum. Divide it by the {length} words.",
        (period + 1) * one / (2 * period): f"You divided by two copies. {there}",
        (period + 1) * one / period: f"You divided by one copy. {there}",
        **_guesses(n),
    }


def _guesses(n: Numbers) -> dict[float, str]:
    """Return losses of guesses at the wrong words, at too many or too few."""
    period, length, one = n.period, n.length, math.log(n.words)
    return {
        2 * period * one / length: (
            "You let the model guess the whole second copy. It guesses only the first word. After "
            "that, the word it reads has come up before."
        ),
        (period + 1) * math.log(period) / length: (
            f"You let it guess among {period} words. A guess is among all {n.words}, because the "
            "model doesn't know which ones the block holds."
        ),
        one: "That's the loss of one guess. Most words of the row aren't guesses.",
        one
        / length: "You counted a single guess. Count all the words that the model has to guess.",
    }


def _number(n: Numbers) -> NumberQuestion:
    one = math.log(n.words)
    return NumberQuestion(
        answer=n.right,
        unit="nats per word",
        mistakes=foreseen(_mistakes(n)),
        tolerance=0.00091,
        leads_to=LeadsTo("over", one / n.length),
        otherwise=(
            Remark("Guesses cost something, so the mean is above 0.", high=0),
            Remark(
                f"You have the right number of guesses, {n.period + 1}. A guess among {n.words} "
                f"words costs ln {n.words} = {one:.4f}.",
                low=(n.period + 0.5) * one / n.length,
                high=(n.period + 1.5) * one / n.length,
            ),
            Remark(
                "{value:.4g} nats per word would be {leads_to:.3g} guesses of "
                f"ln {n.words} in the row. Count the words that the model has to guess."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="first_copy_loss",
        page="model",
        title="ln V, then 0",
        kind="pencil",
        groups={"by hand": 3},
        minutes=10,
        difficulty=3,
        stage="transfer",
        assessed=False,
        section="What a word costs",
        text=_text(n),
        number=_number(n),
        hints=(
            "A guess among V equally likely words costs ln V, and a certainty costs nothing. "
            "So count the guesses.",
            "Induction looks for the word that the model has just read. Write the words as A B C "
            "… and mark each position at which the word just read is new, `<s>` included.",
        ),
        common_errors=(
            "Counting only the first copy as guesses. When the second copy begins, nothing has "
            "followed the block's last word yet.",
            "Dividing by the words of one copy.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
