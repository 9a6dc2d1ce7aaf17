"""Attention in tiles with its log-sum-exp, where dead tiles are left out."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips
from mini_attn.exercises.trained import trained_heads

TEXT = """
Write causal attention of one head in tiles. `q` is `(q_len, head_dim)`, `k` is
`(kv_len, head_dim)` and `v` is `(kv_len, v_head_dim)`. The queries belong to the last tokens, so
query `i` attends to keys 0 to `kv_len - q_len + i`; `q_len` is at most `kv_len`. Go through blocks
of `block_q` queries and, for each, through blocks of `block_k` keys. The last block of either can
be smaller. Scores are divided by √head_dim.

Return `out` `(q_len, v_head_dim)`, `lse` `(q_len,)`, the natural logarithm of the sum of the
exponentials of a query's visible scores, and `tiles`, an integer array: how many tiles you computed
for each block of queries. Don't compute fully masked tiles, and never hold the scores of all keys
at once. Scores can be in the thousands, including those of hidden keys.
"""
STARTER = '''
def tiled_forward(q, k, v, block_q, block_k):
    """Causal attention in tiles: (out, lse, tiles)."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(q: Array, k: Array, v: Array, block_q: int, block_k: int) -> Inputs:
    return {"q": q, "k": k, "v": v, "block_q": block_q, "block_k": block_k}


def _drawn(
    rng: np.random.Generator, q_len: int, kv_len: int, blocks: tuple[int, int], height: float = 0.0
) -> Inputs:
    size = 4
    q, k = (rng.standard_normal((n, size)) for n in (q_len, kv_len))
    k[:, 0] += height
    q[:, 0] = np.abs(q[:, 0]) + 0.5
    return _case(q, k, rng.standard_normal((kv_len, 3)), *blocks)


def _steep(tops: list[float], q_len: int, blocks: tuple[int, int]) -> Inputs:
    """Keys whose scores are given: later ones, which are hidden, far above the others."""
    k = np.array(tops)[:, None]
    return _case(np.ones((q_len, 1)), k, 2.0 ** np.arange(len(k))[:, None], *blocks)


def _trained(rng: np.random.Generator, blocks: tuple[int, int]) -> Inputs:
    q, k, v = (part[0] for part in trained_heads(rng, 40))
    return _case(q, k, v, *blocks)


def cases(rng: np.random.Generator) -> Cases:
    """By hand: four tokens, two by two. The property: which tiles are computed."""
    hand = _case(
        np.ones((4, 1)), np.log([[1.0], [2.0], [3.0], [2.0]]),
        np.array([[6.0], [3.0], [8.0], [4.0]]), 2, 2,
    )  # fmt: skip
    return {
        "by hand": [hand],
        "random": [_drawn(rng, 6, 6, (2, 3)), _drawn(rng, 5, 9, (2, 2))],
        # And rows so long that all scores at once are seen to take room.
        "property": [
            _drawn(rng, 9, 9, (4, 2)), _drawn(rng, 4, 14, (2, 4)), _trained(rng, (8, 8)),
            _drawn(rng, 256, 1024, (16, 64)),
        ],
        "edges": [
            _drawn(rng, 5, 7, (3, 2), 2000.0), _drawn(rng, 5, 7, (2, 3), -2000.0),
            _steep([0.0, 3000.0, 3001.0, 6000.0], 4, (2, 2)), _steep([1.0, 0.0, 2000.0], 2, (8, 8)),
            _drawn(rng, 3, 5, (8, 8)), _drawn(rng, 4, 6, (1, 1)), _drawn(rng, 1, 1, (2, 2)),
        ],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Outputs, sums, and one count."""
    rows, blocks = len(inputs["q"]), -(-len(inputs["q"]) // inputs["block_q"])
    out = (rows, inputs["v"].shape[1])
    return {"out": (out, "f"), "lse": ((rows,), "f"), "tiles": ((blocks,), "i")}


def room(inputs: Inputs) -> tuple[int, str]:
    """Half of what the scores of all keys take; short rows do not matter."""
    rows, keys = len(inputs["q"]), len(inputs["k"])
    return max(4 * rows * keys, 300_000), (
        f"You hold the scores of all {keys:,} keys at the same time, for {rows} queries. A "
        "tile has "
        f"{inputs['block_q']} × {inputs['block_k']} of them."
    )


def _whole(
    inputs: Inputs, *, past: int | None = None, blind: int = 0, scaled: bool = True,
    lse: str = "right",
) -> dict[str, Array]:  # fmt: skip
    """All scores at once, with the mask moved, and another thing for lse."""
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    ahead = len(k) - len(q) if past is None else past
    mask = np.tri(len(q), len(k), ahead - blind, dtype=bool)
    scores = np.where(mask, q @ k.T * (q.shape[1] ** -0.5 if scaled else 1.0), -np.inf)
    top = scores.max(axis=1, keepdims=True)
    safe = np.where(np.isneginf(top), 0.0, top)
    weights = np.exp(scores - safe)
    total = weights.sum(axis=1, keepdims=True)
    whole = np.where(total == 0, 1.0, total)
    sums = {
        "right": safe + np.log(whole), "top": safe, "sum": whole, "log of sum": np.log(whole),
        "base 2": (safe + np.log(whole)) / np.log(2), "minus": safe - np.log(whole),
    }[lse]  # fmt: skip
    return {"out": weights @ v / whole, "lse": sums[:, 0]}


def _block(inputs: Inputs, i: int, way: str) -> tuple[Array, Array]:
    """The loop over the keys for one block of queries, with one thing done otherwise."""
    q, k, v, wide = (inputs[name] for name in ("q", "k", "v", "block_k"))
    places = np.arange(i, min(i + inputs["block_q"], len(q))) + len(k) - len(q)
    top, total = np.full(len(places), -np.inf), np.zeros(len(places))
    out, count = np.zeros((len(places), v.shape[1])), 0
    for j in range(0, places[0 if way == "first" else -1] + 1, wide):
        columns = np.arange(j, min(j + wide, len(k)))
        seen = columns <= places[:, None]
        if way == "diagonal" and j // wide != i // inputs["block_q"]:
            seen = np.ones_like(seen)
        scores = q[places - len(k) + len(q)] @ k[columns].T / np.sqrt(q.shape[1])
        best = (scores if way == "late" else np.where(seen, scores, -np.inf)).max(axis=1)
        higher = best if way == "last" else np.maximum(top, best)
        shift = np.where(np.isneginf(higher), 0.0, higher)
        weights = np.where(seen, np.exp(scores - shift[:, None]), 0.0)
        keep, part, count = np.exp(top - shift), weights.sum(axis=1), count + 1
        if way == "own":
            out = out + weights @ v[columns] / np.where(part == 0, 1, part)[:, None]
        else:
            out = (1.0 if way == "out" else keep[:, None]) * out + weights @ v[columns]
        total = (1.0 if way == "total" else keep) * total + part
        top, out = higher, out / total[:, None] if way == "each" else out
    whole = count if way == "own" else 1.0 if way == "each" else total[:, None]
    return out / whole, top + np.log(total)


def _loop(inputs: Inputs, way: str) -> dict[str, Array]:
    """The whole loop, with one thing done otherwise."""
    with np.errstate(all="ignore"):
        starts = range(0, len(inputs["q"]), inputs["block_q"])
        outs, sums = zip(*(_block(inputs, i, way) for i in starts), strict=True)
    return {"out": np.concatenate(outs), "lse": np.concatenate(sums)}


def _ends(inputs: Inputs) -> tuple[Array, Array]:
    """The first and the last query of each block, counted from the first query."""
    first = np.arange(0, len(inputs["q"]), inputs["block_q"])
    return first, np.minimum(first + inputs["block_q"], len(inputs["q"])) - 1


def _counts(inputs: Inputs) -> list[tuple[Array, str]]:
    """Tiles of each block that would be counted with one idea missing."""
    kv_len, block_k = len(inputs["k"]), inputs["block_k"]
    past, most = kv_len - len(inputs["q"]), -(-kv_len // block_k)
    first, last = _ends(inputs)

    def tiles(keys: Array) -> Array:
        return np.clip(-(-keys // block_k), 0, most)

    return [
        (np.full_like(last, most),
         "You compute all tiles. Tiles in which every key comes after every query are fully "
         "masked. "
         "Skip them."),
        (tiles(last + 1),
         "You treat the queries as the first tokens. They're the last ones: query i is at position "
         "kv_len − q_len + i."),
        (tiles(past + first + 1),
         "You skip a tile if the first of its queries can't attend to it. The last query can "
         "attend to the most, so check that one."),
        (tiles(past + last),
         "You left out the last query's own key. Where it begins a tile, that tile is needed too."),
        ((past + last + 1) // block_k,
         "You don't count partly masked tiles. They're computed too."),
        (np.clip((past + last + 1) // block_k + 1, 0, most),
         "You count one tile too many where the last query's own key ends a tile. The next one is "
         "fully masked."),
        (np.cumsum(tiles(past + last + 1)),
         "Your count continues from block to block. Start again with each block of queries."),
    ]  # fmt: skip


def right(inputs: Inputs) -> dict[str, Array]:
    """Attention, its sums, and the tiles with a visible pair."""
    seen = len(inputs["k"]) - len(inputs["q"]) + _ends(inputs)[1] + 1
    return _whole(inputs) | {"tiles": -(-seen // inputs["block_k"])}


LATE = (
    "You take the maximum over hidden keys too. Where a hidden score is far above the visible "
    "ones, their exponentials vanish."
)
LOOPS = (
    ("late", LATE),
    ("out", "You don't rescale the running output when a larger score comes. It's relative to the "
     "same maximum as the sum."),
    ("total", "You rescale the running output when a larger score comes, but not the running sum."),
    ("own", "You give each tile its own softmax and average the tiles. A tile counts by its "
     "sum of exponentials, so divide once, at the end."),
    ("each", "You divide the running output after every tile, but then add the next tile as if you "
     "hadn't. Divide once, at the end."),
    ("first", "You skip a tile if the first of its queries can't attend to it. The last query "
     "can attend to the most, so check that one."),
    ("diagonal", "You apply the mask only where a block of keys has the same number as the "
                 "block of "
     "queries. Positions decide which tiles are on the edge, not their numbers."),
    ("last", "You keep the maximum of the latest tile alone. Keep the larger of it and the "
             "previous "
     "one."),
)  # fmt: skip
FAR = 10**6  # past all keys
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"past": FAR}, "Your queries attend to later keys. A tile on the edge needs the causal mask."),
    ({"past": 0},
     "You treat the queries as the first tokens. They're the last ones: query i is at position "
     "kv_len − q_len + i."),
    ({"blind": 1}, "Your query doesn't attend to its own key, the one at kv_len − q_len + i."),
    ({"scaled": False}, "You lost the scale 1 / √head_dim."),
]  # fmt: skip
SUMS = [
    ("top", "Your lse is the largest score alone. Add the logarithm of the sum."),
    ("log of sum", "Your sum is relative to the maximum. Add the maximum to its logarithm."),
    (
        "sum",
        "That's the sum itself, relative to the maximum. Return its logarithm plus the maximum.",
    ),
    ("base 2", "Your lse has base 2. Use natural logarithms."),
    ("minus", "You subtract the logarithm of the sum from the maximum. Add it."),
]
WRONG_SUMS = ("late", "total", "first", "diagonal", "last")


def slips(inputs: Inputs) -> Slips:
    """Return what the outputs, the sums or the count would be with one idea missing."""
    outs = with_pairs(lambda **wrong: {"out": _whole(inputs, **wrong)["out"]}, MISTAKES)
    loops = [(_loop(inputs, way), idea) for way, idea in LOOPS]
    return [
        *outs,
        *(({"out": one["out"]}, idea) for one, idea in loops),
        ({"out": np.nan_to_num(loops[0][0]["out"])}, LATE),
        *(
            ({"lse": one["lse"]}, idea)
            for (one, idea), (way, _) in zip(loops, LOOPS, strict=True)
            if way in WRONG_SUMS
        ),
        *(({"lse": _whole(inputs, lse=kind)["lse"]}, idea) for kind, idea in SUMS),
        *(({"tiles": count}, idea) for count, idea in _counts(inputs)),
    ]


SHOULD_BE = {
    "out": "out should be the softmax over a query's visible keys, times their values.",
    "lse": "lse should be the logarithm of the sum of exponentials of a query's visible scores.",
    "tiles": "tiles should count those with at least one visible pair.",
}


EXERCISE = Exercise(
    id="tiled_forward",
    page="flash",
    title="The whole loop",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 2},
    minutes=25,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="What the tiles move",
    text=TEXT,
    starter=STARTER,
    hints=(
        "For a block of queries, what's the position of the last one, and which is the first key "
        "that it can't attend to? No tile that begins there or later is needed.",
        "Outer loop over queries; μ = −∞, ℓ = 0, o = 0; inner loop over keys up to the last "
        "query's own; mask the tile, then join it. At the end, o / ℓ and μ + ln ℓ. Every query "
        "attends to key 0, so every row has a maximum after its first tile.",
    ),
    common_errors=(
        "Counting queries from 0 where there are keys before them.",
        "Skipping a tile because its first query can't attend to it.",
        "Returning the maximum or the sum instead of the log-sum-exp.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=SHOULD_BE,
    room=room,
)
