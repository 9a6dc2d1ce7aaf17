"""The running example with four query heads, for the chapters that share keys. Data only.

Made of the two heads of `mini_attn.example`, each with a neighbor that asks another question
of the same keys. Counted from 0, heads 0 and 1 read where the tokens stand, heads 2 and 3 what
they are about. No training produced the weights.
"""

from __future__ import annotations

from mini_attn import example

__all__ = ["N_HEADS", "QUESTIONS", "WEIGHTS"]

Matrix = tuple[tuple[float, ...], ...]

N_HEADS = 4

# What the query of each head asks for.
QUESTIONS = (
    "the token before",
    "the token two before",
    "what is like me",
    "what goes with me",  # a time with a place, a small word with a thing, and back
)

# Head 1 turns both hands of the clock back by two steps (90° and 180°). Head 3 asks a time for
# a place and a place for a time, a small word for a thing and a thing for a small word.
_TWO_BEFORE: Matrix = (
    *((0.0, 0.0, 0.0, 0.0),) * 4,
    (0.0, -2.0, 0.0, 0.0), (2.0, 0.0, 0.0, 0.0), (0.0, 0.0, -2.0, 0.0), (0.0, 0.0, 0.0, -2.0),
)  # fmt: skip
_GOES_WITH: Matrix = (
    (0.0, 2.0, 0.0, 0.0), (2.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 2.0), (0.0, 0.0, 2.0, 0.0),
    *((0.0, 0.0, 0.0, 0.0),) * 4,
)  # fmt: skip


def _head(name: str, head: int) -> Matrix:
    """Columns of one head of the two."""
    first = head * example.HEAD_DIM
    return tuple(row[first : first + example.HEAD_DIM] for row in example.WEIGHTS[name])


def _side_by_side(*heads: Matrix) -> Matrix:
    """Heads as the columns of one matrix."""
    return tuple(
        tuple(number for head in heads for number in head[row]) for row in range(len(heads[0]))
    )


def _halves(head: int) -> Matrix:
    """Rows of one head in the output matrix, twice, at half the size."""
    first = head * example.HEAD_DIM
    rows = example.WEIGHTS["o"][first : first + example.HEAD_DIM]
    return tuple(tuple(number / 2 for number in row) for row in rows) * 2


# As in the small example: x (d_model) to (n_heads * head_dim), and back for "o". Every head has
# keys and values of its own here; those of neighbors are equal.
WEIGHTS: dict[str, Matrix] = {
    "q": _side_by_side(_head("q", 0), _TWO_BEFORE, _head("q", 1), _GOES_WITH),
    **{name: _side_by_side(*(_head(name, head) for head in (0, 0, 1, 1))) for name in ("k", "v")},
    "o": (*_halves(0), *_halves(1)),
}
