"""Give a head a learned sink after its attention has been computed."""

from __future__ import annotations

from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips
from mini_attn.exercises.trained import trained_heads

TEXT = """
A kernel without sinks has computed `out` `(n_heads, q_len, head_dim)` and, for each head and query,
`lse` `(n_heads, q_len)`, the logarithm of the sum of the exponentials of its scores. Now each head
gets a learned sink: one more logit, `sink` `(n_heads,)`, that joins the softmax of every query of
the head and has no value. Return `share` `(n_heads, q_len)`, the weight that goes to the sink, and
`new_out`, the output with it, in the shape of `out`. Queries, keys and values are gone. Scores can
be in the thousands. Where a query has no key, `lse` is −inf and `out` is 0.
"""
STARTER = '''
def late_sink(out, lse, sink):
    """Weight of each head's sink, and the output: (share, new_out)."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(out: Array, lse: Array, sink: Array) -> Inputs:
    return {"out": out, "lse": lse, "sink": sink}


def _trained(rng: np.random.Generator, tokens: int, window: int) -> Inputs:
    """The heads of the trained decoder with a window, and a logit for each."""
    q, k, v = (part[None] for part in trained_heads(rng, tokens))
    out, lse = ma.scaled_dot_product_attention(q, k, v, causal=True, window=window, return_lse=True)
    return _case(out[0], lse[0], rng.normal(2.0, 2.0, out.shape[1]))


def _drawn(rng: np.random.Generator, heads: int, q_len: int, height: float) -> Inputs:
    lse = height + rng.standard_normal((heads, q_len))
    return _case(
        rng.standard_normal((heads, q_len, 3)), lse, height + rng.standard_normal(heads)
    )  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: keys of 2 and of 6 in all next to a sink of 2. The property: real heads."""
    hand = _case(np.array([[[4.0, -8.0], [2.0, 6.0]]]), np.log([[2.0, 6.0]]), np.log([2.0]))
    empty = _drawn(rng, 2, 3, 0.0)
    empty["lse"][:, 0], empty["out"][:, 0] = -np.inf, 0.0
    apart, height = _drawn(rng, 2, 3, 0.0), np.array([2000.0, -2000.0])
    apart["lse"] += height[:, None]
    apart["sink"] += height
    return {
        "by hand": [hand],
        "random": [_drawn(rng, 3, 5, 0.0), _drawn(rng, 3, 3, 1.0)],
        "property": [_trained(rng, 48, 16), _trained(rng, 30, 32)],
        "edges": [_drawn(rng, 2, 4, 2000.0), _drawn(rng, 2, 4, -2000.0), apart, empty],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A weight for each query, and outputs as before."""
    return {"share": (inputs["lse"].shape, "f"), "new_out": (inputs["out"].shape, "f")}


def _share(lse: Array, sink: Array) -> Array:
    """exp(sink) / (exp(lse) + exp(sink)), of logits of any size."""
    return np.exp(sink - np.logaddexp(lse, sink))


def _large(inputs: Inputs) -> list[tuple[Array, str]]:
    """Weights of the sink that are right for ordinary scores alone."""
    lse, sink = inputs["lse"], inputs["sink"][:, None]

    def plain(top: Any, limit: float = np.inf) -> Array:
        a, b = (np.exp(np.clip(logit - top, -limit, limit)) for logit in (lse, sink))
        return np.asarray(b / (a + b))

    with np.errstate(all="ignore"):
        ratio = np.exp(sink - lse)
        cut = "Your clipped logits lose their difference, and the share depends on nothing else."
        return [
            (plain(0.0),
             "Exponentials of scores in the thousands overflow or vanish. Take the exponential "
             "of a difference of two logits instead."),
            (plain(np.maximum(lse.max(), sink.max())),
             "You use one maximum for all heads. In a head whose scores are far lower, every "
             "exponential vanishes."),
            (np.where(np.isneginf(lse), 0.0, _share(lse, sink)),
             "You return 0 for a query without keys. It still has its sink, which gets all the "
             "weight."),
            (ratio / (1 + ratio),
             "Where a query has no key, sink − lse is infinite, and so is its exponential. The "
             "sink gets all the weight there."),
            *((plain(0.0, limit), cut) for limit in (700.0, 500.0, 100.0)),
        ]  # fmt: skip


def _shares(inputs: Inputs) -> list[tuple[Array, str]]:
    """Weights of the sink with one idea missing."""
    lse, sink = inputs["lse"], inputs["sink"][:, None]
    plain = np.exp(sink - lse)
    with np.errstate(over="ignore"):
        exp_lse = np.exp(lse)
    along = inputs["sink"][None] if lse.shape[0] == lse.shape[1] else sink
    return [
        (1 - _share(lse, sink),
         "That's what the keys keep. share is the other part, the weight of the sink."),
        (plain,
         "exp(sink − lse) compares the sink with the keys alone. It joins them, so the denominator "
         "has to include it as well."),
        (np.minimum(plain, 1),
         "exp(sink − lse), clipped at 1, compares the sink with the keys alone. It joins them, so "
         "the denominator has to include it as well."),
        (np.exp(sink) / (lse + np.exp(sink)),
         "You took lse for the sum. It is a logarithm, and the sum is exp(lse)."),
        (sink / (exp_lse + sink),
         "You added the sink's logit to a sum of exponentials. Take its exponential first."),
        (sink / (lse + sink),
         "Logits are not weights. Both go through the exponential first."),
        (_share(lse, along),
         "Your sinks go along the queries. There is one for each head, for all its queries."),
        (_share(lse, sink.mean(keepdims=True)),
         "You gave all heads the same sink. Each has its own logit."),
        *_large(inputs),
    ]  # fmt: skip


def right(inputs: Inputs) -> dict[str, Array]:
    """The sink's share, then what is left of the outputs."""
    share = _share(inputs["lse"], inputs["sink"][:, None])
    return {"share": share, "new_out": (1 - share)[..., None] * inputs["out"]}


def slips(inputs: Inputs) -> Slips:
    """Return what the weights, or the outputs of the right ones, would be with one idea missing."""
    share, out = _share(inputs["lse"], inputs["sink"][:, None])[..., None], inputs["out"]
    with np.errstate(all="ignore"):
        grown = out / (1 - share)
    outs = [
        (out, "Your output hasn't changed. Whatever weight the sink takes, the values lose."),
        (share * out, "You multiplied the output by the sink's share. The keys keep the rest."),
        (out - share, "You subtracted the share from the output. All weights of the keys shrink by "
         "one factor, and so does the output."),
        ((1 - share) * out + share, "You added something for the sink. It has no value."),
        ((1 - share) * out + share * inputs["sink"][:, None, None],
         "You added the sink's logit as if it were a value. The sink has none."),
        (out / (1 + share), "You divided by 1 + share, as if the sink came on top. share is its "
         "part of the whole. What part is left for the keys?"),
        (grown, "You divided by what the keys keep, so the output grows. It has to shrink."),
    ]  # fmt: skip
    shares = [({"share": one}, idea) for one, idea in _shares(inputs)]
    return shares + [({"new_out": one}, idea) for one, idea in outs]


SHOULD_BE = {
    "share": "share is the sink's part of the softmax over the keys and the sink.",
    "new_out": "By what factor does the weight of every key change?",
}


EXERCISE = Exercise(
    id="late_sink",
    page="sliding-window",
    title="A sink that comes late",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 2},
    minutes=12,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="What is lost, and what cannot be taken back",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Write the softmax of one query as exponentials over a sum. Which part of it is lse, and "
        "what does one more logit change: the exponentials or the sum?",
        "share = exp(sink) / (exp(lse) + exp(sink)), which is exp(sink − logaddexp(lse, sink)) "
        "and never overflows. Every weight of a key is multiplied by 1 − share, and so is the "
        "output.",
    ),
    common_errors=(
        "Taking lse for the sum itself. It is the logarithm of the sum.",
        "Computing exp of scores in the thousands.",
        "One sink along the queries instead of one for each head.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=SHOULD_BE,
)
