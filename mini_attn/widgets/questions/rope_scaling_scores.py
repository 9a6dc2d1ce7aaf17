"""The predictions of the chapter on longer contexts that ask for scores and caches."""

from __future__ import annotations

from mini_attn.config import YaRN
from mini_attn.numpy.positions.rope import rope_frequencies
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

SIZE, TRAINED = 128, 4096


def _yarn_scores() -> Question:
    factor = 40
    rope_factor = rope_frequencies(SIZE, scaling=YaRN(float(factor), TRAINED))[1]
    return Question(
        key="rope-scaling/yarn-scores",
        text=f"For a factor of {factor}, YaRN multiplies queries and keys by 0.1 · ln {factor} + 1 "
        f"= {rope_factor:.3f} each. By what does it multiply the scores? Give two decimals.",
        answer=round(rope_factor**2, 3),
        unit="times",
        kind="formula",
        tolerance=0.005,
        explanation=f"A score is a product of a query and a key, so it gets the factor twice: "
        f"{rope_factor:.3f}² = {rope_factor**2:.3f}.",
        mistakes=(
            Mistake(
                rope_factor,
                "That's the factor on a query, or on a key. A score has both.",
            ),
            Mistake(
                2 * rope_factor,
                "You doubled the factor. In a product, two factors multiply, so square it.",
            ),
            Mistake(
                rope_factor**0.5,
                "You took the root. The paper puts the root of the scores' factor on queries and "
                "keys, so the scores get the square.",
            ),
            Mistake(
                rope_factor**4,
                "That's the square of the square. A score has one query and one key.",
            ),
            Mistake(factor, "That's the factor of the context. The scores grow far less."),
        ),
    )


def _stale() -> Question:
    tokens = 6000
    return Question(
        key="rope-scaling/stale",
        text=f"A model trained with {TRAINED:,} tokens uses dynamic NTK and keeps rotated keys in "
        f"its cache, each as it was rotated when it came. The cache has {tokens:,} keys, and one "
        "more token comes. How many of the cached keys were rotated with another base than the "
        "query?",
        answer=tokens,
        unit="keys",
        kind="count",
        explanation=f"The base depends on the length, so every length beyond {TRAINED:,} has its "
        f"own frequencies. All {tokens:,} keys were rotated with those of a shorter text.",
        mistakes=(
            Mistake(
                tokens - TRAINED,
                f"Those came after the training context. The first {TRAINED:,} were rotated with "
                "the base of training, which isn't the current one either.",
            ),
            Mistake(
                TRAINED,
                "Those were rotated with the base of training. Each later key has its own base, "
                "and none of them is the current one.",
            ),
            Mistake(1, "Not only the last one. The base was different at every length."),
            Mistake(tokens + 1, "The new key is rotated together with the new query."),
            Mistake(
                tokens - 1,
                "The key before the new one was rotated for a text one token shorter, so it's "
                "stale as well.",
            ),
        ),
    )


ALL = (_yarn_scores(), _stale())
