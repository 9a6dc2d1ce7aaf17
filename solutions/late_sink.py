"""A sink from log-sum-exp alone."""

import numpy as np


def late_sink(out, lse, sink):
    # the sum of the softmax, the sink included
    whole = np.logaddexp(lse, sink[:, None])
    share = np.exp(sink[:, None] - whole)
    return share, out * (1 - share)[..., None]


REFERENCE = late_sink


def _shared(make):
    """Another share, and the output that goes with it."""

    def answer(out, lse, sink):
        with np.errstate(all="ignore"):
            share = make(lse, sink[:, None])
        return share, out * (1 - share)[..., None]

    return answer


def _kept(make):
    """The right share, another output."""

    def answer(out, lse, sink):
        share, _ = late_sink(out, lse, sink)
        return share, make(out, share[..., None])

    return answer


def _starter(out, lse, sink):
    raise NotImplementedError


def _naive(lse, sink):
    return np.exp(sink) / (np.exp(lse) + np.exp(sink))


def _queries(out, lse, sink):
    """Broadcast along the queries, which fails unless there are as many as heads."""
    share = np.exp(sink - np.logaddexp(lse, sink))
    return share, out * (1 - share)[..., None]


def _with_axis(out, lse, sink):
    share, new_out = late_sink(out, lse, sink)
    return share[..., None], new_out


def _added(out, share):
    return out * (1 - share) + share


def _one_maximum(lse, sink):
    top = max(lse.max(), sink.max())
    return _naive(lse - top, sink - top)


def _clipped(lse, sink):
    return _naive(np.clip(lse, -700, 700), np.clip(sink, -700, 700))


def _empty_is_0(lse, sink):
    return np.where(np.isneginf(lse), 0, np.exp(sink - np.logaddexp(lse, sink)))


def _sigmoid(lse, sink):
    return np.exp(sink - lse) / (1 + np.exp(sink - lse))


def _logit_as_value(out, lse, sink):
    share, new_out = late_sink(out, lse, sink)
    return share, new_out + (share * sink[:, None])[..., None]


WRONG = [
    ("overflow", _shared(_naive), "finite", "in the thousands overflow"),
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("along the queries", _queries, "runs", "broadcast"),
    ("output alone", lambda **given: late_sink(**given)[1], "type", "Return 2 arrays"),
    ("an axis too many", _with_axis, "shape", "share should have shape"),
    ("the keys' part", _shared(lambda lse, sink: 1 - _naive(lse, sink)), "by hand", "keys keep"),
    ("without itself", _shared(lambda lse, sink: np.exp(sink - lse)), "by hand", "joins them"),
    ("no exponential", _shared(lambda lse, sink: np.exp(sink) / (lse + np.exp(sink))),
     "by hand", "logarithm"),
    ("logits", _shared(lambda lse, sink: sink / (lse + sink)), "by hand", "Logits are not"),
    ("half", _shared(lambda lse, sink: _naive(lse, sink) / 2), "by hand", "should be"),
    ("one for all", _shared(lambda lse, sink: _naive(lse, sink.mean() + 0 * sink)), "random",
     "its own logit"),
    ("as it was", _kept(lambda out, share: out), "by hand", "hasn't changed"),
    ("times the share", _kept(lambda out, share: out * share), "by hand", "keep the rest"),
    ("subtracted", _kept(lambda out, share: out - share), "by hand", "subtracted"),
    ("a value", _kept(_added), "by hand", "has no value"),
    ("divided", _kept(lambda out, share: out / (1 - share)), "by hand", "has to shrink"),
    ("root", _kept(lambda out, share: out * np.sqrt(1 - share)), "by hand", "what factor"),
    ("without itself, at most 1", _shared(lambda lse, sink: np.exp(np.minimum(sink - lse, 0))),
     "by hand", "clipped at 1"),
    ("one maximum", _shared(_one_maximum), "finite", "one maximum"),
    ("clipped", _shared(_clipped), "edges", "lose their difference"),
    ("an empty row without its sink", _shared(_empty_is_0), "edges", "still has its sink"),
    ("infinite quotient", _shared(_sigmoid), "finite", "is infinite"),
    ("a logit among exponentials", _shared(lambda lse, sink: sink / (np.exp(lse) + sink)),
     "by hand", "to a sum of exponentials"),
    ("a logit as value", _logit_as_value, "by hand", "as if it were a value"),
    ("divided by 1 + share", _kept(lambda out, share: out / (1 + share)), "by hand", "on top"),
]  # fmt: skip
