"""The running example with latent attention: four heads, a latent of 4, a rotated key of 2.

Data only. Rotation says where a token stands, so the clock in its embedding gives place to ones.
The latent is what the token is about; the rotated key is the same arrow for every token, turned
by one radian for each place. No training produced the weights.
"""

from __future__ import annotations

from mini_attn import example

__all__ = [
    "EMBEDDINGS",
    "KV_LORA_RANK",
    "NORM",
    "N_HEADS",
    "QK_NOPE_HEAD_DIM",
    "QK_ROPE_HEAD_DIM",
    "QUESTIONS",
    "TOKENS",
    "V_HEAD_DIM",
    "WEIGHTS",
    "W_UK",
    "W_UV",
]

Matrix = tuple[tuple[float, ...], ...]

N_HEADS, KV_LORA_RANK = 4, 4
QK_NOPE_HEAD_DIM, QK_ROPE_HEAD_DIM, V_HEAD_DIM = 4, 2, 4
NORM = 0.5  # weight of the latent's norm: with four numbers, a latent of length 1

# One plane at a radian a place is nearly round after six tokens: more would look alike.
TOKENS = example.TOKENS[:6]
EMBEDDINGS: Matrix = tuple((*row[:4], 1.0, 1.0, 1.0, 1.0) for row in example.EMBEDDINGS[:6])

# What the query of each head asks for: by place, by content, by content, by both.
QUESTIONS = ("the token before", "what is like me", "what is about time", "a small word, near me")

_NONE = (0.0,) * 6

# x (d_model) to the latent (4) and, from the first of the ones, to the key that will be turned.
_KV_A: Matrix = (
    (1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 0.0, 2.0, 0.0),
    *(_NONE,) * 3,
)

# Of each head x (d_model) to a query of 4 + 2. Head 1's arrow is turned back by one radian:
# (4.32, -6.73) is 8 * (cos 1, -sin 1). Head 2 asks for its own content, heads 3 and 4 always
# ask the same; head 4 also likes what is near.
_BEFORE: Matrix = (*(_NONE,) * 4, (0.0, 0.0, 0.0, 0.0, 4.32, -6.73), *(_NONE,) * 3)
_LIKE_ME: Matrix = (
    (4.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 4.0, 0.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 4.0, 0.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 4.0, 0.0, 0.0),
    *(_NONE,) * 4,
)
_TIME: Matrix = (*(_NONE,) * 4, (6.0, 0.0, 0.0, 0.0, 0.0, 0.0), *(_NONE,) * 3)
_SMALL: Matrix = (*(_NONE,) * 4, (6.0, 0.0, 0.0, 0.0, 2.0, 0.0), *(_NONE,) * 3)

# Heads below each other, as rows of the output matrix: the token before in the second half, what
# is like me in the first; heads 3 and 4 add a quarter of theirs to it.
_O: Matrix = (
    *(tuple(float(column == row + 4) for column in range(8)) for row in range(4)),
    *(tuple(float(column == row) for column in range(8)) for row in range(4)),
    *(tuple(0.25 * (column == row) for column in range(8)) for _ in "34" for row in range(4)),
)

WEIGHTS: dict[str, Matrix] = {
    "q": tuple(
        tuple(number for head in (_BEFORE, _LIKE_ME, _TIME, _SMALL) for number in head[row])
        for row in range(8)
    ),
    "kv_a": _KV_A,
    "o": _O,
}


_TWICE: Matrix = (
    (2.0, 0.0, 0.0, 0.0),
    (0.0, 2.0, 0.0, 0.0),
    (0.0, 0.0, 2.0, 0.0),
    (0.0, 0.0, 0.0, 2.0),
)

# Of each head, the latent (4) to a key's first part, and to a value (4): (n_heads, rank, nope or
# v). A key's first number answers the query's first, and so on: of head 3 it is "about time, and
# not about place", of head 4 "small word".
W_UK: tuple[Matrix, ...] = (
    _TWICE,
    _TWICE,
    ((1.0, 0.0, 0.0, 0.0), (-1.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (0.0, 0.0, 0.0, 1.0)),
    ((0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 1.0, 0.0), (1.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)),
)
W_UV: tuple[Matrix, ...] = (
    _TWICE,
    _TWICE,
    ((1.0, 0.0, 0.0, 0.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 1.0)),
    ((0.0, 0.0, 0.0, 1.0), (0.0, 1.0, 0.0, 0.0), (0.0, 0.0, 2.0, 0.0), (0.0, 0.0, 0.0, 0.0)),
)
