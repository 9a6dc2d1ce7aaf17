"""Add the zero before the codes are cut to their range, and divide by no 0."""

import numpy as np


def code_and_back(x, bits):
    levels = 2**bits - 1
    low = np.minimum(x.min(axis=1, keepdims=True), 0)
    high = np.maximum(x.max(axis=1, keepdims=True), 0)
    scale = (high - low) / levels
    scale = np.where(scale > 0, scale, 1)  # a row of zeros
    zero = np.rint(-low / scale)
    codes = (np.rint(x / scale) + zero).clip(0, levels)
    return scale * (codes - zero)


REFERENCE = code_and_back


def _made(clip=True, before=False, guard=True, zero_in=True, whole=True, levels_of=-1, axis=1):
    def answer(x, bits):
        levels = 2**bits + levels_of
        low, high = x.min(axis=axis, keepdims=True), x.max(axis=axis, keepdims=True)
        if zero_in:
            low, high = np.minimum(low, 0), np.maximum(high, 0)
        scale = (high - low) / levels
        if guard:
            scale = np.where(scale > 0, scale, 1)
        with np.errstate(all="ignore"):
            zero = np.rint(-low / scale) if whole else -low / scale
            codes = np.rint(x / scale)
            if before:
                codes = codes.clip(0, levels) + zero
            else:
                codes = (codes + zero).clip(0, levels) if clip else codes + zero
            return scale * (codes - zero)

    return answer


def _zero_left_on(x, bits):
    low = np.minimum(x.min(axis=1, keepdims=True), 0)
    high = np.maximum(x.max(axis=1, keepdims=True), 0)
    scale = np.where(high > low, (high - low) / (2**bits - 1), 1)
    return scale * (np.rint(x / scale) + np.rint(-low / scale)).clip(0, 2**bits - 1)


def _with_sign(x, bits, largest=None):
    scale = np.abs(x).max(axis=1, keepdims=True) / (largest or (2**bits - 1))
    scale = np.where(scale > 0, scale, 1)
    return scale * np.rint(x / scale)


def _zero_as_a_number(x, bits):
    low = np.minimum(x.min(axis=1, keepdims=True), 0)
    high = np.maximum(x.max(axis=1, keepdims=True), 0)
    scale = np.where(high > low, (high - low) / (2**bits - 1), 1)
    return low + scale * np.rint((x - low) / scale)


def _other(cut=None, add=0.0, sign=-1, steps=-1, codes_alone=False):
    """The repaired function with one thing that is wrong."""

    def answer(x, bits):
        levels = 2**bits - 1
        low = np.minimum(x.min(axis=1, keepdims=True), 0)
        high = np.maximum(x.max(axis=1, keepdims=True), 0)
        scale = (high - low) / (2**bits + steps) + add
        scale = np.where(scale > 0, scale, 1)
        zero = np.rint(sign * low / scale)
        if cut is None:
            codes = (np.rint(x / scale) + zero).clip(0, levels)
        else:
            codes = np.rint(x / scale).clip(cut(zero, levels), levels) + zero
        return codes if codes_alone else scale * (codes - zero)

    return answer


def _as_it_came(x, bits):
    return x.copy()


WRONG = [
    ("starter", _made(before=True, guard=False), "by hand", "before the zero is added"),
    ("half repaired", _made(guard=False), "finite", "no number"),
    ("clipped before", _made(before=True), "by hand", "before the zero is added"),
    ("not clipped", _made(clip=False), "edges", "beyond the last one"),
    ("range without 0", _made(zero_in=False), "property", "no longer includes 0"),
    ("zero not whole", _made(whole=False), "random", "didn't round the zero"),
    ("zero a number", _zero_as_a_number, "random", "least number of the row"),
    ("clipped before, wide", _other(cut=lambda z, n: -n), "edges", "beyond the last one"),
    ("clipped before, at the zero", _other(cut=lambda z, n: -z), "edges", "beyond the last one"),
    ("a little added", _other(add=1e-6), "random", "something small"),
    ("very little added", _other(add=1e-12), "edges", "something small"),
    ("wrong sign", _other(sign=1), "by hand", "the wrong sign"),
    ("divided by 2^bits", _other(steps=0), "by hand", "one step less"),
    ("codes", _other(codes_alone=True), "by hand", "returned codes"),
    ("codes and a sign", _with_sign, "by hand", "around 0"),
    ("codes on both sides", lambda x, bits: _with_sign(x, bits, 2 ** (bits - 1) - 1), "by hand",
     "around 0"),
    ("a step too many", _made(levels_of=0), "by hand", "a step too many"),
    ("one scale", _made(axis=None), "random", "one scale for all"),
    ("zero left on", _zero_left_on, "by hand", "subtract the zero"),
    ("not rounded", _as_it_came, "by hand", "should come back as"),
    ("transposed", lambda x, bits: code_and_back(x, bits).T, "shape", "shape"),
]  # fmt: skip
