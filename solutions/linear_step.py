"""One step of linear attention."""

import numpy as np


def linear_step(q, k, v, state, total):
    state = state + np.outer(k, v)  # (features, v_head_dim)
    total = total + k  # (features,)
    return q @ state / (q @ total), state, total


REFERENCE = linear_step


def _state_unchanged(q, k, v, state, total):
    out, _, total = linear_step(q, k, v, state, total)
    return out, state, total


def _state_new_only(q, k, v, state, total):
    out, _, total = linear_step(q, k, v, state, total)
    return out, np.outer(k, v), total


def _state_of_q(q, k, v, state, total):
    out, _, total = linear_step(q, k, v, state, total)
    return out, state + np.outer(q, v), total


def _state_averaged(q, k, v, state, total):
    out, new, total = linear_step(q, k, v, state, total)
    return out, new / 2, total


def _total_unchanged(q, k, v, state, total):
    out, state, _ = linear_step(q, k, v, state, total)
    return out, state, total


def _total_of_values(q, k, v, state, total):
    out, state, _ = linear_step(q, k, v, state, total)
    return out, state, total + v.sum()


def _with_out(formula):
    def answer(q, k, v, state, total):
        _, new, new_total = linear_step(q, k, v, state, total)
        return formula(q, k, state, total, new, new_total), new, new_total

    return answer


def _list(q, k, v, state, total):
    out, state, total = linear_step(q, k, v, state, total)
    return out.tolist(), state, total


def _out_only(q, k, v, state, total):
    return linear_step(q, k, v, state, total)[0]


def _row(q, k, v, state, total):
    out, state, total = linear_step(q, k, v, state, total)
    return out[None], state, total


def _not_itself(q, k, old, old_total, state, total):
    return q @ old / (q @ old_total)


def _in_place(q, k, v, state, total):
    state += np.outer(k, v)
    total += k
    return q @ state / (q @ total), state, total


def _phi_again(q, k, v, state, total):
    return linear_step(q + 1, k + 1, v, state, total)


def _total_of_q(q, k, v, state, total):
    out, state, _ = linear_step(q, k, v, state, total)
    return out, state, total + q


def _state_divided(q, k, v, state, total):
    out, state, total = linear_step(q, k, v, state, total)
    return out, state / total[:, None], total


def _count(q, k, v, state, total):
    out, state, _ = linear_step(q, k, v, state, total)
    return out, state, total + 1


WRONG = [
    ("in place", _in_place, "repeatable", "writes into state and total"),
    ("old state", _state_unchanged, "by hand", "the old one"),
    ("new token only", _state_new_only, "by hand", "new token only"),
    ("state of queries", _state_of_q, "by hand", "took q for k"),
    ("state halved", _state_averaged, "by hand", "sum of k v"),
    ("old total", _total_unchanged, "by hand", "It sums the keys"),
    ("total of values", _total_of_values, "by hand", "sum of all keys"),
    ("not normalised", _with_out(lambda q, k, o, ot, s, t: q @ s), "by hand", "normalized"),
    ("does not see itself", _with_out(_not_itself), "by hand", "attend to itself"),
    ("old sum of weights", _with_out(lambda q, k, o, ot, s, t: q @ s / (q @ ot)), "by hand",
     "but not in the sum"),
    ("old numerator", _with_out(lambda q, k, o, ot, s, t: q @ o / (q @ t)), "by hand",
     "in your numerator"),
    ("sum of the total", _with_out(lambda q, k, o, ot, s, t: q @ s / t.sum()), "by hand",
     "q · total"),
    ("k for q", _with_out(lambda q, k, o, ot, s, t: k @ s / (k @ t)), "by hand", "state by k"),
    ("half", _with_out(lambda q, k, o, ot, s, t: q @ s / (q @ t) / 2), "by hand",
     "state, total are right"),
    ("a list", _list, "type", "NumPy array"),
    ("out only", _out_only, "type", "3 arrays"),
    ("a row", _row, "shape", "shape"),
    ("φ again", _phi_again, "by hand", "second time"),
    ("total of queries", _total_of_q, "by hand", "total took q for k"),
    ("state divided", _state_divided, "by hand", "divided by the total"),
    ("one more", _with_out(lambda q, k, o, ot, s, t: q @ s / (q @ t + 1)), "by hand", "You "
                                                                                      "add "
                                                                                      "something"),
    ("old sum, if any", _with_out(lambda q, k, o, ot, s, t: q @ s / ((q @ ot) or 1)), "by hand",
     "but not in the sum"),
    ("total counts", _count, "by hand", "counts the tokens"),
    ("old state, not divided", _with_out(lambda q, k, o, ot, s, t: q @ o), "by hand", "Two things"),
    ("k below", _with_out(lambda q, k, o, ot, s, t: q @ s / (k @ t)), "by hand",
     "weights with k"),
    ("its own sum", _with_out(lambda q, k, o, ot, s, t: q @ s / (q @ s).sum()), "by hand",
     "its own sum"),
    ("own weight below", _with_out(lambda q, k, o, ot, s, t: q @ s / (q @ k)), "by hand",
     "new token alone"),
    ("root below", _with_out(lambda q, k, o, ot, s, t: q @ s / len(q) ** 0.5), "by hand",
     "square root"),
]  # fmt: skip
