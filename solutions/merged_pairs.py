"""One walk: two steps after a pair, one step otherwise."""

import numpy as np


def merged_pairs(ids, pair, new):
    merged = np.full(len(ids), -1)
    i = n_out = 0
    while i < len(ids):
        # a pair that was found uses both of its tokens
        is_pair = ids[i : i + 2].tolist() == pair.tolist()
        merged[n_out] = new if is_pair else ids[i]
        i += 2 if is_pair else 1
        n_out += 1
    return merged


REFERENCE = merged_pairs


def _starter(ids, pair, new):
    raise NotImplementedError


def _filled(tokens, n, mark=-1):
    return np.array([*tokens, *[mark] * (n - len(tokens))])


def _overlapping(ids, pair, new):
    found = [tuple(ids[i : i + 2]) == tuple(pair) for i in range(len(ids))]
    out = [
        new if found[i] else ids[i] for i in range(len(ids)) if found[i] or not (i and found[i - 1])
    ]
    return _filled(out, len(ids))


def _kept(ids, pair, new):
    return np.array(
        [new if tuple(ids[i : i + 2]) == tuple(pair) else ids[i] for i in range(len(ids))]
    )


def _once(ids, pair, new):
    ids, n = ids.tolist(), len(ids)
    for i in range(n - 1):
        if ids[i : i + 2] == pair.tolist():
            return _filled([*ids[:i], new, *ids[i + 2 :]], n)
    return np.array(ids)


def _backwards(ids, pair, new):
    merged = merged_pairs(ids[::-1], pair[::-1], new)
    return _filled(merged[merged >= 0][::-1].tolist(), len(ids))


def _last_lost(ids, pair, new):
    out, i = [], 0
    while i < len(ids) - 1:
        is_pair = ids[i] == pair[0] and ids[i + 1] == pair[1]
        out.append(new if is_pair else ids[i])
        i += 2 if is_pair else 1
    return _filled(out, len(ids))


def _gaps(ids, pair, new):
    merged, i = np.array(ids), 0
    while i < len(ids) - 1:
        is_pair = ids[i] == pair[0] and ids[i + 1] == pair[1]
        if is_pair:
            merged[i : i + 2] = new, -1
        i += 2 if is_pair else 1
    return merged


def _either_order(ids, pair, new):
    out, i = [], 0
    while i < len(ids):
        is_pair = sorted(ids[i : i + 2].tolist()) == sorted(pair.tolist())
        out.append(new if is_pair else ids[i])
        i += 2 if is_pair else 1
    return _filled(out, len(ids))


def _changed(make):
    return lambda ids, pair, new: make(merged_pairs(ids, pair, new), new)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("overlapping", _overlapping, "by hand", "share a token"),
    ("second kept", _kept, "by hand", "keep the second"),
    ("one pair", _once, "by hand", "one pair only"),
    ("backwards", _backwards, "by hand", "right to left"),
    ("last token lost", _last_lost, "by hand", "last token is lost"),
    ("gaps", _gaps, "by hand", "leave a gap"),
    ("either order", _either_order, "by hand", "in the other order"),
    ("zeros", _changed(lambda m, new: np.where(m < 0, 0, m)), "by hand", "with -1"),
    ("new at the end", _changed(lambda m, new: np.where(m < 0, new, m)), "by hand", "with -1"),
    ("filled in front", _changed(lambda m, new: np.append(m[m < 0], m[m >= 0])), "by hand",
     "come first"),
    ("nothing", lambda ids, pair, new: ids.copy(), "by hand", "Nothing was merged"),
    ("shorter", _changed(lambda m, new: m[m >= 0]), "shape", "shape"),
    ("off by one", _changed(lambda m, new: m + (m >= 0)), "by hand", "by hand, token by token"),
]  # fmt: skip
