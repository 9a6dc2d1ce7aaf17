"""The backward pass of attention whose keys are its values, with learned temperatures."""

import numpy as np


def attention_gradient(q, c, t, d_out):
    # Forward again, since the backward pass needs the weights.
    scale = 1 / (np.sqrt(c.shape[1]) * t[:, None])  # (q_len, 1)
    scores = scale * (q @ c.T)  # (q_len, kv_len)
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights / weights.sum(axis=1, keepdims=True)
    # Backward, from the output: c is the values here, so its transpose
    # takes d_out back.
    d_weights = d_out @ c.T  # (q_len, kv_len)
    # The softmax only shifts weight among the keys of a row, so a
    # gradient that all its keys share moves nothing: it's taken off.
    mean = (d_weights * weights).sum(axis=1, keepdims=True)
    d_scores = weights * (d_weights - mean)
    back = scale * d_scores
    # c is read twice, and the gradients of the two uses add up.
    d_c = weights.T @ d_out + back.T @ q  # as values, and as keys
    return back @ c, d_c, -(d_scores * scores).sum(axis=1) / t


REFERENCE = attention_gradient


def _variant(*, d_scores=None, root=1, warmth=1, values=1.0, keys=1.0, d_t=None, stable=True):
    """The reference with one thing changed."""

    def answer(q, c, t, d_out):
        scores = q @ c.T / np.sqrt(c.shape[1]) / t[:, None]
        weights = np.exp(scores - (scores.max(axis=1, keepdims=True) if stable else 0))
        weights = weights / weights.sum(axis=1, keepdims=True)
        d_weights = d_out @ c.T
        right = weights * (d_weights - (d_weights * weights).sum(axis=1, keepdims=True))
        through = d_scores(weights, d_weights) if d_scores else right
        back = through / np.sqrt(c.shape[1]) ** root / t[:, None] ** warmth
        d_c = values * weights.T @ d_out + keys * back.T @ q
        last = d_t(through, scores, t) if d_t else -(through * scores).sum(axis=1) / t
        return back @ c, d_c, last

    return answer


def _starter(q, c, t, d_out):
    raise NotImplementedError


def _transposed(q, c, t, d_out):
    d_q, d_c, d_t = attention_gradient(q, c, t, d_out)
    return d_q, d_c.T, d_t


def _swapped(q, c, t, d_out):
    d_q, d_c, d_t = attention_gradient(q, c, t, d_out)
    return d_t, d_q, d_c


def _one(q, c, t, d_out):
    return attention_gradient(q, c, t, d_out)[0]


def _one_temperature(q, c, t, d_out):
    d_q, d_c, d_t = attention_gradient(q, c, t, d_out)
    return d_q, d_c, np.full_like(d_t, d_t.sum())


def _as_in_the_chapter(q, c, t, d_out):
    """Forward and back as if there were no temperatures."""
    d_q, d_c, d_t = attention_gradient(q, c, np.ones_like(t), d_out)
    return d_q, d_c, 0 * d_t


def _plain_mean(w, d):
    return w * (d - d.mean(axis=1, keepdims=True))


def _over_queries(w, d):
    return w * (d - (w * d).sum(axis=0, keepdims=True))


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("values alone", _variant(keys=0.0), "by hand", "only what comes back through the values"),
    ("keys alone", _variant(values=0.0), "by hand", "only what comes back through the keys"),
    ("half of each", _variant(values=0.5, keys=0.5), "by hand", "Add the two up"),
    ("no root", _variant(root=0), "by hand", "root of the size is missing"),
    ("root twice", _variant(root=2), "by hand", "there twice"),
    ("no temperature", _variant(warmth=0), "by hand", "as if all temperatures were 1"),
    ("times the temperature", _variant(warmth=-1), "by hand", "multiplies"),
    ("diagonal", _variant(d_scores=lambda w, d: w * (1 - w) * d), "by hand", "own weight only"),
    ("no mean", _variant(d_scores=lambda w, d: w * d), "by hand", "own weight only"),
    ("no softmax", _variant(d_scores=lambda w, d: d), "by hand", "softmax lies between"),
    ("plain mean", _variant(d_scores=_plain_mean), "by hand", "plain mean"),
    ("over the queries", _variant(d_scores=_over_queries), "by hand", "mean over the queries"),
    (
        "sign of d_t",
        _variant(d_t=lambda s, scores, t: (s * scores).sum(axis=1) / t),
        "by hand",
        "sign of d_t",
    ),
    (
        "d_t not divided",
        _variant(d_t=lambda s, scores, t: -(s * scores).sum(axis=1)),
        "by hand",
        "isn't divided by t",
    ),
    (
        "d_t divided twice",
        _variant(d_t=lambda s, scores, t: -(s * scores).sum(axis=1) / t**2),
        "by hand",
        "once too often",
    ),
    ("d_t of zeros", _variant(d_t=lambda s, scores, t: 0 * t), "by hand", "d_t is 0"),
    ("one d_t for all", _one_temperature, "random", "its own temperature"),
    (
        "values alone, no root",
        _variant(keys=0.0, root=0),
        "by hand",
        "Two things",
    ),
    ("no temperatures at all", _as_in_the_chapter, "by hand", "should be"),
    ("overflow", _variant(stable=False), "finite", "NaN"),
    ("transposed", _transposed, "shape", "d_c should have shape"),
    ("order", _swapped, "shape", "d_q should have shape"),
    ("one of three", _one, "type", "3 arrays"),
]
