"""Every choice of kinds, as two lists of sums."""

from itertools import product

import numpy as np


def layer_budget(n_bytes, loss, budgets):
    # Few enough choices to look at all: each layer multiplies the sums
    # so far by its kinds. A layer's best kind depends on what the
    # others leave over, so none is fixed early.
    sizes, losses = np.zeros(1), np.zeros(1)
    for more, lost in zip(n_bytes, loss, strict=True):
        sizes = np.add.outer(sizes, more).ravel()
        losses = np.add.outer(losses, lost).ravel()
    # Among the choices that fit, the smallest loss; none may fit.
    least = [losses[sizes <= budget].min(initial=np.inf) for budget in budgets]
    return np.where(np.isinf(least), -1.0, least)


REFERENCE = layer_budget


def _one_kind(n_bytes, loss, budgets):
    return layer_budget(n_bytes.sum(axis=0)[None], loss.sum(axis=0)[None], budgets)


def _free(n_bytes, loss, budgets):
    return np.full(len(budgets), loss.min(axis=1).sum())


def _apart(n_bytes, loss, budgets):
    each = [layer_budget(n[None], x[None], budgets / len(loss))
            for n, x in zip(n_bytes, loss, strict=True)]  # fmt: skip
    return np.where(np.min(each, axis=0) < 0, -1.0, np.sum(each, axis=0))


def _greedy(n_bytes, loss, budgets):
    found, rows = [], range(len(loss))
    for budget in budgets:
        kind = list(n_bytes.argmin(axis=1))
        while True:
            used = sum(n_bytes[i, kind[i]] for i in rows)
            ways = [
                ((loss[i, kind[i]] - loss[i, j]) / max(n_bytes[i, j] - n_bytes[i, kind[i]], 0.5),
                 i, j)
                for i in rows for j in range(loss.shape[1])
                if loss[i, j] < loss[i, kind[i]]
                and used + n_bytes[i, j] - n_bytes[i, kind[i]] <= budget
            ]  # fmt: skip
            if not ways:
                break
            _, i, j = max(ways, key=lambda way: way[0])
            kind[i] = j
        total = sum(loss[i, kind[i]] for i in rows)
        found.append(total if used <= budget else -1.0)
    return np.array(found)


def _given_up(n_bytes, loss, budgets):
    found, rows = [], range(len(loss))
    for budget in budgets:
        kind = list(loss.argmin(axis=1))
        while sum(n_bytes[i, kind[i]] for i in rows) > budget:
            ways = [
                (loss[i, j] - loss[i, kind[i]], i, j)
                for i in rows for j in range(loss.shape[1]) if n_bytes[i, j] < n_bytes[i, kind[i]]
            ]  # fmt: skip
            if not ways:
                break
            _, i, j = min(ways, key=lambda way: way[0])
            kind[i] = j
        used = sum(n_bytes[i, kind[i]] for i in rows)
        found.append(sum(loss[i, kind[i]] for i in rows) if used <= budget else -1.0)
    return np.array(found)


def _fullest(n_bytes, loss, budgets):
    found = []
    for budget in budgets:
        choices = [
            (sum(n_bytes[i, j] for i, j in enumerate(kinds)),
             -sum(loss[i, j] for i, j in enumerate(kinds)))
            for kinds in product(range(loss.shape[1]), repeat=len(loss))
        ]  # fmt: skip
        fitting = [choice for choice in choices if choice[0] <= budget]
        found.append(-max(fitting)[1] if fitting else -1.0)
    return np.array(found)


def _smallest(n_bytes, loss, budgets):
    kind = n_bytes.argmin(axis=1)[:, None]
    pick = (np.take_along_axis(table, kind, 1) for table in (n_bytes, loss))
    return layer_budget(*pick, budgets)


def _without(none):
    def answer(n_bytes, loss, budgets):
        found = layer_budget(n_bytes, loss, budgets)
        return np.where(found < 0, none, found)

    return answer


def _mean(n_bytes, loss, budgets):
    found = layer_budget(n_bytes, loss, budgets)
    return np.where(found < 0, found, found / len(loss))


def _starter(n_bytes, loss, budgets):
    raise NotImplementedError


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("one number", lambda **given: layer_budget(**given)[0], "shape", "shape"),
    ("a list", lambda **given: layer_budget(**given).tolist(), "type", "NumPy array"),
    ("infinite", _without(np.inf), "finite", "−1"),
    ("one kind", _one_kind, "by hand", "its own"),
    ("no budget", _free, "by hand", "ignored the bytes"),
    ("equal parts", _apart, "by hand", "same part"),
    ("greedy", _greedy, "random", "whole choices"),
    ("given up", _given_up, "by hand", "more than is needed"),
    ("strictly below", lambda n_bytes, loss, budgets: layer_budget(n_bytes, loss, budgets - 1),
     "by hand", "exactly the budget"),
    ("0 for none", _without(0.0), "by hand", "answer is −1"),
    ("the fullest", _fullest, "random", "fills the budget"),
    ("the mean", _mean, "by hand", "mean over the layers"),
    ("the smallest caches", _smallest, "by hand", "room for better"),
    ("half", lambda **given: np.where(layer_budget(**given) < 0, -1.0, 0.3 * layer_budget(**given)),
     "by hand", "smallest sum"),
]  # fmt: skip
