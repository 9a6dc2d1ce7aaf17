"""The running example: eight tokens, eight numbers each, two heads. Data only.

The weights were chosen by hand so that every pattern has a reason; no training produced
them. The text is given, not predicted: what the pages show is who looks at whom, and what
that costs.
"""

from __future__ import annotations

__all__ = [
    "CONTENT_FEATURES",
    "D_MODEL",
    "EMBEDDINGS",
    "HEAD_DIM",
    "N_HEADS",
    "PROMPT_LEN",
    "TOKENS",
    "TOKEN_IDS",
    "WEIGHTS",
]

Matrix = tuple[tuple[float, ...], ...]

D_MODEL, N_HEADS, HEAD_DIM = 8, 2, 4
PROMPT_LEN = 4  # the first four tokens are the prompt, the others follow one by one
TOKENS = ("Once", " upon", " a", " time", " there", " was", " a", " lamp")
TOKEN_IDS = (7454, 2402, 257, 640, None, None, None, None)  # GPT-2's, as far as the text gives them

# What the first four numbers of a token say about it.
CONTENT_FEATURES = ("about time", "about place", "small word", "a thing")
_CONTENT: dict[str, tuple[float, ...]] = {
    "Once": (1.0, 0.0, 0.0, 0.0),
    " upon": (0.0, 1.0, 0.5, 0.0),
    " a": (0.0, 0.0, 1.0, 0.0),
    " time": (1.0, 0.0, 0.0, 0.5),
    " there": (0.0, 1.0, 0.0, 0.0),
    " was": (0.5, 0.0, 0.5, 0.0),  # a small word that speaks of the past
    " lamp": (0.0, 0.0, 0.0, 1.0),
}

# The other four say where it stands: two hands of a clock, (cos, sin) each. The first goes
# round in eight steps, the second in four. 0.71 stands for cos 45° = sin 45°.
_SLOW = (
    (1.0, 0.0), (0.71, 0.71), (0.0, 1.0), (-0.71, 0.71),
    (-1.0, 0.0), (-0.71, -0.71), (0.0, -1.0), (0.71, -0.71),
)  # fmt: skip
_FAST = ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0)) * 2

EMBEDDINGS: Matrix = tuple(
    (*_CONTENT[token], *_SLOW[i], *_FAST[i]) for i, token in enumerate(TOKENS)
)

# Each matrix has one row per number of x and four columns per head: x (d_model) to
# (n_heads * head_dim). Head 1 is built on the clock, head 2 on the content.
WEIGHTS: dict[str, Matrix] = {
    # Head 1 turns both hands back by one step (45° and 90°): its query is the place before.
    # Head 2 asks for its own content.
    "q": (
        (0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0),
        (1.42, -1.42, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (1.42, 1.42, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, -2.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ),
    # Keys say where the token stands (head 1) and what it is about (head 2).
    "k": (
        (0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 3.0),
        (1.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 1.5, 0.0, 0.0, 0.0, 0.0),
    ),
    # Both heads hand on the content.
    "v": (
        (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0),
        (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0),
        (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    ),
    # The output: related content in the first half (head 2), the token before in the second.
    "o": (
        (0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0),
        (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0),
        (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        (0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0),
    ),
}
