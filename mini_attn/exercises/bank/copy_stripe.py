"""Find the bug: a stripe of a map that lies next to the one that is meant."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips
from mini_attn.exercises.trained import block_row, maps_of

TEXT = """
A row is `<s>`, then `period` different words, then the same words in the same order again.
`weights` (n_heads, seq, seq) are the weights of a layer's heads for this row. For each head the
function should return the mean weight that all words of the second copy put on what came right
after the same word in the first copy. (For the last word, that's where the second copy begins.)
Given the maps of a model that copies almost without error, it says that no head copies. Fix it.
Return (n_heads,).
"""
STARTER = '''
def copy_stripe(weights, period):
    """Mean weight of the second copy on what followed the first."""
    stripe = np.diagonal(weights, -period, axis1=-2, axis2=-1)
    return stripe.mean(axis=-1)
'''


def _random(rng: np.random.Generator, n_heads: int, period: int) -> Inputs:
    """Heads that look anywhere in the past."""
    seq = 1 + 2 * period
    parts = np.tril(rng.random((n_heads, seq, seq)) ** 3) + 1e-3 * np.eye(seq)
    return {"weights": parts / parts.sum(axis=-1, keepdims=True), "period": period}


def _trained(rng: np.random.Generator, layer: int, period: int) -> Inputs:
    """Heads of a model that has learned to copy."""
    return {"weights": maps_of(block_row(rng, period))[layer], "period": period}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a block of two words. The property: the heads of a trained model."""
    weights = np.array([[
        [1, 0, 0, 0, 0], [0.5, 0.5, 0, 0, 0], [0.3, 0.4, 0.3, 0, 0],
        [0.1, 0.1, 0.7, 0.1, 0], [0, 0.05, 0.15, 0.4, 0.4],
    ]])  # fmt: skip
    return {
        "by hand": [{"weights": weights, "period": 2}],
        "random": [_random(rng, 3, 4), _random(rng, 2, 7)],
        "property": [_trained(rng, 1, 12), _trained(rng, 0, 9)],
        "edges": [_random(rng, 2, 1), _random(rng, 1, 3)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One mean for each head."""
    return {"means": ((len(inputs["weights"]),), "f")}


def _along(weights: np.ndarray, back: int) -> np.ndarray:
    return np.diagonal(weights, -back, axis1=-2, axis2=-1)


def _stripe(weights: np.ndarray, back: int, skip: int = 0) -> np.ndarray:
    """Mean along the diagonal this many positions back, its first entries left out."""
    stripe = _along(weights, back)[..., skip:]
    return stripe.mean(axis=-1) if stripe.shape[-1] else np.full(len(weights), np.nan)


def slips(inputs: Inputs) -> Slips:
    """Return what the means would be with one idea missing."""
    weights, n = inputs["weights"], inputs["period"]
    copies = "Read one row of a map: which word is there, and which one do you want?"
    early = (
        "You have the right stripe, but it begins too early. Its first entries belong to words "
        "without an earlier copy. Which row is the first of the second copy?"
    )
    before = (
        "You measure the weight on the word before. A head that copies looks at what followed the "
        "same word in the first copy."
    )
    stripe, rows = right(inputs), np.arange(n + 1, 2 * n + 1)
    hits = weights[:, rows].argmax(axis=-1) == rows - n + 1
    return [
        (_stripe(weights, n), "As given, the function measures the weight on something else. "
                              f"{copies}"),
        (_stripe(weights, n, 1),
         "You measure the weight on something else: on the word itself in the first copy, not on "
         "the word that followed it."),
        (_stripe(weights, n + 1), f"You went to the other side of the copy. {copies}"),
        (_stripe(weights, n - 1), early),
        (_stripe(weights, n - 1, 1), early),
        (_stripe(weights, n - 1, 3),
         "You have one row too few. The first word of the second copy has an earlier copy, too."),
        (_stripe(weights, 1 - n),
         "Your stripe is above the diagonal, in the future, where all weights are 0."),
        (_along(weights, n - 1).sum(axis=-1),
         "Two things. Take the mean, not the sum. And: the stripe begins too early."),
        (_stripe(weights[:, :-1], n - 1, 2) if n > 1 else 0 * stripe,
         "You left out the last word of the second copy. In the first, a word followed it, too."),
        (stripe * n, "That's the sum along the stripe. Take the mean."),
        (np.full(len(weights), stripe.mean()), "You give all heads one mean. Each head has its "
                                               "own."),
        (_along(weights, n - 1)[:, 2:].max(axis=-1, initial=0.0),
         "That's the largest weight along the stripe. Take the mean."),
        (hits.mean(axis=-1),
         "You count how often the stripe holds the largest weight of its row. Average the weights "
         "themselves."),
        (_stripe(weights, 1 - n, 2),
         "Your stripe is above the diagonal, in the future, where all weights are 0."),
        (_stripe(weights, 1), before),
        (_stripe(weights, 1, n), before),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The mean along the stripe, from the second copy on."""
    return _stripe(inputs["weights"], inputs["period"] - 1, 2)


EXERCISE = Exercise(
    id="copy_stripe",
    page="model",
    title="No head copies",
    kind="bug",
    groups={"edges": 3},
    minutes=12,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="Which head does what",
    complaint=Complaint(
        "positions",
        "I trained a model that copies almost without error, and your tool says that none of its "
        "heads copies.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Take a block of three words, A B C, and number the row <s> A B C A B C from 0. Which "
        "column does the second A want?",
        "Write down the columns that two rows want. How far from the main diagonal are they? "
        "Then count which entry of that diagonal belongs to the first word of the second copy.",
    ),
    common_errors=(
        "Moving the stripe but not its beginning, so that words of the first copy join the mean.",
        "Forgetting that <s> moves everything by one.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
