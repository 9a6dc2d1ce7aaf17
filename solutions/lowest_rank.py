"""Look at all pairs, merge the one learned first, and look again."""

from itertools import pairwise

import numpy as np


def lowest_rank(ids, merges):
    # Learning merged one pair everywhere before it chose the next. So
    # the rank decides, and the place only among equal pairs.
    ranks = {(a, b): k for k, (a, b) in enumerate(merges.tolist())}
    tokens = ids.tolist()
    while len(tokens) > 1:
        pairs = list(pairwise(tokens))
        found = [ranks.get(pair, len(ranks)) for pair in pairs]
        i = found.index(min(found))  # the leftmost of equal ones
        if pairs[i] not in ranks:
            break
        tokens[i : i + 2] = [256 + ranks[pairs[i]]]
    return np.array(tokens + [-1] * (len(ids) - len(tokens)))


REFERENCE = lowest_rank


def _filled(tokens, ids):
    return np.array(tokens + [-1] * (len(ids) - len(tokens)))


def _starter(ids, merges):
    made = {(a, b): 256 + k for k, (a, b) in enumerate(merges.tolist())}
    tokens, i = ids.tolist(), 0
    while i < len(tokens) - 1:
        pair = (tokens[i], tokens[i + 1])
        if pair in made:
            tokens[i : i + 2] = [made[pair]]
            i = max(i - 1, 0)
        else:
            i += 1
    return _filled(tokens, ids)


def _texts(merges):
    texts = {}
    for k, (a, b) in enumerate(merges.tolist()):
        texts[256 + k] = texts.get(a, (a,)) + texts.get(b, (b,))
    return texts


def _longest(ids, merges):
    known = {text: id for id, text in reversed(_texts(merges).items())}
    word, tokens, at = tuple(ids.tolist()), [], 0
    while at < len(word):
        for end in range(len(word), at, -1):
            if end == at + 1 or word[at:end] in known:
                break
        tokens.append(known.get(word[at:end], word[at]))
        at = end
    return _filled(tokens, ids)


def _chosen(choose, stop=False, first=0):
    """Merge the pair that a rule chooses among (rank, place)."""

    def answer(ids, merges):
        ranks = {(a, b): k for k, (a, b) in enumerate(merges.tolist())}
        tokens = ids.tolist()
        while True:
            found = [
                (ranks[pair], i)
                for i, pair in enumerate(pairwise(tokens))
                if ranks.get(pair, -1) >= first
            ]
            if not found:
                return _filled(tokens, ids)
            rank, i = choose(found)
            tokens[i : i + 2] = [256 + rank]
            if stop:
                return _filled(tokens, ids)

    return answer


def _looked_once(ids, merges):
    made = {(a, b): 256 + k for k, (a, b) in enumerate(merges.tolist())}
    tokens = ids.tolist()
    for token, pair in sorted((made[pair], pair) for pair in {*pairwise(tokens)} & made.keys()):
        i = 0
        while i < len(tokens) - 1:
            if (tokens[i], tokens[i + 1]) == pair:
                tokens[i : i + 2] = [token]
            i += 1
    return _filled(tokens, ids)


def _changed(make):
    return lambda ids, merges: make(lowest_rank(ids, merges))


WRONG = [
    ("starter", _starter, "by hand", "wherever it is"),
    ("one walk", _chosen(lambda found: min(found, key=lambda one: one[1])), "by hand",
     "wherever it is"),
    ("longest", _longest, "by hand", "longest token that fits"),
    ("rightmost", _chosen(lambda found: min(found, key=lambda one: (one[0], -one[1]))), "by hand",
     "rightmost"),
    ("last of the word", _chosen(lambda found: found[-1]), "by hand", "last pair of the word"),
    ("looked up once", _looked_once, "by hand", "first pairs only"),
    ("latest", _chosen(lambda found: max(found, key=lambda one: (one[0], -one[1]))), "by hand",
     "learned last"),
    ("once", _chosen(min, stop=True), "by hand", "one pair and stop"),
    ("rank 0", _chosen(min, first=1), "by hand", "counts as False"),
    ("ranks", _changed(lambda t: np.where(t >= 256, t - 256, t)), "by hand", "return ranks"),
    ("zeros", _changed(lambda t: np.where(t < 0, 0, t)), "by hand", "with -1"),
    ("nothing", lambda ids, merges: ids.copy(), "by hand", "Nothing was merged"),
    ("off by one", _changed(lambda t: t + (t >= 256)), "by hand", "Replay the merges"),
    ("shorter", _changed(lambda t: t[t >= 0]), "shape", "shape"),
]  # fmt: skip
