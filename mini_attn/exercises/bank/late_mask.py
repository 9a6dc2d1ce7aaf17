"""Find the bug: a causal mask that comes after the softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.comparing import TIGHT, apart
from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
This function should turn a square array of scores, one row per query, into causal attention
weights. Its upper triangle is 0, as it should be, and yet the model that uses it learns to cheat.
Find out why, and repair it. Return the weights in the shape of `scores`. Scores may be large.
"""
STARTER = '''
def causal_weights(scores):
    """Weights of each query for the keys up to its own position."""
    weights = np.exp(scores)
    weights = weights / weights.sum(axis=-1, keepdims=True)
    return np.tril(weights)


causal_weights(np.array([[1.0, 2.0], [0.0, 0.0]]))  # zero, as it should
'''


def cases(rng: np.random.Generator) -> Cases:
    """By hand: three tokens, integers. The property: huge scores in the future."""
    future = rng.standard_normal((5, 5)) + np.triu(np.full((5, 5), 900.0), 1)
    return {
        "by hand": [{"scores": np.array([[1.0, 2.0, 0.0], [3.0, 1.0, 2.0], [0.0, 2.0, 1.0]])}],
        "random": [{"scores": 2 * rng.standard_normal((n, n))} for n in (4, 7)],
        "property": [{"scores": future}, {"scores": rng.standard_normal((4, 4)) - 2e4}],
        "edges": [
            {"scores": np.array([[-2.5]])},
            {"scores": rng.standard_normal((2, 2)) + 900.0},
            {"scores": rng.standard_normal((4, 4)) + np.triu(np.full((4, 4), 3e4), 1)},
        ],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One weight for each query and key."""
    return {"weights": (inputs["scores"].shape, "f")}


def _by_hand(inputs: Inputs) -> Slips:
    """Return what the weights would be if a softmax of one's own had one fault."""
    scores = inputs["scores"]
    seen = np.tril(np.ones(scores.shape, bool))

    def shares(less: Any, *, product: bool = False) -> np.ndarray:
        with np.errstate(all="ignore"):
            powers = np.exp(scores - less)
            powers = powers * seen if product else np.where(seen, powers, 0)
            return np.asarray(powers / powers.sum(axis=-1, keepdims=True))

    plain = ("Your weights are right until an exponential overflows, or all of a row vanish. "
             "Subtract the largest visible score of each row first.")  # fmt: skip
    found = [
        (shares(0.0), plain),
        (shares(0.0, product=True), plain),
        (shares(scores.max(axis=-1, keepdims=True)),
         "You look for the largest score of a row among hidden keys too. If a later key's score "
         "is far above the others, all visible exponentials vanish."),
        (shares(scores.max()),
         "You subtract the largest score of the whole array. In a row with far lower scores, all "
         "exponentials vanish. Subtract each row's own largest score."),
        (ma.softmax(np.where(seen & (scores != 0), scores, -np.inf)),
         "You also hide a visible score that happens to be 0. Hide scores by their place, not by "
         "their value."),
        (ma.softmax(np.where(seen, scores, 0)) * seen,
         "Your hidden scores are 0 in the softmax and take a share there, because e to the 0 is "
         "1. Setting their weights to 0 afterwards doesn't give it back."),
    ]  # fmt: skip
    weights, late = right(inputs), ma.softmax(scores) * seen
    with np.errstate(all="ignore"):
        found += [
            (weights.T, "Your rows and columns changed places. A row holds the weights of one "
             "query."),
            (late / late.sum(axis=0),
             "You divided by sums over the queries. The weights of one query, a row, should sum "
             "to 1."),
            (late / late.max(axis=-1, keepdims=True),
             "You divided each row by its largest weight. Divide it by its sum, so that it sums to "
             "1."),
        ]  # fmt: skip
    low = ("You give later keys a low score, and visible scores may be lower still: in one case "
           "they are near −20,000. Which score is below all others?")  # fmt: skip
    less = ("You subtract a fixed number from later scores, and a score may lead by more: in one "
            "case by about 30,000. Replace later scores instead.")  # fmt: skip
    return found + [
        slip
        for c in (1e2, 1e3, 1e4)
        for slip in (
            (ma.softmax(np.where(seen, scores, -c)), low),
            (ma.softmax(np.where(seen, scores, scores - c)), less),
        )
    ]


def slips(inputs: Inputs) -> Slips:
    """Return what the weights would be with one idea missing."""
    scores = inputs["scores"]
    seen = np.tril(np.ones(scores.shape, bool))
    earlier = np.tril(np.ones(scores.shape, bool), -1)
    first = earlier | (np.arange(len(scores)) == 0) & seen
    return [
        (ma.softmax(scores) * seen,
         "Your rows don't sum to 1: the future took its share in the softmax before you set it to "
         "0. If a future score changes, so do the weights of the past."),
        (ma.softmax(scores), "Nothing is hidden. Each query still sees later keys."),
        (ma.softmax(np.where(seen, scores, 0)),
         "Your hidden scores are 0, and e to the 0 is 1, so they still take a share. Which score "
         "has the exponential 0?"),
        (ma.softmax(np.where(seen.T, scores, -np.inf)),
         "Your triangle is the wrong one: each query sees only later keys. Rows are queries and "
         "columns are keys."),
        (ma.softmax(np.where(earlier, scores, -np.inf)),
         "In your weights, a token doesn't see itself. The diagonal is visible too."),
        *((ma.softmax(np.where(earlier, scores, -c)),
           "In your weights, a token doesn't see itself. The diagonal is visible too.")
          for c in (1e9, 1e30)),
        (ma.softmax(np.where(first, scores, -np.inf)),
         "In your weights, a token doesn't see itself. The diagonal is visible too."),
        (ma.softmax(np.where(seen, scores, -np.inf), axis=0),
         "Your columns sum to 1. A row holds the weights of one query, so rows should."),
        *_by_hand(inputs),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The softmax over what may be seen."""
    scores = inputs["scores"]
    return ma.softmax(np.where(np.tril(np.ones(scores.shape, bool)), scores, -np.inf))


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Weight on later places, or rows that do not sum to 1."""
    weights = outputs["weights"]
    later = np.argwhere(np.triu(np.abs(weights), 1) > TIGHT)
    if len(later):
        i, j = later[0]
        return (
            f"The query at position {i} gives weight {weights[i, j]:.3g} to the later position {j}."
        )
    sums = weights.sum(axis=1)
    i = int(np.abs(sums - 1).argmax())
    if abs(sums[i] - 1) > TIGHT:
        one, found = apart(1.0, float(sums[i]))
        return f"The weights of each query should sum to {one}: row {i} sums to {found}."
    return "Rows sum to 1 and the future is hidden, but these aren't the weights of the softmax."


EXERCISE = Exercise(
    id="late_mask",
    page="attention",
    title="The mask that came too late",
    kind="bug",
    groups={"edges": 3},
    minutes=10,
    difficulty=2,
    stage="transfer",
    assessed=True,
    section="The causal mask, three ways",
    complaint=Complaint(
        "masks",
        "The training loss falls much faster than it should, and the model still can't write a "
        "sentence.",
        "Similar: [timm, pull request 2236]("
        "https://github.com/huggingface/pytorch-image-models/pull/2236): `eva.py` applied "
        "its attention mask after the softmax.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Add up each row of the result. Then change a score in the upper triangle and look at the "
        "lower one.",
        "Hide the future in the scores, with the number whose exponential is 0. Then take the "
        "softmax, and subtract the largest visible score of each row first.",
    ),
    common_errors=(
        "You divide the rows by their sums afterwards. In exact arithmetic that's right, but with "
        "large future scores, everything that's left can round to 0.",
        "You set hidden scores to 0.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
