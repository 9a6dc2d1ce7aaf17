"""Find the cheapest and the most expensive brackets of a chain of products."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
You multiply a chain of matrices. `sizes` is an integer array: matrix number `i` has shape
`(sizes[i], sizes[i + 1])`, so there's one matrix fewer than sizes. The brackets can go anywhere,
but the order of the matrices stays. Return an integer array of two counts: the FLOPs of the
cheapest way to multiply the chain, and those of the most expensive one. Count a multiply-add as 2.
A chain can have 20 matrices, which is too many to try every way.
"""
STARTER = '''
def chain_order(sizes):
    """np.array([cheapest FLOPs, most expensive FLOPs])."""
    raise NotImplementedError
'''

Choose = Callable[..., int]


def _case(*sizes: int) -> Inputs:
    return {"sizes": np.array(sizes)}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a narrow middle. The property: the best brackets are at neither end."""
    drawn = [_case(*(int(x) for x in rng.integers(2, 40, size=n))) for n in (4, 5, 6, 8)]
    wide, narrow = int(rng.integers(60, 140)), int(rng.integers(3, 7))
    return {
        "by hand": [_case(1, 8, 2, 8)],
        "random": drawn,
        "property": [
            _case(wide, 20, wide, narrow, wide, 20, wide), _case(30, 35, 15, 5, 10, 20, 25),
        ],
        "edges": [
            _case(7, 5), _case(3, 4, 5), _case(1, 40_000, int(rng.integers(30_000, 40_000)), 1),
            _case(*(int(x) for x in rng.integers(2, 90, size=21))),
        ],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """FLOPs of both ways."""
    return {"flops": ((2,), "i")}


def _last(sizes: tuple[int, ...], first: int, k: int, last: int, way: str) -> int:
    """FLOPs of the product that contracts size k, or what a slip makes of them."""
    a, inner, b = sizes[first], sizes[k], sizes[k + 1 if way == "near" else last]
    if way == "exact":
        return a * b * (2 * inner - 1)
    return 2 * a * b * (1 if way == "no inner" else inner)


def _best(
    sizes: tuple[int, ...],
    choose: Choose,
    *,
    ends: bool = False,
    way: str = "right",
    inside: Choose | None = None,
) -> int:
    """FLOPs of the chain whose last product is chosen, and so on inside its brackets.

    With ``ends`` one side of each product is a single matrix; ``way`` is how a product is counted,
    "near" as if its right side were one matrix; ``inside`` chooses within the last brackets.
    """

    @cache
    def flops(first: int, last: int) -> int:
        splits = range(first + 1, last)
        if ends:
            splits = range(first + 1, last, max(last - first - 2, 1))
        pick = choose if inside is None or (first, last) == (0, len(sizes) - 1) else inside
        return pick(
            (flops(first, k) + flops(k, last) + _last(sizes, first, k, last, way) for k in splits),
            default=0,
        )

    return flops(0, len(sizes) - 1)


def _step_by_step(sizes: tuple[int, ...], pick: Callable[[tuple[int, ...]], int]) -> int:
    """FLOPs where each step contracts the inner size that is picked."""
    total = 0
    while len(sizes) > 2:
        k = pick(sizes)
        total += 2 * sizes[k - 1] * sizes[k] * sizes[k + 1]
        sizes = sizes[:k] + sizes[k + 1 :]
    return total


def _cost(sizes: tuple[int, ...], k: int) -> int:
    return sizes[k - 1] * sizes[k] * sizes[k + 1]


def _greedy(sizes: tuple[int, ...], choose: Callable[..., int]) -> int:
    return _step_by_step(sizes, lambda s: choose(range(1, len(s) - 1), key=lambda k: _cost(s, k)))


def _by_size(sizes: tuple[int, ...], choose: Callable[..., int]) -> int:
    return _step_by_step(sizes, lambda s: choose(range(1, len(s) - 1), key=lambda k: s[k]))


def _last_alone(sizes: tuple[int, ...]) -> tuple[int, int]:
    """FLOPs of the cheapest and of the most expensive last product alone."""
    ways = [2 * sizes[0] * size * sizes[-1] for size in sizes[1:-1]]
    return min(ways, default=0), max(ways, default=0)


def _one_split(sizes: tuple[int, ...], choose: Choose) -> int:
    """FLOPs where the last product is chosen and both sides run from the left to the right."""
    return choose(
        (
            sum(_step_by_step(part, lambda s: 1) for part in (sizes[: k + 1], sizes[k:]))
            + 2 * sizes[0] * sizes[k] * sizes[-1]
            for k in range(1, len(sizes) - 1)
        ),
        default=0,
    )


def slips(inputs: Inputs) -> Slips:
    """The counts with one idea missing."""
    sizes = tuple(int(x) for x in inputs["sizes"])
    least, most = _best(sizes, min), _best(sizes, max)
    left, right_ = _step_by_step(sizes, lambda s: 1), _step_by_step(sizes, lambda s: len(s) - 2)
    ends = _best(sizes, min, ends=True), _best(sizes, max, ends=True)
    two = "You compare only two ways, from the left and from the right. With four matrices there "
    two += "are five; one of them is (A B) (C D)."
    local = "Each of your steps takes the cheapest (or most expensive) product at that moment. "
    local += "What it leaves can cost more than it saved. Compare whole ways."
    given = [
        ((least // 2, most // 2), "You counted multiply-adds. Each is 2 FLOPs."),
        ((most, least), "You swapped the two counts. The cheapest way comes first."),
        ((left, right_), two), ((right_, left), two),
        ((min(left, right_), max(left, right_)), two),
        ((left, left), "That's the chain from the left to the right. Other brackets can cost "
         "less, and others more."),
        ((right_, right_), "That's the chain from the right to the left. Other brackets can cost "
         "less, and others more."),
        (ends, "Each of your products has a single matrix on one side. Both sides can be "
               "products."),
        ((_best(sizes, min, way="near"), _best(sizes, max, way="near")), "You treat the right side "
         "of a product as a single matrix. Its result is as wide as the last matrix in it."),
        ((_best(sizes, min, way="exact"), _best(sizes, max, way="exact")), "You counted one "
         "addition less per entry. Count a multiply-add for every term, 2 FLOPs each."),
        ((_best(sizes, min, way="no inner"), _best(sizes, max, way="no inner")), "You left out the "
         "contracted size. Each entry of a product is a sum over it."),
        *(((_best(part, min), _best(part, max)), "You left out a matrix at one end of the chain: "
           "there is one matrix fewer than sizes.") for part in (sizes[:-1], sizes[1:])),
        (_last_alone(sizes), "You counted the last product alone. Add what both of its sides "
         "cost."),
        ((least, _best(sizes, max, inside=min)), "The cheapest way is right. In the other one, you "
         "choose the most expensive last product, but cheap brackets inside it."),
        ((_best(sizes, min, inside=max), most), "The most expensive way is right. In the "
                                                "other one, "
         "you choose the cheapest last product, but expensive brackets inside it."),
        ((_one_split(sizes, min), _one_split(sizes, max)), "You choose only the last "
                                                           "product. Choose "
         "the brackets of the chains on both of its sides, too."),
        ((least, 0), "Your first count is right. The most expensive way is missing."),
        ((_greedy(sizes, min), _greedy(sizes, max)), local),
        ((_by_size(sizes, max), _by_size(sizes, min)), "You contract the largest inner size "
         "first for the cheapest way, and the smallest for the other one. That's often right, but "
         "not always. Compare whole ways."),
        ((_by_size(sizes, min), _by_size(sizes, max)), "You contract the smallest size "
                                                       "first, which makes "
         "large matrices in between."),
        ((least, least), "Your first count is right. The second should be the most expensive way."),
        ((least, max(left, right_)), "Your cheapest way is right. The most expensive one "
                                     "doesn't have to "
         "go from one end to the other."),
        ((least, ends[1]), "Your cheapest way is right. In the most expensive one, both sides of a "
         "product can be products."),
        ((least, _greedy(sizes, max)), "Your cheapest way is right. The most expensive one doesn't "
         "come from the most expensive product of each moment."),
    ]  # fmt: skip
    return [(np.array(answer), idea) for answer, idea in given]


def right(inputs: Inputs) -> np.ndarray:
    """The least and the most over all brackets."""
    sizes = tuple(int(x) for x in inputs["sizes"])
    return np.array([_best(sizes, min), _best(sizes, max)])


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Say whether a number has overflowed, or the two are not in order."""
    low, high = outputs["flops"]
    if low < 0 or high < 0:
        return (
            "A count came out negative because the product was too large for its integers. "
            "Multiply "
            "Python integers, or use int64."
        )
    return "Your cheapest way costs more than your most expensive one." if low > high else None


EXERCISE = Exercise(
    id="chain_order",
    page="matmul",
    title="The cheapest brackets",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=25,
    difficulty=4,
    stage="invent",
    assessed=True,
    section="Where the brackets go",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Think of the product that is done last. What is on its left, and what is on its right?",
        "The last product splits the chain at some inner size. Both parts are shorter chains, each "
        "with its own cheapest brackets, whatever the other one does. Store the result of each "
        "part, because many splits need it again.",
    ),
    common_errors=(
        "Taking the cheapest product at each step.",
        "Trying every way: their number grows about fourfold with each matrix.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
