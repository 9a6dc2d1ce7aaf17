"""A decode step on codes: the scales go into the query and the weights."""

import numpy as np


def code_attention(
    q,
    k_codes,
    k_scale,
    k_zero,
    v_codes,
    v_scale,
    v_zero,
):
    # q · k_zero is the same for every token: the softmax drops it
    folded = q * k_scale / np.sqrt(len(q))
    scores = k_codes @ folded
    weights = np.exp(scores - scores.max())
    weights /= weights.sum()
    return folded, (weights * v_scale) @ v_codes + weights @ v_zero


REFERENCE = code_attention


def _folding(fold):
    """The right step with another query."""

    def answer(q, k_codes, k_scale, k_zero, v_codes, v_scale, v_zero):
        _, out = code_attention(q, k_codes, k_scale, k_zero, v_codes, v_scale, v_zero)
        return fold(q, k_scale, k_zero), out

    return answer


def _mixing(mix):
    """The right query, and another sum."""

    def answer(q, k_codes, k_scale, k_zero, v_codes, v_scale, v_zero):
        folded, _ = code_attention(q, k_codes, k_scale, k_zero, v_codes, v_scale, v_zero)
        weights = np.exp(k_codes @ folded - (k_codes @ folded).max())
        return folded, mix(weights / weights.sum(), v_codes, v_scale, v_zero)

    return answer


def _starter(q, k_codes, k_scale, k_zero, v_codes, v_scale, v_zero):
    raise NotImplementedError


def _out_alone(**inputs):
    return code_attention(**inputs)[1]


def _as_row(**inputs):
    folded, out = code_attention(**inputs)
    return folded[None], out


def _no_softmax(q, k_codes, k_scale, k_zero, v_codes, v_scale, v_zero):
    folded = q * k_scale / np.sqrt(len(q))
    weights = k_codes @ folded
    return folded, (weights * v_scale) @ v_codes + weights @ v_zero


def _overflowing(q, k_codes, k_scale, k_zero, v_codes, v_scale, v_zero):
    folded, _ = code_attention(q, k_codes, k_scale, k_zero, v_codes, v_scale, v_zero)
    weights = np.exp(k_codes @ folded + 1e4)
    with np.errstate(all="ignore"):
        weights = weights / weights.sum()
    return folded, (weights * v_scale) @ v_codes + weights @ v_zero


def _softmax(scores):
    weights = np.exp(scores - scores.max())
    return weights / weights.sum()


def _scale_outside(q, k_codes, k_scale, k_zero, v_codes, v_scale, v_zero):
    folded = q * k_scale
    weights = _softmax(k_codes @ folded / np.sqrt(len(q)))
    return folded, (weights * v_scale) @ v_codes + weights @ v_zero


def _scaled_scores(q, k_codes, k_scale, k_zero, v_codes, v_scale, v_zero):
    folded = q * k_scale / np.sqrt(len(q))
    weights = _softmax(k_codes @ folded * v_scale)
    return folded, weights @ v_codes + weights @ v_zero


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("one of two", _out_alone, "type", "Return 2 arrays"),
    ("a row", _as_row, "shape", "folded should have shape"),
    ("overflow", _overflowing, "finite", "overflow"),
    ("as it came", _folding(lambda q, s, z: q / len(q) ** 0.5), "by hand", "worth k_scale"),
    ("not scaled", _folding(lambda q, s, z: q * s), "by hand", "1/√head_dim"),
    ("divided", _folding(lambda q, s, z: q / s / len(q) ** 0.5), "by hand", "multiply"),
    ("zero in scale", _folding(lambda q, s, z: q * (s + z) / len(q) ** 0.5), "by hand",
     "added the zero to the scale"),
    ("zero added", _folding(lambda q, s, z: q * s / len(q) ** 0.5 + z), "by hand",
     "added the zero to the query"),
    ("scale squared", _folding(lambda q, s, z: q * s * s / len(q) ** 0.5), "by hand",
     "Multiply q"),
    ("codes mixed", _mixing(lambda w, c, s, z: w @ c), "by hand", "averaged codes"),
    ("no zeros", _mixing(lambda w, c, s, z: (w * s) @ c), "by hand", "left out the zeros"),
    ("no scales", _mixing(lambda w, c, s, z: w @ c + w @ z), "by hand", "but not v_scale"),
    ("zeros added up", _mixing(lambda w, c, s, z: (w * s) @ c + z.sum()), "by hand",
     "without their weights"),
    ("zeros averaged", _mixing(lambda w, c, s, z: (w * s) @ c + z.mean()), "by hand",
     "averaged the zeros"),
    ("zeros scaled", _mixing(lambda w, c, s, z: (w * s) @ (c + z[:, None])), "by hand",
     "by v_scale too"),
    ("made to sum to 1", _mixing(lambda w, c, s, z: (w * s / (w * s).sum()) @ c + w @ z),
     "by hand", "have to sum to 1"),
    ("no softmax", _no_softmax, "by hand", "softmax of k_codes"),
    ("scale outside", _scale_outside, "by hand", "1/√head_dim"),
    ("zero added first", _folding(lambda q, s, z: (q * s + z) / len(q) ** 0.5), "by hand",
     "added the zero to the query"),
    ("scales averaged", _mixing(lambda w, c, s, z: w @ c * s.mean() + w @ z), "by hand",
     "mean of v_scale"),
    ("scales in the softmax", _scaled_scores, "by hand", "after the softmax"),
]  # fmt: skip
