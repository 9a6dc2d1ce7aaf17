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
        "is the smallest window in which it sees that following word?",
        answer=period,
        unit="keys",
        kind="count",
        explanation=f"The same word was {period} positions back, the one that followed it "
        f"{period - 1} positions back. A window of W sees up to W − 1 positions back, so W = "
        f"{period}.",
        mistakes=(
            Mistake(
                period + 1,
                f"That window still sees the last occurrence itself, {period} positions back. What "
                "has to be copied is one position nearer.",
            ),
            Mistake(
                period - 1,
                "That is how many positions back the word is. The window counts the key of the "
                "current word as well.",
            ),
            Mistake(
                2 * period,
                "That sees two rounds. The word that is wanted has been said in the last one.",
            ),
            Mistake(
                period // 2,
                "With two layers something may be *passed on* from twice as far. But here one head "
                "looks for the word, and it has to see it.",
            ),
            Mistake(1, "A window of 1 sees the current word alone."),
        ),
    )


ALL = (_copy(),)
