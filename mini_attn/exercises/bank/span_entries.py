"""Write the entries that stand for several tokens, and who may read them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
A layer keeps one entry for every `span` tokens. Each token has `values` `(n, width)` and `gates`
`(n, width)`. For each number of an entry, the values of the span's tokens are averaged, weighted by
the softmax of that number's gates over these tokens. A span has an entry once its last token is
there, and a token can read an entry from then on: the span's last token is the first that can.
Return `entries` `(n // span, width)` and `seen` `(n, n // span)`, True where the query of a row can
read the entry of a column. Gates can be in the thousands, and `n` can be smaller than `span`.
"""
STARTER = '''
def span_entries(values, gates, span):
    """Entries of complete spans, and which queries can read them."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(rng: np.random.Generator, n: int, width: int, span: int, size: float = 1.5) -> Inputs:
    values, gates = rng.standard_normal((2, n, width))
    return {"values": values, "gates": size * gates, "span": span}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: five tokens in spans of two. The property: no entry before its span is complete."""
    hand = {
        "values": np.array([[1.0, 10.0], [3.0, 20.0], [5.0, 30.0], [9.0, 50.0], [2.0, 7.0]]),
        "gates": np.array([[0.0, 1.0], [0.0, 0.0], [2.0, 0.0], [0.0, -1.0], [1.0, 1.0]]),
        "span": 2,
    }
    large = _case(rng, 9, 3, 3, size=2000.0)
    return {
        "by hand": [hand],
        "random": [_case(rng, 8, 3, 4), _case(rng, 14, 2, 3)],
        "property": [_case(rng, 11, 4, 4), _case(rng, 7, 2, 5)],
        "edges": [large, _case(rng, 3, 2, 4), _case(rng, 4, 2, 1), _case(rng, 6, 1, 6)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A row for each complete span; a column for each in the mask."""
    n, width = inputs["values"].shape
    spans = n // inputs["span"]
    return {"entries": ((spans, width), "f"), "seen": ((n, spans), "b")}


def _softmax(gates: Array, axis: Any) -> Array:
    shares = np.exp(gates - gates.max(axis=axis, keepdims=True, initial=-np.inf))
    return np.asarray(shares / shares.sum(axis=axis, keepdims=True))


def _spans(inputs: Inputs, name: str) -> Array:
    """Rows of complete spans, (spans, span, width)."""
    rows, span = inputs[name], inputs["span"]
    spans = len(rows) // span
    return np.asarray(rows[: spans * span].reshape(spans, span, rows.shape[1]))


def _seen(inputs: Inputs, end: int = 0, late: int = 0) -> Array:
    """Return who reads an entry, from so many tokens after its span's end or begin."""
    n, span = len(inputs["values"]), inputs["span"]
    first = np.arange(n // span) * span + (span - 1 if not end else 0) + late
    return np.asarray(np.arange(n)[:, None] >= first)


def right(inputs: Inputs) -> dict[str, Array]:
    """Gated means, and a mask by the spans' last tokens."""
    shares = _softmax(_spans(inputs, "gates"), 1)
    return {"entries": (shares * _spans(inputs, "values")).sum(axis=1), "seen": _seen(inputs)}


def slips(inputs: Inputs) -> Slips:
    """Return what either output would be with one idea missing."""
    values, gates, span = _spans(inputs, "values"), _spans(inputs, "gates"), inputs["span"]
    shares = _softmax(gates, 1)
    every = _softmax(inputs["gates"], 0)[: values.shape[0] * span].reshape(values.shape)
    one = _softmax(gates.mean(axis=2, keepdims=True), 1)
    n, width = inputs["values"].shape
    strided = None
    if n % span == 0:
        turned = inputs["values"].reshape(span, n // span, width)
        strided = (_softmax(inputs["gates"].reshape(turned.shape), 0) * turned).sum(axis=0)
    entries = [
        (values.mean(axis=1), "Your entry is the plain mean. The gates decide how much each token "
         "counts."),
        ((_softmax(gates, 2) * values).sum(axis=1), "Your softmax runs over the numbers of a "
         "token. It should run over the tokens of a span, for each number by itself."),
        ((every * values).sum(axis=1), "Your softmax runs over all tokens of the text. The shares "
         "of one span should sum to 1."),
        ((one * values).sum(axis=1), "You used one gate for all numbers of a token. Each number "
         "has its own."),
        ((shares * values).mean(axis=1), "Your entries are divided by the span once more. The "
         "shares sum to 1 already."),
        ((gates * values).sum(axis=1), "You weighted by the gates themselves. The weights are "
         "their softmax."),
        (values.sum(axis=1), "You added the values up. An entry is a mean, weighted by the "
         "softmax of the gates."),
        ((_softmax(gates, (1, 2)) * values).sum(axis=1), "Your softmax runs over tokens and "
         "numbers together. Each number has its own, over the tokens of the span."),
        ((_softmax(-gates, 1) * values).sum(axis=1), "Your gates work the wrong way around: a "
         "larger gate should give a larger share."),
        (np.take_along_axis(values, gates.argmax(axis=1)[:, None], 1)[:, 0], "You took the value "
         "with the largest gate. The others have their shares too."),
        (strided, "Your spans collect tokens that are far apart. A span is `span` successive "
         "tokens."),
        (values[:, -1], "Your entry is the span's last token alone."),
    ]  # fmt: skip
    masks = [
        (_seen(inputs, end=1), "Your queries can read an entry as soon as its span begins. Then "
         "they see tokens that are still to come."),
        (_seen(inputs, late=1), "The span's last token can already read its entry. Yours can't."),
        (_seen(inputs, end=1, late=1), "Your queries can read an entry from the span's second "
         "token on. It isn't complete yet."),
        (_seen(inputs, late=span), "Your queries can read an entry only one span later."),
        (np.ones_like(_seen(inputs)), "In your mask every query can read every entry, also those "
         "of later spans."),
        (~_seen(inputs), "Your mask is the wrong way around: True is where a query can read."),
        (np.arange(n)[:, None] // span == np.arange(n // span), "In your mask a query reads the "
         "entry of its own span only. It can read all complete ones."),
        ((np.arange(n)[:, None] + 1) // span - 1 == np.arange(n // span), "In your mask a query "
         "reads the newest complete entry alone. It can read the earlier ones too."),
    ]  # fmt: skip
    return [
        *((None if made is None else {"entries": made}, idea) for made, idea in entries),
        *(({"seen": made}, idea) for made, idea in masks),
    ]


EXERCISE = Exercise(
    id="span_entries",
    page="shared-layers",
    title="Entries, and who can read them",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="Entries that stand for several tokens",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Drop the tokens of the last span if it isn't complete. Give the rest an axis for the "
        "spans and one for the tokens within.",
        "Softmax over the axis of the tokens, after subtracting its maximum. The entry of span s "
        "can be read from position (s + 1) · span − 1 on.",
    ),
    common_errors=(
        "A softmax over all tokens, or over the numbers of one token.",
        "Letting a query read the entry of a span that isn't complete: it has seen the future.",
        "Computing exp of gates in the thousands.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom={
        "entries": "An entry is the mean of its span's values, weighted for each number by the "
        "softmax of that number's gates over the span's tokens.",
        "seen": "An entry can be read from its span's last token on.",
    },
)
