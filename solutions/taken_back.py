"""The merge of two parts, solved for one of them."""

import numpy as np


def taken_back(out, lse, part, part_lse):
    share = np.exp(part_lse - lse)[:, None]  # of the weight, what goes
    rest = (out - share * part) / (1 - share)
    return rest, lse + np.log1p(-share[:, 0])


REFERENCE = taken_back


def _starter(out, lse, part, part_lse):
    raise NotImplementedError


def _out(make):
    """Another output, the right sum."""

    def answer(out, lse, part, part_lse):
        _, rest_lse = taken_back(out, lse, part, part_lse)
        with np.errstate(all="ignore"):
            return make(out, part, np.exp(part_lse - lse)[:, None]), rest_lse

    return answer


def _sum(make):
    """Another sum, the right output."""

    def answer(out, lse, part, part_lse):
        rest, _ = taken_back(out, lse, part, part_lse)
        with np.errstate(all="ignore"):
            return rest, make(lse, part_lse)

    return answer


def _column(out, lse, part, part_lse):
    rest, rest_lse = taken_back(out, lse, part, part_lse)
    return rest, rest_lse[:, None]


def _no_axis(out, lse, part, part_lse):
    share = np.exp(part_lse - lse)
    return (out - share * part) / (1 - share), lse + np.log1p(-share)


def _in_place(out, lse, part, part_lse):
    share = np.exp(part_lse - lse)
    out -= share[:, None] * part
    out /= (1 - share)[:, None]
    lse += np.log1p(-share)
    return out, lse


def _empty(out, lse, part, part_lse):
    """Zeros and -inf where nothing goes."""
    rest, rest_lse = taken_back(out, lse, part, part_lse)
    gone = np.isneginf(part_lse)
    return np.where(gone[:, None], 0.0, rest), np.where(gone, -np.inf, rest_lse)


def _base_two(out, lse, part, part_lse):
    share = np.exp2(part_lse - lse)
    return (out - share[:, None] * part) / (1 - share)[:, None], lse + np.log2(1 - share)


def _by_part(out, lse, part, part_lse):
    with np.errstate(all="ignore"):
        more = np.exp(lse - part_lse) - 1
        return ((more + 1)[:, None] * out - part) / more[:, None], part_lse + np.log(more)


def _one_reference(out, lse, part, part_lse):
    with np.errstate(all="ignore"):
        a, b = np.exp(lse - lse.max())[:, None], np.exp(part_lse - lse.max())[:, None]
        return (a * out - b * part) / (a - b), lse.max() + np.log(a - b)[:, 0]


WRONG = [
    ("in place", _in_place, "repeatable", "should stay as passed in"),
    ("nothing goes", _empty, "finite", "nothing is taken"),
    ("base 2", _base_two, "by hand", "base 2"),
    ("from the part", _by_part, "finite", "reference is part_lse"),
    ("one reference", _one_reference, "finite", "share one reference"),
    ("the mean", _out(lambda out, part, share: 2 * out - part), "by hand", "same weight"),
    ("multiplied", _out(lambda out, part, share: (1 - share) * (out - share * part)), "by hand",
     "divide"),
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("output alone", lambda **given: taken_back(**given)[0], "type", "Return 2 arrays"),
    ("a column", _column, "shape", "rest_lse should have shape"),
    ("along the values", _no_axis, "runs", "broadcast"),
    ("the part whole", _out(lambda out, part, share: out - part), "by hand", "subtract the "
                                                                             "whole part"),
    ("not divided", _out(lambda out, part, share: out - share * part), "by hand", "sum to less"),
    ("the part whole, divided", _out(lambda out, part, share: (out - part) / (1 - share)),
     "by hand", "before the division"),
    ("exchanged", _out(lambda out, part, share: (out - (1 - share) * part) / share),
     "by hand", "swapped"),
    ("merged again", _out(lambda out, part, share: share * part + (1 - share) * out), "by hand",
     "once more"),
    ("divided by what goes", _out(lambda out, part, share: (out - share * part)
                                  / share), "by hand", "share that goes"),
    ("only smaller", _out(lambda out, part, share: out * (1 - share)), "by hand", "still in "
                                                                                  "your output"),
    ("only larger", _out(lambda out, part, share: out / (1 - share)), "by hand", "have grown"),
    ("as it was", _out(lambda out, part, share: out), "by hand", "hasn't changed"),
    ("once the difference", _out(lambda out, part, share: out + share * (out - part)), "by hand",
     "Solve the merge"),
    ("overflow", _sum(lambda lse, part: np.log(np.exp(lse) - np.exp(part))), "finite",
     "in the thousands"),
    ("logarithms", _sum(lambda lse, part: lse - np.where(np.isinf(part), 0, part)), "by hand",
     "subtract logarithms"),
    ("added", _sum(np.logaddexp), "by hand", "add the part once more"),
    ("the change", _sum(lambda lse, part: np.log1p(-np.exp(part - lse))), "by hand",
     "the change of lse"),
    ("grown", _sum(lambda lse, part: lse - np.log1p(-np.exp(part - lse))), "by hand", "has grown"),
    ("lse as it was", _sum(lambda lse, part: lse), "by hand", "is smaller now"),
]  # fmt: skip
