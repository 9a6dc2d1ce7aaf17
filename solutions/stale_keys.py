"""All keys are rotated with the present base."""

import numpy as np


def rotate(x, position, seq_len):
    growth = max(seq_len, 4) / 4
    size = len(x)
    base = 100.0 * growth ** (size / (size - 2))
    angle = position * base ** (-np.arange(0, size, 2) / size)
    a, b = x[: size // 2], x[size // 2 :]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos])


def dynamic_scores(q, k):
    n = len(k)
    q = rotate(q, n - 1, seq_len=n)
    rows = [rotate(row, j, seq_len=n) for j, row in enumerate(k)]
    keys = np.stack(rows)
    return keys @ q / np.sqrt(len(q))


REFERENCE = dynamic_scores


def _with(query, keys, scaled=True):
    def answer(q, k):
        n = len(k)
        turned = rotate(q, n - 1, query(n))
        rows = np.stack([rotate(row, j, keys(n, j)) for j, row in enumerate(k)])
        return rows @ turned / (np.sqrt(len(q)) if scaled else 1)

    return answer


def _old_rules(q, k):
    pairs = [(rotate(q, len(k) - 1, j + 1), rotate(row, j, j + 1)) for j, row in enumerate(k)]
    return np.array([query @ key for query, key in pairs]) / np.sqrt(len(q))


def _unturned(q, k):
    return k @ q / np.sqrt(len(q))


def _backwards(q, k):
    return dynamic_scores(q, k)[::-1]


def _column(q, k):
    return dynamic_scores(q, k)[:, None]


def _list(q, k):
    return dynamic_scores(q, k).tolist()


def _at(query, key):
    """The present base, with other positions of the query and of the keys."""

    def answer(q, k):
        n = len(k)
        rows = np.stack([rotate(row, key(n, j), n) for j, row in enumerate(k)])
        return rows @ rotate(q, query(n), n) / np.sqrt(len(q))

    return answer


def _twice(q, k):
    return dynamic_scores(q, np.stack([rotate(row, j, j + 1) for j, row in enumerate(k)]))


WRONG = [
    ("starter: own step", _with(lambda n: n, lambda n, j: j + 1), "by hand", "all keys need now"),
    ("nothing grows", _with(lambda n: 4, lambda n, j: 4), "by hand", "doesn't grow"),
    ("trained keys", _with(lambda n: n, lambda n, j: 4), "by hand", "Both need the same"),
    ("each pair by its old rule", _old_rules, "by hand", "key's old base"),
    ("one more", _with(lambda n: n + 1, lambda n, j: n + 1), "by hand", "one more token"),
    ("one less", _with(lambda n: n - 1, lambda n, j: n - 1), "by hand", "one token less"),
    ("no scale", _with(lambda n: n, lambda n, j: n, scaled=False), "by hand", "root of head_dim"),
    ("not rotated", _unturned, "by hand", "nothing is rotated"),
    ("backwards", _backwards, "by hand", "wrong order"),
    ("trained query", _with(lambda n: 4, lambda n, j: n), "by hand", "the query with the training"),
    ("two old bases", _with(lambda n: 4, lambda n, j: j + 1), "by hand", "in which it came"),
    ("the step before", _with(lambda n: n, lambda n, j: n if j == n - 1 else n - 1), "by hand",
     "step before, the new key"),
    ("half", lambda q, k: dynamic_scores(q, k) / 2, "by hand", "scores are wrong for keys"),
    ("a column", _column, "shape", "scores should have shape"),
    ("a list", _list, "type", "NumPy array"),
    ("keys one less", _with(lambda n: n, lambda n, j: n - 1), "by hand", "one token fewer"),
    ("keys from four on", _with(lambda n: n, lambda n, j: n if j >= 4 else 4), "by hand",
     "keep the training base"),
    ("keys counted from 1", _at(lambda n: n - 1, lambda n, j: j + 1), "by hand",
     "Your keys are one position too far"),
    ("query one place on", _at(lambda n: n, lambda n, j: j), "by hand",
     "Your query is one position too far"),
    ("all at one position", _at(lambda n: n - 1, lambda n, j: n - 1), "by hand",
     "depend on positions"),
    ("rotated twice", _twice, "by hand", "rotate the keys twice"),
    ("query not rotated", _at(lambda n: 0, lambda n, j: j), "by hand", "rotate the query"),
    ("keys not rotated", _at(lambda n: n - 1, lambda n, j: 0), "by hand", "rotate the keys."),
    ("scaled by the keys", lambda q, k: dynamic_scores(q, k) * np.sqrt(len(q) / len(k)), "by hand",
     "number of keys"),
    ("keys for the next step", _with(lambda n: n, lambda n, j: n + 1), "by hand",
     "one more token than the query"),
]  # fmt: skip
