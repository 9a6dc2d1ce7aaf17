"""The predictions of the chapter on the unit of cost that count FLOPs."""

from __future__ import annotations

from mini_attn import cost, example
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _flops() -> Question:
    m, k, n = example.PROMPT_LEN, example.D_MODEL, example.N_HEADS * example.HEAD_DIM
    entries = m * n
    return Question(
        key="matmul/flops",
        text=f"`x` has shape ({m}, {k}) and `W_q` has shape ({k}, {n}). How many FLOPs does the "
        "product `x @ W_q` take? Count a multiply-add as 2.",
        answer=cost.product_flops(m, k, n),
        unit="FLOPs",
        kind="product",
        explanation=f"The result has {m} × {n} = {entries} entries, each a sum of {k} products: "
        f"2 × {m} × {k} × {n}.",
        mistakes=(
            Mistake(
                m * k * n,
                "Those are the multiply-adds. Each is a multiplication and an addition: 2 FLOPs.",
            ),
            Mistake(
                entries * (2 * k - 1),
                f"Exact to the last addition: {k} products need {k - 1} additions. The custom, "
                "also in data sheets, counts a multiply-add for every product, the first too.",
            ),
            Mistake(
                2 * entries, f"That is one multiply-add for each entry; each is a sum of {k} terms."
            ),
            Mistake(
                entries, "Those are the entries of the result. Each of them is a whole dot product."
            ),
            Mistake(
                2 * m * k * k * n,
                f"The size {k} stands in both shapes, but it is one axis, the contracted one: "
                "it counts once.",
            ),
        ),
    )


def _order() -> Question:
    size, rank = 4096, 64
    left_first = cost.product_flops(size, rank, size) + cost.product_flops(1, size, size)
    right_first = cost.product_flops(1, size, rank) + cost.product_flops(1, rank, size)
    return Question(
        key="matmul/order",
        text=f"A row `x` of {size:,} numbers is multiplied by `A` of shape ({size:,}, {rank}), "
        f"then by `B` of shape ({rank}, {size:,}). How many FLOPs does `(x @ A) @ B` take?",
        answer=right_first,
        unit="FLOPs",
        kind="product",
        tolerance=0.005,
        explanation=f"Two thin products of 2 × 1 × {size:,} × {rank} FLOPs each. The other order, "
        f"`x @ (A @ B)`, takes {left_first:,}, {left_first / right_first:,.0f} times as many, for "
        "the same result.",
        mistakes=(
            Mistake(
                left_first,
                "That is `x @ (A @ B)`, which builds the large matrix first. Follow the brackets: "
                "the row goes first.",
            ),
            Mistake(
                cost.product_flops(1, size, size),
                "That is a product with one full matrix. Through the narrow middle it is less.",
            ),
            Mistake(
                right_first // 2,
                "Half of it: each multiply-add is 2 FLOPs, and both products are this large.",
            ),
            Mistake(
                cost.product_flops(size, rank, size),
                "That is the product of `A` and `B` alone, which this order never computes.",
            ),
            Mistake(
                cost.product_flops(1, size, rank) ** 2,
                "The two products are done one after the other: their FLOPs add up.",
            ),
        ),
    )


def _doubled() -> Question:
    size = 1000
    ratio = cost.product_flops(2 * size, 2 * size, 2 * size) // cost.product_flops(size, size, size)
    return Question(
        key="matmul/doubled",
        text="Two square matrices are multiplied. Then both are made twice as wide and twice as "
        "tall. How many times as many FLOPs does the product take?",
        answer=ratio,
        unit="times as many",
        kind="ratio",
        explanation="Three sizes double, m, k and n, and the count is their product: 2 × 2 × 2. "
        "The numbers to move grow 4 times only, so the intensity doubles.",
        mistakes=(
            Mistake(4, "The matrices have 4 times as many entries, and so has the result; but each "
                       "entry of the result is also a sum that is twice as long."),
            Mistake(2, "That would be one size doubled. Rows, columns and the contracted size all "
                       "double."),
            Mistake(16, "The contracted size stands in both matrices but is one axis: count it "
                        "once."),
            Mistake(6, "The three factors of 2 multiply; they do not add."),
            Mistake(1, "The method is the same, but the count grows with all three sizes."),
        ),
    )  # fmt: skip


ALL = (_flops(), _order(), _doubled())
