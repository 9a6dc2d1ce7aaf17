"""Pencil: the loss of a model that can do nothing but copy."""

from __future__ import annotations

import math
from functools import partial

from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.stories.vocabulary import WORDS

V = len(WORDS) - 1  # all words but the start token
PERIOD, COPIES = 13, 3
LENGTH = PERIOD * COPIES

TEXT = f"""
With pencil and paper: after `<s>` a row holds a block of {PERIOD} different words out of {V}, any
of them as likely as any other, {COPIES} times in all: {LENGTH} words. A model does nothing but
induction: if the word it reads has been there before, it says with certainty what came after the
latest copy; if not, it guesses, with the chance 1/{V} for each word. What is its mean loss in nats
over the {LENGTH} words? Give at least three digits.
"""

ANSWER = (PERIOD + 1) * math.log(V) / LENGTH
MISTAKES = {
    PERIOD * math.log(V) / LENGTH: (
        f"That is {PERIOD} guesses. Go through the row at the seam: what does the model read when "
        "it has to predict the first word of the second copy?"
    ),
    (PERIOD - 1) * math.log(V) / LENGTH: (
        "That is one guess too few in the first copy: the word after `<s>` is a guess as well."
    ),
    (PERIOD + 1) * math.log(V) / (LENGTH + 1): (
        f"The start token is given, and nobody predicts it: divide by the {LENGTH} words."
    ),
    (PERIOD + COPIES - 1) * math.log(V) / LENGTH: (
        "Not every copy begins with a guess. At the second seam the block's last word has been "
        "there before."
    ),
    (PERIOD + 1) * math.log(V + 1) / LENGTH: (
        f"The start token is none of the words of a block: a guess has the chance 1/{V}."
    ),
    (PERIOD + 1) * math.log2(V) / LENGTH: "That is in bits. Nats take the natural logarithm.",
    (PERIOD + 1) * math.log10(V) / LENGTH: "Nats take the natural logarithm, not that to base 10.",
    (PERIOD + 1) * math.log(V): f"That is the sum; divide it by the {LENGTH} words.",
    (PERIOD + 1) * math.log(V) / (2 * PERIOD): (
        f"That is the mean over two copies. There are {COPIES}: {LENGTH} words."
    ),
    (PERIOD + 1) * math.log(V) / PERIOD: (
        f"That is the mean over one copy. There are {COPIES}: {LENGTH} words."
    ),
    2 * PERIOD * math.log(V) / LENGTH: (
        "That lets the whole second copy be guessed. Only its first word is: from then on the word "
        "that is read has been there before."
    ),
    (PERIOD + 1) * math.log(PERIOD) / LENGTH: (
        f"A guess is among all {V} words: the model does not know which {PERIOD} the block holds."
    ),
    math.log(V): "That is the loss of one guess. Most words of the row are no guesses.",
    math.log(V) / LENGTH: "That is a single guess. Count how many words have to be guessed.",
}
_near = partial(math.isclose, rel_tol=0.0009)


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or how far off another one is."""
    value = float(outputs["answer"])
    if _near(value, ANSWER):
        return None
    if idea := explain(value, MISTAKES.items(), _near):
        return idea
    if value <= 0:
        return "Guesses cost something, so the mean is above 0."
    guesses = value * LENGTH / math.log(V)
    if abs(guesses - PERIOD - 1) < 0.5:
        return (
            f"{PERIOD + 1} guesses are right. One among {V} words costs ln {V}: {math.log(V):.4f}."
        )
    return (
        f"{value:.4g} nats per word would be {guesses:.3g} guesses of ln {V} in the row. Count the "
        "words that the model has to guess."
    )


EXERCISE = Exercise(
    id="first_copy_loss",
    page="model",
    title="ln V, then 0",
    kind="pencil",
    groups={"by hand": 3},
    minutes=10,
    difficulty=3,
    assessed=False,
    section="What a word costs",
    text=TEXT,
    unit="nats per word",
    mistakes=MISTAKES,
    hints=(
        "A guess among V equally likely words costs ln V, a certainty costs nothing. So count the "
        "guesses.",
        "Induction looks for the word that it has just read. Write the words as A B C … and mark "
        "each position at which the word just read is new, `<s>` included.",
    ),
    common_errors=(
        "Taking the first copy for all that must be guessed: nothing has ever followed the "
        "block's last word when the second copy begins.",
        "Dividing by the words of one copy.",
    ),
    judge=judge,
)
