"""The prediction of the chapter on windows that asks how far back a copy is."""

from __future__ import annotations

from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _copy() -> Question:
    period = 40
    return Question(
        key="sliding-window/copy",
        text=f"A row repeats a block of {period} words, no two of them alike. To copy, a head at "
        "the current word looks for its last occurrence and then at the word that followed. What "
        "is the smallest window that contains that following word?",
        answer=period,
        unit="keys",
        kind="count",
        explanation=f"The same word was {period} positions back, and the one that followed it "
        f"{period - 1}. A window of W reaches W − 1 positions back, so W = {period}.",
        mistakes=(
            Mistake(
                period + 1,
                f"That window also contains the last occurrence itself, {period} positions back. "
                "The word to copy is one position nearer.",
            ),
            Mistake(
                period - 1,
                "That's how many positions back the word is. The window counts the key of the "
                "current word as well.",
            ),
            Mistake(
                2 * period,
                "That covers two rounds. The word was said in the last one.",
            ),
            Mistake(
                period // 2,
                "With two layers, something can be *passed on* from twice as far. But here one "
                "head looks for the word, so the word has to be in its window.",
            ),
            Mistake(1, "A window of 1 contains only the current word."),
        ),
    )


ALL = (_copy(),)
