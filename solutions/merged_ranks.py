"""One base for all: natural logarithms, before they are compared."""

import numpy as np


def merged_ranks(outs, lses):
    # lses are base-2 logarithms: log2(s) * ln(2) = ln(s). Converted
    # at the door, all that follows can be in natural logarithms.
    lses = lses * np.log(2)
    top = lses.max(axis=0)
    parts = np.exp(lses - top)
    total = parts.sum(axis=0)
    out = (parts[..., None] * outs).sum(axis=0) / total[:, None]
    return out, top + np.log(total)


REFERENCE = merged_ranks


def _powers(base, told):
    """Powers of a base for the shares, and a rule for the logarithm."""

    def answer(outs, lses):
        top = lses.max(axis=0)
        parts = base ** (lses - top)
        total = parts.sum(axis=0)
        out = (parts[..., None] * outs).sum(axis=0) / total[:, None]
        return out, told(top, total)

    return answer


def _natural(top, total):
    return np.log(2) * (top + np.log2(total))


def _shared(make):
    """Other shares, and the right logarithm."""

    def answer(outs, lses):
        share = make(lses)
        return (share[..., None] * outs).sum(axis=0), merged_ranks(outs, lses)[1]

    return answer


def _naive(outs, lses):
    with np.errstate(all="ignore"):
        plain = 2.0**lses
        return (plain[..., None] * outs).sum(axis=0) / plain.sum(axis=0)[:, None], np.log(
            plain.sum(axis=0)
        )


WRONG = [
    ("starter", _powers(np.e, lambda top, total: top + np.log(total)), "by hand", "same fault"),
    ("logarithm alone", _powers(np.e, lambda top, total: np.log(2) * (top + np.log2(total))),
     "by hand", "powers of e"),
    ("shares alone", _powers(2.0, lambda top, total: top + np.log2(total)), "by hand",
     "still in base 2"),
    ("mixed", _powers(2.0, lambda top, total: top + np.log(total)), "by hand", "adds a base-2"),
    ("mixed the other way", _powers(2.0, lambda top, total: np.log(2) * top + np.log2(total)),
     "by hand", "adds a natural"),
    ("the top", _powers(2.0, lambda top, total: np.log(2) * top), "by hand", "largest part"),
    ("divided", lambda outs, lses: merged_ranks(outs, lses / np.log(2) ** 2), "by hand",
     "multiply"),
    ("base 10", _powers(10.0, _natural), "by hand", "powers of 10"),
    ("average", _shared(lambda lses: np.full(lses.shape, 1 / len(lses))), "by hand", "average"),
    ("the largest", _shared(lambda lses: (lses == lses.max(axis=0)) * 1.0), "by hand",
     "largest sum alone"),
    ("added", _shared(lambda lses: np.ones(lses.shape)), "by hand", "add up the outputs"),
    ("no maximum", _naive, "finite", "overflow"),
    ("the output alone", lambda outs, lses: merged_ranks(outs, lses)[0], "type", "2 arrays"),
    ("half", lambda outs, lses: (0.3 * merged_ranks(outs, lses)[0], merged_ranks(outs, lses)[1]),
     "by hand", "its part of the sum"),
]  # fmt: skip
