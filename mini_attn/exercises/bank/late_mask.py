"""Find the bug: a causal mask that comes after the softmax."""

from __future__ import annotations

from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.comparing import TIGHT, apart
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
This function is meant to give causal attention weights from a square array of scores, one row per
query. Its upper triangle is 0, as it should be, and yet the model that uses it learns to cheat.
Find out why, and repair it. Return the weights in the shape of `scores`; scores may be large.
"""
STARTER = '''
def causal_weights(scores):
    """Weights of each query for the keys up to its own position."""
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return np.tril(weights)


causal_weights(np.array([[1.0, 2.0], [0.0, 0.0]]))  # zero where it should be
'''


def cases(rng: np.random.Generator) -> Cases:
    """By hand: three tokens, whole numbers. The property: huge scores in the future."""
    future = rng.standard_normal((5, 5)) + np.triu(np.full((5, 5), 900.0), 1)
    return {
        "by hand": [{"scores": np.array([[1.0, 2.0, 0.0], [3.0, 1.0, 2.0], [0.0, 2.0, 1.0]])}],
        "random": [{"scores": 2 * rng.standard_normal((n, n))} for n in (4, 7)],
        "property": [{"scores": future}, {"scores": rng.standard_normal((4, 4)) - 2e4}],
        "edges": [{"scores": np.array([[-2.5]])}, {"scores": rng.standard_normal((2, 2)) + 900.0}],
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

    plain = ("The weights are right until an exponential overflows, or all of a row vanish: "
             "subtract the largest visible score of each row first.")  # fmt: skip
    found = [
        (shares(0.0), plain),
        (shares(0.0, product=True), plain),
        (shares(scores.max(axis=-1, keepdims=True)),
         "The largest score of a row is sought among hidden keys too. Where a later key's score is "
         "far above the others, all visible exponentials vanish."),
        (shares(scores.max()),
         "The largest score of the whole array is subtracted. In a row with far lower scores all "
         "exponentials vanish: each row has a largest score of its own."),
        (ma.softmax(np.where(seen & (scores != 0), scores, -np.inf)),
         "A visible score that happens to be 0 is hidden too. What is hidden depends on where "
         "it is, not on its value."),
        (ma.softmax(np.where(seen, scores, 0)) * seen,
         "Hidden scores are 0 in the softmax and take a share there, as e to the 0 is 1. Setting "
         "their weights to 0 afterwards does not give it back."),
    ]  # fmt: skip
    weights, late = right(inputs), ma.softmax(scores) * seen
    with np.errstate(all="ignore"):
        found += [
            (weights.T, "Rows and columns changed places: the weights of a query stand in a row."),
            (late / late.sum(axis=0),
             "What was left is divided by sums over the queries. It is the weights of a query, a "
             "row, that sum to 1."),
            (late / late.max(axis=-1, keepdims=True),
             "Each row is divided by its largest weight. Divided by its sum it would sum to 1."),
        ]  # fmt: skip
    low = ("Later keys get a low score, and visible scores may be lower still: in one case they "
           "lie near −20,000. Which score is below all others?")  # fmt: skip
    return found + [(ma.softmax(np.where(seen, scores, -c)), low) for c in (1e2, 1e3, 1e4)]


def slips(inputs: Inputs) -> Slips:
    """Return what the weights would be with one idea missing."""
    scores = inputs["scores"]
    seen = np.tril(np.ones(scores.shape, bool))
    earlier = np.tril(np.ones(scores.shape, bool), -1)
    first = earlier | (np.arange(len(scores)) == 0) & seen
    return [
        (ma.softmax(scores) * seen,
         "The rows do not sum to 1: the future took its share in the softmax before it was set to "
         "0. A change of a future score still changes the weights of the past."),
        (ma.softmax(scores), "Nothing is hidden: each query still sees later keys."),
        (ma.softmax(np.where(seen, scores, 0)),
         "Hidden scores are 0, and e to the 0 is 1, so they still take a share. Which score has "
         "the exponential 0?"),
        (ma.softmax(np.where(seen.T, scores, -np.inf)),
         "The triangle is the wrong one: here each query sees later keys only. Rows are queries, "
         "columns are keys."),
        (ma.softmax(np.where(earlier, scores, -np.inf)),
         "A token does not see itself here: the diagonal belongs to what may be seen."),
        (ma.softmax(np.where(first, scores, -np.inf)),
         "A token does not see itself here: the diagonal belongs to what may be seen."),
        (ma.softmax(np.where(seen, scores, -np.inf), axis=0),
         "Here the columns sum to 1. The weights of a query stand in a row."),
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
    return "Rows sum to 1 and the future is hidden, but the shares are not those of the softmax."


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
    text=TEXT,
    starter=STARTER,
    hints=(
        "Add up each row of the result. Then change a score in the upper triangle and look at the "
        "lower one.",
        "Hide the future in the scores, with the number whose exponential is 0, then take the "
        "softmax. Subtract the largest visible score of each row first.",
    ),
    common_errors=(
        "Dividing the rows by their sums afterwards. In exact arithmetic that is right; with large "
        "future scores all that is left can round to 0.",
        "Setting hidden scores to 0.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
