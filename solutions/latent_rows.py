"""The rows that latent attention caches: a normed latent and a rotated key."""

import numpy as np


def latent_rows(both, norm_weight, positions, inv_freq):
    # Two things are cached side by side, and they're treated
    # differently: the latent is normed, the key is rotated. The norm
    # must not see the key's values.
    rank = len(norm_weight)
    raw, key = both[:, :rank], both[:, rank:]
    latent = raw / np.sqrt((raw**2).mean(axis=-1, keepdims=True) + 1e-6) * norm_weight
    # Positions in the text, not rows of this chunk: it may come after
    # others.
    angles = positions[:, None] * inv_freq  # (seq, qk_rope_head_dim / 2)
    cos, sin = np.cos(angles), np.sin(angles)
    # Written into a new array: the second line still needs the
    # unrotated first value.
    rope_key = np.empty_like(key)
    rope_key[:, 0::2] = key[:, 0::2] * cos - key[:, 1::2] * sin
    rope_key[:, 1::2] = key[:, 0::2] * sin + key[:, 1::2] * cos
    return latent, rope_key


REFERENCE = latent_rows


def _starter(both, norm_weight, positions, inv_freq):
    rank = len(norm_weight)
    normed = both / np.sqrt((both**2).mean(axis=-1, keepdims=True) + 1e-6)
    _, rope_key = latent_rows(both, norm_weight, np.arange(len(positions)), inv_freq)
    return normed[:, :rank] * norm_weight, rope_key


def _latent(change):
    """The reference with another latent."""

    def answer(both, norm_weight, positions, inv_freq):
        latent, rope_key = latent_rows(both, norm_weight, positions, inv_freq)
        return change(both[:, : len(norm_weight)], norm_weight, latent), rope_key

    return answer


def _key(change):
    """The reference with another key; ``change`` gets a function that rotates."""

    def answer(both, norm_weight, positions, inv_freq):
        def turn(rows, places, freq=inv_freq):
            return latent_rows(np.hstack([both[:, :rank], rows]), norm_weight, places, freq)[1]

        rank = len(norm_weight)
        latent, _ = latent_rows(both, norm_weight, positions, inv_freq)
        return latent, change(turn, both[:, rank:], positions)

    return answer


def _half(turn, rows, positions):
    pairs = rows.reshape(len(rows), 2, -1).swapaxes(1, 2).reshape(rows.shape)
    return turn(pairs, positions).reshape(len(rows), -1, 2).swapaxes(1, 2).reshape(rows.shape)


def _rms(rows):
    return rows / np.sqrt((rows**2).mean(axis=-1, keepdims=True) + 1e-6)


def _latent_only(**inputs):
    return latent_rows(**inputs)[0]


def _lists(**inputs):
    latent, rope_key = latent_rows(**inputs)
    return latent.tolist(), rope_key.tolist()


def _swapped(**inputs):
    return latent_rows(**inputs)[::-1]


def _turned_latent(both, norm_weight, positions, inv_freq):
    latent, rope_key = latent_rows(both, norm_weight, positions, inv_freq)
    if latent.shape == rope_key.shape:
        wide = np.hstack([latent, latent])
        latent = latent_rows(wide, norm_weight, positions, inv_freq)[1]
    return latent, rope_key


def _first_only(both, norm_weight, positions, inv_freq):
    return latent_rows(both, norm_weight, np.arange(len(positions)), inv_freq)


def _alone(both, norm_weight, positions, inv_freq):
    latent, rope_key = latent_rows(both, norm_weight, positions, inv_freq)
    return (latent, rope_key) if len(norm_weight) > 1 else (both[:, :1], rope_key)


def _side_by_side(turn, rows, positions):
    return turn(rows, positions).reshape(len(rows), -1, 2).swapaxes(1, 2).reshape(rows.shape)


WRONG = [
    ("starter", _starter, "by hand", "latent alone"),
    ("latent alone", _latent_only, "type", "2 arrays"),
    ("lists", _lists, "type", "NumPy array"),
    ("in the other order", _swapped, "by hand", "other order"),
    ("not normed", _latent(lambda raw, weight, _: raw.copy()), "by hand", "before its norm"),
    ("weighed, not normed", _latent(lambda raw, weight, _: raw * weight), "by hand",
     "didn't normalize"),
    ("no weight", _latent(lambda raw, weight, _: _rms(raw)), "random", "norm's weight"),
    ("sum for mean",
     _latent(lambda raw, weight, _: raw / np.linalg.norm(raw, axis=-1, keepdims=True) * weight),
     "by hand", "root of the sum"),
    ("no root",
     _latent(lambda raw, weight, _: raw / ((raw**2).mean(-1, keepdims=True) + 1e-6) * weight),
     "by hand", "by the mean square"),
    ("layer norm",
     _latent(lambda raw, weight, _: _rms(raw - raw.mean(-1, keepdims=True)) * weight),
     "by hand", "layer norm"),
    ("latent rotated", _turned_latent, "by hand", "rotated the latent"),
    ("positions from 0", _first_only, "property", "positions from 0"),
    ("not rotated", _key(lambda turn, rows, _: rows.copy()), "by hand", "before rotating it"),
    ("rotated backwards", _key(lambda turn, rows, places: turn(rows, -places)), "by hand",
     "backwards"),
    ("the other layout", _key(_half), "random", "half the width apart"),
    ("key normed", _key(lambda turn, rows, places: turn(_rms(rows), places)), "by hand",
     "normalized the rotated key"),
    ("no norm for a rank of one", _alone, "edges", "norm"),
    ("norm over the tokens",
     _latent(lambda raw, weight, _: raw / np.sqrt((raw**2).mean(axis=0) + 1e-6) * weight),
     "by hand", "over the tokens"),
    ("one norm for all",
     _latent(lambda raw, weight, _: raw / np.sqrt((raw**2).mean() + 1e-6) * weight),
     "by hand", "for all tokens"),
    ("counted on", _key(lambda turn, rows, places: turn(rows, places[0] + np.arange(len(rows)))),
     "property", "have to be neighbors"),
    ("side by side", _key(_side_by_side), "random", "before all second"),
    ("from the first of the chunk", _key(lambda turn, rows, places: turn(rows, places - places[0])),
     "property", "isn't at 0"),
    ("eps after the root",
     _latent(lambda raw, weight, _: raw / (np.sqrt((raw**2).mean(-1, keepdims=True)) + 1e-6)
             * weight), "edges", "belongs under it"),
    ("no eps",
     _latent(lambda raw, weight, _: raw / np.sqrt((raw**2).mean(-1, keepdims=True)) * weight),
     "edges", "left out eps"),
    ("one place on", _key(lambda turn, rows, places: turn(rows, places + 1)), "by hand",
     "one position too far"),
    ("absolute values",
     _latent(lambda raw, weight, _: raw / (np.abs(raw).mean(-1, keepdims=True) + 1e-6) * weight),
     "by hand", "mean of the absolute values"),
]  # fmt: skip
