"""The roofline's bound."""

import numpy as np


def step_bound(flops, n_bytes, flops_per_second, bytes_per_second):
    computing = flops / flops_per_second
    reading = n_bytes / bytes_per_second
    return np.maximum(computing, reading), reading >= computing


REFERENCE = step_bound


def _with(seconds=None, verdict=None):
    """The reference with other seconds or another verdict."""

    def answer(flops, n_bytes, flops_per_second, bytes_per_second):
        computing, reading = flops / flops_per_second, n_bytes / bytes_per_second
        took, bound = step_bound(flops, n_bytes, flops_per_second, bytes_per_second)
        took = took if seconds is None else seconds(computing, reading)
        return took, bound if verdict is None else verdict(computing, reading, flops, n_bytes)

    return answer


def _swapped(flops, n_bytes, flops_per_second, bytes_per_second):
    return step_bound(flops, n_bytes, bytes_per_second, flops_per_second)


def _seconds_only(flops, n_bytes, flops_per_second, bytes_per_second):
    return step_bound(flops, n_bytes, flops_per_second, bytes_per_second)[0]


def _half(flops, n_bytes, flops_per_second, bytes_per_second):
    took, bound = step_bound(flops, n_bytes, flops_per_second, bytes_per_second)
    return took / 2, bound


def _starter(flops, n_bytes, flops_per_second, bytes_per_second):
    raise NotImplementedError


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("seconds only", _seconds_only, "type", "2 arrays"),
    ("added", _with(lambda c, r: c + r), "by hand", "overlap"),
    ("the shorter", _with(np.minimum), "by hand", "shorter of the two"),
    ("arithmetic only", _with(lambda c, r: c), "by hand", "Only the arithmetic"),
    ("reading only", _with(lambda c, r: r), "by hand", "Only the reading"),
    ("rates swapped", _swapped, "by hand", "swapped"),
    ("half", _half, "by hand", "divided by its rate"),
    ("turned round", _with(None, lambda c, r, f, b: r < c), "by hand", "turned round"),
    ("the ridge itself", _with(None, lambda c, r, f, b: r > c), "edges", "On the ridge"),
    ("numbers compared", _with(None, lambda c, r, f, b: f < b), "by hand", "as they are"),
    ("all of it", _with(None, lambda c, r, f, b: r == r), "by hand", "One verdict"),
    (
        "the longest step",
        _with(lambda c, r: np.full(c.shape, max(c.max(), r.max()))),
        "by hand",
        "a bound of its own",
    ),
    (
        "all steps together",
        _with(None, lambda c, r, f, b: np.full(c.shape, r.sum() >= c.sum())),
        "by hand",
        "One verdict",
    ),
    (
        "numbers compared, with ties",
        _with(None, lambda c, r, f, b: b >= f),
        "by hand",
        "as they are",
    ),
    (
        "multiplied",
        lambda flops, n_bytes, flops_per_second, bytes_per_second: step_bound(
            flops, n_bytes, 1 / flops_per_second, 1 / bytes_per_second
        ),
        "by hand",
        "multiplied",
    ),
    (
        "verdict by products",
        lambda flops, n_bytes, flops_per_second, bytes_per_second: (
            step_bound(flops, n_bytes, flops_per_second, bytes_per_second)[0],
            flops * flops_per_second <= n_bytes * bytes_per_second,
        ),
        "by hand",
        "multiplied",
    ),
]
