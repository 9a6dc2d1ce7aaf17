"""A softmax over the devices, then the values."""

import numpy as np


def latent_shards(mixed, lse, w_uv):
    parts = np.exp(lse - lse.max(axis=0))
    share = parts / parts.sum(axis=0)
    # (n_heads, kv_lora_rank)
    latents = (share[..., None] * mixed).sum(axis=0)
    return share, (latents[:, None] @ w_uv)[:, 0]


REFERENCE = latent_shards


def _by_share(way):
    """Another share, and the output that follows from it."""

    def answer(mixed, lse, w_uv):
        with np.errstate(all="ignore"):
            share = way(lse)
            latents = (share[..., None] * mixed).sum(axis=0)
            return share, (latents[:, None] @ w_uv)[:, 0]

    return answer


def _by_out(way):
    """The right share, and another output."""

    def answer(mixed, lse, w_uv):
        share, out = latent_shards(mixed, lse, w_uv)
        return share, way(share, mixed, w_uv, out)

    return answer


def _values(weights, mixed, w_uv):
    return np.einsum("gh,ghr,hrv->hv", weights, mixed, w_uv)


def _norm(parts, axis=0):
    return parts / parts.sum(axis=axis, keepdims=True)


def _merged_in_turn(lse):
    """The share of each device when it came, not what was left of it later."""
    share, so_far = np.zeros_like(lse), lse[0]
    share[0] = 1.0
    for at in range(1, len(lse)):
        so_far = np.logaddexp(so_far, lse[at])
        share[at] = np.exp(lse[at] - so_far)
    return share


def _starter(mixed, lse, w_uv):
    raise NotImplementedError


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("the output alone", lambda **given: latent_shards(**given)[1], "type", "2 arrays"),
    ("the mixtures", _by_out(lambda share, mixed, w_uv, out: mixed), "shape", "shape"),
    ("alike", _by_share(lambda lse: np.full(lse.shape, 1 / len(lse))), "by hand", "same share"),
    ("logarithms", _by_share(_norm), "by hand", "a logarithm"),
    ("logarithms, none of nothing",
     _by_share(lambda lse: _norm(np.where(np.isneginf(lse), 0, lse))), "by hand", "a logarithm"),
    ("over the heads, zeros for NaN", _by_share(lambda lse: np.nan_to_num(_norm(
        np.exp(lse - lse.max(axis=1, keepdims=True)), 1))), "by hand", "the heads on a device"),
    ("own sums", _by_share(np.exp), "by hand", "own sum"),
    ("over the heads", _by_share(lambda lse: _norm(np.exp(lse - lse.max(axis=1, keepdims=True)),
                                                   1)), "by hand", "the heads on a device"),
    ("over everything", _by_share(lambda lse: np.exp(lse - lse.max())
                                  / np.exp(lse - lse.max()).sum()), "random", "together sum"),
    ("overflow", _by_share(lambda lse: _norm(np.exp(lse))), "finite", "overflow"),
    ("one maximum", _by_share(lambda lse: _norm(np.exp(lse - lse.max()))), "finite",
     "one maximum"),
    ("the largest", _by_share(lambda lse: (lse == lse.max(axis=0)) * 1.0), "by hand",
     "gave everything"),
    ("base 2", _by_share(lambda lse: _norm(2.0 ** (lse - lse.max(axis=0)))), "by hand",
     "powers of 2"),
    ("against the largest", _by_share(lambda lse: np.exp(lse - lse.max(axis=0))), "by hand",
     "with the largest one"),
    ("in turn", _by_share(_merged_in_turn), "by hand", "sum of exponentials"),
    ("averaged", _by_out(lambda share, mixed, w_uv, out: _values(
        np.full(share.shape, 1 / len(share)), mixed, w_uv)), "by hand", "averaged"),
    ("added", _by_out(lambda share, mixed, w_uv, out: _values(np.ones_like(share), mixed, w_uv)),
     "by hand", "unweighted"),
    ("first head", _by_out(lambda share, mixed, w_uv, out: _values(
        share, mixed, np.repeat(w_uv[:1], len(w_uv), axis=0))), "random", "first head"),
    ("divided again", _by_out(lambda share, mixed, w_uv, out: out / len(share)), "by hand",
     "number of devices"),
    ("twice", _by_out(lambda share, mixed, w_uv, out: _values(share**2, mixed, w_uv)), "by hand",
     "twice"),
    ("half", _by_out(lambda share, mixed, w_uv, out: 0.3 * out), "by hand", "softmax over all"),
]  # fmt: skip
