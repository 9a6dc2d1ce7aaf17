"""The last place up to each token's end where a character begins."""

import numpy as np


def whole_characters(data, sizes):
    begins = (data < 128) | (data >= 192)
    # a stream can stop before any first byte, and at the end
    stops = np.append(np.flatnonzero(begins), len(data))
    ends = np.cumsum(sizes)
    return stops[np.searchsorted(stops, ends, side="right") - 1]


REFERENCE = whole_characters


def _starter(data, sizes):
    raise NotImplementedError


def _each(data, sizes):
    ends = np.cumsum(sizes)
    text = bytes(data.tolist())
    parts = [text[e - s : e].decode(errors="ignore") for e, s in zip(ends, sizes, strict=True)]
    return np.cumsum([len(part.encode()) for part in parts])


def _tokens(data, sizes):
    ends, shown = np.cumsum(sizes), whole_characters(data, sizes)
    return np.maximum.accumulate(np.where(shown == ends, ends, 0))


def _lead(data, sizes):
    ends = np.cumsum(sizes)
    return ends - (data[ends - 1] >= 192)


def _ascii(data, sizes):
    ends = np.cumsum(sizes)
    return np.array([max([0, *(np.flatnonzero(data[:e] < 128) + 1)]) for e in ends])


def _characters(data, sizes):
    text = bytes(data.tolist())
    return np.array([len(text[:n].decode()) for n in whole_characters(data, sizes)])


def _always(data, sizes):
    ends = np.cumsum(sizes)
    begins = np.flatnonzero((data < 128) | (data >= 192))
    return np.array([begins[begins < e].max() for e in ends])


def _last_byte(data, sizes):
    ends = np.cumsum(sizes)
    return ends - (whole_characters(data, sizes) < ends)


def _no_end(data, sizes):
    stops = np.flatnonzero((data < 128) | (data >= 192))
    return stops[np.searchsorted(stops, np.cumsum(sizes), side="right") - 1]


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("everything", lambda data, sizes: np.cumsum(sizes), "by hand", "every byte"),
    ("each by itself", _each, "by hand", "by itself"),
    ("whole tokens", _tokens, "by hand", "the whole token"),
    ("first bytes", _lead, "by hand", "hold back a first byte"),
    ("plain letters", _ascii, "by hand", "below 128"),
    ("characters", _characters, "by hand", "Those are characters"),
    ("always one less", _always, "by hand", "always hold"),
    ("last byte", _last_byte, "by hand", "last byte alone"),
    ("no end", _no_end, "by hand", "The end of the text is missing"),
    ("new ones", lambda data, sizes: np.diff(whole_characters(data, sizes), prepend=0), "by hand",
     "what is new"),
    ("held back", lambda data, sizes: np.cumsum(sizes) - whole_characters(data, sizes), "by hand",
     "held back"),
    ("one too many", lambda data, sizes: whole_characters(data, sizes) + 1, "by hand",
     "mark where characters begin"),
    ("floats", lambda data, sizes: whole_characters(data, sizes) / 1, "dtype", "whole numbers"),
]  # fmt: skip
