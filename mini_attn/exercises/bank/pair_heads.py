"""Choose which heads of a trained layer share before they are averaged."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.comparing import apart
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips
from mini_attn.exercises.trained import trained_heads

TEXT = """
Pooling averages neighbors, but which heads are neighbors is an accident of training. A layer
computes the same with its heads in any order, as long as their queries and their part of the output
projection move along. `k` and `v` have the shape `(n_heads, tokens, head_dim)`: the keys and values
of a layer on some text, with `n_heads` even and at most 8. Each pair of heads will share the mean
of its keys and the mean of its values. Return `order` `(n_heads,)`, integers: the order of the
heads in which pooling neighbors (`order[0]` with `order[1]`, `order[2]` with `order[3]`, and so on)
changes keys and values least, by the sum of squares over everything. Any of the best orders will
do.
"""
STARTER = '''
def pair_heads(k, v):
    """The order of heads in which pooling neighbors loses least."""
    raise NotImplementedError
'''

Array = np.ndarray


def _group(rng: np.random.Generator, places: list[float]) -> Inputs:
    """Heads that differ by a number, which is the same for all keys and values."""
    common = rng.standard_normal((2, 1, 3, 2))
    k, v = common + np.array(places)[:, None, None]
    return {"k": k, "v": v}


def _trained(rng: np.random.Generator, layer: int) -> Inputs:
    _, k, v = trained_heads(rng, 48, layer=layer)
    mixed = rng.permutation(len(k))
    return {"k": k[mixed], "v": v[mixed]}


def _apart(rng: np.random.Generator, heads: int, key_size: float, out: float = 0) -> Inputs:
    """Keys pair the heads in one way, values in another; the larger of the two decide.

    Keys far out say little once keys and values are brought to one size.
    """
    i = np.arange(heads)[:, None, None]
    k, v = 0.01 * rng.standard_normal((2, heads, 4, 3))
    return {"k": k + out + key_size * (i // 2), "v": v + i % (heads // 2)}


def _in_a_plane(rng: np.random.Generator, points: list[tuple[float, float]]) -> Inputs:
    """Heads with keys at the corners of a figure, and values that say nothing."""
    k = np.repeat(np.array(points, float)[:, None], 3, axis=1)
    return {"k": k, "v": 1e-3 * rng.standard_normal(k.shape)}


def _to_and_fro(rng: np.random.Generator) -> Inputs:
    """Heads that swing from token to token, so that means over the tokens tell little."""
    inputs = _group(rng, [0.0, 0.1, 1.0, 1.1])
    swing = 5.0 * np.array([1, -1, 1, -1])[:, None] * np.array([1, -1, 0])
    inputs["v"] += swing[..., None]
    return inputs


def _apart_twice(rng: np.random.Generator) -> Inputs:
    """Pairs that are near in both, or far in one: the larger of the two distances misleads."""
    inputs = _in_a_plane(rng, [(0, 0), (2.45, 0), (0, 2), (2.45, 2)])
    inputs["v"][2:] += np.array([2.0, 0.0])
    return inputs


def cases(rng: np.random.Generator) -> Cases:
    """By hand: heads 0 and 3 are nearly alike. The property: the nearest pair may cost too much."""
    return {
        "by hand": [_group(np.random.default_rng(1), [0.0, 5.0, 5.5, 0.25])],
        "random": [_apart(rng, 4, 0.3), _apart(rng, 4, 3.0)],
        "property": [
            _group(rng, [0.0, 3.0, 4.0, 7.0]), _group(rng, [0.0, 3.0, 20.0, 4.0, 7.0, 20.5]),
            _group(rng, [3.0, 0.0, 4.0, 7.0, 20.0, 9.0]), _to_and_fro(rng),
            _in_a_plane(rng, [(0, 0), (1, 0), (-2, 2.87), (3, 2.87)]),
            _in_a_plane(rng, [(1, 0), (5, 0), (1, 0.5), (5, 2.5)]), _apart_twice(rng),
            _apart(rng, 4, 3.0, out=50.0),
            _group(rng, [0.0, 1.0, 10.0, 11.0, -10.5, -11.5]), _trained(rng, 0), _trained(rng, 1),
        ],
        "edges": [
            _group(rng, [0.0, 1.0]), _group(rng, [1.0, 1.0, 1.0, 1.0]), _apart(rng, 8, 2.0),
        ],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A number for each head."""
    return {"order": ((len(inputs["k"]),), "i")}


def _distances(x: Array) -> Array:
    """Sum of squares by which the mean of two heads differs from both, (n_heads, n_heads)."""
    return np.asarray(((x[:, None] - x) ** 2).sum(axis=(2, 3)) / 2)


def _pairings(left: list[int]) -> Iterator[list[int]]:
    """Each way to put heads into pairs, as an order."""
    if not left:
        yield []
        return
    first, *others = left
    for partner in others:
        for rest in _pairings([head for head in others if head != partner]):
            yield [first, partner, *rest]


def _cost(distances: Array, order: Array | list[int]) -> float:
    return float(distances[list(order[::2]), list(order[1::2])].sum())


def _best(distances: Array) -> list[int]:
    """The best order."""
    return min(_pairings(list(range(len(distances)))), key=lambda order: _cost(distances, order))


def _step_by_step(distances: Array, which: str) -> list[int]:
    """An order that is made pair by pair, or head by head."""
    left, order = list(range(len(distances))), [0] if which == "chain" else []
    if order:
        left.remove(0)
    while left:
        pairs = [(i, j) for i in left for j in left if i < j]
        if which == "chain":
            new = [min(left, key=lambda j: distances[order[-1], j])]
        elif which == "in turn":
            new = [left[0], min(left[1:], key=lambda j: distances[left[0], j])]
        else:
            nearest = min(pairs, key=lambda pair: float(distances[pair]))
            new = list(nearest)
        order += new
        left = [head for head in left if head not in new]
    return order


def _table(inputs: Inputs, of: str = "both") -> Array:
    """Return how far apart heads are, (n_heads, n_heads), as the task means it or otherwise."""
    parts = [inputs["k"], inputs["v"]]
    keys, values = (_distances(x) for x in parts)
    flat = np.concatenate([x.reshape(len(x), -1) for x in parts], axis=1)
    long = np.linalg.norm(flat, axis=1)
    sizes = [max(float((x**2).sum()), 1e-300) for x in parts]
    tokens = [_distances(x.mean(axis=1, keepdims=True)) for x in parts]
    return {
        "both": keys + values, "keys": keys, "values": values, "roots": (keys + values) ** 0.5,
        "two roots": keys**0.5 + values**0.5, "larger": np.maximum(keys, values),
        "sums": _distances(parts[0] + parts[1]), "sizes": keys / sizes[0] + values / sizes[1],
        "tokens": tokens[0] + tokens[1], "directions": -(flat @ flat.T) / np.outer(long, long),
    }[of]  # fmt: skip


def _found(inputs: Inputs, *, of: str = "both", by: str = "all pairings") -> list[int]:
    """The order that is best in a sense, or that another search finds."""
    table = _table(inputs, of)
    if by in ("nearest", "in turn", "chain"):
        return _step_by_step(table, by)
    return _best(-table if by == "largest" else table)


WHAT_COUNTS = "Minimize the sum over all pairs."
ROOTS = ("You added up distances. Add their squares: one long distance counts more than two half "
         "as long.")  # fmt: skip
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"of": "keys"}, "You compared only the keys. The values are pooled too."),
    ({"of": "values"}, "You compared only the values. The keys are pooled too."),
    ({"by": "nearest"},
     f"You paired the nearest two first, and the others had to take what was left. {WHAT_COUNTS}"),
    ({"by": "in turn"},
     "You let each head in turn take the nearest one left, and another head can miss it. "
     f"{WHAT_COUNTS}"),
    ({"by": "chain"},
     f"You strung the heads on a chain, each next to its nearest. {WHAT_COUNTS}"),
    ({"by": "largest"}, "Your pairs are the most different ones."),
    ({"of": "roots"}, ROOTS),
    ({"of": "two roots"}, ROOTS),
    ({"of": "directions"},
     "You paired heads that point the same way. Their lengths count too: the loss is the square "
     "of a difference."),
    ({"of": "tokens"},
     "You compared heads after taking a mean over the tokens. Heads with equal means can differ "
     "at every token."),
    ({"of": "sizes"},
     "You rescaled keys and values to one size before adding them. The sum of squares takes the "
     "values unchanged."),
    ({"of": "larger"},
     "You took only the larger of two distances, the keys' or the values'. Pooling changes both: "
     "add them."),
    ({"of": "sums"},
     "You added keys and values before comparing, so their differences can cancel. Compare them "
     "separately."),
]  # fmt: skip


def _orders(inputs: Inputs) -> list[tuple[list[int], str]]:
    """Orders that are best in another sense, or found in another way."""
    squares = sum((inputs[name] ** 2).sum(axis=(1, 2)) for name in "kv")
    means, table = sum(inputs[name].mean(axis=(1, 2)) for name in "kv"), _table(inputs)
    near = _step_by_step(table, "nearest")[:2]
    rest = [head for head in range(len(table)) if head not in near]
    return [
        *with_pairs(partial(_found, inputs), MISTAKES),
        (np.argsort(squares).tolist(),
         "You paired heads of similar length. They can point in different directions."),
        (np.argsort(means).tolist(),
         "You paired heads with similar means. They can still differ everywhere: compare value by "
         "value."),
        (np.argsort(table[0]).tolist(),
         "You sorted the heads by their distance from head 0. Two at the same distance can be far "
         "from each other."),
        ([*near, *rest],
         f"You paired the nearest two and left the others as they came. {WHAT_COUNTS}"),
        (list(range(len(squares))), "You left the heads in the order they came in."),
    ]  # fmt: skip


def asked(inputs: Inputs, outputs: Outputs) -> Outputs:
    """The order, and what it costs; many orders cost the same."""
    order = outputs["order"]
    each_once = sorted(order) == list(range(len(order)))
    both = _table(inputs)
    return {"order": order, "cost": np.array(_cost(both, order) if each_once else -1.0)}


def _told(best: float, cost: float) -> str:
    """Return the cost of an order, and the least possible."""
    least, much = apart(best, cost)
    return f"Your order changes keys and values by {much} in all; {least} is possible."


def slips(inputs: Inputs) -> Slips:
    """Return what the order would cost with one idea missing."""
    both = _table(inputs)
    best = _cost(both, _best(both))
    found = []
    for order, idea in _orders(inputs):
        cost = _cost(both, order)
        found.append(({"cost": np.array(cost)}, f"{idea} {_told(best, cost)}"))
    return found


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """Return whether the order costs as little as is possible."""
    order, cost = outputs["order"], float(outputs["cost"])
    if cost < 0:
        return f"order should name each of the heads 0 to {len(order) - 1} once; yours is {order}."
    both = _table(inputs)
    best = _cost(both, _best(both))
    if cost <= best + 1e-9 * (1 + both.max()):
        return None
    return _told(best, cost)


EXERCISE = Exercise(
    id="pair_heads",
    page="mqa-gqa",
    title="Which heads should share?",
    kind="write",
    groups={"property": 3, "edges": 1},
    minutes=20,
    difficulty=4,
    stage="invent",
    assessed=True,
    section="Fewer heads from a trained model",
    text=TEXT,
    starter=STARTER,
    hints=(
        "The loss of two heads depends on these two alone, so a table over pairs has everything "
        "you need. With 8 heads there are only 105 ways to make pairs.",
        "The mean of a and b is |a − b|² / 2 away from the two together. Fill the table with that, "
        "for keys plus values. Then try all ways: head 0 takes each partner in turn, and the rest "
        "is the same task with two heads fewer.",
    ),
    common_errors=(
        "Comparing keys only: the values are pooled as well.",
        "Taking the nearest pair first, which can force a bad pair at the end.",
    ),
    cases=cases,
    expected=expected,
    asked=asked,
    slips=slips,
    judge=judge,
)
