"""How much each addend raised one logit above another: divided once, then term by term."""

import numpy as np


def word_votes(parts, gain, table, said, other):
    stream = parts.sum(axis=0)
    divisor = np.sqrt((stream**2).mean())  # one number, for all parts
    return parts / divisor * gain @ (table[said] - table[other])


REFERENCE = word_votes


def _rms(x):
    return np.sqrt((x**2).mean(axis=-1, keepdims=True))


def _lead(x, gain, table, said, other):
    logits = x / _rms(x) * gain @ table.T
    return logits[..., said] - logits[..., other]


def _starter(parts, gain, table, said, other):
    raise NotImplementedError


def _own_norm(parts, gain, table, said, other):
    size = _rms(parts)
    return parts / np.where(size == 0, 1, size) * gain @ (table[said] - table[other])


def _norm_so_far(parts, gain, table, said, other):
    size = _rms(np.cumsum(parts, axis=0))
    return parts / np.where(size == 0, 1, size) * gain @ (table[said] - table[other])


def _no_norm(parts, gain, table, said, other):
    return parts * gain @ (table[said] - table[other])


def _no_gain(parts, gain, table, said, other):
    return parts / _rms(parts.sum(axis=0)) @ (table[said] - table[other])


def _epsilon(parts, gain, table, said, other):
    divisor = np.sqrt((parts.sum(axis=0) ** 2).mean() + 1e-5)
    return parts / divisor * gain @ (table[said] - table[other])


def _neither(parts, gain, table, said, other):
    return parts @ (table[said] - table[other])


def _own_norm_no_gain(parts, gain, table, said, other):
    return _own_norm(parts, np.ones_like(gain), table, said, other)


def _swapped(parts, gain, table, said, other):
    return word_votes(parts, gain, table, other, said)


def _one_logit(parts, gain, table, said, other):
    return parts / _rms(parts.sum(axis=0)) * gain @ table[said]


def _lens(parts, gain, table, said, other):
    return np.diff(_lead(np.cumsum(parts, axis=0), gain, table, said, other), prepend=0)


def _so_far(parts, gain, table, said, other):
    return _lead(np.cumsum(parts, axis=0), gain, table, said, other)


def _added_up(parts, gain, table, said, other):
    return np.cumsum(word_votes(parts, gain, table, said, other))


def _left_out(parts, gain, table, said, other):
    stream = parts.sum(axis=0)
    whole = _lead(stream, gain, table, said, other)
    return whole - _lead(stream - parts, gain, table, said, other)


def _shares(parts, gain, table, said, other):
    votes = word_votes(parts, gain, table, said, other)
    return votes / votes.sum()


def _evenly(parts, gain, table, said, other):
    votes = word_votes(parts, gain, table, said, other)
    return np.full(len(parts), votes.mean())


def _length(parts, gain, table, said, other):
    return parts / np.linalg.norm(parts.sum(axis=0)) * gain @ (table[said] - table[other])


def _no_root(parts, gain, table, said, other):
    return parts / (parts.sum(axis=0) ** 2).mean() * gain @ (table[said] - table[other])


def _gain_first(parts, gain, table, said, other):
    scaled = parts * gain
    return scaled / _rms(scaled.sum(axis=0)) @ (table[said] - table[other])


def _sum_of_norms(parts, gain, table, said, other):
    return parts * gain / _rms(parts).sum() @ (table[said] - table[other])


def _one_norm_of_all(parts, gain, table, said, other):
    return parts / np.sqrt((parts**2).mean()) * gain @ (table[said] - table[other])


def _squares_added(parts, gain, table, said, other):
    size = np.sqrt((parts**2).sum(axis=0).mean())
    return parts / size * gain @ (table[said] - table[other])


def _of_the_mean(parts, gain, table, said, other):
    return parts / _rms(parts.mean(axis=0)) * gain @ (table[said] - table[other])


def _layer_norm(parts, gain, table, said, other):
    centred = parts - parts.mean(axis=1, keepdims=True)
    return centred / parts.sum(axis=0).std() * gain @ (table[said] - table[other])


def _chances(parts, gain, table, said, other):
    powers = np.exp(parts / _rms(parts) * gain @ table.T)
    p = powers / powers.sum(axis=1, keepdims=True)
    return p[:, said] - p[:, other]


def _by_projection(parts, gain, table, said, other):
    stream = parts.sum(axis=0)
    return _lead(stream, gain, table, said, other) * (parts @ stream) / (stream @ stream)


def _whole(parts, gain, table, said, other):
    return _lead(parts.sum(axis=0), gain, table, said, other)


def _all_words(parts, gain, table, said, other):
    return parts / _rms(parts.sum(axis=0)) * gain @ table.T


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("the norm so far", _norm_so_far, "by hand", "stream up to it"),
    ("a norm for each", _own_norm, "by hand", "that of the whole stream"),
    (
        "a norm for each, and zeros",
        lambda parts, gain, table, said, other: _lead(parts, gain, table, said, other),
        "by hand",
        "that of the whole stream",
    ),
    ("no norm", _no_norm, "by hand", "left out the norm"),
    ("no gain", _no_gain, "by hand", "left out the gain"),
    ("an epsilon", _epsilon, "property", "an ε inside"),
    ("neither", _neither, "by hand", "both the norm"),
    ("a norm for each, no gain", _own_norm_no_gain, "by hand", "Two things"),
    ("swapped", _swapped, "by hand", "the sign"),
    ("one logit", _one_logit, "by hand", "prefers neither"),
    ("steps of the lens", _lens, "by hand", "divides anew"),
    ("the lens", _so_far, "by hand", "all parts before it included"),
    ("added up", _added_up, "by hand", "from part to part"),
    ("left out in turn", _left_out, "by hand", "leave each part out"),
    ("shares", _shares, "by hand", "shares of the difference"),
    ("evenly", _evenly, "by hand", "on its own"),
    ("by its length", _length, "by hand", "*mean* square"),
    ("no root", _no_root, "by hand", "takes the root"),
    ("gain first", _gain_first, "by hand", "after the division"),
    ("divisors added", _sum_of_norms, "by hand", "not the sum of theirs"),
    ("all numbers", _one_norm_of_all, "by hand", "that of their sum"),
    ("squares added", _squares_added, "by hand", "squares their sum"),
    ("the mean of the parts", _of_the_mean, "by hand", "The stream is their sum"),
    ("another norm", _layer_norm, "by hand", "another norm"),
    ("probabilities", _chances, "by hand", "These are probabilities"),
    ("by direction", _by_projection, "by hand", "points along the stream"),
    ("all at once", _whole, "shape", "shape"),
    ("every word", _all_words, "shape", "shape"),
]
