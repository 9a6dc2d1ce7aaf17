"""From the slowest clock to the fastest, each with the turn that fits best."""

import numpy as np


def read_clock(rows, base, longest):
    d = rows.shape[1]
    guess = np.full(len(rows), longest / 2)  # nothing is known yet
    for i in reversed(range(d // 2)):
        speed = base ** (-2 * i / d)
        angle = np.arctan2(rows[:, 2 * i], rows[:, 2 * i + 1])
        steps, turn = angle / speed, 2 * np.pi / speed
        guess = steps + np.round((guess - steps) / turn) * turn
    return np.round(guess).astype(int)


REFERENCE = read_clock


def _starter(rows, base, longest):
    raise NotImplementedError


def _table(longest, d, base):
    angles = np.arange(longest)[:, None] * base ** (-np.arange(0, d, 2) / d)
    return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(longest, d)


def _nearest(columns):
    def answer(rows, base, longest):
        table = _table(longest, rows.shape[1], base)[:, columns]
        apart = rows[:, None, columns] - table
        return (apart**2).sum(axis=-1).argmin(axis=1)

    return answer


def _equal(rows, base, longest):
    table = _table(longest, rows.shape[1], base)
    return np.isclose(rows[:, None], table).all(axis=-1).argmax(axis=1)


def _one_clock(i):
    def answer(rows, base, longest):
        speed = base ** (-2 * (i % (rows.shape[1] // 2)) / rows.shape[1])
        angle = np.arctan2(rows[:, 0::2][:, i], rows[:, 1::2][:, i]) % (2 * np.pi)
        return np.rint(angle / speed).astype(int)

    return answer


def _signed(rows, base, longest):
    return np.rint(np.arctan2(rows[:, 0], rows[:, 1])).astype(int)


def _by(angles=None, turns=np.round, clocks=slice(None), whole=np.round, start=None, power=1.0):
    """The reference with one thing done otherwise."""

    def answer(rows, base, longest):
        d = rows.shape[1]
        guess = None
        for i in (list(range(d // 2))[clocks] or [0])[::-1]:
            speed = base ** (-2 * power * i / d)
            sin, cos = rows[:, 2 * i], rows[:, 2 * i + 1]
            angle = np.arctan2(sin, cos) if angles is None else angles(sin, cos)
            steps, turn = angle % (2 * np.pi) / speed, 2 * np.pi / speed
            if guess is None:
                guess = steps if start == "zero" else np.full(len(rows), longest / 2)
            guess = steps + turns((guess - steps if turns is np.round else guess) / turn) * turn
        return whole(guess).astype(int)

    return answer


def _ends(rows, base, longest):
    d = rows.shape[1]
    if d < 6:
        return read_clock(rows, base, longest)
    slow, fast = base ** (-(d - 2) / d), 1.0
    angles = [np.arctan2(rows[:, i], rows[:, i + 1]) for i in (d - 2, 0)]
    guess = angles[0] / slow
    guess += np.round((longest / 2 - guess) * slow / (2 * np.pi)) * 2 * np.pi / slow
    return np.rint(
        angles[1] / fast + np.round((guess - angles[1]) / (2 * np.pi)) * 2 * np.pi
    ).astype(int)


def _halves(rows, base, longest):
    d = rows.shape[1]
    order = np.stack([np.arange(d // 2), np.arange(d // 2, d)], axis=1).ravel()
    return read_clock(rows[:, order], base, longest)


def _mean(rows, base, longest):
    d = rows.shape[1]
    speeds = base ** (-np.arange(0, d, 2) / d)
    angles = np.arctan2(rows[:, 0::2], rows[:, 1::2]) % (2 * np.pi)
    return np.rint((angles / speeds).mean(axis=1)).astype(int)


def _nearest_row(change=None, of=None):
    """The nearest row of a table, where the rows or the table are changed."""

    def answer(rows, base, longest):
        d = rows.shape[1]
        table = of(longest, d, base) if of else _table(longest, d, base)
        if change:
            table = change(table)
        return ((rows[:, None] - table) ** 2).sum(axis=-1).argmin(axis=1)

    return answer


def _swap(table):
    return table.reshape(len(table), -1, 2)[:, :, ::-1].reshape(table.shape)


def _sines_first(table):
    return np.concatenate([table[:, 0::2], table[:, 1::2]], axis=1)


def _first_hand(signed, beyond, turns=np.round):
    """From the slowest clock's angle as it comes, and what is done with positions beyond."""

    def answer(rows, base, longest):
        d = rows.shape[1]
        speeds = base ** (-np.arange(0, d, 2) / d)
        angles = np.arctan2(rows[:, 0::2], rows[:, 1::2])
        guess = (angles[:, -1] if signed else angles[:, -1] % (2 * np.pi)) / speeds[-1]
        for i in range(d // 2 - 2, -1, -1):
            full = turns((guess * speeds[i] - angles[:, i] % (2 * np.pi)) / (2 * np.pi))
            guess = (angles[:, i] % (2 * np.pi) + 2 * np.pi * full) / speeds[i]
        return beyond(np.rint(guess).astype(int), longest)

    return answer


def _kept(found, longest):
    return found


def _clipped(found, longest):
    return found.clip(0, longest - 1)


def _absolute(found, longest):
    return np.abs(found)


def _modulo(found, longest):
    return found % longest


def _sorted(rows, base, longest):
    return np.sort(read_clock(rows, base, longest))


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("the fastest alone", _one_clock(0), "by hand", "only the fastest clock"),
    ("the fastest alone, signed", _signed, "by hand", "only the fastest"),
    ("nearest by the fastest", _nearest(slice(0, 2)), "by hand", "only the fastest clock"),
    ("the slowest alone", _one_clock(-1), "by hand", "only the slowest clock"),
    ("nearest by the slowest", _nearest(slice(-2, None)), "by hand", "only the slowest clock"),
    ("both ends", _ends, "random", "slowest and the fastest"),
    ("without the fastest", _by(clocks=slice(1, None)), "by hand", "don't read the fastest"),
    ("nearest by sines", _nearest(slice(0, None, 2)), "by hand", "only the sines"),
    ("nearest by cosines", _nearest(slice(1, None, 2)), "by hand", "only the cosines"),
    ("arcsine", _by(lambda sin, cos: np.arcsin(sin.clip(-1, 1))), "by hand", "sine alone"),
    ("arccosine", _by(lambda sin, cos: np.arccos(cos.clip(-1, 1))), "random", "cosine alone"),
    ("quotient", _by(lambda sin, cos: np.arctan(sin / cos)), "by hand", "comes twice"),
    ("swapped", _by(lambda sin, cos: np.arctan2(cos, sin)), "by hand", "swapped"),
    ("turns rounded down", _by(turns=np.floor), "by hand", "turns down"),
    ("from the start", _by(start="zero"), "edges", "just before its start"),
    ("nearest, swapped", _nearest_row(_swap), "by hand", "swapped"),
    ("nearest, all sines in front", _nearest_row(_sines_first), "random", "in front"),
    ("nearest, base 10,000", _nearest_row(of=lambda n, d, base: _table(n, d, 1e4)), "by hand",
     "use base 10,000"),
    ("nearest, half the exponent", _nearest_row(of=lambda n, d, base: _table(n, d, base**0.5)),
     "by hand", "half of the exponent"),
    ("nearest, one row short", _nearest_row(lambda table: table[:-1]), "edges", "never find"),
    ("from the start, clipped", _first_hand(False, _clipped), "edges", "just before its start"),
    ("from the start, modulo", _first_hand(False, _modulo), "edges", "just before its start"),
    ("signed", _first_hand(True, _kept), "random", "past half a turn"),
    ("signed, clipped", _first_hand(True, _clipped), "random", "past half a turn"),
    ("signed, absolute", _first_hand(True, _absolute), "random", "past half a turn"),
    ("signed, modulo", _first_hand(True, _modulo), "random", "past half a turn"),
    ("rest rounded down", _first_hand(False, _clipped, np.floor), "by hand", "turns down"),
    ("sorted", _sorted, "random", "in the order of the rows"),
    ("rounded down", _by(whole=np.floor), "random", "Take the nearest"),
    ("all sines in front", _halves, "random", "in front"),
    ("base 10,000", lambda rows, base, longest: read_clock(rows, 1e4, longest), "by hand",
     "use base 10,000"),
    ("half the exponent", _by(power=0.5), "by hand", "half of the exponent"),
    ("counted from 1", lambda rows, base, longest: read_clock(rows, base, longest) + 1, "by hand",
     "one too large"),
    ("equal rows", _equal, "by hand", "look for the nearest"),
    ("the mean of all clocks", _mean, "by hand", "average the clocks"),
    ("the mean of all clocks, kept in range", lambda rows, base, longest: np.minimum(
        _mean(rows, base, longest), longest - 1), "by hand", "average the clocks"),
    ("floats", lambda rows, base, longest: read_clock(rows, base, longest).astype(float), "dtype",
     "whole numbers"),
    ("the first alone", lambda rows, base, longest: read_clock(rows, base, longest)[:1], "shape",
     "shape"),
]  # fmt: skip
