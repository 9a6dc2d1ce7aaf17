"""Which keys of each key/value head stay, by the weight that they have received."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
A new token has attended to the keys of a cache and to its own, which comes last. `weights`
`(n_heads, kv_len)` holds the weight that each query head gave to each key. Query head `h` reads
key/value head `h // (n_heads // n_kv_heads)`. `totals` `(n_kv_heads, kv_len - 1)` is what the older
keys had received before, and `positions` `(n_kv_heads, kv_len)` gives the position of each key, in
growing order. Now each key/value head keeps at most `budget` keys. The `recent` newest stay; their
positions are consecutive, and there are never more than `budget` of them. Of the others, those with
the largest totals stay, the new weights included. If totals are exactly equal, the earlier key
stays. Return `kept`, the positions of the keys that stay in growing order, and `new_totals`, what
those have received in all, both `(n_kv_heads, min(budget, kv_len))`.
"""
STARTER = '''
def heavy_keys(weights, totals, positions, budget, recent):
    """Return positions and totals of the keys that stay."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(
    rng: np.random.Generator, heads: int, groups: int, kv_len: int, budget: int, recent: int
) -> Inputs:
    """Drawn weights over keys of which some are gone already; the newest are consecutive."""
    newest, last = max(recent, 1), 3 * kv_len + 1
    weights = rng.dirichlet(np.full(kv_len, 0.7), size=heads)
    at = np.stack([
        np.append(np.sort(rng.permutation(last - newest)[: kv_len - newest]),
                  np.arange(last - newest, last) + 1)
        for _ in range(groups)
    ])  # fmt: skip
    totals = rng.gamma(1.0, 1.0, (groups, kv_len - 1))
    return {
        "weights": weights, "totals": totals, "positions": at, "budget": budget, "recent": recent,
    }  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two heads with their own keys. The property: heads that share keys."""
    hand = {
        "weights": np.array([[0.5, 0.25, 0.125, 0.125], [0.125, 0.125, 0.5, 0.25]]),
        "totals": np.array([[1.0, 0.25, 0.5], [2.0, 1.0, 0.125]]),
        "positions": np.array([[0, 3, 4, 6], [1, 2, 5, 6]]), "budget": 3, "recent": 1,
    }  # fmt: skip
    ties = {
        "weights": np.full((2, 6), 0.25), "totals": np.full((1, 5), 0.5),
        "positions": np.array([[0, 2, 3, 7, 8, 9]]), "budget": 3, "recent": 1,
    }  # fmt: skip
    near = ties | {"totals": np.array([[0.5, 0.5, 0.5 + 2e-7, 0.5, 0.5]])}
    return {
        "by hand": [hand],
        "random": [_case(rng, 2, 2, 9, 5, 2), _case(rng, 3, 3, 12, 4, 1)],
        "property": [_case(rng, 6, 3, 11, 6, 2), _case(rng, 4, 2, 10, 4, 3),
                     _case(rng, 4, 1, 8, 5, 1)],
        "edges": [_case(rng, 4, 2, 5, 9, 2), _case(rng, 2, 2, 8, 4, 4), _case(rng, 4, 2, 7, 3, 0),
                  ties, near],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Positions and totals of as many keys as there is room for."""
    groups, kv_len = inputs["positions"].shape
    shape = groups, min(inputs["budget"], kv_len)
    return {"kept": (shape, "i"), "new_totals": (shape, "f")}


def _summed(inputs: Inputs, share: str = "groups") -> Array:
    """The new weights of each key/value head."""
    weights, groups = inputs["weights"], len(inputs["positions"])
    heads, kv_len = weights.shape
    if share == "tile":
        return np.asarray(weights.reshape(heads // groups, groups, kv_len).sum(axis=0))
    parts = weights.reshape(groups, heads // groups, kv_len)
    by = {"mean": parts.mean(axis=1), "first": parts[:, 0], "max": parts.max(axis=1)}
    return np.asarray(by[share] if share in by else parts.sum(axis=1))


def _kept(
    inputs: Inputs,
    *,
    share: str = "groups",
    past: bool = True,
    own: bool = True,
    safe: str = "newest",
    rank: str = "own",
    order: str = "position",
    ties: str = "earlier",
) -> dict[str, Array]:
    """Return what stays, or what another choice would leave."""
    at, recent = inputs["positions"], inputs["recent"]
    room = min(inputs["budget"], at.shape[1])
    got = _summed(inputs, share)
    if past:
        got = got + np.pad(inputs["totals"], ((0, 0), (0, 1)))
    if not own:
        got = got * (np.arange(got.shape[1]) < got.shape[1] - 1)
    ranked = {"own": got, "least": -got, "all": got.sum(axis=0) + 0 * got,
              "mean": got / (at[:, -1:] - at + 1), "six": np.round(got, 6),
              "four": np.round(got, 4), "three": np.round(got, 3), "new": _summed(inputs, share),
              "root": got / np.arange(got.shape[1], 0, -1)}[rank].copy()  # fmt: skip
    if safe != "nobody" and (recent or safe == "slice"):
        ranked[:, -recent:] = np.inf
    if ties == "later":
        slots = at.shape[1] - 1 - np.argsort(-ranked[:, ::-1], axis=1, kind="stable")[:, :room]
    else:
        slots = np.argsort(-ranked, axis=1, kind="stable")[:, :room]
    if order != "weight":
        slots = np.sort(slots, axis=1)
    places = slots if order == "slots" else np.take_along_axis(at, slots, axis=1)
    return {"kept": places, "new_totals": np.take_along_axis(got, slots, axis=1)}


def right(inputs: Inputs) -> dict[str, Array]:
    """The newest and the heaviest, in their order."""
    return _kept(inputs)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"safe": "nobody"}, "You don't protect the newest keys. They have had no time to receive "
     "much, so `recent` of them stay whatever their total."),
    ({"safe": "slice"}, "With `recent` = 0 you protect every key: a slice that begins at -0 is the "
     "whole row."),
    ({"past": False}, "You use only the latest weights. What the keys had received before is in "
     "`totals`."),
    ({"own": False}, "You leave out the weight of the new key: its own token gave it some, too."),
    ({"rank": "mean"}, "You divide the totals by the number of queries that may have seen the "
     "key. H2O takes the sum, which favors old keys."),
    ({"share": "tile"}, "You assign the query heads like tiles. Neighbors share a key/value head: "
     "h // (n_heads // n_kv_heads)."),
    ({"share": "first"}, "You count one query head per group. All heads that read a key give it "
     "some weight."),
    ({"share": "mean"}, "You average the weights of a group. Add them up, as you do for different "
     "queries."),
    ({"share": "max"}, "You take the largest weight of a group. Add them up, as you do for "
     "different queries."),
    ({"rank": "all"}, "You keep the same slots in all key/value heads. Each head chooses by what "
     "its own queries gave."),
    ({"rank": "least"}, "You keep the keys that received least."),
    ({"order": "weight"}, "You return the keys in the order of their totals. Return them in the "
     "order of their positions."),
    ({"ties": "later"}, "Of equal keys you keep the later one. Keep the earlier."),
    *(({"rank": digits}, "You round the totals before you compare them. Two that differ a little "
        "are "
       "not equal: the larger one stays.") for digits in ("six", "four", "three")),
    ({"rank": "new"}, "You rank the keys by their latest weights. Rank them by what they have "
     "received in all."),
    ({"rank": "root"}, "You divide the totals by how many keys come after. Compare the sums "
     "themselves."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what would stay with one idea missing, or two."""
    found: list[tuple[Any, str]] = [
        ({"kept": _kept(inputs, order="slots")["kept"]},
         "You return slots of the arrays. `positions` says which token is in each."),
    ]  # fmt: skip
    found += with_pairs(partial(_kept, inputs), MISTAKES)
    wanted = right(inputs)
    before = np.pad(inputs["totals"], ((0, 0), (0, 1)))
    slots = np.stack([np.searchsorted(p, k) for p, k in
                      zip(inputs["positions"], wanted["kept"], strict=True)])  # fmt: skip
    found += [
        ({"new_totals": np.take_along_axis(before, slots, axis=1)},
         "Your new_totals is what the keys had before this token. Add its weights."),
        ({"new_totals": np.take_along_axis(_summed(inputs), slots, axis=1)},
         "Your new_totals holds the latest weights alone. Add what the keys had before."),
    ]  # fmt: skip
    return found


SHOULD_BE = {
    "kept": "Each row should hold the positions of the `recent` newest keys and of the others with "
    "the largest totals, growing.",
    "new_totals": "It should hold, for each key that stays, its old total and the new weights.",
}

EXERCISE = Exercise(
    id="heavy_keys",
    page="fewer-keys",
    title="Which keys have earned a place",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="H2O: eviction by received weight",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Start with one row of totals per key/value head, where the new key has 0 plus its own "
        "weight. Which slots are protected? Rank the others.",
        "Reshape the weights to (n_kv_heads, n_heads // n_kv_heads, kv_len) and sum over the "
        "middle axis. Give the newest an infinite rank, sort by descending rank with a stable "
        "sort, cut, and sort the remaining slots.",
    ),
    common_errors=(
        "Letting the newest keys compete: they have had no time to receive much.",
        "Keeping the same slots in all key/value heads.",
        "Returning the slots in the order of their weights.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=SHOULD_BE,
)
