"""Heads taken out of the four matrices."""

import numpy as np


def prune_heads(W_q, W_k, W_v, W_o, n_heads, keep):
    # A head is a block of columns where x goes in and the same block of
    # rows of W_o where its result comes out. The rest is untouched, so
    # the kept heads compute as before.
    head_dim = W_q.shape[1] // n_heads
    own = np.concatenate([np.arange(h * head_dim, (h + 1) * head_dim) for h in keep])
    return W_q[:, own], W_k[:, own], W_v[:, own], W_o[own]


REFERENCE = prune_heads


def _with(choose, outer=None):
    """Pruning with another choice of columns; another one for W_o where it is given."""

    def answer(W_q, W_k, W_v, W_o, n_heads, keep):
        own = choose(W_q.shape[1], n_heads, keep)
        rows = own if outer is None else outer(W_q.shape[1], n_heads, keep)
        return W_q[:, own], W_k[:, own], W_v[:, own], W_o[rows]

    return answer


def _right(width, n_heads, keep):
    size = width // n_heads
    return np.concatenate([np.arange(h * size, (h + 1) * size) for h in keep])


def _others(width, n_heads, keep):
    return _right(width, n_heads, [h for h in range(n_heads) if h not in keep.tolist()])


def _in_order(width, n_heads, keep):
    return _right(width, n_heads, sorted(keep.tolist()))


def _first(width, n_heads, keep):
    return np.arange(width // n_heads * len(keep))


def _dealt_out(width, n_heads, keep):
    return np.concatenate([i * n_heads + keep for i in range(width // n_heads)])


def _starter(W_q, W_k, W_v, W_o, n_heads, keep):
    raise NotImplementedError


def _whole_output(W_q, W_k, W_v, W_o, n_heads, keep):
    return (*prune_heads(W_q, W_k, W_v, W_o, n_heads, keep)[:3], W_o)


def _zeroed(W_q, W_k, W_v, W_o, n_heads, keep):
    own = np.isin(np.arange(W_q.shape[1]), _right(W_q.shape[1], n_heads, keep))
    return W_q * own, W_k * own, W_v * own, W_o * own[:, None]


def _scaled_up(W_q, W_k, W_v, W_o, n_heads, keep):
    q, k, v, o = prune_heads(W_q, W_k, W_v, W_o, n_heads, keep)
    return q, k, v, o * n_heads / len(keep)


def _queries_only(W_q, W_k, W_v, W_o, n_heads, keep):
    q, k, v, o = prune_heads(W_q, W_k, W_v, W_o, n_heads, keep)
    return q, k[:, ::-1], v, o


def _strided(W_q, W_k, W_v, W_o, n_heads, keep):
    d = W_q.shape[1] // n_heads
    c = (np.arange(d)[None] * n_heads + np.asarray(keep)[:, None]).ravel()
    return W_q[:, c], W_k[:, c], W_v[:, c], W_o[c]


def _cols(keep, head_dim):
    return (np.asarray(keep)[:, None] * head_dim + np.arange(head_dim)).ravel()


def _output_columns(W_q, W_k, W_v, W_o, n_heads, keep):
    c = _cols(keep, W_q.shape[1] // n_heads)
    return W_q[:, c], W_k[:, c], W_v[:, c], W_o[:, c % W_o.shape[1]]


def _by_d_model(W_q, W_k, W_v, W_o, n_heads, keep):
    c = _cols(keep, W_q.shape[0] // n_heads) % W_q.shape[1]
    return W_q[:, c], W_k[:, c], W_v[:, c], W_o[c]


def _values_of_queries(W_q, W_k, W_v, W_o, n_heads, keep):
    return prune_heads(W_q, W_k, W_q, W_o, n_heads, keep)


def _from_1(W_q, W_k, W_v, W_o, n_heads, keep):
    return prune_heads(W_q, W_k, W_v, W_o, n_heads, (keep - 1) % n_heads)


def _reversed(W_q, W_k, W_v, W_o, n_heads, keep):
    return prune_heads(W_q, W_k, W_v, W_o, n_heads, keep[::-1])


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("output matrix whole", _whole_output, "shape", "W_o should have shape"),
    ("set to zero", _zeroed, "shape", "should have shape"),
    ("the others", _with(_others), "by hand", "heads that should go"),
    ("the first", _with(_first), "by hand", "not how many"),
    ("every n-th column", _with(_dealt_out), "by hand", "next to each other"),
    ("sorted", _with(_in_order), "property", "order of `keep`"),
    ("output sorted", _with(_right, _in_order), "property", "W_o: Your heads are"),
    ("scaled W_", _scaled_up, "by hand", "scaled W_"),
    ("keys turned round", _queries_only, "by hand", "W_k should hold"),
    ("every n-th column a head", _strided, "by hand", "single columns"),
    ("columns of W_o cut", _output_columns, "shape", "shape"),
    ("head_dim from d_model", _by_d_model, "shape", "shape"),
    ("values from W_q", _values_of_queries, "by hand", "W_v holds columns of W_q"),
    ("counted from 1", _from_1, "by hand", "counted from 0"),
    ("reversed", _reversed, "by hand", "in reverse"),
    ("the last", _with(lambda width, n, keep: np.arange(width)[-(width // n * len(keep)) :]),
     "by hand", "last heads"),
]  # fmt: skip
