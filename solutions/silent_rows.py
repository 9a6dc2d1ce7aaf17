"""The lse of an empty span is minus infinity, and a merge of empty spans has a guard."""

import numpy as np


def split_attention(q, k, v, seen, span):
    # A span in which a query sees nothing must get no share in the
    # merge.
    outs, sums = [], []
    for start in range(0, len(k), span):
        some = slice(start, start + span)
        scores = np.where(seen[:, some], q @ k[some].T / np.sqrt(q.shape[1]), -np.inf)
        top = scores.max(axis=1)
        # -inf minus -inf is NaN. The guards replace the maximum and the
        # sum in empty rows...
        empty = np.isneginf(top)
        top = np.where(empty, 0.0, top)  # for the exponents
        weights = np.exp(scores - top[:, None])
        total = np.where(empty, 1.0, weights.sum(axis=1))
        outs.append(weights @ v[some] / total[:, None])
        # ... but the lse has to stay -inf: any finite number, however
        # low, can be larger than the true one of a row with low scores.
        sums.append(np.where(empty, -np.inf, top + np.log(total)))
    # The merge needs the same guard, for a row that's empty in every
    # span.
    lse = np.array(sums)
    best = lse.max(axis=0)
    shares = np.exp(lse - np.where(np.isneginf(best), 0.0, best))
    whole = shares.sum(axis=0)
    shares = shares / np.where(whole == 0, 1.0, whole)
    return (shares[:, :, None] * np.array(outs)).sum(axis=0)


REFERENCE = split_attention


def _spans(empty=-np.inf, hidden=-np.inf, scale=True, own=True, top=True, late=False, guard=True,
           merge="right"):  # fmt: skip
    """The function with something done otherwise; without a guard in the merge, if asked."""

    def answer(q, k, v, seen, span):
        outs, sums = [], []
        with np.errstate(all="ignore"):
            for start in range(0, len(k), span):
                some = slice(start, start + span)
                scores = plain = q @ k[some].T / (np.sqrt(q.shape[1]) if scale else 1)
                if hidden is not None:
                    scores = np.where(seen[:, some], scores, hidden)
                best = (plain if late else scores).max(axis=1) * (1 if top else 0)
                best = best if top else np.zeros_like(best)
                best = best if own else np.full_like(best, best.max())
                best = np.where(np.isneginf(best), 0.0, best)
                weights = np.exp(scores - best[:, None])
                total = weights.sum(axis=1)
                blank, total = total == 0, np.where(total == 0, 1.0, total)
                outs.append(weights @ v[some] / total[:, None])
                lse = best + np.log(total)
                if empty == "nobody":
                    lse = lse if seen[:, some].any() else np.full_like(lse, -np.inf)
                elif empty == "zero lse":
                    lse = np.where(lse == 0, -np.inf, lse)
                elif empty == "zero out":
                    lse = np.where((outs[-1] == 0).all(axis=1), -np.inf, lse)
                else:
                    lse = np.where(blank, empty, lse)
                sums.append(lse)
            lse = np.array(sums)
            best = lse.max(axis=0)
            best = np.full_like(best, best.max()) if merge == "shared" else best
            best = np.where(np.isneginf(best), 0.0, best) if guard else best
            shares = np.exp(lse - (0 if merge == "no maximum" else best))
            if merge == "too late":
                shares = np.exp(lse - np.where(np.isneginf(lse), 0.0, lse).max(axis=0))
            shares = np.isfinite(lse).astype(float) if merge == "even" else shares
            whole = shares.sum(axis=0)
            shares = shares / (np.where(whole == 0, 1.0, whole) if guard else whole)
            return (shares[:, :, None] * np.array(outs)).sum(axis=0)

    return answer


def _zeros_for_nan(q, k, v, seen, span):
    out = split_attention(q, k, v, seen, span)
    for start in range(0, len(k), span):
        out = np.where(seen[:, start : start + span].any(axis=1)[:, None], out, 0.0)
    return out


def _mean_of_none(q, k, v, seen, span):
    out = split_attention(q, k, v, seen, span)
    return np.where(seen.any(axis=1)[:, None], out, v.mean(axis=0))


def _not_started(q, k, v, seen, span):
    raise NotImplementedError


def _rows_of_one(q, k, v, seen, span):
    return split_attention(q, k, v, seen, span)[0]


WRONG = [
    ("not started", _not_started, "attempted", "NotImplementedError"),
    ("starter", _spans(empty=0.0), "by hand", "returns lse = 0"),
    ("a low number", _spans(empty=-1e4), "edges", "a low number instead"),
    ("-500", _spans(empty=-500.0), "by hand", "a low number instead"),
    ("-5e4", _spans(empty=-5e4), "edges", "a low number instead"),
    ("-1e30", _spans(empty=-1e30), "edges", "a low number instead"),
    ("maximum too late", _spans(merge="too late"), "by hand", "over empty spans too"),
    ("above all", _spans(empty=np.inf), "finite", "not +∞"),
    ("spans of nobody", _spans(empty="nobody"), "by hand", "empty for just one"),
    ("by lse", _spans(empty="zero lse"), "property", "with lse = 0 as empty"),
    ("by output", _spans(empty="zero out"), "property", "with an output of zeros"),
    ("no guard in the merge", _spans(guard=False), "finite", "needs a guard as well"),
    ("zeros for NaN", _zeros_for_nan, "by hand", "whatever the other"),
    ("one maximum", _spans(own=False), "edges", "share one maximum"),
    ("one maximum in the merge", _spans(merge="shared"), "edges", "share one maximum"),
    ("no maximum in the merge", _spans(merge="no maximum"), "by hand", "without subtracting "
                                                                       "a maximum"),
    ("no maximum", _spans(top=False), "by hand", "without subtracting a maximum"),
    ("even", _spans(merge="even"), "by hand", "nonempty span the same"),
    ("masked late", _spans(late=True), "property", "over hidden keys too"),
    ("no mask", _spans(hidden=None), "by hand", "lost the mask"),
    ("hidden at 0", _spans(hidden=0.0), "by hand", "the score 0"),
    ("hidden at -1e9", _spans(hidden=-1e9), "edges", "a low score instead"),
    ("mean of none", _mean_of_none, "edges", "a mean of the values"),
    ("no scale", _spans(scale=False), "random", "scale"),
    ("one row", _rows_of_one, "shape", "shape"),
    ("half repaired: no scale", _spans(empty=0.0, scale=False), "by hand", "returns lse = 0"),
]  # fmt: skip
