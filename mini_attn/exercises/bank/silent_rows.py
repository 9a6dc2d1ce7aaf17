"""Find the bug: spans that a query does not see, and what they say of themselves."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.comparing import wrong_along
from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
This function computes attention of one head with its keys split into spans. Each span gives an
output and an `lse` for every query, and at the end they're merged. `q` is `(q_len, head_dim)`, `k`
is `(kv_len, head_dim)` and `v` is `(kv_len, v_head_dim)`; `seen` `(q_len, kv_len)` is true where a
query can attend. A query that can't attend to any key gets zeros. Scores can have any size and
either sign. The function runs without an error or a warning, and its example is right. But on other
inputs, some outputs come out too close to zero, and some are zeros although their queries can
attend to keys. Find out when that happens, and repair the function.
"""
STARTER = '''
def split_attention(q, k, v, seen, span):
    """Attention of one head, span by span, merged at the end."""
    outs, sums = [], []
    for start in range(0, len(k), span):
        some = slice(start, start + span)
        scores = q @ k[some].T / np.sqrt(q.shape[1])
        scores = np.where(seen[:, some], scores, -np.inf)
        top = scores.max(axis=1)
        top = np.where(np.isneginf(top), 0.0, top)
        weights = np.exp(scores - top[:, None])
        total = weights.sum(axis=1)
        total = np.where(total == 0, 1.0, total)
        outs.append(weights @ v[some] / total[:, None])
        sums.append(top + np.log(total))
    lse = np.array(sums)                               # (spans, q_len)
    shares = np.exp(lse - lse.max(axis=0))
    shares = shares / shares.sum(axis=0)
    return (shares[:, :, None] * np.array(outs)).sum(axis=0)


keys = np.array([[53.0], [52.0], [51.0], [50.0]])  # one more per query
split_attention(np.ones((4, 1)), keys, keys, np.tri(4, dtype=bool), 2)
'''

Array = np.ndarray


def _case(q: Array, k: Array, v: Array, seen: Array, span: int) -> Inputs:
    return {"q": q, "k": k, "v": v, "seen": seen, "span": span}


def _exact(scores: list[float], seen: list[list[int]], span: int) -> Inputs:
    """One number per key, which is its score for every query."""
    k = np.array(scores)[:, None]
    v = 2.0 ** np.arange(len(k))[:, None]
    return _case(np.ones((len(seen), 1)), k, v, np.array(seen, bool), span)


def _drawn(
    rng: np.random.Generator, q_len: int, kv_len: int, span: int, height: float = 0.0
) -> Inputs:
    """Causal attention of the last queries; scores about as high as asked."""
    size = 4
    q, k = (rng.standard_normal((n, size)) for n in (q_len, kv_len))
    q[:, 0], k[:, 0] = 2.0, k[:, 0] + height
    seen = np.tri(q_len, kv_len, kv_len - q_len, dtype=bool)
    return _case(q, k, rng.standard_normal((kv_len, 3)), seen, span)


def cases(rng: np.random.Generator) -> Cases:
    """By hand: the second span is hidden from two queries. The property: scores far from 0."""
    steps = [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0]]
    holes = _drawn(rng, 5, 8, 2, -1500.0)
    holes["seen"] &= rng.random((5, 8)) < 0.6
    holes["seen"][:, 0] = True
    blind = _drawn(rng, 4, 6, 2, -1200.0)
    blind["seen"][1] = False
    apart = _drawn(rng, 4, 8, 2)
    apart["q"][:, 0] = [2000.0, -2000.0, 300.0, -300.0]
    apart["k"][:, 0] = np.abs(apart["k"][:, 0]) + 1
    unseen = _exact([0.0, 2000.0, 1.0, 3000.0], [[1, 0, 1, 0], [1, 0, 0, 0]], 2)
    window = _exact([-900.0, -900.0, -901.0, -902.0], [[1, 1, 0, 0], [0, 0, 1, 1]], 2)
    nought = _exact([0.0, -1.0, 0.0, 0.0, -2.0, 5.0], [[1, 0, 1, 1, 1, 0], [0, 1, 0, 1, 0, 0]], 2)
    nought["v"][2:4] = 0.0
    low = [_exact([-h, -h - 1, -h - 2, -h], steps, 2) for h in (705.0, 30_000.0, 1e12)]
    lowest = _exact([-1e35, 0.0, 0.0], [[1, 0, 0]], 1)
    return {
        "by hand": [_exact([-900.0, -901.0, -902.0, -900.0], steps, 2)],
        "random": [_drawn(rng, 6, 6, 2), _drawn(rng, 5, 9, 3)],
        "property": [_drawn(rng, 6, 6, 2, -1000.0), holes, _drawn(rng, 5, 5, 2, 1000.0), window,
                     nought, unseen],
        "edges": [blind, apart, *low, lowest, _drawn(rng, 3, 7, 3, -1000.0),
                  _drawn(rng, 2, 3, 8, -1000.0), _drawn(rng, 1, 1, 1, -1000.0)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One output row for each query."""
    return {"out": ((len(inputs["q"]), inputs["v"].shape[1]), "f")}


def _masked(scores: Array, seen: Array, mask: str) -> Array:
    """The scores of a span, with what is hidden at one number or another."""
    hidden = {"hidden": -np.inf, "late": -np.inf, "zero": 0.0, "-1e9": -1e9}
    return scores if mask == "none" else np.where(seen, scores, hidden[mask])


def _one_span(scores: Array, seen: Array, v: Array, mask: str, top: str) -> tuple[Array, ...]:
    """Output and lse of a span, -inf where it is empty."""
    masked = _masked(scores, seen, mask)
    best = (scores if mask == "late" else masked).max(axis=1)
    best = {"own": best, "none": np.zeros_like(best), "shared": np.full_like(best, best.max())}[top]
    best = np.where(np.isneginf(best), 0.0, best)
    weights = np.exp(masked - best[:, None])
    total = weights.sum(axis=1)
    return weights @ v / np.where(total == 0, 1.0, total)[:, None], best + np.log(total)


def _known_empty(empty: str, out: Array, lse: Array, blank: Array) -> Array:
    """The lse that a span hands on, where it passes for empty by one sign or another."""
    signs = {"at 0": lse == 0, "no output": (out == 0).all(axis=1), "all blank": blank.all()}
    low = np.where(blank, 0.0, lse)
    if empty in signs:
        return np.where(signs[empty] | (blank if empty != "all blank" else False), -np.inf, low)
    return np.where(blank, -np.inf if empty == "right" else float(empty), lse)


def _walk(
    inputs: Inputs,
    *,
    empty: str = "right",
    mask: str = "hidden",
    top: str = "own",
    merge: str = "right",
    scaled: bool = True,
) -> Array:
    """Spans and their merge, with one thing or another done otherwise."""
    q, k, v, seen, span = (inputs[name] for name in ("q", "k", "v", "seen", "span"))
    outs, sums, nothing = [], [], np.zeros(len(q), bool)
    with np.errstate(all="ignore"):
        for start in range(0, len(k), span):
            some = slice(start, start + span)
            scores = q @ k[some].T * (q.shape[1] ** -0.5 if scaled else 1.0)
            out, lse = _one_span(scores, seen[:, some], v[some], mask, top)
            outs.append(out)
            sums.append(_known_empty(empty, out, lse, np.isneginf(lse)))
            nothing |= ~seen[:, some].any(axis=1)
        return _merged(np.array(outs), np.array(sums), merge, nothing)


def _merged(outs: Array, lse: Array, merge: str, nothing: Array) -> Array:
    """The outputs of the spans by their shares, or otherwise."""
    best = np.full(lse.shape[1], lse.max()) if merge == "shared" else lse.max(axis=0)
    shares = np.exp(lse - (best if merge == "no guard" else np.where(np.isneginf(best), 0, best)))
    if merge == "too late":
        shares = np.exp(lse - np.where(np.isneginf(lse), 0.0, lse).max(axis=0))
    if merge == "no maximum":
        shares = np.exp(lse)
    if merge == "even":
        shares = np.isfinite(lse).astype(float)
    total = shares.sum(axis=0)
    shares = shares / (total if merge == "no guard" else np.where(total == 0, 1.0, total))
    found = (shares[:, :, None] * outs).sum(axis=0)
    return np.where(nothing[:, None], 0.0, found) if merge == "zeros" else np.asarray(found)


LOW = (
    "Your empty span returns a low number instead of −∞. Where all of a query's own scores are "
    "below it, the empty span gets all the weight."
)
SHARED = (
    "Your queries share one maximum, in a span or in the merge. Where a query's own scores are "
    "far below it, its exponentials vanish."
)
BARE = (
    "In a span or in the merge you take exponentials without subtracting a maximum. Far "
    "below 0 all of them vanish, and far above they overflow."
)
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"empty": "0"},
     "Your empty span returns lse = 0, as if its sum of exponentials were 1. So it takes part "
     "in the merge, with zeros as its output."),
    ({"empty": "all blank"},
     "You skip a span only where it's empty for every query. It can be empty for just one "
     "query."),
    ({"merge": "too late"},
     "In the merge you take the maximum over empty spans too, as if their lse were 0. Where a "
     "query's own scores are far below that, all its shares vanish."),
    *(({"empty": number}, LOW) for number in ("-500", "-1e4", "-1e9", "-1e30")),
    ({"empty": "at 0"},
     "You treat every span with lse = 0 as empty. One visible key with score 0 has that too."),
    ({"empty": "no output"},
     "You treat every span with an output of zeros as empty. Visible values can be 0 too."),
    ({"merge": "no guard"},
     "Where all spans of a query are empty, every lse is −∞, and −∞ − (−∞) isn't a number. "
     "The merge needs a guard as well."),
    ({"empty": "inf"},
     "A query with an empty span comes out as NaN. Such a span needs an output of zeros, not "
     "0 / 0, and an lse of −∞, not +∞. In the merge, subtract a finite number."),
    ({"merge": "zeros"},
     "Your query with an empty span gets zeros, whatever the other spans hold."),
    ({"merge": "shared"}, SHARED),
    ({"merge": "no maximum"}, BARE),
    ({"merge": "even"},
     "You count every nonempty span the same. It counts by its sum of exponentials."),
    ({"top": "shared"}, SHARED),
    ({"top": "none"}, BARE),
    ({"mask": "late"},
     "You take the maximum over hidden keys too. Where a hidden score is far above the visible "
     "ones, their exponentials vanish."),
    ({"mask": "none"}, "You lost the mask, so hidden keys count."),
    ({"mask": "zero"},
     "You give hidden keys the score 0, and with it a weight. Where scores are negative, they "
     "get all of it."),
    ({"mask": "-1e9"},
     "A query without visible keys gets zeros. Yours gets a mean of the values, as if hidden "
     "keys had a low score instead of none."),
    ({"scaled": False}, "You lost the scale 1 / √head_dim."),
]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Spans whose lse is -inf where they are empty, merged with a guard."""
    return _walk(inputs)


def slips(inputs: Inputs) -> Slips:
    """Return what the rows would be with one idea missing, or the first and one of a few."""
    make = partial(_walk, inputs)
    few = [one for one in MISTAKES if one[0].keys() & {"mask", "top", "scaled"}]
    singly = [(make(**choices), idea) for choices, idea in MISTAKES]
    return singly + with_pairs(make, [MISTAKES[0], *few])[1 + len(few) :]


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first row that is wrong, and what it sees."""
    i = wrong_along(outputs["out"], right(inputs))[0]
    keys = np.flatnonzero(inputs["seen"][i]).tolist()
    scores = inputs["q"][i] @ inputs["k"][keys].T * inputs["q"].shape[1] ** -0.5
    spread = f", with scores from {scores.min():.6g} to {scores.max():.6g}" if keys else ""
    return f"Row {i} is wrong. Its visible keys are {keys}{spread}. A span has {inputs['span']}."


EXERCISE = Exercise(
    id="silent_rows",
    page="flash",
    title="Rows that fell silent",
    kind="bug",
    groups={"edges": 5},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=True,
    section="Two numbers stand for many keys",
    complaint=Complaint(
        "softmax",
        "When we split a long prompt over several workers, some outputs are exactly zero. "
        "There's no warning anywhere.",
        "Similar: [FlashInfer, issue 4452]("
        "https://github.com/flashinfer-ai/flashinfer/issues/4452): fully masked rows got a "
        "finite `lse`.",
    ),
    text=TEXT,
    standalone=(
        "an `lse` for every query, and",
        "an `lse` for every query (the logarithm of the sum of the exponentials of the scores it "
        "sees there), and",
    ),
    starter=STARTER,
    hints=(
        "The scores of the example are about 50. Use the same mask with scores of 0, then of −900, "
        "and print lse and shares.",
        "A library has shipped a similar bug: [a finite lse for empty rows]"
        "(https://github.com/flashinfer-ai/flashinfer/issues/4452). What does the merge need "
        "instead, and what happens then to a query whose spans are all empty?",
    ),
    common_errors=(
        "Testing with large positive scores alone, where a wrong lse of 0 is too small to matter.",
        "Returning a very low number instead: then some scores are below that.",
        "Repairing the span and forgetting the query without any visible key.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
