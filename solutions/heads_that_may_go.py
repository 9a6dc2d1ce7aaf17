"""The smallest set of heads within a budget of loss, among all sets."""

from itertools import product

import numpy as np


def heads_to_keep(loss, budget):
    most = loss[(1,) * loss.ndim] + budget
    ways = product((0, 1), repeat=loss.ndim)
    allowed = [on for on in ways if loss[on] <= most]
    fewest = min(allowed, key=lambda on: (sum(on), loss[on]))
    return np.array(fewest, dtype=bool)


REFERENCE = heads_to_keep


def _starter(loss, budget):
    raise NotImplementedError


def _costs(loss):
    rest = loss[(1,) * loss.ndim]
    sets = [tuple(int(head != gone) for head in range(loss.ndim)) for gone in range(loss.ndim)]
    return np.array([loss[on] for on in sets]) - rest


def _alone(loss, budget):
    return _costs(loss) > budget


def _added_up(loss, budget):
    costs, keep, spent = _costs(loss), np.ones(loss.ndim, bool), 0.0
    for head in costs.argsort():
        spent += costs[head]
        if spent <= budget:
            keep[head] = False
    return keep


def _greedy(loss, budget):
    keep = np.ones(loss.ndim, int)
    for _ in range(loss.ndim):
        tries = []
        for head in np.flatnonzero(keep):
            on = keep.copy()
            on[head] = 0
            tries.append(on)
        best = min(tries, key=lambda on: loss[tuple(on)])
        if loss[tuple(best)] > loss[(1,) * loss.ndim] + budget:
            break
        keep = best
    return keep.astype(bool)


def _gone(loss, budget):
    return ~heads_to_keep(loss, budget)


def _least_loss(loss, budget):
    return np.array(np.unravel_index(loss.argmin(), loss.shape), dtype=bool)


def _flipped(loss, budget):
    return heads_to_keep(np.flip(loss), budget)


def _any_of_them(loss, budget):
    most = loss[(1,) * loss.ndim] + budget
    allowed = [on for on in product((0, 1), repeat=loss.ndim) if loss[on] <= most]
    return np.array(min(allowed, key=lambda on: (sum(on), -loss[on])), dtype=bool)


def _absolute(loss, budget):
    sets = [on for on in product((0, 1), repeat=loss.ndim) if loss[on] <= budget]
    best = min(sets or [(1,) * loss.ndim], key=lambda on: (sum(on), loss[on]))
    return np.array(best, dtype=bool)


def _numbers(loss, budget):
    return heads_to_keep(loss, budget).astype(int)


def _all_gone(loss, budget):
    return np.zeros(loss.ndim, bool)


def _strictly_below(loss, budget):
    return heads_to_keep(loss, budget - 1e-6) if budget else heads_to_keep(loss, budget)


def _part_of_the_loss(loss, budget):
    return heads_to_keep(loss, loss[(1,) * loss.ndim] * budget)


def _from_the_least(loss, budget):
    return heads_to_keep(loss, loss.min() + budget - loss[(1,) * loss.ndim])


def _backwards(loss, budget):
    return heads_to_keep(loss, budget)[::-1]


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("as numbers", _numbers, "dtype", "boolean"),
    ("each alone", _alone, "by hand", "each head alone"),
    ("added up", _added_up, "by hand", "added up"),
    ("one by one", _greedy, "property", "little together"),
    ("those that go", _gone, "by hand", "True for the heads that stay"),
    ("least loss", _least_loss, "by hand", "decides only between"),
    ("0 read as on", _flipped, "by hand", "Index 1 means"),
    ("any of the smallest", _any_of_them, "by hand", "loses less"),
    (
        "budget of the loss itself",
        _absolute,
        "by hand",
        "may rise from 0.25 to 0.75: the budget is added",
    ),
    ("all", _all_gone, "by hand", "No head stays"),
    ("less than the budget", _strictly_below, "edges", "just the budget"),
    ("a part of the loss", _part_of_the_loss, "by hand", "fraction of the loss"),
    ("from the least loss", _from_the_least, "property", "least loss of all"),
    ("none", lambda loss, budget: np.ones(loss.ndim, bool), "by hand", "All heads stay"),
    ("heads from behind", _backwards, "random", "reverse order"),
]
