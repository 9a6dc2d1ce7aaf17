"""Take some tokens back out of an attention that is finished."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
In one layer, a query has attended to all tokens of a cache. You have its `out`, of shape
`(v_head_dim,)`, and the number `lse`, the natural logarithm of the sum of the exponentials of all
scores. Then a user deletes a passage, so some of the tokens are withdrawn. You get the `scores` of
these tokens, `(removed,)`, already scaled, and their `values`, `(removed, v_head_dim)`. Return
`out` and `lse` of the attention over the tokens that remain. You don't get their scores and
values. Scores can be large.

In a model this is exact in the first layer only, because deeper keys and values already depend on
the passage. And the more the deleted scores lead, the fewer digits of the rest are left: at a lead
of 30, about two in float64. The cases here keep away from that.
"""
STARTER = '''
def forget_keys(out, lse, scores, values):
    """Attention without these scores and values: (out, lse)."""
    raise NotImplementedError
'''


def _case(scores: np.ndarray, values: np.ndarray, removed: int) -> Inputs:
    """The attention over all tokens, and the first of them to be removed."""
    top = scores.max()
    sums = np.exp(scores - top)
    return {
        "out": sums @ values / sums.sum(), "lse": np.float64(top + np.log(sums.sum())),
        "scores": scores[:removed], "values": values[:removed],
    }  # fmt: skip


def _drawn(
    rng: np.random.Generator, kept: int, removed: int, size: int, level: float = 0.0
) -> Inputs:
    """Scores about a level; what remains keeps at least a fifth of the weight."""
    scores = level + rng.normal(size=removed + kept)
    scores[removed:] += max(scores[:removed].max(initial=level) - scores[removed:].max(), 0)
    scores[removed:] += np.log(max(removed / kept, 1))
    return _case(scores, rng.normal(size=(removed + kept, size)), removed)


def cases(rng: np.random.Generator) -> Cases:
    """By hand: weights of 1/4, 1/2 and 1/4. The property: large scores. Edges: nothing goes."""
    quarters = np.log([1.0, 2.0, 1.0])
    return {
        "by hand": [_case(quarters, np.array([[8.0, 0.0], [4.0, 4.0], [0.0, 8.0]]), 1)],
        "random": [_drawn(rng, 4, 2, 3), _drawn(rng, 5, 5, 2), _drawn(rng, 40, 9, 4)],
        "property": [_drawn(rng, 3, 3, 2, 1000.0), _drawn(rng, 6, 2, 3, -1200.0)],
        "edges": [_drawn(rng, 3, 0, 2), _drawn(rng, 1, 6, 3), _drawn(rng, 2, 1, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """The output of the tokens that remain, and their logarithm."""
    return {"out": (inputs["out"].shape, "f"), "lse": ((), "f")}


def _shares(inputs: Inputs) -> np.ndarray:
    """The weights that the removed tokens had among all."""
    return np.exp(inputs["scores"] - inputs["lse"])


def right(inputs: Inputs) -> dict[str, np.ndarray]:
    """Return what remains of the weights has to sum to 1 again."""
    return {"lse": _lse(inputs), "out": _out(inputs)}


def _lse(inputs: Inputs, *, remain: str = "rest") -> np.ndarray:
    """The logarithm, or what another share makes of it."""
    gone = _shares(inputs).sum()
    shares = {"rest": 1 - gone, "all": 1.0, "more": 1 + gone, "gone": gone or 1.0,
              "inverse": 1 / (1 - gone)}  # fmt: skip
    return np.asarray(inputs["lse"] + np.log(shares[remain]))


def _out(inputs: Inputs, *, taken: str = "shares", by: str = "rest") -> np.ndarray:
    """The output, or what another difference or divisor makes of it."""
    p, values = _shares(inputs), inputs["values"]
    own = p / (p.sum() or 1.0)
    away = {"shares": p @ values, "own": own @ values, "sum": values.sum(axis=0),
            "mean": values.mean(axis=0) if len(values) else 0.0, "nothing": 0.0,
            "added": -p @ values}  # fmt: skip
    rest = 1 - p.sum()
    divisors = {
        "rest": rest,
        "one": 1.0,
        "times": 1 / rest,
        "more": 1 + p.sum(),
        "gone": p.sum() or 1.0,
    }
    return np.asarray((inputs["out"] - away[taken]) / divisors[by])


def _unscaled(inputs: Inputs) -> dict[str, np.ndarray]:
    """With exponentials that are not taken relative to anything."""
    with np.errstate(all="ignore"):
        total, terms = np.exp(inputs["lse"]), np.exp(inputs["scores"])
        rest = total - terms.sum()
        out = (total * inputs["out"] - terms @ inputs["values"]) / rest
        return {"lse": np.asarray(np.log(rest)), "out": np.asarray(out)}


LSE: list[tuple[dict[str, Any], str]] = [
    ({"remain": "all"}, "Your lse is the old one. The sum of exponentials is smaller now."),
    ({"remain": "more"}, "You add the exponentials of the removed tokens to the sum. Subtract "
     "them."),
    ({"remain": "gone"}, "That's the lse of the removed tokens. The others remain."),
    ({"remain": "inverse"}, "Your lse has grown. A sum with fewer terms is smaller."),
]  # fmt: skip
OUT: list[tuple[dict[str, Any], str]] = [
    ({"by": "one"}, "You take the removed tokens out of the weighted sum, but the weights that "
     "remain don't sum to 1 any more."),
    ({"by": "times"}, "You multiply the rest by the share that remains. Its weights sum to that "
     "share and have to sum to 1, so divide."),
    ({"by": "more"}, "Your divisor counts the removed weights a second time. They leave the sum."),
    ({"by": "gone"}, "You divide by the share of the removed tokens. Divide by "
     "the share that remains."),
    ({"taken": "nothing"}, "You rescale the output, but the removed values are still in it."),
    ({"taken": "own"}, "You subtract the output of the removed tokens alone, with weights "
     "that sum to 1. In `out` their weights were smaller."),
    ({"taken": "sum"}, "You subtract the removed values with a weight of 1 each. In `out` each "
     "has the weight that its score gave it."),
    ({"taken": "mean"}, "You subtract the mean of the removed values. In `out` each has the "
     "weight that its score gave it."),
    ({"taken": "added"}, "You add the removed tokens once more. Subtract them."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the two would be with one idea missing, or two."""
    removed, gone = inputs["scores"], _shares(inputs).sum()
    logs = inputs["lse"] - (inputs["lse"] + np.log(gone) if gone else 0.0)
    return [
        (_unscaled(inputs), "You take exponentials of the scores themselves. Large scores "
         "overflow, and very negative ones vanish. Take them relative to `lse`."),
        ({"lse": np.asarray(logs)}, "You subtract the two logarithms. That divides the sums, "
         "but one sum has to be subtracted from the other."),
        ({"lse": np.asarray(inputs["lse"] - gone)}, "You subtract the "
         "removed share from the lse itself. It leaves the sum, and lse is its logarithm."),
        ({"lse": np.asarray(np.log(1 - gone))}, "That's the logarithm of the share that remains. "
         "It's the change of the old lse."),
        ({"lse": np.asarray(inputs["lse"] + 1 - gone)}, "You add the share that remains to the "
         "lse. It multiplies the sum, so add its logarithm."),
        ({"lse": np.asarray(inputs["lse"] * (1 - gone))}, "You multiply the lse by the share that "
         "remains. The share multiplies the sum, and lse is its logarithm."),
        ({"lse": np.asarray(inputs["lse"] - np.exp(np.minimum(removed, 700)).sum())},
         "You subtract the exponentials from the logarithm. They leave the sum itself."),
        *(({"lse": lse}, idea) for lse, idea in with_pairs(partial(_lse, inputs), LSE)),
        ({"out": inputs["out"]}, "Your output is the old one."),
        *(({"out": out}, idea) for out, idea in with_pairs(partial(_out, inputs), OUT)),
    ]  # fmt: skip


SHOULD_BE = {
    "lse": "Its exponential should be the sum of the exponentials of the scores that remain.",
    "out": "It should be a mean of the values that remain, with weights that sum to 1.",
}

EXERCISE = Exercise(
    id="forget_keys",
    page="attention-cost",
    title="Forget a passage",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=18,
    difficulty=4,
    stage="invent",
    assessed=False,
    section="In tiles: exact, with linear memory",
    text=TEXT,
    starter=STARTER,
    hints=(
        "What weights did the removed tokens have in the old output? A score and `lse` tell you.",
        "Their weights are the exponentials of score minus lse. Take their part out of the "
        "weighted sum. What's left has weights that sum to less than 1. How much less also says "
        "by how much the sum of exponentials has shrunk.",
    ),
    common_errors=(
        "Taking the part away and leaving weights that don't sum to 1.",
        "A softmax over the removed tokens alone: their weights were smaller.",
        "Exponentials of scores of 1,000.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=SHOULD_BE,
)
