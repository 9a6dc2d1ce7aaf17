"""Count a chain of two products in both orders."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn import cost
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
A has shape `(m, p)`, B `(p, q)`, C `(q, n)`. Return an integer array of two counts: the FLOPs of
(A B) C and those of A (B C), a multiply-add counted as 2. The sizes may be large.
"""
STARTER = '''
def chain_flops(m, p, q, n):
    """np.array([FLOPs of (A B) C, FLOPs of A (B C)])."""
    raise NotImplementedError
'''

FLOPS = cost.product_flops


def _case(m: int, p: int, q: int, n: int) -> Inputs:
    return {"m": m, "p": p, "q": q, "n": n}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a row through a narrow middle. The property: each order can be the cheaper one."""
    drawn = [_case(*(int(x) for x in rng.integers(2, 30, size=4))) for _ in range(4)]
    wide, narrow = int(rng.integers(60, 140)), int(rng.integers(3, 7))
    return {
        "by hand": [_case(1, 8, 2, 8)],
        "random": drawn,
        "property": [_case(wide, narrow, wide, narrow), _case(narrow, wide, narrow, wide),
                     _case(6, 6, 6, 6)],
        "edges": [_case(1, 1, 1, 1), _case(1, 40_000, int(rng.integers(50_000, 60_000)), 1)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """FLOPs of both orders."""
    return {"flops": ((2,), "i")}


def _counts(
    inputs: Inputs, *, first: int = 2, second: int = 2, left: str = "q", right: str = "p",
    swapped: bool = False,
) -> np.ndarray:  # fmt: skip
    """FLOPs for a multiply-add in each product, over the axis that the second one contracts."""
    m, p, q, n = (inputs[name] for name in ("m", "p", "q", "n"))
    counts = np.array([
        first * m * p * q + second * m * inputs[left] * n,
        first * p * q * n + second * m * inputs[right] * n,
    ])  # fmt: skip
    return counts[::-1] if swapped else counts


def slips(inputs: Inputs) -> Slips:
    """The counts with one idea missing, or two."""
    m, p, q, n = (inputs[name] for name in ("m", "p", "q", "n"))
    left, right = (int(count) for count in _counts(inputs))
    parts: list[tuple[dict[str, Any], str]] = [
        ({"swapped": True}, "The two orders are swapped: (A B) C comes first."),
        ({"first": 1, "second": 1}, "A multiply-add is 2 FLOPs."),
        ({"second": 0},
         "That is the first product of each order. Its result is multiplied once more."),
        ({"first": 0}, "That is the second product of each order; the first one, inside the "
         "brackets, costs as well."),
        ({"right": "q"},
         "In A (B C) the second product contracts p: B C has shape (p, n), and A has p columns."),
        ({"left": "p"}, "In (A B) C the second product contracts q: A B has shape (m, q)."),
        ({"second": 1},
         "Only the first product has the factor 2. The second is made of multiply-adds too."),
        ({"first": 1},
         "Only the second product has the factor 2. The first is made of multiply-adds too."),
    ]  # fmt: skip
    return [
        *with_pairs(partial(_counts, inputs), parts),
        ((2 * m * p * q * n, 2 * m * p * q * n), "The two products are done one after the other: "
         "their FLOPs add up, and the sizes of both never stand in one product."),
        ((left - m * q - m * n, right - p * n - m * n), "That is exact to the last addition. "
         "By the custom of this book each product counts as a multiply-add: 2 m k n."),
        ((min(left, right), max(left, right)), "The smaller count always comes first here. The "
         "order is fixed: (A B) C, then A (B C)."),
        ((max(left, right), min(left, right)), "The larger count always comes first here. The "
         "order is fixed: (A B) C, then A (B C)."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """FLOPs of both orders."""
    m, p, q, n = (inputs[name] for name in ("m", "p", "q", "n"))
    return np.array([FLOPS(m, p, q) + FLOPS(m, q, n), FLOPS(p, q, n) + FLOPS(m, p, n)])


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Whether a number has overflowed."""
    if outputs["flops"].min() < 0:
        return (
            "A count came out negative: the product was larger than the integers hold. Multiply "
            "Python's own whole numbers, or use int64."
        )
    return None


EXERCISE = Exercise(
    id="chain_flops",
    page="matmul",
    title="Where to put the brackets",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=10,
    difficulty=2,
    assessed=True,
    section="Where the brackets stand",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Write the shape of the result inside the brackets first. It is the operand of the second "
        "product.",
        "(A B) has shape (m, q) and took 2 m p q; times C it takes 2 m q n more. (B C) has shape "
        "(p, n) and took 2 p q n; A times it takes 2 m p n more.",
    ),
    common_errors=(
        "Counting one of the two products only.",
        "Contracting the wrong axis in the second product.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
