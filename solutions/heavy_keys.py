"""The newest and the heaviest keys of each key/value head."""

import numpy as np


def heavy_keys(weights, totals, positions, budget, recent):
    groups, kv_len = positions.shape
    # (n_kv_heads, kv_len)
    got = weights.reshape(groups, -1, kv_len).sum(axis=1)
    got[:, :-1] += totals
    ranked = got.copy()
    ranked[:, kv_len - recent :] = np.inf
    order = np.argsort(-ranked, axis=1, kind="stable")
    slots = np.sort(order[:, :budget], axis=1)
    kept = np.take_along_axis(positions, slots, axis=1)
    return kept, np.take_along_axis(got, slots, axis=1)


REFERENCE = heavy_keys


def _starter(weights, totals, positions, budget, recent):
    raise NotImplementedError


def _with(summed=None, past=True, safe=True, order=True, shared=False, sign=-1, own=True):
    def answer(weights, totals, positions, budget, recent):
        groups, kv_len = positions.shape
        parts = weights.reshape(groups, -1, kv_len)
        got = parts.sum(axis=1) if summed is None else summed(weights, groups, kv_len)
        if past:
            got = got + np.pad(totals, ((0, 0), (0, 1)))
        if not own:
            got[:, -1] = 0
        ranked = got.copy()
        if shared:
            ranked[:] = got.sum(axis=0)
        if safe:
            ranked[:, kv_len - recent :] = -sign * np.inf
        slots = np.argsort(sign * ranked, axis=1, kind="stable")[:, :budget]
        if order:
            slots = np.sort(slots, axis=1)
        kept = np.take_along_axis(positions, slots, axis=1)
        return kept, np.take_along_axis(got, slots, axis=1)

    return answer


def _tile(weights, groups, kv_len):
    return weights.reshape(-1, groups, kv_len).sum(axis=0)


def _mean(weights, groups, kv_len):
    return weights.reshape(groups, -1, kv_len).mean(axis=1)


def _first(weights, groups, kv_len):
    return weights.reshape(groups, -1, kv_len)[:, 0]


def _largest(weights, groups, kv_len):
    return weights.reshape(groups, -1, kv_len).max(axis=1)


def _slots(weights, totals, positions, budget, recent):
    places = np.broadcast_to(np.arange(positions.shape[1]), positions.shape)
    kept, got = heavy_keys(weights, totals, places, budget, recent)
    return kept, got


def _later(weights, totals, positions, budget, recent):
    groups, kv_len = positions.shape
    got = weights.reshape(groups, -1, kv_len).sum(axis=1)
    got[:, :-1] += totals
    ranked = got.copy()
    ranked[:, kv_len - recent :] = np.inf
    slots = np.sort(np.argsort(ranked, axis=1, kind="stable")[:, -budget:], axis=1)
    return np.take_along_axis(positions, slots, axis=1), np.take_along_axis(got, slots, axis=1)


def _slice(weights, totals, positions, budget, recent):
    everyone = positions.shape[1] if recent == 0 else recent
    groups, kv_len = positions.shape
    got = weights.reshape(groups, -1, kv_len).sum(axis=1)
    got[:, :-1] += totals
    ranked = got.copy()
    ranked[:, kv_len - everyone :] = np.inf
    slots = np.sort(np.argsort(-ranked, axis=1, kind="stable")[:, :budget], axis=1)
    return np.take_along_axis(positions, slots, axis=1), np.take_along_axis(got, slots, axis=1)


def _mean_of_queries(weights, totals, positions, budget, recent):
    groups, kv_len = positions.shape
    got = weights.reshape(groups, -1, kv_len).sum(axis=1)
    got[:, :-1] += totals
    ranked = got / (positions[:, -1:] - positions + 1)
    ranked[:, kv_len - recent :] = np.inf
    slots = np.sort(np.argsort(-ranked, axis=1, kind="stable")[:, :budget], axis=1)
    return np.take_along_axis(positions, slots, axis=1), np.take_along_axis(got, slots, axis=1)


def _ranked_by(rank):
    """What stays by a rank of its own, with the right totals."""

    def answer(weights, totals, positions, budget, recent):
        groups, kv_len = positions.shape
        now = weights.reshape(groups, -1, kv_len).sum(axis=1)
        got = now + np.pad(totals, ((0, 0), (0, 1)))
        ranked = rank(got, now) + 0.0
        ranked[:, kv_len - recent :] = np.inf
        slots = np.sort(np.argsort(-ranked, axis=1, kind="stable")[:, :budget], axis=1)
        return np.take_along_axis(positions, slots, axis=1), np.take_along_axis(got, slots, axis=1)

    return answer


def _rounded(digits):
    return _ranked_by(lambda got, now: np.round(got, digits))


_by_latest = _ranked_by(lambda got, now: now)
_by_place = _ranked_by(lambda got, now: got / np.arange(got.shape[1], 0, -1))


def _others(weights, totals, positions, budget, recent):
    kept, got = heavy_keys(weights, totals, positions, budget, recent)
    return kept + 1, got


def _old_totals(weights, totals, positions, budget, recent):
    kept, _ = heavy_keys(weights, totals, positions, budget, recent)
    before = np.pad(totals, ((0, 0), (0, 1)))
    slots = (positions[:, None] == kept[..., None]).argmax(axis=2)
    return kept, np.take_along_axis(before, slots, axis=1)


def _kept_only(weights, totals, positions, budget, recent):
    return heavy_keys(weights, totals, positions, budget, recent)[0]


def _all(weights, totals, positions, budget, recent):
    got = weights.reshape(len(positions), -1, positions.shape[1]).sum(axis=1)
    got[:, :-1] += totals
    return positions, got


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("newest not safe", _with(safe=False), "by hand", "don't protect"),
    ("latest weights alone", _with(past=False), "by hand", "only the latest"),
    ("all safe where none is", _slice, "edges", "begins at -0"),
    ("without its own", _with(own=False), "by hand", "its own token gave"),
    ("mean of the queries", _mean_of_queries, "by hand", "favors old keys"),
    ("other positions", _others, "by hand", "largest totals"),
    ("tile", _with(_tile), "property", "like tiles"),
    ("one head of the group", _with(_first), "property", "one query head"),
    ("mean of the group", _with(_mean), "property", "average the weights"),
    ("largest of the group", _with(_largest), "property", "largest weight"),
    ("one choice for all", _with(shared=True), "by hand", "same slots"),
    ("the lightest", _with(sign=1), "by hand", "received least"),
    ("in order of weight", _with(order=False), "by hand", "order of their positions"),
    ("slots", _slots, "by hand", "slots of the arrays"),
    ("later of equal ones", _later, "edges", "keep the later one"),
    ("rounded", _rounded(6), "edges", "round the totals"),
    ("rounded to four digits", _rounded(4), "edges", "round the totals"),
    ("ranked by the latest", _by_latest, "by hand", "latest weights"),
    ("divided by what follows", _by_place, "random", "come after"),
    ("totals of before", _old_totals, "by hand", "before this token"),
    ("positions alone", _kept_only, "type", "Return 2 arrays"),
    ("nobody leaves", _all, "shape", "shape"),
]
