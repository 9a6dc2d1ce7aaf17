"""One factor for both numbers of a plane: divided out of the keys, put into the queries."""

import numpy as np


def even_planes(q, k):
    half = k.shape[1] // 2
    longest = np.hypot(k[:, :half], k[:, half:]).max(axis=0)
    both = np.concatenate([longest, longest])
    return q * both, k / both


REFERENCE = even_planes


def _starter(q, k):
    raise NotImplementedError


def _one_array(q, k):
    return even_planes(q, k)[1]


def _by(factors):
    """Each number of the keys divided by its factor, and of the queries multiplied."""

    def answer(q, k):
        by = factors(k)
        return q * by, k / by

    return answer


def _planes(k):
    half = k.shape[1] // 2
    return np.hypot(k[:, :half], k[:, half:])


def _channels(k):
    return np.abs(k).max(axis=0) + (np.abs(k).max(axis=0) == 0)


def _neighbours(k):
    return np.hypot(k[:, 0::2], k[:, 1::2]).max(axis=0).repeat(2)


def _whole(k):
    return _planes(k).max()


def _largest_number(k):
    return np.tile(np.abs(k).max(axis=0).reshape(2, -1).max(axis=0), 2)


def _root_mean_square(k):
    return np.tile(np.sqrt(np.square(_planes(k)).mean(axis=0)), 2)


def _mean(k):
    return np.tile(_planes(k).mean(axis=0), 2)


def _squares(k):
    return np.tile(np.square(_planes(k)).max(axis=0), 2)


def _keys_only(q, k):
    return q.copy(), even_planes(q, k)[1]


def _both_divided(q, k):
    by = np.tile(_planes(k).max(axis=0), 2)
    return q / by, k / by


def _each_token(q, k):
    by = np.tile(_planes(k), 2) + 1e-30
    return q * by, k / by


def _bare_channels(k):
    return np.abs(k).max(axis=0)


def _head_norm(k):
    return np.linalg.norm(k, axis=1).max()


def _largest_only(k):
    longest = _planes(k).max(axis=0)
    return np.tile(np.where(longest == longest.max(), longest, 1.0), 2)


def _half_of_it(k):
    return np.tile(np.sqrt(_planes(k).max(axis=0)), 2)


def _another_power(k):
    return np.tile(_planes(k).max(axis=0), 2) ** 1.5


def _shortest(k):
    return np.tile(_planes(k).min(axis=0), 2)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("one array", _one_array, "type", "Return 2 arrays"),
    ("each number", _by(_channels), "by hand", "they need one factor"),
    ("neighbours", _by(_neighbours), "by hand", "they need one factor"),
    ("the whole head", _by(_whole), "by hand", "as unequal as before"),
    ("the largest number", _by(_largest_number), "by hand", "The largest value of each plane"),
    ("root of the mean square", _by(_root_mean_square), "by hand", "root mean square"),
    ("the mean", _by(_mean), "by hand", "mean length"),
    ("the square of the length", _by(_squares), "by hand", "Take its root"),
    ("keys only", _keys_only, "by hand", "but not the queries"),
    ("both divided", _both_divided, "by hand", "has to be divided by"),
    ("each token", _each_token, "by hand", "different factors"),
    ("each number, 0 too", _by(_bare_channels), "finite", "they need one factor"),
    ("the norm of the head", _by(_head_norm), "by hand", "as unequal as before"),
    ("the largest plane only", _by(_largest_only), "by hand", "Every plane"),
    ("the root of the factor", _by(_half_of_it), "by hand", "square root of their largest length"),
    ("another power", _by(_another_power), "by hand", "not 1"),
    ("the shortest", _by(_shortest), "by hand", "The shortest key"),
]
