"""The longest of the parts, weight times value, of which each output is the sum."""

import numpy as np


def strongest_part(weights, v):
    parts = weights[:, :, None] * v
    return np.sqrt((parts**2).sum(axis=2)).argmax(axis=1)


REFERENCE = strongest_part


def _starter(weights, v):
    raise NotImplementedError


def _most_weight(weights, v):
    return weights.argmax(axis=1)


def _longest_value(weights, v):
    return np.full(len(weights), np.linalg.norm(v, axis=1).argmax())


def _added(weights, v):
    return (weights * v.sum(axis=1)).argmax(axis=1)


def _size_of_sum(weights, v):
    return np.abs(weights * v.sum(axis=1)).argmax(axis=1)


def _largest_number(weights, v):
    return (weights * v.max(axis=1)).argmax(axis=1)


def _smallest(weights, v):
    return (weights * np.linalg.norm(v, axis=1)).argmin(axis=1)


def _most_alike(weights, v):
    return (weights @ v @ v.T).argmax(axis=1)


def _from_one(weights, v):
    return strongest_part(weights, v) + 1


def _the_lengths(weights, v):
    return (weights * np.linalg.norm(v, axis=1)).max(axis=1)


def _all_parts(weights, v):
    return weights * np.linalg.norm(v, axis=1)


def _absolute(weights, v):
    return (weights * np.abs(v).sum(axis=1)).argmax(axis=1)


def _largest_size(weights, v):
    return (weights * np.abs(v).max(axis=1)).argmax(axis=1)


def _squared(weights, v):
    return (weights * (v**2).sum(axis=1)).argmax(axis=1)


def _along(weights, v):
    return (weights * (weights @ v @ v.T)).argmax(axis=1)


def _closest(weights, v):
    return np.square((weights @ v)[:, None] - v).sum(axis=2).argmin(axis=1)


def _of_one_query(weights, v):
    return np.full(len(weights), strongest_part(weights[-1:], v)[0])


def _down(weights, v):
    return (weights * np.linalg.norm(v, axis=1)).argmax(axis=0)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("most weight", _most_weight, "by hand", "a short value adds little"),
    ("longest value", _longest_value, "by hand", "longest values"),
    ("added up", _added, "by hand", "negative numbers is as long"),
    ("size of the sum", _size_of_sum, "by hand", "cancel"),
    ("largest number", _largest_number, "by hand", "all of them"),
    ("smallest", _smallest, "by hand", "smallest parts"),
    ("most alike", _most_alike, "random", "most like the output"),
    ("counted from 1", _from_one, "by hand", "from 0, not from 1"),
    ("the lengths", _the_lengths, "dtype", "whole numbers"),
    ("all parts", _all_parts, "shape", "(3, 3)"),
    ("absolute numbers", _absolute, "property", "sum of their squares"),
    ("largest size", _largest_size, "random", "takes all its entries"),
    ("squared", _squared, "random", "squared lengths"),
    ("along the output", _along, "random", "whatever its direction"),
    ("closest", _closest, "by hand", "closest to the output"),
    ("of the last query", _of_one_query, "by hand", "its own weights"),
    ("a query for each key", _down, "shape", "shape"),
    (
        "weight plus length",
        lambda weights, v: (weights + np.linalg.norm(v, axis=1)).argmax(axis=1),
        "by hand",
        "added weight and length",
    ),
    ("weight twice", lambda weights, v: strongest_part(weights**2, v), "random", "counts twice"),
    (
        "first number",
        lambda weights, v: strongest_part(weights, v[:, :1]),
        "random",
        "only count the first entry",
    ),
]
