"""Take some keys out of an attention that has been merged already."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips
from mini_attn.exercises.trained import trained_heads

TEXT = """
In one layer, a server has attended to a long context. For each query it keeps `out`
`(q_len, v_head_dim)` and `lse` `(q_len,)`, the natural logarithm of the sum of the exponentials of
its scores. Then it turns out that some of the keys shouldn't have been there. Over these keys
alone, the same queries have `part` `(q_len, v_head_dim)` and `part_lse` `(q_len,)`. Return `rest`
and `rest_lse`, the output and the log-sum-exp over the keys that remain. All keys, values and
queries are gone. Scores can be in the thousands. Where a query attended to none of the removed
keys, `part_lse` is −inf and `part` is 0. Every query attends to at least one of the keys that
remain. Don't change the four arrays, because the server still needs them.
"""
STARTER = '''
def taken_back(out, lse, part, part_lse):
    """Attention over the keys that remain: (rest, rest_lse)."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(q: Array, k: Array, v: Array, away: Array) -> Inputs:
    """Return what is kept of all keys, and of those that go."""
    scores = q @ k.T * q.shape[1] ** -0.5
    out, lse = _attend(scores, v, np.ones_like(away))
    part, part_lse = _attend(scores, v, away)
    return {"out": out, "lse": lse, "part": part, "part_lse": part_lse}


def _attend(scores: Array, v: Array, seen: Array) -> tuple[Array, Array]:
    masked = np.where(seen, scores, -np.inf)
    return ma.softmax(masked) @ v, ma.logsumexp(masked)


def _drawn(rng: np.random.Generator, q_len: int, away: Array, height: float = 0.0) -> Inputs:
    """Random heads; the keys that go, for all queries or for each."""
    q, k = (rng.standard_normal((n, 4)) for n in (q_len, away.shape[-1]))
    q[:, 0], k[:, 0] = 2.0, k[:, 0] + height
    return _case(q, k, rng.standard_normal((away.shape[-1], 3)),
                 np.broadcast_to(away, (q_len, away.shape[-1])))  # fmt: skip


def _trained(rng: np.random.Generator, first: int, last: int) -> Inputs:
    q, k, v = (part[1] for part in trained_heads(rng, 32))
    away = np.zeros((len(q), len(k)), bool)
    away[:, first:last] = True
    return _case(q, k, v, away)


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a sum of 8 of which 2 go. The property: a real head, some of its keys taken."""
    hand = {
        "out": np.array([[7.0, 1.0]]), "lse": np.log([8.0]), "part": np.array([[4.0, -2.0]]),
        "part_lse": np.log([2.0]),
    }  # fmt: skip
    some = np.arange(9) < 4
    each = rng.random((6, 9)) < 0.4
    each[:, 8], each[0] = False, False
    apart = _drawn(rng, 2, some)
    for name in ("lse", "part_lse"):
        apart[name] = apart[name] + np.array([2000.0, -2000.0])
    return {
        "by hand": [hand],
        "random": [_drawn(rng, 4, some), _drawn(rng, 3, np.arange(7) == 6)],
        "property": [_trained(rng, 5, 12), _trained(rng, 20, 30)],
        "edges": [_drawn(rng, 6, each), _drawn(rng, 3, some, 1000.0), _drawn(rng, 3, some, -1000.0),
                  apart, _drawn(rng, 2, np.zeros(5, bool))],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Of the shapes of what is given."""
    return {"rest": (inputs["out"].shape, "f"), "rest_lse": (inputs["lse"].shape, "f")}


def _share(inputs: Inputs) -> Array:
    """The part of the weight that goes."""
    return np.asarray(np.exp(inputs["part_lse"] - inputs["lse"]))


def right(inputs: Inputs) -> dict[str, Array]:
    """The merge, solved for the other part."""
    share = _share(inputs)
    rest = (inputs["out"] - share[:, None] * inputs["part"]) / (1 - share)[:, None]
    return {"rest": rest, "rest_lse": inputs["lse"] + np.log1p(-share)}


def _outs(inputs: Inputs) -> list[tuple[Array, str]]:
    """Outputs with one idea missing."""
    share, out, part = _share(inputs)[:, None], inputs["out"], inputs["part"]
    return [
        (out - part,
         "You subtract the whole part. In the output it counts only by its share of the weight."),
        (out - share * part,
         "Your remaining weights sum to less than 1. Divide by the share that remains."),
        ((out - part) / (1 - share),
         "You subtract the whole part before the division. Subtract its share."),
        (share * part + (1 - share) * out,
         "You merge the part once more. Take it out instead."),
        ((out - (1 - share) * part) / share,
         "You swapped the shares: exp(part_lse − lse) is the weight that goes, not what stays."),
        ((out - share * part) / share, "You divide by the share that goes. Divide by the "
                                       "share that remains."),
        (out * (1 - share), "The values of the removed keys are still in your output."),
        (out / (1 - share), "Your weights have grown, and the values of the removed keys are still "
         "in the output."),
        (out + share * (part - out), "You merge the part once more. Take it out instead."),
        ((1 + share) * out - share * part,
         "You multiply the difference by the share. Solve the merge for the other part: what "
         "remains was multiplied by 1 − share."),
        (out, "Your output hasn't changed."),
        *_more_outs(inputs),
    ]  # fmt: skip


def _more_outs(inputs: Inputs) -> list[tuple[Array, str]]:
    """Outputs with a share that is another number."""
    lse, part_lse, out, part = (inputs[n] for n in ("lse", "part_lse", "out", "part"))
    with np.errstate(all="ignore"):
        joined = np.exp(lse - np.logaddexp(lse, part_lse))[:, None]
        double = np.exp2(part_lse - lse)[:, None]
        gone, share = np.isneginf(part_lse)[:, None], _share(inputs)[:, None]
        finite = np.where(gone, 0.0, part_lse[:, None])
        by_lse = (lse[:, None] * out - finite * part) / (lse[:, None] - finite)
        all_rows, own = (np.exp(one - lse.max())[:, None] for one in (lse, part_lse))
        top = (all_rows * out - own * part) / (all_rows - own)
        again = np.exp(lse - part_lse)[:, None]
        by_part = (again * out - part) / (again - 1)
        return [
            (joined * out + (1 - joined) * part, "You merge the part once more. Take it "
             "out instead."),
            ((out - double * part) / (1 - double), "You take the share to base 2. These "
             "logarithms are natural."),
            (np.where(gone, 0.0, right(inputs)["rest"]), "Where a query attended to none of the "
             "removed keys, nothing is taken from it, so its output doesn't change."),
            (2 * out - part, "You give both parts the same weight. They count by their shares."),
            (by_lse, "You weight the parts by lse itself. They count by its exponential."),
            (top, "Your queries share one reference. Where a query's own lse is far below it, all "
             "exponentials vanish."),
            (by_part, "Your reference is part_lse, which is −∞ where nothing goes. Use lse "
                      "instead, "
             "which is always finite."),
            ((1 - share) * (out - share * part), "You multiply by the share that remains. The "
             "rest is already multiplied by it, so divide."),
        ]  # fmt: skip


def _sums(inputs: Inputs) -> list[tuple[Array, str]]:
    """Sums with one idea missing."""
    lse, part_lse = inputs["lse"], inputs["part_lse"]
    with np.errstate(all="ignore"):
        gone = np.isneginf(part_lse)
        plain = np.log(np.exp(lse) - np.exp(part_lse))
        finite = np.where(gone, 0.0, part_lse)
    return [
        (plain,
         "You take exponentials of scores in the thousands, which overflow or vanish. Take the "
         "exponential of the difference of the two logarithms."),
        (lse - np.where(gone, 0.0, part_lse),
         "You subtract logarithms. Their exponentials are what adds up."),
        (np.logaddexp(lse, part_lse), "You add the part once more. The sum has to shrink."),
        (np.log1p(-_share(inputs)), "That's the change of lse. Add it to lse."),
        (lse - np.log1p(-_share(inputs)), "Your lse has grown. Removing keys makes the sum "
                                          "smaller."),
        (lse, "Your lse hasn't changed. The sum of exponentials is smaller now."),
        (np.where(gone, -np.inf, right(inputs)["rest_lse"]), "Where a query attended to none "
                                                             "of the "
         "removed keys, nothing is taken from it, so its lse doesn't change."),
        (lse + np.log2(1 - np.exp2(part_lse - lse)), "You take the share to base 2. These "
         "logarithms are natural."),
        (np.log(np.abs(lse - finite) + 1e-300), "You subtract logarithms and take a logarithm "
         "again. Their exponentials are what adds up."),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the outputs or sums would be with one idea missing."""
    return [
        *(({"rest": one}, idea) for one, idea in _outs(inputs)),
        *(({"rest_lse": one}, idea) for one, idea in _sums(inputs)),
    ]


SHOULD_BE = {
    "rest": "The output over all keys is the average of rest and part, weighted by their shares.",
    "rest_lse": "exp(lse) is the sum over all keys: the sum over the rest plus the sum over "
    "the part.",
}


EXERCISE = Exercise(
    id="taken_back",
    page="flash",
    title="Keys taken back",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 2},
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="Two numbers stand for many keys",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Write down the merge of two parts. Which of its symbols do you know here? What share of "
        "the weight did the removed keys have?",
        "share = exp(part_lse − lse). out = share · part + (1 − share) · rest; and 1 − share "
        "of the "
        "sum of exponentials remains.",
    ),
    common_errors=(
        "Subtracting outputs, or logarithms, as if they were sums.",
        "Forgetting that the remaining weights have to sum to 1 again.",
        "Exponentials of scores in the thousands.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=SHOULD_BE,
    keeps_inputs=True,
)
