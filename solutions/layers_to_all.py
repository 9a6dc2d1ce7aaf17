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


def _no_end(mask):
    layers = layers_to_all(mask)
    return np.where(layers < 0, len(mask), layers)


def _early(mask):
    layers = layers_to_all(mask)
    last = 1
    while last in layers:
        last += 1
    return np.where(layers < last, layers, -1)


def _rounds(step):
    def answer(mask):
        n = len(mask)
        heard, found = np.eye(n, dtype=bool), np.full(n, -1)
        for layers in range(n + 1):
            found[(heard | ~np.tri(n, dtype=bool)).all(axis=1) & (found < 0)] = layers
            heard = step(mask, heard, layers)
        return found

    return answer


def _same_layer(mask, heard, layers):
    for i in range(len(mask)):
        heard[i] |= heard[mask[i]].any(axis=0)
    return heard


def _with_itself(mask, heard, layers):
    return heard | mask if layers == 0 else heard.astype(int) @ heard > 0


def _later(mask):
    return _count(mask.T, np.tri(len(mask), dtype=bool).T)


def _slowest(mask):
    layers = np.zeros(len(mask), int)
    for i in range(1, len(mask)):
        known = [layers[j] for j in range(i) if mask[i, j] and layers[j] >= 0]
        layers[i] = 1 + max(known) if known else -1
    return layers


def _one_of(choose):
    def answer(mask):
        layers = np.zeros(len(mask), int)
        for i in range(1, len(mask)):
            known = [layers[j] for j in range(i) if mask[i, j] and layers[j] >= 0]
            layers[i] = 1 + choose(known) if known else -1
        return layers

    return answer


def _from_the_mask(mask):
    n = len(mask)
    heard, found = mask.copy(), np.full(n, -1)
    found[0] = 0
    for layers in range(1, n + 1):
        found[(heard | ~np.tri(n, dtype=bool)).all(axis=1) & (found < 0)] = layers
        heard = heard | (mask.astype(int) @ heard > 0)
    return found


def _within_reach(mask):
    n = len(mask)
    tables = [np.eye(n, dtype=bool)]
    for _ in range(n):
        tables.append(tables[-1] | (mask.astype(int) @ tables[-1] > 0))
    return np.argmax([(table == tables[-1]).all(axis=1) for table in tables], axis=0)


def _changed_at_the_end(mask):
    layers = layers_to_all(mask)
    return np.where(layers == max(len(mask) - 1, 1), -1, layers)


def _seen_with_itself(mask):
    return np.ceil(np.arange(len(mask)) / np.maximum(mask.sum(axis=1), 1)).astype(int)


def _seen(mask):
    n = len(mask)
    behind = np.tril(mask, -1).sum(axis=1)
    found = np.ceil(np.arange(n) / np.maximum(behind, 1)).astype(int)
    return np.where((behind == 0) & (np.arange(n) > 0), -1, found)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("keeps nothing", _forgets, "random", "It keeps that"),
    ("the first token", _first_token, "random", "hears of the first"),
    ("the farthest look", _far, "random", "farthest look"),
    ("its position", lambda mask: np.arange(len(mask)), "random", "enough if any"),
    ("doublings", _changed(_doublings), "by hand", "not the doublings"),
    ("a power of two", _changed(lambda n: 2 ** _doublings(n)), "by hand", "double the number"),
    ("one too many", _one_more, "by hand", "one layer too many"),
    ("never minus one", lambda mask: np.maximum(layers_to_all(mask), 0), "property", "is −1"),
    ("the last layer", _no_end, "property", "after which you stopped"),
    ("stops early", _early, "property", "still be on the way"),
    ("in one layer", _rounds(_same_layer), "by hand", "same layer"),
    ("with itself", _rounds(_with_itself), "random", "combine"),
    ("from the mask on", _from_the_mask, "random", "It keeps that"),
    ("within reach", _within_reach, "property", "ever hears of"),
    ("the fastest", _one_of(min), "random", "hears of the first"),
    ("the last it sees", _one_of(lambda known: known[-1]), "random", "slowest"),
    ("a layer short", _changed_at_the_end, "by hand", "stop one layer too early"),
    ("never falls", lambda mask: np.maximum.accumulate(layers_to_all(mask)), "random",
     "let the number fall"),
    ("as many as it sees, itself too", _seen_with_itself, "by hand", "how many a token attends"),
    ("the slowest", _slowest, "random", "slowest"),
    ("as many as it sees", _seen, "random", "how many a token attends"),
    ("to the later ones", _later, "by hand", "what a token attends"),
    ("at least one", lambda mask: np.where(layers_to_all(mask) == 0, 1, layers_to_all(mask)),
     "by hand", "before any layer"),
    ("one number for all", _one_number, "by hand", "Each has its own"),
    ("the whole square", _square, "by hand", "Only the triangle"),
    ("decimal numbers", lambda mask: layers_to_all(mask) * 1.0, "dtype", "whole numbers"),
    ("one number", lambda mask: layers_to_all(mask).max(), "shape", "shape"),
    ("too few", lambda mask: np.maximum(layers_to_all(mask) - 1, 0), "by hand", "know of token"),
]  # fmt: skip
