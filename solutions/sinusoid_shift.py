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
    ("sines in front", _halves, "random", "mixes pairs"),
    ("first pair only", _first_pair, "random", "Only the first pair"),
    ("rounded steps", lambda d_model, steps: shift_matrix(d_model, min(steps, 1000)), "edges",
     "should be"),
    ("a row", lambda d_model, steps: shift_matrix(d_model, steps)[0], "shape", "shape"),
]  # fmt: skip
