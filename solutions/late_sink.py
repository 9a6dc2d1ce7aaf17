"""A sink from log-sum-exp alone."""

import numpy as np


def late_sink(out, lse, sink):
    whole = np.logaddexp(lse, sink[:, None])  # the sum of the softmax, the sink included
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


WRONG = [
    ("overflow", _shared(_naive), "finite", "NaN"),
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
     "of its own"),
    ("as it was", _kept(lambda out, share: out), "by hand", "as it was"),
    ("times the share", _kept(lambda out, share: out * share), "by hand", "keep the rest"),
    ("subtracted", _kept(lambda out, share: out - share), "by hand", "subtracted"),
    ("a value", _kept(_added), "by hand", "brings no value"),
    ("divided", _kept(lambda out, share: out / (1 - share)), "by hand", "has to shrink"),
    ("root", _kept(lambda out, share: out * np.sqrt(1 - share)), "by hand", "what factor"),
]  # fmt: skip
