"""Tokens a second with guesses that are checked in one pass."""

import numpy as np


def draft_speed(accept, draft_seconds, pass_seconds):
    # mean for k = 0 ... K
    kept = np.concatenate([[0.0], np.cumsum(np.cumprod(accept))])
    drafts = np.arange(len(pass_seconds))
    seconds = draft_seconds * drafts + pass_seconds
    return (kept + 1) / seconds


REFERENCE = draft_speed


def _seconds(draft_seconds, pass_seconds):
    return draft_seconds * np.arange(len(pass_seconds)) + pass_seconds


def _tokens(formula, more=1):
    def answer(accept, draft_seconds, pass_seconds):
        kept = np.array([formula(accept[:k]) for k in range(len(accept) + 1)], dtype=float)
        return (kept + more) / _seconds(draft_seconds, pass_seconds)

    return answer


def _in_a_row(accept):
    return np.cumprod(accept).sum()


def _taking(seconds):
    def answer(accept, draft_seconds, pass_seconds):
        kept = np.concatenate([[0.0], np.cumsum(np.cumprod(accept))])
        return (kept + 1) / seconds(np.arange(len(pass_seconds)), draft_seconds, pass_seconds)

    return answer


def _best(**inputs):
    return draft_speed(**inputs).max()


WRONG = [
    ("added", _tokens(np.sum), "by hand", "its chance is a product"),
    (
        "all or nothing",
        _tokens(lambda a: len(a) * np.prod(a)),
        "by hand",
        "every draft token is right",
    ),
    ("all right", _tokens(len), "by hand", "every draft token as right"),
    (
        "the first for all",
        _tokens(lambda a: sum(a[0] ** j for j in range(1, len(a) + 1)) if len(a) else 0),
        "random",
        "first probability",
    ),
    ("without its own token", _tokens(_in_a_row, 0), "by hand", "left out the token"),
    (
        "none if all are right",
        _tokens(lambda a: _in_a_row(a) - (np.prod(a) if len(a) else 0)),
        "by hand",
        "still supplies",
    ),
    ("guesses are free", _taking(lambda k, d, p: p), "by hand", "take no time"),
    ("one guess paid", _taking(lambda k, d, p: p + d * (k > 0)), "by hand", "one token after"),
    ("one guess too many", _taking(lambda k, d, p: p + d * (k + 1)), "by hand", "too many"),
    ("a step for a pass", _taking(lambda k, d, p: p[0] + d * k), "by hand", "without draft"),
    ("a pass for each", _taking(lambda k, d, p: p[0] * (k + 1) + d * k), "by hand", "every token"),
    ("overlapped", _taking(lambda k, d, p: np.maximum(p, d * k)), "by hand", "don't overlap"),
    ("turned round", lambda **i: 1 / draft_speed(**i), "by hand", "Turn the fraction"),
    ("tokens of a pass", _taking(lambda k, d, p: 1.0), "by hand", "tokens per pass"),
    (
        "added, without its own",
        _tokens(np.sum, 0),
        "by hand",
        "Two things",
    ),
    ("the best alone", _best, "shape", "shape"),
    ("without k = 0", lambda **i: draft_speed(**i)[1:], "shape", "shape"),
    ("a list", lambda **i: draft_speed(**i).tolist(), "type", "NumPy array"),
]
