"""The first of the slow planes to leave the angles of its training decides."""

import numpy as np


def rule_reach(speeds, slowed, trained):
    # A plane that came round in training has shown every angle. Only
    # the others can meet a new one.
    slow = speeds * trained < 2 * np.pi  # did not come round: showed a part of the circle
    # Slowed, a plane takes longer to reach the largest angle it has
    # shown. The first to get there decides, so it's the minimum.
    return (speeds[slow] * trained / slowed[:, slow]).min(axis=1)


REFERENCE = rule_reach


def _starter(speeds, slowed, trained):
    raise NotImplementedError


def _among(which):
    """The reference with other planes."""

    def answer(speeds, slowed, trained):
        chosen = which(speeds, trained)
        if not chosen.any():
            return np.full(len(slowed), float(trained))
        return (speeds[chosen] * trained / slowed[:, chosen]).min(axis=1)

    return answer


def _under_the_rule(speeds, slowed, trained):
    found = []
    for row in slowed:
        slow = row * trained < 2 * np.pi
        found.append((speeds[slow] * trained / row[slow]).min() if slow.any() else trained)
    return np.array(found, dtype=float)


def _slowest(speeds, slowed, trained):
    return speeds[-1] * trained / slowed[:, -1]


def _first_slow(speeds, slowed, trained):
    i = (speeds * trained < 2 * np.pi).argmax()
    return speeds[i] * trained / slowed[:, i]


def _never_shorter(speeds, slowed, trained):
    return np.maximum(rule_reach(speeds, slowed, trained), trained)


def _by(reduce):
    def answer(speeds, slowed, trained):
        slow = speeds * trained < 2 * np.pi
        return reduce(speeds[slow] * trained / slowed[:, slow], axis=1)

    return answer


def _exchanged(speeds, slowed, trained):
    slow = speeds * trained < 2 * np.pi
    return (slowed[:, slow] * trained / speeds[slow]).min(axis=1)


def _ratio(speeds, slowed, trained):
    return rule_reach(speeds, slowed, trained) / trained


def _same_as_trained(speeds, slowed, trained):
    return np.full(len(slowed), float(trained))


def _longest_wave(speeds, slowed, trained):
    return (2 * np.pi / slowed).max(axis=1)


def _comes_round(speeds, slowed, trained):
    slow = speeds * trained < 2 * np.pi
    return (2 * np.pi / slowed[:, slow]).min(axis=1)


def _floor(speeds, slowed, trained):
    return np.floor(rule_reach(speeds, slowed, trained))


def _rounded(speeds, slowed, trained):
    return np.floor(rule_reach(speeds, slowed, trained) + 1e-9)


def _first_rule(speeds, slowed, trained):
    return np.full(len(slowed), rule_reach(speeds, slowed, trained)[0])


def _twice(speeds, slowed, trained):
    return 2 * rule_reach(speeds, slowed, trained)


def _shorter(speeds, slowed, trained):
    return 0.75 * rule_reach(speeds, slowed, trained)


def _scalar(speeds, slowed, trained):
    return rule_reach(speeds, slowed, trained)[:1].reshape(1, 1)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("all planes", _among(lambda s, t: s > 0), "by hand", "completed a rotation, too"),
    ("the fast ones", _among(lambda s, t: s * t >= 2 * np.pi), "by hand", "never shown"),
    ("under the rule", _under_the_rule, "random", "its frequency there"),
    ("the slowest", _slowest, "by hand", "only look at the slowest"),
    ("the first slow one", _first_slow, "by hand", "only look at the fastest plane"),
    ("never shorter", _never_shorter, "edges", "make a plane faster"),
    ("one radian", _among(lambda s, t: s * t < 1), "by hand", "2π radians, not one"),
    ("the last to leave", _by(np.max), "by hand", "sets the limit"),
    ("the mean", _by(np.mean), "by hand", "mean over the planes"),
    ("exchanged", _exchanged, "by hand", "swapped"),
    ("times longer", _ratio, "by hand", "how many times longer"),
    ("the trained length", _same_as_trained, "by hand", "the training context"),
    ("the longest wavelength", _longest_wave, "by hand", "longest wavelength"),
    ("until one comes round", _comes_round, "by hand", "a part of its circle"),
    ("floor", _floor, "random", "round the lengths"),
    ("rounded down", _rounded, "random", "round the lengths"),
    ("the first for all", _first_rule, "by hand", "the first"),
    ("twice as long", _twice, "by hand", "to new angles"),
    ("too short", _shorter, "by hand", "can be longer"),
    ("another shape", _scalar, "shape", "shape"),
]
