"""Write a search: the temperature at which the largest score gets a given weight."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
It can be easier to say how much weight the best token should get than what temperature that takes.
`scores` is `(rows, n)`, and in each row one score is larger than the others. For each row, find
the temperature at which the softmax gives this score the weight `share`, `(rows,)`, where each
share is between 1/n and 1. Return the temperatures, `(rows,)`, to at least six digits.
"""
STARTER = '''
def temperature_for(scores, share):
    """Each row's temperature: its largest score gets its share."""
    raise NotImplementedError
'''
STEPS = 60  # of Newton's method, which is there after ten


def _shares(rng: np.random.Generator, rows: int, n: int) -> np.ndarray:
    """Between 1/n and 1, and far from both."""
    return np.asarray(1 / n + (1 - 1 / n) * rng.uniform(0.2, 0.85, rows))


def _case(rng: np.random.Generator, rows: int, n: int, size: float = 2.0) -> Inputs:
    scores = size * rng.standard_normal((rows, n))
    best = scores.argmax(axis=1)
    scores[np.arange(rows), best] += 0.3 * size  # so that one leads
    return {"scores": scores, "share": _shares(rng, rows, n)}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two scores, a weight of 4/5. The property: adding to all scores changes nothing."""
    moved = _case(rng, 3, 5)
    moved["scores"] = moved["scores"] + np.array([[0.0], [40.0], [-900.0]])
    return {
        "by hand": [{"scores": np.array([[2 * np.log(4.0), 0.0]]), "share": np.array([0.8])}],
        "random": [_case(rng, 2, 4), _case(rng, 3, 7)],
        "property": [moved, _case(rng, 2, 6, size=200.0), _case(rng, 2, 5, size=0.02)],
        "edges": [_case(rng, 1, 2), {"scores": np.array([[0.0, 3.0, 0.0, 0.0]]),
                                     "share": np.array([0.999])}],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A temperature for each row."""
    return {"temperature": ((len(inputs["scores"]),), "f")}


def _gaps(inputs: Inputs) -> np.ndarray:
    """Return how far each score lies below the largest of its row, that one first: (rows, n)."""
    return np.sort(inputs["scores"].max(axis=1, keepdims=True) - inputs["scores"], axis=1)


def right(inputs: Inputs) -> np.ndarray:
    """By Newton's method in 1/T, for the sum of the powers, which has to be 1/share.

    That sum is convex and falls as 1/T grows, so that the search comes from below and never
    passes the answer.
    """
    gaps = _gaps(inputs) / inputs["scores"].std(axis=1, keepdims=True)
    inverse = np.zeros(len(gaps))
    for _ in range(STEPS):
        powers = np.exp(-inverse[:, None] * gaps)
        inverse += (powers.sum(axis=1) - 1 / inputs["share"]) / (powers * gaps).sum(axis=1)
    return np.asarray(inputs["scores"].std(axis=1) / inverse)


def slips(inputs: Inputs) -> Slips:
    """Return what the temperatures would be with one idea missing."""
    temperature, gaps, share = right(inputs), _gaps(inputs), inputs["share"]
    n, odds = gaps.shape[1], np.log(share / (1 - share))
    at_one = ma.softmax(inputs["scores"]).max(axis=1)
    with np.errstate(all="ignore"):
        return [
            (1 / temperature,
             "That's one over the temperature. Scores are divided by it, not multiplied."),
            (temperature * np.log(2.0), "You took powers of 2. The base is e, not 2."),
            (np.full_like(temperature, temperature[0]),
             "All your rows get the temperature of the first. Each has its own."),
            (gaps[:, 1] / odds,
             "You only look at the two largest scores of a row. All others get weight too."),
            (gaps[:, 1:].mean(axis=1) / (odds + np.log(n - 1.0)),
             "You took all scores but the largest for equal, at their mean. Those close to the "
             "largest get more weight than those far below."),
            (at_one / share, "You scaled the weight at temperature 1 in proportion. A weight isn't "
             "inversely proportional to the temperature."),
            (share / at_one, "You scaled the weight at temperature 1 in proportion. A weight isn't "
             "proportional to the temperature."),
            *((np.round(temperature, digits), "Your idea is right, but the answer is too coarse. "
            "Keep "
               "halving the interval that holds the temperature.")
              for digits in (1, 2, 3, 4)),
            *((power, "You found another power of the temperature. Scores are divided by the "
               "temperature itself.") for power in (temperature**0.5, temperature**2)),
            (np.log(temperature), "That's the logarithm of the temperature."),
            (inputs["scores"].max(axis=1) / odds, "You assumed a single other score of 0. What "
             "counts is how far each score is below the largest."),
            (-1 / np.log(share), "Your answer depends only on the share. The scores count too."),
            ((gaps[:, 1:].sum(axis=1) / n) / (odds + np.log(n - 1.0)),
             "You used the distance of the largest score from the mean of all, as if the others "
             "were equal. Those close to the largest get more weight than those far below."),
        ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say what the largest scores get, or which share comes out instead."""
    found, wanted, share = outputs["temperature"], right(inputs), inputs["share"]
    if (found <= 0).any():
        return "A temperature is larger than 0."
    weights = np.sort(ma.softmax(inputs["scores"] / found[:, None]), axis=1)
    if np.allclose(found, wanted, rtol=0.02):
        return "Close, but not to six digits. Halve the interval more often."
    if np.allclose(weights[:, -1], 1 - share, rtol=1e-4):
        return "At your temperatures, it's all the others together that get the share."
    if weights.shape[1] > 2 and np.allclose(weights[:, 0], share, rtol=1e-4):
        return "At your temperatures, the smallest score gets the share."
    if (np.abs(np.log(found / wanted)) > np.log(100)).any():
        return (
            "Some temperature is more than a hundred times too small or too large. The weight of "
            "the largest score falls as the temperature rises."
        )
    return "At your temperatures, the largest score of some row doesn't get its share."


EXERCISE = Exercise(
    id="temperature_for",
    page="start",
    title="What temperature for this weight?",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=20,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="Temperature",
    text=TEXT,
    starter=STARTER,
    hints=(
        "There's no formula for it. But does the weight of the largest score rise or fall when "
        "the temperature rises?",
        "It falls, all the way from 1 to 1/n. Take a low and a high temperature with the answer "
        "between them, try the one in the middle, and keep the half that holds the answer. 60 "
        "halvings are plenty. Temperatures can be very small or very large, so start at the "
        "standard deviation of the scores and widen until the answer is in between.",
    ),
    common_errors=(
        "You turn the comparison around, so the search runs away from the answer.",
        "You search between fixed ends. Scores of 200 need temperatures of hundreds.",
        "You try a grid of temperatures, which is never fine enough for six digits.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
