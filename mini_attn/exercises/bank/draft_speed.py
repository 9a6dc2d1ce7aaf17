"""How many tokens a second a model writes that checks the guesses of a small one."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
A small model guesses the next tokens one after the other, and a large model checks all guesses in
one pass. `accept` of shape `(K,)` holds, for each guess, the probability that it is right, given
that all guesses before it were right. The first wrong guess and all behind it are dropped; the pass
of the large model supplies one more token behind those that are kept, also where all guesses were
right. A guess takes `draft_seconds`, a pass over `k` guesses
`pass_seconds[k]`, an array of shape `(K + 1,)`, and guessing and checking do not overlap. Return an
array of shape `(K + 1,)`: how many tokens a second are written on average with 0 to K guesses a
pass.
"""
STARTER = '''
def draft_speed(accept, draft_seconds, pass_seconds):
    """Tokens a second with k = 0 ... K guesses for each pass."""
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
    ({"kept": "each"}, "The probabilities are added. A guess is kept only if all before it were "
     "right, too: its chance is a product."),
    ({"kept": "all"}, "Only passes in which every guess is right are counted. Where the third is "
     "wrong, the first two are kept."),
    ({"kept": "every"}, "Every guess is counted as right."),
    ({"kept": "first"}, "The first probability is used for every guess. Each guess has its own."),
    ({"kept": "mean"}, "The mean of all probabilities is taken for every place. Each place has its "
     "own, and a guess counts only if all before it were right."),
    ({"kept": "last"}, "Only the last guess of a pass is counted. Those before it are kept as "
     "well, each with a chance of its own."),
    ({"kept": "backwards"}, "The probabilities are taken from the end. The first guess stands "
     "first: all others depend on it."),
    ({"more": "never"}, "The token that the pass itself supplies is missing: even without a "
     "right guess a pass brings one."),
    ({"more": "if one is wrong"}, "Where all guesses are right the pass still supplies one more "
     "token."),
    ({"draft": "none"}, "The guesses take no time here. Each takes `draft_seconds`."),
    ({"draft": "once"}, "The small model guesses one token after the other: each takes "
     "`draft_seconds`."),
    ({"draft": "always once"}, "`draft_seconds` are paid once for every pass. k guesses take k "
     "times as long, and no guesses no time."),
    ({"draft": "one more"}, "One guess too many is paid: k guesses take k times "
     "`draft_seconds`."),
    ({"check": "single"}, "A pass over k guesses takes `pass_seconds[k]`, not as long as one "
     "without guesses."),
    ({"check": "each"}, "The large model is run for every token. One pass checks all guesses."),
    ({"check": "for each"}, "A pass is paid for every guess. One pass checks all of them."),
    ({"check": "sum"}, "The passes for fewer guesses are paid, too. With k guesses there is one "
     "pass, of `pass_seconds[k]`."),
    ({"turned": True}, "Those are seconds for each token: turn the fraction round."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the rates would be with one idea missing, or two."""
    k = np.arange(len(inputs["pass_seconds"]))
    seconds = k * inputs["draft_seconds"] + inputs["pass_seconds"]
    tokens = right(inputs) * seconds
    overlapped = np.maximum(k * inputs["draft_seconds"], inputs["pass_seconds"])
    return [
        (tokens, "Those are tokens for each pass. How many a second depends on what a round "
         "takes."),
        *with_pairs(partial(_rate, inputs), MISTAKES),
        (tokens / overlapped, "The longer of guessing and checking is taken. They do not overlap: "
         "their times add up."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The mean number of tokens of a round, over the seconds that it takes."""
    return _rate(inputs)


EXERCISE = Exercise(
    id="draft_speed",
    page="decoding-roofline",
    title="How far to guess ahead",
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
        "How likely is it that at least j guesses are kept? A mean number is the sum of such "
        "chances.",
        "The j-th guess is kept if the first j are all right: the product of their probabilities. "
        "The mean number of kept guesses is the sum of these products, and the pass adds one "
        "token. A round takes k guesses and one pass.",
    ),
    common_errors=(
        "Adding the probabilities, as if each guess stood alone.",
        "Forgetting the token that the pass supplies.",
        "Taking the passes as free, or the guesses.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
)
