"""Pencil: how many rows keep the arithmetic busy."""

from __future__ import annotations

from math import ceil
from operator import eq

from mini_attn import cost
from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs

TEXT = """
With pencil and paper: an accelerator needs 300 FLOPs for each byte, to be bound by arithmetic.
Its weights are 4,096 × 4,096 numbers in bfloat16. `m` rows of 4,096 numbers in bfloat16 are read,
multiplied by them, and the result is written in bfloat16; each number moves once. What is the
smallest `m` for which the product does at least 300 FLOPs for each byte?
"""

SIZE, NUMBER_BYTES, RIDGE = 4096, 2, 300


def _least(ridge: float, dtype_bytes: int, moved: int = 3) -> int:
    """Fewest rows with 2 m d² FLOPs over the bytes of d², m d and m d numbers at least `ridge`."""
    per_row = 2 * SIZE**2 - ridge * dtype_bytes * (moved - 1) * SIZE
    return ceil(ridge * dtype_bytes * SIZE**2 / per_row)


ANSWER = _least(RIDGE, NUMBER_BYTES)
assert cost.product_flops(ANSWER, SIZE, SIZE) >= RIDGE * cost.product_bytes(
    ANSWER, SIZE, SIZE, dtype_bytes=NUMBER_BYTES
)

MISTAKES = {
    _least(RIDGE, NUMBER_BYTES, 1): "That counts the bytes of the weight matrix only. The rows "
    "are read and the result is written as well, and with hundreds of rows it shows.",
    _least(RIDGE, NUMBER_BYTES, 2): "One of the two is missing: the rows are read, and the result "
    "is written.",
    _least(RIDGE, 4): "Twice too little work for each byte: in bfloat16 a number takes 2 bytes, "
    "not 4, and a multiply-add is 2 FLOPs, not 1.",
    _least(RIDGE, 1): "In bfloat16 a number takes 2 bytes, not 1.",
    ANSWER - 1: "With that many rows the intensity is still a little below 300: round up.",
    ANSWER + 1: "One too many: one row less is enough already.",
    512: "That is the next power of 2. The smallest number that is enough need not be one.",
    _least(RIDGE, 4, 1): "Two things are missing: the rows and the result are moved as well, and a "
    "multiply-add is 2 FLOPs, not 1, at 2 bytes a number.",
    _least(RIDGE, 1, 1): "Two things are missing: the rows and the result are moved as well, and a "
    "number in bfloat16 takes 2 bytes, not 1.",
    SIZE: "That is the size of the matrix. The number of rows m is what you look for.",
}


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or which way another one is off."""
    value = float(outputs["answer"])
    if value == ANSWER:
        return None
    if idea := explain(value, MISTAKES.items(), eq):
        return idea
    if ceil(value) == ANSWER:
        return "Rows are whole: round up to the first number that is enough."
    if value < 1:
        return "At least one row is multiplied."
    word = "few" if value < ANSWER else "many"
    return (
        f"{value:,.6g} is too {word}. Write down FLOPs and bytes for m rows, set their quotient to "
        f"{RIDGE}, and solve for m."
    )


EXERCISE = Exercise(
    id="busy_rows",
    page="matmul",
    title="How many rows keep it busy?",
    kind="pencil",
    groups={"by hand": 3},
    minutes=10,
    difficulty=3,
    assessed=False,
    section="Counting what moves",
    text=TEXT,
    unit="rows",
    mistakes=MISTAKES,
    hints=(
        "Intensity is FLOPs over bytes. Both grow with m, but only the FLOPs grow in "
        "proportion to it.",
        "FLOPs: 2 m d². Bytes: 2 (d² + 2 m d). Set 2 m d² = 300 · 2 (d² + 2 m d), solve for m, and "
        "round up.",
    ),
    common_errors=(
        "Leaving out the rows themselves and the result.",
        "Using 4 bytes a number.",
    ),
    judge=judge,
)
