"""The temperature for a share, by halving an interval."""

import numpy as np


def temperature_for(scores, share):
    found = []
    for row, wanted in zip(scores, share, strict=True):
        # adding a number to all scores changes nothing
        gaps = row.max() - row

        def weight(temperature, gaps=gaps):
            return 1 / np.exp(-gaps / temperature).sum()

        low = high = gaps.max()
        while weight(low) < wanted:
            low /= 2
        while weight(high) > wanted:
            high *= 2
        for _ in range(60):
            middle = (low + high) / 2
            if weight(middle) > wanted:  # still too decided: warmer
                low = middle
            else:
                high = middle
        found.append((low + high) / 2)
    return np.array(found)


REFERENCE = temperature_for


def _softmax(row):
    powers = np.exp(row - row.max())
    return powers / powers.sum()


def _starter(scores, share):
    raise NotImplementedError


def _inverse(scores, share):
    return 1 / temperature_for(scores, share)


def _powers_of_two(scores, share):
    return temperature_for(scores, share) * np.log(2)


def _first_row(scores, share):
    return np.full(len(share), temperature_for(scores, share)[0])


def _two_largest(scores, share):
    ordered = np.sort(scores, axis=1)
    return (ordered[:, -1] - ordered[:, -2]) / np.log(share / (1 - share))


def _equal_others(scores, share):
    ordered = np.sort(scores, axis=1)
    gap = ordered[:, -1] - ordered[:, :-1].mean(axis=1)
    return gap / np.log(share * (scores.shape[1] - 1) / (1 - share))


def _in_proportion(scores, share):
    return np.array([_softmax(row).max() for row in scores]) / share


def _coarse(scores, share):
    return np.round(temperature_for(scores, share), 2)


def _fixed_ends(scores, share):
    found = []
    for row, wanted in zip(scores, share, strict=True):
        low, high = 0.01, 10.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _softmax(row / middle).max() > wanted else (low, middle)
        found.append(low)
    return np.array(found)


def _runs_away(scores, share):
    found = []
    for row, wanted in zip(scores, share, strict=True):
        low, high = 0.01, 100.0
        for _ in range(60):
            middle = (low + high) / 2
            low, high = (middle, high) if _softmax(row / middle).max() < wanted else (low, middle)
        found.append(low)
    return np.array(found)


def _scalar(scores, share):
    return temperature_for(scores, share)[0]


def _negative(scores, share):
    return -temperature_for(scores, share)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("one over it", _inverse, "by hand", "one over the temperature"),
    ("powers of two", _powers_of_two, "by hand", "not 2"),
    ("the first for all", _first_row, "random", "Each has its own"),
    ("the two largest", _two_largest, "random", "two largest"),
    ("the others equal", _equal_others, "random", "for equal"),
    ("in proportion", _in_proportion, "by hand", "in proportion"),
    ("two digits", _coarse, "random", "too coarse"),
    ("fixed ends", _fixed_ends, "property", "doesn't get its share"),
    ("the wrong half", _runs_away, "by hand", "doesn't get its share"),
    ("one number", _scalar, "shape", "shape"),
    ("negative", _negative, "by hand", "larger than 0"),
]
