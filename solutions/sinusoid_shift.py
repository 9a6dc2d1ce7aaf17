"""A block of two by two for every pair."""

import numpy as np


def shift_matrix(d_model, steps):
    matrix = np.zeros((d_model, d_model))
    for i in range(d_model // 2):
        b = steps * 10000.0 ** (-2 * i / d_model)
        block = [[np.cos(b), -np.sin(b)], [np.sin(b), np.cos(b)]]
        matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block
    return matrix


REFERENCE = shift_matrix


def _starter(d_model, steps):
    raise NotImplementedError


def _of_angles(angle):
    def answer(d_model, steps):
        matrix = np.zeros((d_model, d_model))
        for i in range(d_model // 2):
            b = angle(i, d_model, steps)
            block = [[np.cos(b), -np.sin(b)], [np.sin(b), np.cos(b)]]
            matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block
        return matrix

    return answer


def _halves(d_model, steps):
    order = np.concatenate([np.arange(0, d_model, 2), np.arange(1, d_model, 2)])
    return shift_matrix(d_model, steps)[np.ix_(order, order)]


def _plus(d_model, steps):
    return np.abs(shift_matrix(d_model, steps))


def _first_pair(d_model, steps):
    matrix = np.eye(d_model)
    matrix[:2, :2] = shift_matrix(2, steps)
    return matrix


def _blocks(block):
    def answer(d_model, steps):
        angles = steps * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
        matrix = np.zeros((d_model, d_model))
        for i, b in enumerate(angles):
            matrix[2 * i : 2 * i + 2, 2 * i : 2 * i + 2] = block(np.cos(b), np.sin(b))
        return matrix

    return answer


def _fitted(d_model, steps):
    def rows(places):
        angles = places[:, None] * 10000.0 ** (-np.arange(0, d_model, 2) / d_model)
        return np.stack([np.sin(angles), np.cos(angles)], axis=-1).reshape(len(places), -1)

    return np.linalg.pinv(rows(np.arange(2))) @ rows(np.arange(2) + steps)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("transposed", lambda d_model, steps: shift_matrix(d_model, steps).T, "by hand", "other sine"),
    ("nothing", lambda d_model, steps: np.eye(d_model), "by hand", "Nothing moves"),
    ("no minus", _plus, "by hand", "one minus"),
    ("one step", lambda d_model, steps: shift_matrix(d_model, 1), "random", "one step"),
    ("forwards only", lambda d_model, steps: shift_matrix(d_model, abs(steps)), "property",
     "moves back"),
    ("one angle", _of_angles(lambda i, d, steps: steps), "random", "same angle"),
    ("half the exponent", _of_angles(lambda i, d, steps: steps * 10000.0 ** (-i / d)), "random",
     "half of that"),
    ("sines in front", _halves, "random", "all sines in front"),
    ("first pair only", _first_pair, "random", "Only the first pair"),
    ("rounded steps", lambda d_model, steps: shift_matrix(d_model, min(steps, 1000)), "edges",
     "should be"),
    ("a row", lambda d_model, steps: shift_matrix(d_model, steps)[0], "shape", "shape"),
    ("never back", lambda d_model, steps: shift_matrix(d_model, max(steps, 0)), "property",
     "With negative steps"),
    ("numbers shifted", lambda d_model, steps: np.eye(d_model, k=steps), "by hand",
     "stay in their places"),
    ("steps times one step", lambda d_model, steps: steps * shift_matrix(d_model, 1), "random",
     "multiply the angle"),
    ("sine on the diagonal", _blocks(lambda cos, sin: [[sin, cos], [cos, -sin]]), "by hand",
     "The sine is on the diagonal"),
    ("both sines positive", _blocks(lambda cos, sin: [[cos, sin], [sin, cos]]), "by hand",
     "the same sign"),
    ("fitted to two rows", _fitted, "random", "positions 0 and 1 arrive"),
    ("one step too many", lambda d_model, steps: shift_matrix(d_model, steps + 1), "by hand",
     "one step too many"),
    ("i from 1", _of_angles(lambda i, d, steps: steps * 10000.0 ** (-2 * (i + 1) / d)), "by hand",
     "counted from 0"),
    ("cosines only", _blocks(lambda cos, sin: [[cos, 0], [0, cos]]), "by hand",
     "sines are missing"),
    ("transposed, half the exponent",
     _of_angles(lambda i, d, steps: -steps * 10000.0 ** (-i / d)), "by hand", "Two things"),
    ("another base", _of_angles(lambda i, d, steps: steps * 1000.0 ** (-2 * i / d)), "random",
     "base is 10,000"),
]  # fmt: skip
