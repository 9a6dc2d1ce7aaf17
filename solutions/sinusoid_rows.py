"""Sine and cosine of every angle, side by side."""

import numpy as np


def sinusoids(positions, d_model):
    i = np.arange(d_model // 2)
    # (seq, pairs)
    angles = positions[:, None] * 10000.0 ** (-2 * i / d_model)
    rows = np.empty((len(positions), d_model))
    rows[:, 0::2] = np.sin(angles)
    rows[:, 1::2] = np.cos(angles)
    return rows


REFERENCE = sinusoids


def _starter(positions, d_model):
    raise NotImplementedError


def _cosine_first(positions, d_model):
    rows = sinusoids(positions, d_model)
    return rows.reshape(len(rows), -1, 2)[:, :, ::-1].reshape(rows.shape)


def _halves(positions, d_model):
    rows = sinusoids(positions, d_model)
    return np.concatenate([rows[:, 0::2], rows[:, 1::2]], axis=1)


def _rows_counted(positions, d_model):
    return sinusoids(np.arange(len(positions)), d_model)


def _from_one(positions, d_model):
    return sinusoids(positions + 1, d_model)


def _with_power(power):
    def answer(positions, d_model):
        angles = positions[:, None] * 10000.0 ** power(np.arange(d_model // 2), d_model)
        return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), -1)

    return answer


def _own_angles(positions, d_model):
    n = np.arange(d_model)
    angles = positions[:, None] * 10000.0 ** (-n / d_model)
    return np.where(n % 2, np.cos(angles), np.sin(angles))


def _no_cosine(positions, d_model):
    return np.repeat(sinusoids(positions, d_model)[:, 0::2], 2, axis=1)


def _degrees(positions, d_model):
    angles = np.radians(positions[:, None] * 10000.0 ** (-np.arange(0, d_model, 2) / d_model))
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), -1)


def _with_speeds(speeds):
    def answer(positions, d_model):
        angles = positions[:, None] * speeds(d_model)
        return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(positions), -1)

    return answer


def _short(positions, d_model):
    speeds = (10000.0 ** (-np.arange(0, d_model, 2) / d_model)).astype(np.float32)
    angles = positions.astype(np.float32)[:, None] * speeds
    rows = np.stack([np.sin(angles), np.cos(angles)], axis=-1)
    return rows.reshape(len(positions), -1).astype(np.float64)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("cosine first", _cosine_first, "by hand", "swapped"),
    ("degrees", _degrees, "by hand", "as degrees"),
    ("counted from 1", _from_one, "by hand", "Count from 0"),
    ("no cosine", _no_cosine, "by hand", "left out the cosines"),
    ("all sines first", _halves, "random", "Interleave"),
    ("half the exponent", _with_power(lambda i, d: -i / d), "random", "too fast"),
    ("an angle a column", _own_angles, "by hand", "share one angle"),
    ("all alike", _with_power(lambda i, d: 0.0 * i), "random", "all pairs alike"),
    ("growing", _with_power(lambda i, d: 2.0 * i / d), "random", "exponent is negative"),
    ("rows counted", _rows_counted, "property", "positions you're given"),
    ("for 12 numbers", lambda positions, d_model: sinusoids(positions, 12)[:, :d_model],
     "random", "should be"),
    ("tested below 1000", lambda positions, d_model: sinusoids(positions % 1000, d_model),
     "edges", "positions you're given"),
    ("short angles", _short, "edges", "has too few digits"),
    ("another base", _with_speeds(lambda d: 1000.0 ** (-np.arange(0, d, 2) / d)), "random",
     "base is 10,000"),
    ("up to the base itself", _with_speeds(lambda d: 10000.0 ** -np.linspace(0, 1, d // 2)),
     "random", "still below 1"),
    ("counted from 1 in the pair", _with_power(lambda i, d: -2 * (i + 1) / d), "by hand",
     "Start it at 0"),
    ("over the number of pairs", _with_power(lambda i, d: -4 * i / d), "random", "too slow"),
    ("full turns", lambda positions, d_model: _with_speeds(
        lambda d: 2 * np.pi * 10000.0 ** (-np.arange(0, d, 2) / d))(positions, d_model),
     "by hand", "2π times too large"),
    ("cosine first, counted from 1",
     lambda positions, d_model: _cosine_first(positions + 1, d_model), "by hand", "Two things"),
]  # fmt: skip
