"""The predictions of the chapter on the unit of cost that count FLOPs."""

from __future__ import annotations

from mini_attn import cost, example
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]


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
                "You counted multiply-adds. Each is a multiplication and an addition: 2 FLOPs.",
            ),
            Mistake(
                entries * (2 * k - 1),
                f"That's exact: {k} products need {k - 1} additions. The convention, also on spec "
                "sheets, counts a multiply-add for every product, including the first.",
            ),
            Mistake(
                2 * entries,
                f"You counted one multiply-add per entry. Each entry is a sum of {k} terms.",
            ),
            Mistake(
                entries, "Those are the entries of the result. Each of them is a whole dot product."
            ),
            Mistake(
                2 * m * k * k * n,
                f"You counted {k} twice. It appears in both shapes, but it's one axis, the "
                "contracted one.",
            ),
        ),
    )


def _order(size: int = 4096, rank: int = 64) -> Question:
    wide = cost.product_flops(size, rank, size) + cost.product_flops(1, size, size)
    narrow = cost.product_flops(1, size, rank) + cost.product_flops(1, rank, size)
    return Question(
        key="matmul/order",
        text=f"A row `x` of {size:,} numbers is multiplied by `A` of shape ({size:,}, {rank}), "
        f"then by `B` of shape ({rank}, {size:,}). How many times as many FLOPs does "
        "`x @ (A @ B)` take as `(x @ A) @ B`?",
        answer=wide / narrow,
        unit="times as many",
        kind="ratio",
        tolerance=0.005,
        explanation=f"`A @ B` alone takes 2 × {size:,} × {rank} × {size:,} FLOPs, and `x` times "
        f"its result 2 × {size:,} × {size:,}: {wide:,}. Row first, it's two thin products, "
        f"{narrow:,}.",
        mistakes=(
            Mistake(1, "The results are equal, but the FLOPs aren't: one order builds a full "
                       "matrix first."),
            Mistake(
                cost.product_flops(size, rank, size) / narrow,
                "You left out the second product, the row times the full matrix.",
            ),
            Mistake(
                cost.product_flops(1, size, size) / narrow,
                "You left out the product of `A` and `B`, which is the larger part.",
            ),
            Mistake(
                2 * wide / narrow,
                "You counted only one of the two thin products.",
            ),
            Mistake(narrow / wide, "That's the inverse. The full matrix costs more."),
            Mistake(size, "That's the width. Write down the FLOPs of both orders and divide."),
            Mistake(rank, "That's the rank. Write down the FLOPs of both orders and divide."),
        ),
    )  # fmt: skip


ALL = (_flops(), _order())
AGAIN = (
    _order(2048, 64),
    _order(8192, 32),
    _order(1024, 8),
)
