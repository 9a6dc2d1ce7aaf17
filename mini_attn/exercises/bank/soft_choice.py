"""Write a softmax that no score can break."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.comparing import apart, close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Write the softmax over the last axis of `scores`, an array of shape `(rows, n)`. Return an array
of the same shape in which every row sums to 1. Scores may be as large as 900 or as small as −700,
and some may be minus infinity. A row that holds nothing else becomes zeros.
"""
STARTER = '''
def soft_choice(scores):
    """The softmax of each row."""
    raise NotImplementedError
'''

_close = partial(close, tight=1e-9)  # so that what is added to the sum is seen


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two and three scores. The property: adding a number to a row changes nothing."""
    row = rng.normal(size=(1, 6))
    row -= row.mean()  # so that some scores lie below −700 once it is moved there
    return {
        "by hand": [{"scores": np.log([[2.0, 6.0]])}, {"scores": np.zeros((2, 3))}],
        "random": [{"scores": 3 * rng.normal(size=shape)} for shape in ((4, 7), (3, 3), (5, 2))],
        "property": [
            {"scores": np.concatenate([row, row + 5.0, row - 700.0, row + 900.0])},
            {"scores": np.array([[900.0, -700.0, -700.0, -700.0], [-700.0, -700.0, 900.0, 899.0]])},
        ],
        "edges": [
            {"scores": np.array([[2.0], [-3.0]])},
            {"scores": np.array([[1.0, -np.inf, 0.0], [-np.inf, -np.inf, -np.inf]])},
        ],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A weight for each score."""
    return {"weights": (inputs["scores"].shape, "f")}


def _weights(
    scores: np.ndarray,
    *,
    axis: int | None = 1,
    factor: float = 1.0,
    empty: str = "zeros",
    divided: bool = True,
) -> np.ndarray:
    """The softmax, or what it becomes by another choice."""
    largest = scores.max(axis=axis, keepdims=True)
    if factor < 0:
        largest = np.where(np.isfinite(scores), scores, np.inf).min(axis=axis, keepdims=True)
    powers = np.exp(factor * (scores - np.where(np.isfinite(largest), largest, 0)))
    total = powers.sum(axis=axis, keepdims=True)
    weights = powers / np.where(divided & (total != 0), total, 1)
    none = np.isneginf(scores).all(axis=1, keepdims=True)
    shared = {"zeros": weights, "shared": 1 / scores.shape[1]}[empty]
    return np.asarray(np.where(none, shared, weights))


def slips(inputs: Inputs) -> Slips:
    """Return what the weights would be with one idea missing, or two."""
    scores = inputs["scores"]
    with np.errstate(all="ignore"):
        sums = scores.sum(axis=1, keepdims=True)
        hard = (scores == scores.max(axis=1, keepdims=True)).astype(float)
        floor = np.exp(scores)
        return [
            *with_pairs(partial(_weights, scores), MISTAKES),
            (np.exp(scores),
             "You didn't divide the exponentials by their sum. The weights of a row sum to 1."),
            (scores / np.where(sums == 0, 1, sums),
             "You divided the scores by their sum, without the exponential. That fails for "
             "negative "
             "scores, and a shift would change the weights."),
            (hard, "Your largest score takes everything, which is a hard choice. Give each a "
             "share."),
            (hard / hard.sum(axis=1, keepdims=True),
             "Your largest score takes everything, which is a hard choice. Give each a share."),
            *((floor / (floor.sum(axis=1, keepdims=True) + least),
               "You added something small to the sum. If all exponentials of a row are smaller "
               "still, the row no longer sums to 1.")
              for least in (1e-12, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)),
            *_slips_of_range(scores),
        ]  # fmt: skip


def _shared(powers: np.ndarray, scores: np.ndarray) -> tuple[np.ndarray, ...]:
    """The powers over their sum: as it comes, and with zeros for some or all of what is NaN."""
    weights = powers / powers.sum(axis=1, keepdims=True)
    none = np.isneginf(scores).all(axis=1, keepdims=True)
    filled = np.where(powers.sum(axis=1, keepdims=True) == 0, 0, weights)
    return weights, filled, np.where(none, 0, weights), np.nan_to_num(weights)


def _slips_of_range(scores: np.ndarray) -> Slips:
    """Return what the weights would be if a score is very large, very small or minus infinity."""
    some, none = (of(np.isneginf(scores), axis=1, keepdims=True) for of in (np.any, np.all))
    softmax = np.asarray(ma.softmax(scores))
    known = np.where(np.isfinite(scores), scores, 0).sum(axis=1, keepdims=True)
    mean = known / np.maximum(np.isfinite(scores).sum(axis=1, keepdims=True), 1)
    least, largest = scores.min(axis=1, keepdims=True), scores.max(axis=1, keepdims=True)
    stable = np.exp(scores - np.where(none, 0, largest))
    sizes = np.abs(np.where(np.isfinite(scores), scores, 0)).max(axis=1, keepdims=True)
    many = [
        (np.exp(scores), "e to the 900 is too large for a number. Subtract the largest score of "
         "each row first."),
        (np.exp(scores - scores.max()), "You subtracted one largest score from all rows. In a row "
         "far below it, every exponential becomes 0, so each row needs its own."),
        (np.exp(scores - mean), "You subtracted the mean of each row. A score far above the mean "
         "still overflows. Subtract the largest."),
        (np.exp(scores / np.where(sizes == 0, 1, sizes)), "You divided the scores by the largest. "
         "That changes the weights. Subtracting the largest doesn't."),
        (np.exp(scores - least), "You subtracted the smallest score of each row, so large ones "
         "overflow. Subtract the largest."),
        *((np.exp(np.clip(scores, low, high)), "You clip scores beyond a limit, so they become "
           "equal. Subtract the largest score of the row, which doesn't change the weights.")
          for high in (50.0, 100.0, 500.0, 700.0) for low in (-high, -np.inf)),
    ]  # fmt: skip
    return [
        *((weights, idea) for powers, idea in many for weights in _shared(powers, scores)),
        (np.where(none, np.nan, softmax), "Your row of nothing but minus infinity becomes NaN: "
         "minus "
         "infinity minus minus infinity isn't a number. It should become zeros."),
        (np.where(none, 0, ma.softmax(np.maximum(scores, -700.0))), "You took minus infinity for a "
         "score of −700. Next to scores that small it gets a weight, but it should get none."),
        (np.where(some, 0, softmax), "Your row becomes zeros as soon as it holds one minus "
         "infinity. "
         "It should only if it holds nothing else."),
        *((stable / (stable.sum(axis=1, keepdims=True) + more), "You added something to the sum, "
        "so "
           "the rows no longer sum to 1.")
          for more in (1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)),
    ]  # fmt: skip


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"divided": False},
     "You didn't divide the exponentials by their sum. The weights of a row sum to 1."),
    ({"axis": 0},
     "Your columns sum to 1. Each row is its own choice, so sum over the last axis."),
    ({"axis": None}, "Your whole array sums to 1. Each row has its own sum, so keep its axis."),
    ({"factor": -1.0},
     "Your smallest score gets the most. The sign in the exponent is reversed."),
    ({"factor": float(np.log(2.0))}, "Your base is 2. The base is e."),
    ({"empty": "shared"},
     "A row of nothing but minus infinity has nothing to choose from. By the rule of this book, "
     "its weights are zeros."),
]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The softmax of each row."""
    return np.asarray(ma.softmax(inputs["scores"]))


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say what the rows add up to."""
    sums, wanted = (array.sum(axis=1) for array in (outputs["weights"], right(inputs)))
    if _close(sums, wanted):
        return "The rows add up to 1, but the weights in them are wrong."
    return f"The rows add up to {apart(wanted.tolist(), sums.tolist())[1][1:-1]}."


EXERCISE = Exercise(
    id="soft_choice",
    page="start",
    title="A softmax that no score can break",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=12,
    difficulty=2,
    stage="warm-up",
    assessed=False,
    section="The score that breaks the formula",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Adding the same number to all scores of a row doesn't change the weights. What number "
        "keeps every exponential from becoming too large?",
        "Subtract the largest score of each row, with keepdims=True, take the exponentials, and "
        "divide by their sum. A row of nothing but minus infinity has no finite largest score, so "
        "subtract 0 there and divide by 1 instead of 0.",
    ),
    common_errors=(
        "You take exponentials of the scores as they are. e to the 900 is infinite, and infinity "
        "divided by infinity isn't a number.",
        "You forget keepdims, so the sums of the rows run along the columns.",
        "You compute minus infinity minus minus infinity, in a row without any finite score.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
    symptom=symptom,
)
