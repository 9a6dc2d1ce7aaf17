"""Who has heard of whom, layer by layer."""

import numpy as np


def _count(mask, wanted=None, keeps=True):
    n = len(mask)
    heard = np.eye(n, dtype=bool)
    wanted = np.tri(n, dtype=bool) if wanted is None else wanted
    found = np.full(n, -1)
    for layers in range(n + 1):
        full = (heard | ~wanted).all(axis=1)
        found[full & (found < 0)] = layers
        after = mask.astype(int) @ heard > 0
        heard = heard | after if keeps else after
    return found


def layers_to_all(mask):
    return _count(mask)


REFERENCE = layers_to_all


def _starter(mask):
    raise NotImplementedError


def _forgets(mask):
    return _count(mask, keeps=False)


def _first_token(mask):
    wanted = np.zeros(mask.shape, bool)
    wanted[:, 0] = True
    return _count(mask, wanted)


def _square(mask):
    return _count(mask, np.ones(mask.shape, bool))


def _far(mask):
    at = np.arange(len(mask))
    far = ((at[:, None] - at) * mask).max()
    return np.ceil(at / far).astype(int) if far else np.where(at > 0, -1, 0)


def _changed(change):
    def answer(mask):
        layers = layers_to_all(mask)
        return np.where(layers > 0, change(np.maximum(layers, 1)), layers)

    return answer


def _doublings(layers):
    return np.ceil(np.log2(layers)).astype(int)


def _one_more(mask):
    layers = layers_to_all(mask)
    return np.where(layers >= 0, layers + 1, -1)


def _one_number(mask):
    layers = layers_to_all(mask)
    return np.full(len(mask), -1 if (layers < 0).any() else layers.max())


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("keeps nothing", _forgets, "random", "keeps what it has got"),
    ("the first token", _first_token, "random", "hears of the first"),
    ("the farthest look", _far, "random", "farthest look"),
    ("its position", lambda mask: np.arange(len(mask)), "random", "enough if any"),
    ("doublings", _changed(_doublings), "by hand", "not the doublings"),
    ("a power of two", _changed(lambda n: 2 ** _doublings(n)), "by hand", "doubled until"),
    ("one too many", _one_more, "by hand", "One layer too many"),
    ("never minus one", lambda mask: np.maximum(layers_to_all(mask), 0), "property", "is −1"),
    ("at least one", lambda mask: np.where(layers_to_all(mask) == 0, 1, layers_to_all(mask)),
     "by hand", "before any layer"),
    ("one number for all", _one_number, "by hand", "of its own"),
    ("the whole square", _square, "by hand", "only the triangle"),
    ("decimal numbers", lambda mask: layers_to_all(mask) * 1.0, "dtype", "whole numbers"),
    ("one number", lambda mask: layers_to_all(mask).max(), "shape", "shape"),
    ("too few", lambda mask: np.maximum(layers_to_all(mask) - 1, 0), "by hand", "has not heard"),
]  # fmt: skip
