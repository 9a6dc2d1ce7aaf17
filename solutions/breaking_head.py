"""The head that copying cannot do without."""

import numpy as np


def breaking_head(maps):
    # Induction needs a head that looks at the word before: its weights
    # lie one below the diagonal. The copying head, a layer later, reads
    # what it found.
    before = np.diagonal(maps, -1, axis1=-2, axis2=-1).mean(axis=-1)
    below = before[:-1]  # nobody reads what a head of the last layer has found
    return np.array(np.unravel_index(below.argmax(), below.shape))


REFERENCE = breaking_head


def _best(score):
    def answer(maps):
        scores = np.array([[score(head) for head in layer] for layer in maps])
        return np.array(np.unravel_index(scores.argmax(), scores.shape))

    return answer


def _stripe(head):
    seq = len(head)
    return max(np.diagonal(head, -back).sum() for back in range(2, seq - 2))


def _one_based(maps):
    return breaking_head(maps) + 1


def _head_first(maps):
    layer, head = breaking_head(maps)
    return np.array([head, layer])


def _nowhere(maps):
    return np.array([9, 9])


def _floats(maps):
    return breaking_head(maps).astype(float)


def _last_layer(maps):
    return np.array([len(maps) - 1, _best(lambda h: np.diagonal(h, -1).mean())(maps[-1:])[1]])


def _sharpest(maps):
    return np.array(np.unravel_index(maps.max(axis=-1).mean(axis=-1).argmax(), maps.shape[:2]))


def _half_a_row(maps):
    stripe = np.diagonal(maps, -((maps.shape[-1] - 1) // 2), axis1=-2, axis2=-1)[..., 1:]
    return np.array(np.unravel_index(stripe.mean(axis=-1).argmax(), maps.shape[:2]))


def _layer_0(maps):
    return np.array([0, np.diagonal(maps[0], -1, axis1=-2, axis2=-1).mean(axis=-1).argmax()])


def _always(maps):
    return np.array([len(maps) - 1, 0])


WRONG = [
    ("the clearest copier", _best(_stripe), "by hand", "just after the copies"),
    ("any layer", _best(lambda h: np.diagonal(h, -1).mean()), "property", "last layer"),
    ("layer 0 only", _layer_0, "edges", "only looked in layer 0"),
    ("the last layer", _last_layer, "by hand", "in the last layer"),
    ("itself", _best(lambda h: np.diagonal(h).mean()), "by hand", "its own word"),
    ("one-based", _one_based, "by hand", "counted from 1"),
    ("head first", _head_first, "by hand", "layer first"),
    ("no such head", _nowhere, "by hand", "There's no head 9"),
    ("floats", _floats, "dtype", "whole numbers"),
    ("the sharpest", _sharpest, "by hand", "sharpest head"),
    ("half a row back", _half_a_row, "by hand", "half of the row"),
    ("always the same", _always, "by hand", "whatever the maps show"),
]
