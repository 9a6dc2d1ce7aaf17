"""The mask before the softmax."""

import numpy as np


def causal_weights(scores):
    # The mask comes before the softmax: exp(-inf) is 0, and the visible
    # keys share all the weight. Zeroed afterwards, a row would sum to
    # less than 1.
    seen = np.tril(np.ones(scores.shape, bool))
    hidden = np.where(seen, scores, -np.inf)
    # The maximum of the visible scores, as a large hidden one would
    # push them all to 0.
    weights = np.exp(hidden - hidden.max(axis=1, keepdims=True))
    return weights / weights.sum(axis=1, keepdims=True)


REFERENCE = causal_weights


def _softmax(scores, axis=1):
    top = scores.max(axis=axis, keepdims=True)
    weights = np.exp(scores - np.where(np.isneginf(top), 0, top))
    total = weights.sum(axis=axis, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def _starter(scores):
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    return np.tril(weights)


def _open(scores):
    return _softmax(scores)


def _zero_scores(scores):
    return _softmax(np.tril(scores))


def _wrong_triangle(scores):
    return _softmax(np.where(np.triu(np.ones(scores.shape, bool)), scores, -np.inf))


def _not_itself(scores):
    return _softmax(np.where(np.tril(np.ones(scores.shape, bool), -1), scores, -np.inf))


def _columns(scores):
    return _softmax(np.where(np.tril(np.ones(scores.shape, bool)), scores, -np.inf), axis=0)


def _renormalised(scores):
    weights = np.tril(_softmax(scores))
    return weights / weights.sum(axis=1, keepdims=True)


def _no_maximum(scores):
    weights = np.tril(np.exp(scores))
    return weights / weights.sum(axis=1, keepdims=True)


def _little_hidden(scores):
    return _softmax(np.where(np.tril(np.ones(scores.shape, bool)), scores, -3.0))


def _shares(scores):
    weights = np.tril(2.0**scores)
    return weights / weights.sum(axis=1, keepdims=True)


def _unnormalised(scores):
    return 0.5 * causal_weights(scores)


def _list(scores):
    return causal_weights(scores).tolist()


def _softmax_too(s, axis=-1):
    e = np.exp(s - s.max(axis=axis, keepdims=True))
    return e / e.sum(axis=axis, keepdims=True)


def _tril_scores_and_weights(scores):
    weights = _softmax_too(np.tril(scores))
    return np.tril(weights)


def _hides_itself(scores):
    hidden = np.tril(np.ones(scores.shape), -1) == 0
    hidden[0, 0] = False
    return _softmax_too(np.where(hidden, -np.inf, scores))


def _minus_100(scores):
    seen = np.tril(np.ones(scores.shape)) == 1
    return _softmax_too(np.where(seen, scores, -100.0))


def _zeros_hidden(scores):
    seen = np.tril(scores)
    return _softmax_too(np.where(seen == 0, -np.inf, seen))


WRONG = [
    ("starter: after the softmax", _starter, "by hand", "took its share"),
    ("nothing hidden", _open, "by hand", "Nothing is hidden"),
    ("scores of 0", _zero_scores, "by hand", "e to the 0"),
    ("wrong triangle", _wrong_triangle, "by hand", "wrong one"),
    ("itself unseen", _not_itself, "by hand", "doesn't see itself"),
    ("columns", _columns, "by hand", "columns sum to 1"),
    ("renormalised", _renormalised, "finite", "among hidden keys too"),
    ("no maximum", _no_maximum, "finite", "overflows"),
    ("hidden a little", _little_hidden, "by hand", "later position"),
    ("another base", _shares, "by hand", "aren't the weights of the softmax"),
    ("half", _unnormalised, "by hand", "should sum to 1"),
    ("a list", _list, "type", "NumPy array"),
    ("scores and weights cut", _tril_scores_and_weights, "by hand", "doesn't give it back"),
    ("own place hidden", _hides_itself, "by hand", "doesn't see itself"),
    ("hidden scores are -100", _minus_100, "property", "may be lower still"),
    ("scores that are 0 hidden", _zeros_hidden, "by hand", "happens to be 0"),
    ("10,000 less", lambda scores: _softmax_too(scores - 1e4 * np.triu(np.ones(scores.shape), 1)),
     "edges", "may lead by more"),
    ("own place hidden, with a low score", lambda scores: _softmax_too(
        np.where(np.tri(len(scores), k=-1), scores, -1e30)), "by hand", "doesn't see itself"),
    ("transposed", lambda scores: causal_weights(scores).T, "by hand", "changed places"),
    ("sums over the queries", lambda scores: np.tril(_softmax(scores)) / np.tril(
        _softmax(scores)).sum(axis=0), "by hand", "sums over the queries"),
]  # fmt: skip
