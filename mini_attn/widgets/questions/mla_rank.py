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
        f"{size} each, made by W_k and W_v. Put all that a token leaves in the cache into one row, "
        f"{both} numbers, and the rows of 1,000 tokens below each other. Before any rotation, how "
        "many singular values of this matrix can be different from 0?",
        answer=d_model,
        unit="singular values",
        kind="shape",
        explanation=f"Every row is x times [W_k W_v], and x has {d_model} numbers: a product has "
        f"no higher rank than its narrowest factor. The vector x itself would be a latent of "
        f"{d_model} that loses nothing.",
        mistakes=(
            Mistake(
                both,
                f"That is the width of the rows. They are all made from {d_model} numbers.",
            ),
            Mistake(
                1000,
                f"That is the number of tokens. The rank is at most that, and at most {both}, and "
                "something is narrower still.",
            ),
            Mistake(size, "That is one head's key. All heads' keys and values are in the row."),
            Mistake(2 * size, "That is one head's key and value. All heads are in the row."),
            Mistake(both + d_model, "A rank is never larger than the narrowest factor."),
        ),
    )


ALL = (_rank(),)
