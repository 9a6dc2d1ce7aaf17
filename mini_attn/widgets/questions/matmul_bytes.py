"""The predictions of the chapter on the unit of cost that count what moves."""

from __future__ import annotations

from math import ceil

from mini_attn import cost
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _intensity(m: int, k: int, n: int, dtype_bytes: int) -> float:
    n_bytes = cost.product_bytes(m, k, n, dtype_bytes=dtype_bytes)
    return cost.arithmetic_intensity(cost.product_flops(m, k, n), n_bytes)


def _tiles() -> Question:
    size, tile = 64, 16
    read = sum(cost.product_traffic(size, size, size, tile=tile)[:2])
    single = sum(cost.product_traffic(size, size, size, tile=1)[:2])
    return Question(
        key="matmul/tiles",
        text=f"Two matrices of {size} × {size} are multiplied with tiles of {tile} × {tile} held "
        "in fast memory. How many numbers are read from the two matrices in all?",
        answer=read,
        unit="numbers",
        kind="product",
        tolerance=0.005,
        explanation=f"Each number of a matrix is read once for each of the {size // tile} tiles "
        f"across the other: 2 × {size}³ / {tile}. Without tiles it would be {single:,}.",
        mistakes=(
            Mistake(
                single,
                "That reads both numbers anew for each multiply-add. A tile that is held serves "
                f"{tile} rows or columns with one reading.",
            ),
            Mistake(
                2 * size * size,
                "That reads each number once, which needs room for a whole matrix. With tiles a "
                f"number is needed again for {size // tile} tiles of the result.",
            ),
            Mistake(read // 2, "That is one of the two matrices."),
            Mistake(
                2 * size**3 // tile**2,
                f"A tile has {tile * tile} numbers, but a number of it is used {tile} times while "
                f"it is held: the saving is the side of the tile, {tile}.",
            ),
            Mistake(
                read + size * size,
                "That includes the result, which is written. The question is about reading.",
            ),
        ),
    )


def _square() -> Question:
    size = 1024
    answer = _intensity(size, size, size, 4)
    return Question(
        key="matmul/square",
        text=f"Two float32 matrices of {size:,} × {size:,} are multiplied, and each number moves "
        "once. How many FLOPs are done for each byte that is moved?",
        answer=answer,
        unit="FLOP per byte",
        kind="quotient",
        tolerance=0.01,
        explanation=f"2 × {size:,}³ FLOPs over 3 × {size:,}² numbers of 4 bytes is {size:,} / 6: "
        "a large square product has much to do for each number.",
        mistakes=(
            Mistake(answer * 4, "That is FLOPs for each number. A float32 number takes 4 bytes."),
            Mistake(answer / 2, "Count 2 FLOPs for each multiply-add."),
            Mistake(
                answer * 1.5, "The result is written as well: there are three matrices to move."
            ),
            Mistake(answer * 2, "That is for 2 bytes a number. In float32 it takes 4."),
            Mistake(answer * 3, "That counts the bytes of one matrix. There are three of them."),
        ),
    )


def _one_row() -> Question:
    size = 4096
    answer = _intensity(1, size, size, 4)
    return Question(
        key="matmul/one-row",
        text=f"Now one row of {size:,} numbers is multiplied by a float32 matrix of {size:,} × "
        f"{size:,}, as when a model writes one token. How many FLOPs are done for each byte?",
        answer=answer,
        unit="FLOP per byte",
        kind="quotient",
        tolerance=0.01,
        explanation="Each number of the matrix takes 4 bytes and serves one multiply-add, 2 FLOPs: "
        "½ FLOP per byte, however large the matrix is.",
        mistakes=(
            Mistake(size / 6, "That is the square product. Here the matrix has one row to serve."),
            Mistake(2.0, "That is FLOPs for each number. A float32 number takes 4 bytes."),
            Mistake(1.0, "That is for 2 bytes a number, or 4 FLOPs for each. In float32 a number "
                         "takes 4 bytes and serves 2 FLOPs."),
            Mistake(0.25, "A multiply-add is 2 FLOPs."),
            Mistake(size / 2, "The matrix has as many rows as columns: all of it has to be read."),
        ),
    )  # fmt: skip


def _ridge() -> Question:
    device = cost.DEVICES["h100"]
    rate, bandwidth = device.flops_per_second["bfloat16"], device.bytes_per_second
    ridge = rate / bandwidth
    return Question(
        key="matmul/ridge",
        text=f"A data sheet says {rate / 1e12:,.1f} TFLOP/s in bfloat16 and {bandwidth / 1e12:.2f} "
        "TB/s (an H100). How many FLOPs must a program do for each byte it reads, so that the "
        "arithmetic is what it waits for?",
        answer=ridge,
        unit="FLOP per byte",
        kind="quotient",
        tolerance=0.02,
        explanation=f"In the time of one byte the device can do {rate / 1e12:,.1f} / "
        f"{bandwidth / 1e12:.2f} FLOPs. A product with one row in bfloat16 has 1 FLOP per byte, "
        f"so at most 1 of {ceil(ridge)} parts of the arithmetic is used.",
        mistakes=(
            Mistake(ridge / 2, "A FLOP is a FLOP here: the sheet counts a multiply-add as 2."),
            Mistake(ridge * 2, "That is FLOPs for each number of 2 bytes. The question is about "
                               "bytes."),
            Mistake(ridge * 8, "A byte has 8 bits, but the sheet says bytes: nothing to convert."),
            Mistake(1 / ridge, "That is bytes for each FLOP: turn the fraction round."),
            Mistake(ridge / 1000, "A TFLOP/s over a TB/s: both are 10¹² of something, so the units "
                                  "cancel."),
        ),
    )  # fmt: skip


ALL = (_tiles(), _square(), _one_row(), _ridge())
