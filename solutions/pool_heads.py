"""Mean-pooling of the key or value projection."""

import numpy as np


def pool_heads(weight, n_heads, n_kv_heads):
    d_model, width = weight.shape
    head_dim = width // n_heads
    group = n_heads // n_kv_heads
    groups = weight.reshape(d_model, n_kv_heads, group, head_dim)
    return groups.mean(axis=2).reshape(d_model, n_kv_heads * head_dim)


REFERENCE = pool_heads


def _pooled(how, *, dealt=False):
    """Groups brought together by another rule."""

    def answer(weight, n_heads, n_kv_heads):
        d_model, group = len(weight), n_heads // n_kv_heads
        if dealt:
            blocks = weight.reshape(d_model, group, n_kv_heads, -1).swapaxes(1, 2)
        else:
            blocks = weight.reshape(d_model, n_kv_heads, group, -1)
        return how(blocks).reshape(d_model, -1)

    return answer


def _columns(weight, n_heads, n_kv_heads):
    return weight.reshape(len(weight), -1, n_heads // n_kv_heads).mean(axis=2)


def _all(weight, n_heads, n_kv_heads):
    one = weight.reshape(len(weight), n_heads, -1).mean(axis=1)
    return np.tile(one, (1, n_kv_heads))


def _rows(weight, n_heads, n_kv_heads):
    return weight.reshape(-1, n_heads // n_kv_heads, weight.shape[1]).mean(axis=1)


def _starter(weight, n_heads, n_kv_heads):
    raise NotImplementedError


def _axis_left(weight, n_heads, n_kv_heads):
    return pool_heads(weight, n_heads, n_kv_heads).reshape(len(weight), n_kv_heads, -1)


def _mean(blocks):
    return blocks.mean(axis=2)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("rows for columns", _rows, "runs", "ValueError"),
    ("heads not put together", _axis_left, "shape", "shape"),
    ("heads that stand apart", _pooled(_mean, dealt=True), "by hand", "Neighbors will share"),
    ("columns of one head", _columns, "by hand", "Average whole heads"),
    ("added", _pooled(lambda b: b.sum(axis=2)), "by hand", "added the heads"),
    ("first kept", _pooled(lambda b: b[:, :, 0]), "by hand", "first head of each group"),
    ("last kept", _pooled(lambda b: b[:, :, -1]), "by hand", "last head of each group"),
    (
        "root of the size",
        _pooled(lambda b: b.sum(axis=2) / b.shape[2] ** 0.5),
        "by hand",
        "the mean divides by the size",
    ),
    ("one for all", _all, "by hand", "heads into one"),
    (
        "unequal shares",
        _pooled(lambda b: 0.75 * b[:, :, 0] + 0.25 * b[:, :, -1]),
        "by hand",
        "column by column",
    ),
    ("first heads", lambda weight, n_heads, n_kv_heads:
     weight[:, : weight.shape[1] // n_heads * n_kv_heads], "by hand", "You kept the first heads"),
    ("first and last", _pooled(lambda b: (b[:, :, 0] + b[:, :, -1]) / 2), "random",
     "first and the last"),
    ("divided by all heads", _pooled(lambda b: b.sum(axis=2) / (b.shape[1] * b.shape[2])),
     "by hand", "number of all heads"),
    ("columns mixed", _pooled(lambda b: b.mean(axis=2).swapaxes(1, 2)), "by hand",
     "columns of the new heads"),
    ("heads apart, added", _pooled(lambda b: b.sum(axis=2), dealt=True), "by hand", "Two things"),
    ("median", _pooled(lambda b: np.median(b, axis=2)), "random", "the median"),
    ("divided by new heads", _pooled(lambda b: b.sum(axis=2) / b.shape[1]), "random", "new heads"),
]  # fmt: skip
