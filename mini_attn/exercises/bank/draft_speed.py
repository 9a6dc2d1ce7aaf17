"""How many tokens per second a model writes that checks the tokens of a draft model."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
A draft model proposes the next tokens one after the other, and a large model checks all of them in
one pass. For each draft token, `accept` of shape `(K,)` holds the probability that it's right,
given that all draft tokens before it were right. The first wrong one and all after it are dropped.
The pass of the large model supplies one more token after those that are kept, even if all were
right. A draft token takes `draft_seconds`. A pass over `k` draft tokens takes `pass_seconds[k]`,
from an array of shape `(K + 1,)`. Drafting and checking don't overlap. Return an array of shape
`(K + 1,)`: the average number of tokens written per second, with 0 to K draft tokens per pass.
"""
STARTER = '''
def draft_speed(accept, draft_seconds, pass_seconds):
    """Tokens per second with k = 0 ... K draft tokens per pass."""
    raise NotImplementedError
'''
_close = partial(close, relative=True)


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two guesses. The property: one more guess soon costs more than it brings."""

    def drawn(size: int) -> Inputs:
        passes = 1 + np.cumsum(rng.uniform(0, 0.3, size=size + 1))
        return {"accept": rng.uniform(0.2, 0.95, size=size),
                "draft_seconds": float(rng.uniform(0.05, 0.3)), "pass_seconds": passes}  # fmt: skip

    return {
        "by hand": [{"accept": np.array([0.5, 0.5]), "draft_seconds": 3.0,
                     "pass_seconds": np.array([4.0, 4.0, 5.0])}],
        "random": [drawn(3), drawn(5), drawn(8)],
        "property": [
            {"accept": np.full(12, rng.uniform(0.7, 0.9)), "draft_seconds": 0.002,
             "pass_seconds": 0.02 + 0.0005 * np.arange(13)},
            {"accept": np.array([0.9, 0.0, 0.9]), "draft_seconds": 0.1,
             "pass_seconds": np.array([1.0, 1.1, 1.1, float(rng.uniform(1.2, 1.4))])},
        ],
        "edges": [
            {"accept": np.zeros(0), "draft_seconds": 0.3,
             "pass_seconds": np.array([float(rng.uniform(1, 3))])},
            {"accept": np.ones(3), "draft_seconds": 0.0,
             "pass_seconds": np.full(4, float(rng.uniform(1, 3)))},
        ],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One rate for each number of guesses."""
    return {"rate": (inputs["pass_seconds"].shape, "f")}


def _rate(
    inputs: Inputs, *, kept: str = "in a row", more: str = "always", draft: str = "each",
    check: str = "own", turned: bool = False,
) -> np.ndarray:  # fmt: skip
    """Tokens over seconds, or what another count of either makes of it."""
    accept, passes = inputs["accept"], inputs["pass_seconds"]
    k = np.arange(len(passes))
    rows = np.concatenate([[0.0], np.cumsum(np.cumprod(accept))])
    whole = np.concatenate([[1.0], np.cumprod(accept)])
    sums = {
        "in a row": rows, "each": np.concatenate([[0.0], np.cumsum(accept)]), "all": k * whole,
        "every": 1.0 * k, "first": np.concatenate([[0.0], np.cumsum(_powers(accept))]),
        "last": whole * (k > 0), "backwards": np.concatenate([[0.0], np.cumsum(
            np.cumprod(accept[::-1]))]),
        "mean": k * (accept.mean() if len(accept) else 0.0),
    }  # fmt: skip
    last = {"always": 1.0, "never": 0.0, "if one is wrong": 1.0 - whole * (k > 0)}
    drafts = {
        "each": k,
        "none": 0 * k,
        "once": (k > 0) * 1,
        "one more": k + 1,
        "always once": 0 * k + 1,
    }
    checks = {
        "own": passes,
        "single": passes[0] + 0 * passes,
        "each": passes[0] * (k + 1),
        "sum": np.cumsum(passes),
        "for each": passes * np.maximum(k, 1),
    }
    seconds = drafts[draft] * inputs["draft_seconds"] + checks[check]
    tokens = sums[kept] + last[more]
    return np.asarray(seconds / np.maximum(tokens, 1e-300) if turned else tokens / seconds)


def _powers(accept: np.ndarray) -> np.ndarray:
    """As if the first probability held for every place."""
    return np.full(len(accept), accept[0] if len(accept) else 0.0).cumprod()


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"kept": "each"}, "You added the probabilities. A draft token is kept only if all before "
     "it were right too, so its chance is a product."),
    ({"kept": "all"}, "You counted only passes in which every draft token is right. If the third "
     "is wrong, the first two are kept."),
    ({"kept": "every"}, "You counted every draft token as right."),
    ({"kept": "first"}, "You used the first probability for every draft token. Each has its own."),
    ({"kept": "mean"}, "You used the mean of all probabilities. Each draft token has its own, and "
     "it counts only if all before it were right."),
    ({"kept": "last"}, "You counted only the last draft token of a pass. Those before it are kept "
     "too, each with its own chance."),
    ({"kept": "backwards"}, "You took the probabilities from the end. All draft tokens depend on "
     "the first one."),
    ({"more": "never"}, "You've left out the token that the pass itself supplies. Even with no "
     "right draft token, a pass yields one."),
    ({"more": "if one is wrong"}, "If all draft tokens are right, the pass still supplies one "
     "more token."),
    ({"draft": "none"}, "Your draft tokens take no time. Each takes `draft_seconds`."),
    ({"draft": "once"}, "You paid `draft_seconds` once. The draft model writes one token after the "
     "other, so each takes that long."),
    ({"draft": "always once"}, "You paid `draft_seconds` once for every pass. k draft tokens take "
     "k times as long, and none take no time."),
    ({"draft": "one more"}, "You paid for one draft token too many. k of them take k times "
     "`draft_seconds`."),
    ({"check": "single"}, "You used the time of a pass without draft tokens. A pass over k of them "
     "takes `pass_seconds[k]`."),
    ({"check": "each"}, "You ran the large model for every token. One pass checks all draft "
     "tokens."),
    ({"check": "for each"}, "You paid a pass for every draft token. One pass checks all of them."),
    ({"check": "sum"}, "You paid the passes for fewer draft tokens too. With k of them, there's "
     "one pass, of `pass_seconds[k]`."),
    ({"turned": True}, "That's seconds per token. Turn the fraction around."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the rates would be with one idea missing, or two."""
    k = np.arange(len(inputs["pass_seconds"]))
    seconds = k * inputs["draft_seconds"] + inputs["pass_seconds"]
    tokens = right(inputs) * seconds
    overlapped = np.maximum(k * inputs["draft_seconds"], inputs["pass_seconds"])
    return [
        (tokens, "That's tokens per pass. Divide by the seconds that drafting and checking "
         "take."),
        *with_pairs(partial(_rate, inputs), MISTAKES),
        (tokens / overlapped, "You took the longer of drafting and checking. They don't overlap, "
         "so add their times."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The mean number of tokens of a round, over the seconds that it takes."""
    return _rate(inputs)


EXERCISE = Exercise(
    id="draft_speed",
    page="decoding-roofline",
    title="How far to draft ahead",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="Speculation",
    text=TEXT,
    starter=STARTER,
    hints=(
        "How likely is it that at least j draft tokens are kept? A mean number is the sum of such "
        "chances.",
        "The j-th draft token is kept if the first j are all right. That's the product of their "
        "probabilities. The mean number of kept ones is the sum of these products, and the pass "
        "adds one token. A round takes k draft tokens and one pass.",
    ),
    common_errors=(
        "Adding the probabilities, as if each draft token were independent.",
        "Forgetting the token that the pass supplies.",
        "Treating the passes as free, or the draft tokens.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
)
