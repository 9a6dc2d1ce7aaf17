"""The predictions of the chapter on the unit of cost that count what moves."""

from __future__ import annotations

from math import ceil

from mini_attn import cost
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]


def _intensity(m: int, k: int, n: int, dtype_bytes: int) -> float:
    n_bytes = cost.product_bytes(m, k, n, dtype_bytes=dtype_bytes)
    return cost.arithmetic_intensity(cost.product_flops(m, k, n), n_bytes)


def _tiles() -> Question:
    size, tile = 64, 8
    few, many = (sum(cost.product_traffic(size, size, size, tile=t)[:2]) for t in (2 * tile, tile))
    return Question(
        key="matmul/tiles",
        text=f"Two matrices of {size} × {size} are multiplied with tiles of {tile} × {tile}. Then "
        "the fast memory gets 4 times as large, and each tile holds 4 times as many numbers. By "
        "what factor do the reads fall?",
        answer=many / few,
        unit="times fewer",
        kind="ratio",
        explanation=f"A number is used as often as its tile is wide. Four times as many numbers "
        f"make a tile twice as wide, {2 * tile} instead of {tile}: {few:,} reads instead of "
        f"{many:,}.",
        mistakes=(
            Mistake(4, "The tile holds 4 times as many numbers, but a number is used only as often "
                       "as the tile is wide."),
            Mistake(16, "You squared the factor. Take its square root: reads fall with the side of "
                        "the tile."),
            Mistake(1, "Larger tiles do save reads here: each number is used more often before "
                       "it's dropped."),
            Mistake(8, "Reads fall with the side of the tile. How much wider is a tile with 4 "
                       "times as many numbers?"),
            Mistake(0.5, "Reads become half as many, so they fall by the inverse of that."),
        ),
    )  # fmt: skip


def _square(size: int = 1024) -> Question:
    answer = _intensity(size, size, size, 4)
    return Question(
        key="matmul/square",
        text=f"Two float32 matrices of {size:,} × {size:,} are multiplied, and each number moves "
        "once. How many FLOPs does the product do per byte moved?",
        answer=answer,
        unit="FLOP per byte",
        kind="quotient",
        tolerance=0.01,
        explanation=f"2 × {size:,}³ FLOPs over 3 × {size:,}² numbers of 4 bytes is {size:,} / 6: "
        "a large square product does a lot for each number.",
        mistakes=(
            Mistake(answer * 4, "That's FLOPs per number. A float32 number takes 4 bytes."),
            Mistake(answer / 2, "Count 2 FLOPs for each multiply-add."),
            Mistake(
                answer * 1.5, "You left out the result. It's written too, so three matrices move."
            ),
            Mistake(answer * 2, "You took 2 bytes per number. In float32 it's 4."),
            Mistake(answer * 3, "You counted the bytes of one matrix. There are three."),
        ),
    )


def _one_row() -> Question:
    size = 4096
    answer = _intensity(1, size, size, 4)
    return Question(
        key="matmul/one-row",
        text=f"Now one row of {size:,} numbers is multiplied by a float32 matrix of {size:,} × "
        f"{size:,}, as in a decode step for one sequence. How many FLOPs does it do per byte?",
        answer=answer,
        unit="FLOP per byte",
        kind="quotient",
        tolerance=0.01,
        explanation="Each number of the matrix takes 4 bytes and serves one multiply-add, 2 FLOPs: "
        "½ FLOP per byte, however large the matrix is.",
        mistakes=(
            Mistake(size / 6, "That's the square product. Here each weight serves only one row."),
            Mistake(2.0, "That's FLOPs per number. A float32 number takes 4 bytes."),
            Mistake(1.0, "You took 2 bytes per number, or 4 FLOPs. In float32 a number "
                         "takes 4 bytes and serves 2 FLOPs."),
            Mistake(0.25, "A multiply-add is 2 FLOPs."),
            Mistake(size / 2, "You left out the weights. All of the matrix has to be read."),
        ),
    )  # fmt: skip


def _ridge() -> Question:
    device = cost.DEVICES["h100"]
    rate, bandwidth = device.flops_per_second["bfloat16"], device.bytes_per_second
    ridge = rate / bandwidth
    return Question(
        key="matmul/ridge",
        text=f"A spec sheet says {rate / 1e12:,.1f} TFLOP/s in bfloat16 and {bandwidth / 1e12:.2f} "
        "TB/s (an H100). How many FLOPs must a program do per byte it reads to be compute-bound?",
        answer=ridge,
        unit="FLOP per byte",
        kind="quotient",
        tolerance=0.02,
        explanation=f"While it reads one byte, the device can do {rate / 1e12:,.1f} / "
        f"{bandwidth / 1e12:.2f} FLOPs. A product with one row in bfloat16 has 1 FLOP per byte, "
        f"so it uses at most 1 part in {ceil(ridge)} of the arithmetic.",
        mistakes=(
            Mistake(ridge / 2, "You halved it. The sheet already counts a multiply-add as 2."),
            Mistake(ridge * 2, "That's FLOPs per number of 2 bytes. The question is about "
                               "bytes."),
            Mistake(ridge * 8, "A byte has 8 bits, but the sheet says bytes. There's nothing "
                               "to convert."),
            Mistake(1 / ridge, "That's bytes per FLOP. Invert the fraction."),
            Mistake(ridge / 1000, "TFLOP/s and TB/s both mean 10¹² per second, so the prefixes "
                                  "cancel."),
        ),
    )  # fmt: skip


ALL = (_tiles(), _square(), _one_row(), _ridge())
AGAIN = (
    _square(512),
    _square(2048),
    _square(768),
)
