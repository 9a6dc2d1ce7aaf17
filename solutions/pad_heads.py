"""Heads made wider with zeros, and the scale made up for."""

import numpy as np


def pad_heads(W_q, W_k, W_v, W_o, n_heads, width):
    head_dim = W_q.shape[1] // n_heads

    def wider(columns):
        padded = np.zeros((len(columns), n_heads * width))
        for h in range(n_heads):
            own = columns[:, h * head_dim : (h + 1) * head_dim]
            padded[:, h * width : h * width + head_dim] = own
        return padded

    # the kernel divides by √width, the layer by √head_dim
    scale = np.sqrt(width / head_dim)
    return wider(W_q) * scale, wider(W_k), wider(W_v), wider(W_o.T).T


REFERENCE = pad_heads


def _with(*, factor=lambda ratio: ratio**0.5, at=0, pad=None):
    """The reference with another factor, in another matrix, or with other zeros."""

    def answer(W_q, W_k, W_v, W_o, n_heads, width):
        size = W_q.shape[1] // n_heads
        q, k, v, o = pad_heads(W_q, W_k, W_v, W_o, n_heads, width)
        made = [q * (size / width) ** 0.5, k, v, o]
        if pad is not None:
            made = [pad(m, n_heads, width) for m in (W_q, W_k, W_v)]
            made.append(pad(W_o.T, n_heads, width).T)
        for place in np.atleast_1d(at):
            made[place] = made[place] * factor(width / size)
        return tuple(made)

    return answer


def _end(columns, n_heads, width):
    return np.pad(columns, ((0, 0), (0, n_heads * width - columns.shape[1])))


def _front(columns, n_heads, width):
    size = columns.shape[1] // n_heads
    heads = columns.reshape(len(columns), n_heads, size)
    return np.pad(heads, ((0, 0), (0, 0), (width - size, 0))).reshape(len(columns), -1)


def _starter(W_q, W_k, W_v, W_o, n_heads, width):
    raise NotImplementedError


def _output_as_it_is(W_q, W_k, W_v, W_o, n_heads, width):
    return (*pad_heads(W_q, W_k, W_v, W_o, n_heads, width)[:3], W_o)


def _output_at_the_end(W_q, W_k, W_v, W_o, n_heads, width):
    q, k, v, _ = pad_heads(W_q, W_k, W_v, W_o, n_heads, width)
    return q, k, v, _end(W_o.T, n_heads, width).T


def _repeated(W_q, W_k, W_v, W_o, n_heads, width):
    def tiled(columns):
        size = columns.shape[1] // n_heads
        own = (np.arange(n_heads)[:, None] * size + np.arange(width) % size).ravel()
        return columns[:, own]

    return tiled(W_q), tiled(W_k), tiled(W_v), tiled(W_o.T).T


def _by_heads(W_q, W_k, W_v, W_o, n_heads, width):
    q, k, v, o = _with(factor=lambda ratio: 1.0)(W_q, W_k, W_v, W_o, n_heads, width)
    return q * np.sqrt(n_heads), k, v, o


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("no factor", _with(factor=lambda ratio: 1.0), "by hand", "larger root"),
    ("sizes, not roots", _with(factor=lambda ratio: ratio), "by hand", "roots of the sizes"),
    ("smaller", _with(factor=lambda ratio: ratio**-0.5), "by hand", "already divides"),
    ("in the keys", _with(at=1), "by hand", "put it into W_k"),
    ("in both", _with(factor=lambda ratio: ratio**0.25, at=(0, 1)), "by hand", "has a part"),
    ("twice", _with(at=(0, 1)), "by hand", "have it twice"),
    ("in the values", _with(at=2), "by hand", "changed W_v"),
    ("zeros at the end", _with(pad=_end), "by hand", "zeros at the end"),
    ("zeros in front", _with(pad=_front), "by hand", "zeros before"),
    ("at the end, no factor", _with(pad=_end, factor=lambda ratio: 1.0), "by hand", "Two things"),
    ("output as it is", _output_as_it_is, "shape", "W_o should have shape"),
    ("output at the end", _output_at_the_end, "by hand", "In W_o the zeros"),
    ("repeated", _repeated, "by hand", "should be"),
    ("by the number of heads", _by_heads, "by hand", "used the number of heads"),
]
