"""Gated means of complete spans, and who may read them."""

import numpy as np


def _entries(values, gates, span, axis=1, sign=1):
    spans = len(values) // span
    shape = (spans, span, values.shape[1])
    values = values[: spans * span].reshape(shape)
    gates = sign * gates[: spans * span].reshape(shape)
    # the largest gate of each number becomes 0: exp cannot overflow
    gates = gates - gates.max(axis=axis, keepdims=True, initial=-np.inf)
    shares = np.exp(gates) / np.exp(gates).sum(axis=axis, keepdims=True)
    return (shares * values).sum(axis=1)


def _seen(n, span, first=None):
    last = (np.arange(n // span) + 1) * span - 1
    reads = last if first is None else first(last)
    return np.arange(n)[:, None] >= reads


def span_entries(values, gates, span):
    entries = _entries(values, gates, span)
    # an entry can be read once the last token of its span is there
    return entries, _seen(len(values), span)


REFERENCE = span_entries


def _starter(values, gates, span):
    raise NotImplementedError


def _made(make):
    """Other entries and the right mask."""

    def answer(values, gates, span):
        return make(values, gates, span), _seen(len(values), span)

    return answer


def _read(first):
    """The right entries and another mask."""

    def answer(values, gates, span):
        seen = _seen(len(values), span, lambda last: first(last, span))
        return _entries(values, gates, span), seen

    return answer


def _parts(x, span):
    return x[: len(x) // span * span].reshape(len(x) // span, span, -1)


def _naive(values, gates, span):
    gates = np.exp(_parts(gates, span))
    return (gates * _parts(values, span)).sum(1) / gates.sum(1)


def _whole(values, gates, span):
    shares = np.exp(gates - gates.max(0))
    return (_parts(shares / shares.sum(0), span) * _parts(values, span)).sum(1)


def _one_gate(values, gates, span):
    return _entries(values, np.repeat(gates.mean(1, keepdims=True), gates.shape[1], 1), span)


def _largest(values, gates, span):
    at = _parts(gates, span).argmax(1)[:, None]
    return np.take_along_axis(_parts(values, span), at, 1)[:, 0]


def _open_too(values, gates, span):
    entries, seen = span_entries(values, gates, span)
    if len(values) % span:
        entries = np.vstack([entries, values[-(len(values) % span) :].mean(0)])
        seen = np.hstack([seen, np.zeros((len(seen), 1), bool)])
    return entries, seen


def _own(values, gates, span):
    own = np.arange(len(values))[:, None] // span == np.arange(len(values) // span)
    return _entries(values, gates, span), own


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("entries alone", lambda **given: span_entries(**given)[0], "type", "Return 2 arrays"),
    ("overflow", _made(_naive), "finite", "overflowed"),
    ("plain mean", _made(lambda v, g, span: _parts(v, span).mean(1)), "by hand", "plain mean"),
    ("over the numbers", _made(lambda v, g, span: _entries(v, g, span, axis=2)), "by hand",
     "over the numbers"),
    ("over the text", _made(_whole), "by hand", "all tokens of the text"),
    ("over both", _made(lambda v, g, span: _entries(v, g, span, axis=(1, 2))), "by hand",
     "together"),
    ("one gate", _made(_one_gate), "by hand", "one gate"),
    ("divided again", _made(lambda v, g, span: _entries(v, g, span) / span), "by hand",
     "once more"),
    ("raw gates", _made(lambda v, g, span: _parts(v * g, span).sum(1)), "by hand",
     "gates themselves"),
    ("the wrong way around", _made(lambda v, g, span: _entries(v, g, span, sign=-1)), "by hand",
     "wrong way around"),
    ("the largest", _made(_largest), "by hand", "largest gate"),
    ("the last", _made(lambda v, g, span: _parts(v, span)[:, -1]), "by hand", "last token alone"),
    ("from the first token", _read(lambda last, span: last - span + 1), "by hand",
     "still to come"),
    ("a token later", _read(lambda last, span: last + 1), "by hand", "already read its entry"),
    ("a span later", _read(lambda last, span: last + span), "by hand", "one span later"),
    ("every entry", _read(lambda last, span: last - last), "by hand", "every entry"),
    ("its own span", _own, "by hand", "own span"),
    ("open spans too", _open_too, "shape", "shape"),
    ("half", _made(lambda v, g, span: 0.5 * _entries(v, g, span) + 0.1), "by hand",
     "weighted for each number"),
]  # fmt: skip
