"""Attention without some of its tokens, from the attention with them."""

import numpy as np


def forget_keys(out, lse, scores, values):
    gone = np.exp(scores - lse)  # the weights they had
    rest = 1 - gone.sum()
    return (out - gone @ values) / rest, lse + np.log(rest)


REFERENCE = forget_keys


def _with_out(formula):
    def answer(out, lse, scores, values):
        gone = np.exp(scores - lse)
        return formula(out, gone, values), forget_keys(out, lse, scores, values)[1]

    return answer


def _with_lse(formula):
    def answer(out, lse, scores, values):
        return forget_keys(out, lse, scores, values)[0], formula(lse, scores)

    return answer


def _own(gone):
    return gone / max(gone.sum(), 1e-300)


def _direct(out, lse, scores, values):
    with np.errstate(all="ignore"):
        total, terms = np.exp(lse), np.exp(scores)
        rest = total - terms.sum()
        return (total * out - terms @ values) / rest, np.log(rest)


def _subtracted_logs(lse, scores):
    top = scores.max(initial=-np.inf)
    return lse - (top + np.log(np.exp(scores - top).sum())) if len(scores) else lse


def _swapped(out, lse, scores, values):
    out, lse = forget_keys(out, lse, scores, values)
    return lse, out


def _both_forgotten(out, lse, scores, values):
    return out - np.exp(scores - lse) @ values, lse


def _in_place(out, lse, scores, values):
    out -= np.exp(scores - lse) @ values
    out /= 1 - np.exp(scores - lse).sum()
    return out, forget_keys(out, lse, scores, values)[1]


WRONG = [
    ("not divided", _with_out(lambda o, g, v: o - g @ v), "by hand", "sum to 1 any more"),
    (
        "multiplied",
        _with_out(lambda o, g, v: (o - g @ v) * (1 - g.sum())),
        "by hand",
        "multiply the rest",
    ),
    ("only divided", _with_out(lambda o, g, v: o / (1 - g.sum())), "by hand", "still in it"),
    ("the old output", _with_out(lambda o, g, v: o), "by hand", "the old one"),
    (
        "weights of their own",
        _with_out(lambda o, g, v: (o - _own(g) @ v) / (1 - g.sum())),
        "by hand",
        "removed tokens alone",
    ),
    (
        "their own, not divided",
        _with_out(lambda o, g, v: o - _own(g) @ v),
        "by hand",
        "Two things",
    ),
    (
        "weights of 1",
        _with_out(lambda o, g, v: (o - v.sum(axis=0)) / (1 - g.sum())),
        "by hand",
        "weight of 1",
    ),
    (
        "added once more",
        _with_out(lambda o, g, v: (o + g @ v) / (1 - g.sum())),
        "by hand",
        "add the removed tokens",
    ),
    ("the old lse", _with_lse(lambda lse, s: lse), "by hand", "smaller now"),
    ("both half", _both_forgotten, "by hand", "smaller now"),
    ("logarithms subtracted", _with_lse(_subtracted_logs), "by hand", "divides the sums"),
    (
        "share subtracted",
        _with_lse(lambda lse, s: lse - np.exp(s - lse).sum()),
        "by hand",
        "lse itself",
    ),
    (
        "added to the sum",
        _with_lse(lambda lse, s: lse + np.log1p(np.exp(s - lse).sum())),
        "by hand",
        "Subtract them",
    ),
    ("a logarithm of base 2", _with_lse(lambda lse, s: lse / np.log(2)), "by hand", "should be"),
    ("exponentials of scores", _direct, "finite", "relative to"),
    ("out alone", lambda **i: forget_keys(**i)[0], "type", "Return 2 arrays"),
    ("swapped", _swapped, "shape", "shape"),
    ("whole numbers", lambda **i: (i["out"].astype(int), i["lse"]), "dtype", "float"),
]
