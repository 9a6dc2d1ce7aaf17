"""Cached keys rotated on by the difference of two angles."""

import numpy as np


def rotate_cache(k, positions, old, new):
    angles = np.outer(positions, new - old)
    cos, sin = np.cos(angles), np.sin(angles)
    first, second = np.split(k, 2, axis=1)
    turned = first * cos - second * sin, first * sin + second * cos
    return np.concatenate(turned, axis=1)


REFERENCE = rotate_cache


def _rotate(k, angles):
    first, second = np.split(k, 2, axis=1)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos - second * sin, first * sin + second * cos], axis=1)


def _starter(k, positions, old, new):
    raise NotImplementedError


def _on_top(k, positions, old, new):
    return _rotate(k, np.outer(positions, new))


def _back_only(k, positions, old, new):
    return _rotate(k, -np.outer(positions, old))


def _wrong_way(k, positions, old, new):
    return _rotate(k, np.outer(positions, old - new))


def _counted(k, positions, old, new):
    return _rotate(k, np.outer(np.arange(len(k)), new - old))


def _divided(k, positions, old, new):
    return _rotate(k, np.outer(positions, new / old))


def _multiplied(k, positions, old, new):
    return k * np.tile(new / old, 2)


def _as_they_came(k, positions, old, new):
    return k.copy()


def _neighbours(k, positions, old, new):
    angles = np.outer(positions, new - old)
    cos, sin, out = np.cos(angles), np.sin(angles), np.empty_like(k)
    out[:, 0::2] = k[:, 0::2] * cos - k[:, 1::2] * sin
    out[:, 1::2] = k[:, 0::2] * sin + k[:, 1::2] * cos
    return out


def _one_speed(k, positions, old, new):
    return _rotate(k, np.outer(positions, np.full_like(old, (new - old).mean())))


def _transposed(k, positions, old, new):
    return rotate_cache(k, positions, old, new).T.reshape(k.shape) + 0.5


def _one_place_on(k, positions, old, new):
    return _rotate(k, np.outer(positions + 1, new - old))


def _from_the_first_left(k, positions, old, new):
    return _rotate(k, np.outer(positions - positions[0], new - old))


def _one_token(k, positions, old, new):
    return _rotate(k, np.outer(np.ones(len(k)), new - old))


def _overwritten(k, positions, old, new):
    angles = np.outer(positions, new - old)
    out, half = k.copy(), k.shape[1] // 2
    out[:, :half] = out[:, :half] * np.cos(angles) - out[:, half:] * np.sin(angles)
    out[:, half:] = out[:, :half] * np.sin(angles) + out[:, half:] * np.cos(angles)
    return out


def _no_minus(k, positions, old, new):
    first, second = np.split(k, 2, axis=1)
    angles = np.outer(positions, new - old)
    cos, sin = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cos + second * sin, first * sin + second * cos], axis=1)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    (
        "back from the newest",
        lambda k, positions, old, new: _rotate(k, np.outer(positions - positions.max(), new - old)),
        "by hand",
        "back from the newest",
    ),
    ("on top", _on_top, "by hand", "on top of the old one"),
    ("only back", _back_only, "by hand", "not forward again"),
    ("the wrong way", _wrong_way, "by hand", "the wrong way"),
    ("counted from 0", _counted, "property", "tokens have left"),
    ("divided", _divided, "by hand", "divided frequencies"),
    ("multiplied", _multiplied, "by hand", "multiplied the keys"),
    ("as they came", _as_they_came, "by hand", "unchanged"),
    ("neighbours", _neighbours, "random", "neighbors together"),
    ("one speed", _one_speed, "random", "the angles aren't"),
    ("mixed up", _transposed, "by hand", "lengths of your keys"),
    ("one position on", _one_place_on, "by hand", "the angles aren't"),
    ("from the first left", _from_the_first_left, "property", "first key that's left"),
    ("positions left out", _one_token, "by hand", "angles per token"),
    ("first half overwritten", _overwritten, "by hand", "was overwritten"),
    ("no minus", _no_minus, "by hand", "same sign"),
    (
        "sum of the speeds",
        lambda k, positions, old, new: _rotate(k, np.outer(positions, new + old)),
        "by hand",
        "once more",
    ),
    (
        "all at the last",
        lambda k, positions, old, new: _rotate(
            k, np.outer(np.full(len(k), positions.max()), new - old)
        ),
        "by hand",
        "last position",
    ),
    (
        "the wrong way, rows counted",
        lambda k, positions, old, new: _rotate(k, np.outer(np.arange(len(k)), old - new)),
        "by hand",
        "wrong way",
    ),
    (
        "back by the new",
        lambda k, positions, old, new: _rotate(k, -np.outer(positions, new)),
        "by hand",
        "keys back by the new",
    ),
]
