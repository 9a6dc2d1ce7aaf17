"""YaRN's ramp over rotations."""

import numpy as np


def yarn_ramp(inv_freq, factor, trained):
    turns = inv_freq * trained / (2 * np.pi)
    kept = np.clip((turns - 1) / (32 - 1), 0, 1)
    return kept * inv_freq + (1 - kept) * inv_freq / factor


REFERENCE = yarn_ramp


def _variant(*, turn=2 * np.pi, clip=True, flip=False, longer=False, step=False, waves=False):
    """The reference with one thing changed."""

    def answer(inv_freq, factor, trained):
        turns = inv_freq * trained * (factor if longer else 1) / turn
        kept = (turns - 1) / 31
        if clip:
            kept = np.clip(kept, 0, 1)
        if step:
            kept = (turns > 16.5).astype(float)
        if flip:
            kept = 1 - kept
        if waves:
            return inv_freq / (kept + (1 - kept) * factor)
        return kept * inv_freq + (1 - kept) * inv_freq / factor

    return answer


def _nothing(inv_freq, factor, trained):
    return inv_freq + 0.0


def _all(inv_freq, factor, trained):
    return inv_freq / factor


def _other_ends(inv_freq, factor, trained):
    turns = inv_freq * trained / (2 * np.pi)
    kept = np.clip((turns - 1) / (4 - 1), 0, 1)
    return kept * inv_freq + (1 - kept) * inv_freq / factor


def _ramp_itself(inv_freq, factor, trained):
    return np.clip((inv_freq * trained / (2 * np.pi) - 1) / 31, 0, 1)[:, None]


def _divides(inv_freq, factor, trained):
    with np.errstate(divide="ignore", invalid="ignore"):
        return yarn_ramp(inv_freq, factor, trained) * (np.float64(factor - 1) / (factor - 1))


def _list(inv_freq, factor, trained):
    return yarn_ramp(inv_freq, factor, trained).tolist()


def _of_kept(share):
    """The blend by another share, a function of the rotations."""

    def answer(inv_freq, factor, trained):
        kept = share(inv_freq * trained / (2 * np.pi))
        return kept * inv_freq + (1 - kept) * inv_freq / factor

    return answer


def _over_planes(inv_freq, factor, trained):
    turns = inv_freq * trained / (2 * np.pi)
    first, last = (turns >= 32).sum() - 1, (turns > 1).sum()
    places = (last - np.arange(len(turns))) / max(last - first, 1)
    return _of_kept(lambda turns: np.clip(places, 0, 1))(inv_freq, factor, trained)


def _multiplied(inv_freq, factor, trained):
    return yarn_ramp(inv_freq, 1 / factor, trained)


WRONG = [
    ("nothing", _nothing, "by hand", "Nothing has changed"),
    ("all", _all, "by hand", "position interpolation"),
    ("turned round", _variant(flip=True), "by hand", "turned round"),
    ("not clipped", _variant(clip=False), "by hand", "clip"),
    ("longer context", _variant(longer=True), "by hand", "longer context"),
    ("radians", _variant(turn=1.0), "by hand", "2π"),
    ("wavelengths", _variant(waves=True), "by hand", "blends wavelengths"),
    ("a step", _variant(step=True), "by hand", "a step"),
    ("Llama 3's ends", _other_ends, "by hand", "came round"),
    ("the ramp itself", _ramp_itself, "shape", "scaled should have shape"),
    ("factor of one", _divides, "finite", "NaN"),
    ("a list", _list, "type", "NumPy array"),
    ("over the planes", _over_planes, "random", "number of the plane"),
    (
        "32 rotations wide",
        _of_kept(lambda turns: np.clip(turns / 32, 0, 1)),
        "by hand",
        "31 rotations wide",
    ),
    (
        "32 rotations wide above 1",
        _of_kept(lambda turns: np.where(turns <= 1, 0, np.clip(turns / 32, 0, 1))),
        "by hand",
        "31 rotations wide",
    ),
    (
        "over the logarithm",
        _of_kept(lambda turns: np.clip(np.log(turns) / np.log(32), 0, 1)),
        "by hand",
        "logarithm",
    ),
    ("a step at 32", _of_kept(lambda turns: 1.0 * (turns >= 32)), "by hand", "a step"),
    ("multiplied", _multiplied, "by hand", "multiplied by the factor"),
    (
        "whole rotations",
        lambda inv_freq, factor, trained: _of_kept(
            lambda turns: np.clip((np.floor(turns) - 1) / 31, 0, 1)
        )(inv_freq, factor, trained),
        "by hand",
        "Only whole rotations",
    ),
    (
        "wavelengths as rotations",
        lambda inv_freq, factor, trained: _of_kept(
            lambda turns: np.clip((2 * np.pi / inv_freq - 1) / 31, 0, 1)
        )(inv_freq, factor, trained),
        "by hand",
        "taken for rotations",
    ),
    ("turned round, radians", _variant(flip=True, turn=1.0), "by hand", "Two things"),
]
