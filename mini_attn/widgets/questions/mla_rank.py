"""The prediction of the chapter on latent attention that asks for a rank."""

from __future__ import annotations

from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _rank() -> Question:
    d_model, heads, size = 64, 4, 16
    both = 2 * heads * size
    return Question(
        key="mla/rank",
        text=f"A layer with `d_model` = {d_model} has {heads} heads with keys and values of "
        f"dimension {size}, made by W_k and W_v. Put everything a token leaves in the cache into "
        f"one row of {both} values, and stack the rows of 1,000 tokens. Before any rotation, how "
        "many singular values of this matrix can differ from 0?",
        answer=d_model,
        unit="singular values",
        kind="shape",
        explanation=f"Every row is x times [W_k W_v], and x has {d_model} values. A product's rank "
        f"is at most that of its narrowest factor. So x itself would be a latent of {d_model} that "
        "loses nothing.",
        mistakes=(
            Mistake(
                both,
                f"That's the width of the rows. They're all made from {d_model} values.",
            ),
            Mistake(
                1000,
                f"That's the number of tokens. The rank is at most that, and at most {both}, but "
                "something else is narrower.",
            ),
            Mistake(size, "That's one head's key. The row has all heads' keys and values."),
            Mistake(2 * size, "That's one head's key and value. The row has all heads."),
            Mistake(both + d_model, "A rank is never larger than the narrowest factor allows."),
        ),
    )


ALL = (_rank(),)
