"""Every pair of neighbors, rotated to its position."""

import numpy as np


def rope_rotate(x, positions, theta):
    head_dim = x.shape[1]
    frequencies = theta ** (-np.arange(0, head_dim, 2) / head_dim)
    angles = positions[:, None] * frequencies  # (seq, pairs)
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = x[:, 0::2], x[:, 1::2]
    out = np.empty_like(x)
    out[:, 0::2] = a * cos - b * sin
    out[:, 1::2] = a * sin + b * cos
    return out


REFERENCE = rope_rotate


def _parts(x, positions, theta, power=lambda i, d: -2 * i / d):
    i = np.arange(x.shape[1] // 2)
    angles = positions[:, None] * np.asarray(theta) ** power(i, x.shape[1])
    return x[:, 0::2], x[:, 1::2], np.cos(angles), np.sin(angles)


def _woven(first, second):
    return np.stack([first, second], axis=-1).reshape(len(first), -1)


def _starter(x, positions, theta):
    raise NotImplementedError


def _with_power(power):
    def answer(x, positions, theta):
        a, b, cos, sin = _parts(x, positions, theta, power)
        return _woven(a * cos - b * sin, a * sin + b * cos)

    return answer


def _minus(x, positions, theta):
    return rope_rotate(x, -positions, theta)


def _half(x, positions, theta):
    _, _, cos, sin = _parts(x, positions, theta)
    a, b = np.split(x, 2, axis=1)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)


def _rows_counted(x, positions, theta):
    return rope_rotate(x, np.arange(len(x)), theta)


def _fixed_base(x, positions, theta):
    return rope_rotate(x, positions, 10000.0)


def _not_woven(x, positions, theta):
    a, b, cos, sin = _parts(x, positions, theta)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos], axis=1)


def _two_minus(x, positions, theta):
    a, b, cos, sin = _parts(x, positions, theta)
    return _woven(a * cos - b * sin, b * cos - a * sin)


def _cosines_only(x, positions, theta):
    a, b, cos, _ = _parts(x, positions, theta)
    return _woven(a * cos, b * cos)


def _overwritten(x, positions, theta):
    a, b, cos, sin = _parts(x.copy(), positions, theta)
    a = a * cos - b * sin
    return _woven(a, a * sin + b * cos)


def _short(x, positions, theta, dtype="float16"):
    angles = positions[:, None].astype(dtype) * (
        theta ** (-np.arange(0, x.shape[1], 2) / x.shape[1])
    ).astype(dtype)
    a, b = x[:, 0::2], x[:, 1::2]
    return _woven(a * np.cos(angles) - b * np.sin(angles), a * np.sin(angles) + b * np.cos(angles))


def _in_place(x, positions, theta):
    x[:] = rope_rotate(x, positions, theta)
    return x


def _no_minus(x, positions, theta):
    a, b, cos, sin = _parts(x, positions, theta)
    return _woven(a * cos + b * sin, a * sin + b * cos)


WRONG = [
    ("in place", _in_place, "repeatable", "writes into x"),
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("nothing rotated", lambda x, positions, theta: x, "by hand", "Nothing has rotated"),
    ("the other way", _minus, "by hand", "wrong way"),
    ("two minus signs", _two_minus, "by hand", "minus sign too many"),
    ("cosines only", _cosines_only, "by hand", "sines are missing"),
    ("first numbers overwritten", _overwritten, "by hand", "was overwritten"),
    ("halves", _half, "random", "neighbors rotate together"),
    ("not woven back", _not_woven, "random", "a pair again"),
    ("half the exponent", _with_power(lambda i, d: -i / d), "random", "used half of that"),
    ("counted from 1", _with_power(lambda i, d: -2 * (i + 1) / d), "by hand", "Count i from 0"),
    ("all alike", _with_power(lambda i, d: 0.0 * i), "random", "your pairs rotate alike"),
    ("growing", _with_power(lambda i, d: 2 * i / d), "random", "exponent is negative"),
    ("rows counted", _rows_counted, "property", "Use the given positions"),
    ("fixed base", _fixed_base, "property", "fixed the base"),
    ("float16 angles", _short, "by hand", "float16 has too few digits"),
    ("pairs alone", lambda x, positions, theta: x[:, ::2], "shape", "shape"),
    ("no minus", _no_minus, "by hand", "same sign"),
    (
        "over the number of pairs",
        _with_power(lambda i, d: -4 * i / d),
        "random",
        "You used twice that",
    ),
    (
        "from the first row on",
        lambda x, positions, theta: rope_rotate(x, positions - positions[0], theta),
        "property",
        "that of the first row",
    ),
    (
        "degrees",
        lambda x, positions, theta: _with_power(lambda i, d: -2 * i / d)(
            x, np.radians(positions), theta
        ),
        "by hand",
        "as degrees",
    ),
    (
        "halves, the wrong way",
        lambda x, positions, theta: _half(x, -positions, theta),
        "by hand",
        "wrong way",
    ),
]
