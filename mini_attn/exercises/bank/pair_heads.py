"""Choose which heads of a trained layer share before they are averaged."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs
from mini_attn.exercises.trained import trained_heads

TEXT = """
Pooling averages neighbours, but which heads are neighbours is an accident of training: a layer
computes the same with its heads in any order. `k` and `v` have the shape `(n_heads, tokens,
head_dim)`, keys and values of a layer on a text, with `n_heads` even and at most 8. Each pair of
heads will share the mean of its keys and the mean of its values. Return `order` `(n_heads,)`, whole
numbers: the order of the heads in which pooling neighbours, `order[0]` with `order[1]`, `order[2]`
with `order[3]` and so on, changes keys and values least, in the sum of squares over everything.
"""
STARTER = '''
def pair_heads(k, v):
    """The order of heads in which neighbours are pooled at the least loss."""
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


def _apart(rng: np.random.Generator, heads: int, key_size: float) -> Inputs:
    """Keys pair the heads in one way, values in another; the larger of the two decide."""
    i = np.arange(heads)[:, None, None]
    k, v = 0.01 * rng.standard_normal((2, heads, 4, 3))
    return {"k": k + key_size * (i // 2), "v": v + i % (heads // 2)}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: heads 0 and 3 are nearly alike. The property: the nearest pair may cost too much."""
    return {
        "by hand": [_group(np.random.default_rng(1), [0.0, 5.0, 5.5, 0.25])],
        "random": [_apart(rng, 4, 0.3), _apart(rng, 4, 3.0)],
        "property": [
            _group(rng, [0.0, 3.0, 4.0, 7.0]), _group(rng, [0.0, 3.0, 20.0, 4.0, 7.0, 20.5]),
            _trained(rng, 0), _trained(rng, 1),
        ],
        "edges": [
            _group(rng, [0.0, 1.0]), _group(rng, [1.0, 1.0, 1.0, 1.0]), _apart(rng, 8, 2.0),
        ],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A number for each head."""
    return {"order": ((len(inputs["k"]),), "iu")}


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


def _best(distances: Array) -> float:
    """What the best order costs."""
    return min(_cost(distances, order) for order in _pairings(list(range(len(distances)))))


def _greedy(distances: Array) -> float:
    """What it costs to take the nearest two again and again."""
    left, cost = list(range(len(distances))), 0.0
    while left:
        pairs = [(distances[i, j], i, j) for i in left for j in left if i < j]
        near, i, j = min(pairs)
        cost += near
        left = [head for head in left if head not in (i, j)]
    return float(cost)


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea that the order lacks."""
    order = outputs["order"]
    if sorted(order) != list(range(len(order))):
        return f"order should name each of the heads 0 to {len(order) - 1} once; it is {order}."
    keys, values = _distances(inputs["k"]), _distances(inputs["v"])
    both = keys + values
    cost, best = _cost(both, order), _best(both)
    room = 1e-9 * (1 + both.max())
    if cost <= best + room:
        return None
    words = f"This order changes keys and values by {cost:.4g} in all; {best:.4g} is possible."
    if _cost(keys, order) <= _best(keys) + room:
        return f"The pairs are right for the keys alone. The values are pooled too. {words}"
    if _cost(values, order) <= _best(values) + room:
        return f"The pairs are right for the values alone. The keys are pooled too. {words}"
    if abs(cost - _greedy(both)) <= room:
        return (
            "The nearest two are a pair, and the others have to take what is left. What counts is "
            f"the sum over all pairs. {words}"
        )
    if abs(cost + _best(-both)) <= room:
        return f"These pairs are the most different ones. {words}"
    if (order == np.arange(len(order))).all():
        return f"The heads are in the order they came in. {words}"
    return f"{words} How much does the mean of two heads differ from each of them?"


EXERCISE = Exercise(
    id="pair_heads",
    page="mqa-gqa",
    title="Which heads should share?",
    kind="write",
    groups={"property": 3, "edges": 1},
    minutes=20,
    difficulty=4,
    assessed=True,
    section="Fewer heads from a trained model",
    text=TEXT,
    starter=STARTER,
    hints=(
        "What two heads lose by sharing depends on these two alone, so a table over pairs holds "
        "all that is needed. With 8 heads there are only 105 ways to make pairs.",
        "The mean of a and b is |a − b|² / 2 away from the two together. Fill the table with that "
        "for keys plus values. Then go through the ways: head 0 takes each partner in turn, and "
        "the rest is the same task with two heads fewer.",
    ),
    common_errors=(
        "Comparing keys only: the values are pooled as well.",
        "Taking the nearest pair first, which can force a bad pair at the end.",
    ),
    cases=cases,
    expected=expected,
    judge=judge,
)
