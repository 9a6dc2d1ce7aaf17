"""Write a softmax that no score can break."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs

TEXT = """
Write the softmax over the last axis of `scores`, an array of shape `(rows, n)`. Return an array
of the same shape in which every row adds up to 1. Scores may be as large as 900 or as small as
−700, and some may be minus infinity; a row that holds nothing else becomes zeros.
"""
STARTER = '''
def soft_choice(scores):
    """The softmax of each row."""
    raise NotImplementedError
'''

TOLERANCE = 1e-9


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two and three scores. The property: adding a number to a row changes nothing."""
    row = rng.normal(size=(1, 6))
    return {
        "by hand": [{"scores": np.log([[2.0, 6.0]])}, {"scores": np.zeros((2, 3))}],
        "random": [{"scores": 3 * rng.normal(size=shape)} for shape in ((4, 7), (3, 3), (5, 2))],
        "property": [{"scores": np.concatenate([row, row + 5.0, row - 700.0, row + 900.0])}],
        "edges": [
            {"scores": np.array([[2.0], [-3.0]])},
            {"scores": np.array([[1.0, -np.inf, 0.0], [-np.inf, -np.inf, -np.inf]])},
        ],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A weight for each score."""
    return {"weights": (inputs["scores"].shape, "f")}


def _close(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.allclose(a, b, rtol=0, atol=TOLERANCE))


def _guesses(scores: np.ndarray) -> list[tuple[np.ndarray, str]]:
    """What the weights would be with one idea missing."""
    with np.errstate(all="ignore"):
        powers = np.exp(scores - scores.max(axis=1, keepdims=True))
        plain = np.exp(scores)
        return [
            (plain, "The powers are not divided by their sum: the weights of a row add up to 1."),
            (powers, "The powers are not divided by their sum: the weights of a row add up to 1."),
            (np.asarray(ma.softmax(scores, axis=0)),
             "The columns add up to 1. Each row is a choice of its own: sum over the last axis."),
            (plain / plain.sum(),
             "The whole array adds up to 1. Each row has a sum of its own: keep its axis."),
            (scores / scores.sum(axis=1, keepdims=True),
             "The scores are divided by their sum, without the power of e: that fails for negative "
             "scores, and a shift would change the weights."),
            ((scores == scores.max(axis=1, keepdims=True)).astype(float),
             "The largest score takes all: a hard choice. A soft one gives each a share."),
            (np.asarray(ma.softmax(-scores)),
             "The smallest score gets the most: the sign in the exponent is turned round."),
            (2.0**scores / (2.0**scores).sum(axis=1, keepdims=True), "The base is e, not 2."),
        ]  # fmt: skip


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea that the weights lack."""
    scores, weights = inputs["scores"], outputs["weights"]
    right = np.asarray(ma.softmax(scores))
    if _close(weights, right):
        return None
    if idea := explain(weights, _guesses(scores), _close):
        return idea
    empty = np.all(np.isneginf(scores), axis=1)
    if empty.any() and not _close(weights[empty], right[empty]):
        return (
            "A row of minus infinity alone has nothing to choose from. By the rule of this book "
            "its weights are zeros."
        )
    sums = weights.sum(axis=1)
    return f"The rows add up to {sums.round(3).tolist()}, or the shares in them are wrong."


EXERCISE = Exercise(
    id="soft_choice",
    page="start",
    title="A softmax that no score can break",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=12,
    difficulty=2,
    assessed=False,
    section="The score that breaks the formula",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Adding the same number to all scores of a row changes no weight. Which number would make "
        "it impossible that a power becomes too large?",
        "Take off the largest score of each row, with keepdims=True, then the powers, then divide "
        "by their sum. A row that is minus infinity throughout has no finite largest score: take "
        "off 0 there, and divide by 1 instead of by 0.",
    ),
    common_errors=(
        "Taking powers of the scores as they are: e to the 900 is infinite, and infinity divided "
        "by infinity is no number.",
        "Forgetting keepdims, so that sums of rows meet columns.",
        "Minus infinity minus minus infinity, in a row without any finite score.",
    ),
    cases=cases,
    expected=expected,
    judge=judge,
)
