"""A query that is the key, turned back."""

import numpy as np


def look_back(key, back, theta):
    pairs = len(key) // 2
    angles = -back * theta ** (-np.arange(pairs) / pairs)
    z = (key[0::2] + 1j * key[1::2]) * np.exp(1j * angles)
    return np.stack([z.real, z.imag], axis=-1).reshape(key.shape)


REFERENCE = look_back


def _starter(key, back, theta):
    raise NotImplementedError


def _turned_by(angles):
    def answer(key, back, theta):
        pairs = len(key) // 2
        z = (key[0::2] + 1j * key[1::2]) * np.exp(
            1j * angles(np.arange(pairs) / pairs, back, theta)
        )
        return np.stack([z.real, z.imag], axis=-1).reshape(key.shape)

    return answer


def _halves(key, back, theta):
    pairs = len(key) // 2
    angles = -back * theta ** (-np.arange(pairs) / pairs)
    z = (key[:pairs] + 1j * key[pairs:]) * np.exp(1j * angles)
    return np.concatenate([z.real, z.imag])


def _fixed_base(key, back, theta):
    return look_back(key, back, 10000.0)


def _short_sighted(key, back, theta):
    return look_back(key, min(back, 5), theta)


def _never_ahead(key, back, theta):
    return look_back(key, abs(back), theta)


def _position(key, back, theta):
    return np.full_like(key, float(back))


def _overwritten(key, back, theta):
    angles = -back * theta ** (-np.arange(0, len(key), 2) / len(key))
    out = key.copy()
    out[0::2] = out[0::2] * np.cos(angles) - out[1::2] * np.sin(angles)
    out[1::2] = out[0::2] * np.sin(angles) + out[1::2] * np.cos(angles)
    return out


def _no_minus(key, back, theta):
    angles = -back * theta ** (-np.arange(0, len(key), 2) / len(key))
    a, b, cos, sin = key[0::2], key[1::2], np.cos(angles), np.sin(angles)
    return np.stack([a * cos + b * sin, a * sin + b * cos], axis=-1).reshape(key.shape)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("the key itself", lambda key, back, theta: key, "by hand", "own place"),
    ("zero", lambda key, back, theta: 0 * key, "by hand", "likes all keys alike"),
    ("forward", _turned_by(lambda p, b, t: b * t**-p), "by hand", "other direction"),
    ("one too far", _turned_by(lambda p, b, t: -(b + 1) * t**-p), "by hand", "One off"),
    ("all alike", _turned_by(lambda p, b, t: -b * np.ones_like(p)), "random", "same angle"),
    ("growing angles", _turned_by(lambda p, b, t: -b * t**p), "random", "grow with i"),
    ("halves", _halves, "random", "halves of the head"),
    ("short-sighted", _short_sighted, "property", "The best key is the one"),
    ("never ahead", _never_ahead, "edges", "sign of `back` is lost"),
    ("fixed base", _fixed_base, "property", "fixed at 10,000"),
    (
        "half the exponent",
        _turned_by(lambda p, b, t: -b * t ** (-p / 2)),
        "property",
        "half of that",
    ),
    (
        "forward, all alike",
        _turned_by(lambda p, b, t: b * np.ones_like(p)),
        "by hand",
        "Two things. It is turned in the other direction",
    ),
    ("a number", lambda key, back, theta: float(back), "type", "NumPy array"),
    ("one pair", lambda key, back, theta: key[:1], "shape", "shape"),
    ("first number overwritten", _overwritten, "by hand", "was overwritten"),
    ("no minus", _no_minus, "random", "same sign"),
    ("degrees", _turned_by(lambda p, b, t: np.radians(-b * t**-p)), "by hand", "taken for degrees"),
    (
        "halves, ahead",
        lambda key, back, theta: _halves(key, -back, theta),
        "by hand",
        "other direction",
    ),
]
