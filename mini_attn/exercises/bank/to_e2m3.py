"""Round to the numbers of a float of six bits, whose smallest are evenly spaced."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
E2M3 is a six-bit float: a sign, an exponent field $e$ of two bits and a mantissa $m$ of three.
Without its sign, a code stands for $m/8$ if $e = 0$, and for $2^{e-1} (1 + m/8)$ if $e$ is 1, 2 or
3. There's no infinity and no NaN. Round every number of `x`, an array of any shape, to the nearest
of these numbers or their negatives. Halfway between two, take the one with an even $m$. Numbers
beyond the largest become the largest, infinity too, and numbers below 0 stay negative (the sign of
a 0 doesn't matter). Return an array of the same shape as `x`. For example, 2.7 → 2.75 and −0.8 →
−0.75.
"""
STARTER = '''
def to_e2m3(x):
    """Round each number to the nearest one that six bits can hold."""
    raise NotImplementedError
'''

Array = np.ndarray

EIGHTHS = np.arange(8) / 8
SIZES = np.concatenate([EIGHTHS, *(2.0**e * (1 + EIGHTHS) for e in range(3))])
LARGEST = SIZES[-1]


def _case(*numbers: float) -> Inputs:
    return {"x": np.array(numbers, dtype=np.float64)}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one of each kind. The property: all ties."""
    halves = (SIZES[1:] + SIZES[:-1]) / 2
    ends = _case(np.inf, -np.inf, 1e300, -1e-300, LARGEST, -LARGEST, 0.0)
    return {
        "by hand": [_case(0.3, -0.8, 2.7, -5.3, 9.0)],
        "random": [{"x": rng.uniform(-9, 9, (4, 9))}, {"x": 3 * rng.standard_normal((2, 3, 5))}],
        "property": [
            _case(2.125, 0.0625, -7.25, 1.9375),
            {"x": np.concatenate([halves, -halves])},
            {"x": SIZES[None] * [[1.0], [-1]]},
        ],
        "edges": [ends, {"x": np.zeros((0, 3))}, {"x": np.array([[4.9]])}],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """As many numbers as came."""
    return {"rounded": (inputs["x"].shape, "f")}


KNOWN = {
    "all": SIZES,
    "leading 1": np.concatenate([2.0 ** (e - 1) * (1 + EIGHTHS) for e in range(4)]),
    "0 below 1": np.concatenate([[0.0], SIZES[8:]]),
    "eighths": np.arange(61) / 8,
    "finer": np.concatenate([[0.0], *(2.0**e * (1 + EIGHTHS) for e in range(-12, 3))]),
    "coarser": np.concatenate([EIGHTHS, *(2.0**e * (1 + EIGHTHS[::2]) for e in range(3)), [7.5]]),
    "power": np.concatenate([EIGHTHS, *(2.0**e * (1 + EIGHTHS) for e in (1, 2, 3))]),
    "longer": np.concatenate([SIZES, 8 * (1 + EIGHTHS)]),
    "halves": np.concatenate([SIZES, np.arange(8, 12, 0.5)]),
    "two bits": np.concatenate([EIGHTHS[::2], *(2.0**e * (1 + EIGHTHS[::2]) for e in range(3))]),
    "one less": SIZES[:-1],
    "field 3 taken": SIZES[:24],
    "e2m1": np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6]),
    "whole": np.arange(8.0),
}


def _places(size: Array, sizes: Array, ties: str, by: str) -> Array:
    """Return which of the sizes each number becomes."""
    if by == "floor":
        return np.maximum(np.searchsorted(sizes, size, side="right") - 1, 0)
    if by == "ceil":
        return np.minimum(np.searchsorted(sizes, size), len(sizes) - 1)
    between = (sizes[1:] + sizes[:-1]) / 2
    if by == "ratio":
        between = np.sqrt(sizes[1:] * np.maximum(sizes[:-1], 1 / 16))
    down = np.searchsorted(between, size)  # a tie: the smaller
    up = np.searchsorted(between, size, side="right")
    even, odd = np.where(down % 2, up, down), np.where(down % 2, down, up)
    return {"even": even, "odd": odd, "up": up, "down": down}[ties]


def _to_the_right(x: Array, *, left: bool = False) -> Array:
    """The numbers, where a tie goes to the larger one with its sign, or to the smaller one."""
    up = (x > 0) != left
    return np.where(up, _rounded(x, ties="up"), _rounded(x, ties="down"))


def _rounded(
    x: Array,
    *,
    ties: str = "even",
    sign: str = "kept",
    by: str = "distance",
    sizes: str = "all",
    beyond: str = "largest",
    first: str = "as it is",
) -> Array:
    """The numbers, or what they become by another choice."""
    known = KNOWN[sizes]
    step = np.abs(x).max(initial=0) / LARGEST if first == "scaled" else 1.0
    if first == "scaled" and not (0 < step < np.inf):
        step = 1.0
    size = np.abs(x) / step if sign != "clipped" else np.maximum(x, 0)
    found = known[_places(size, known, ties, by)]
    other = {"as it is": size, "zero": 0 * known[0], "infinite": np.inf}
    if beyond in other:
        found = np.where(size > LARGEST, other[beyond], found)
    return step * np.asarray(found * np.sign(x) if sign == "kept" else found)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"ties": "up"}, "You round ties up. Round them to the value with an even m."),
    ({"ties": "down"}, "You round ties down. Round them to the value with an even m."),
    ({"ties": "odd"}, "You round ties to an odd m. Take the even one; m counts from 0 at each e."),
    ({"sign": "lost"}, "You lose the sign. Round the size, then put the sign back."),
    ({"sign": "clipped"}, "Your numbers below 0 become 0. They have negatives to go to."),
    ({"by": "floor"}, "You take the next smaller size, not the nearest."),
    ({"by": "ratio"}, "You take the nearest by ratio. Take the nearest by distance, in a float as "
         "well."),
    ({"by": "ceil"}, "You take the next larger size, not the nearest."),
    ({"sizes": "leading 1"}, "You gave the numbers with e = 0 a leading 1, so yours begin at 1/2. "
     "They are 0, 1/8, … 7/8."),
    ({"sizes": "0 below 1"}, "You have no number between 0 and 1. Those with e = 0 are there: 1/8, "
         "2/8, … 7/8."),
    ({"sizes": "finer"}, "Your steps keep halving below 1. With e = 0 they stay at 1/8: the "
         "numbers "
     "there are 0, 1/8, … 7/8."),
    ({"sizes": "coarser"}, "Your steps double at 1 already. They are 1/8 up to 2, where e is 0 or "
         "1."),
    ({"sizes": "power"}, "You take 2^e where e is 1, 2 or 3. It is 2^(e − 1), so 1 to 7/4 have e = "
         "1."),
    ({"sizes": "longer"}, "Your numbers go on beyond 7.5, as if there were a larger e. The field "
     "has two bits."),
    ({"sizes": "halves"}, "You round to halves beyond 7.5, too. No code goes further: it becomes "
     "7.5."),
    ({"sizes": "two bits"}, "You count m with two bits. It has three, so neighbors are 1/8 apart "
     "where e is 0 or 1."),
    ({"sizes": "eighths"}, "Your steps are 1/8 throughout. From 2 on they are 1/4, from 4 on 1/2."),
    ({"sizes": "one less"}, "You stop at 7, but the last code stands for 7.5."),
    ({"sizes": "field 3 taken"}, "You stop at 3.75. Without infinity and NaN, the largest e is in "
     "use, too."),
    ({"sizes": "e2m1"}, "You round to the numbers of E2M1. Three bits of mantissa give more of "
         "them."),
    ({"sizes": "whole"}, "You round to integers. Most numbers of E2M3 aren't integers."),
    ({"beyond": "as it is"}, "You leave numbers beyond 7.5 unchanged. No code holds them: they "
         "become "
     "7.5."),
    ({"beyond": "zero"}, "Your numbers beyond 7.5 become 0. Round them to 7.5, the nearest there "
         "is."),
    ({"beyond": "infinite"}, "Your numbers beyond 7.5 become infinite. E2M3 has no infinity: they "
     "become 7.5."),
    ({"first": "scaled"}, "You scale the numbers first, so that the largest becomes 7.5. Here "
     "there's no scale."),
]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Nearest, ties to the even code."""
    return _rounded(inputs["x"])


def same(answer: Array, wanted: Array, moved: float = 0.0) -> bool:
    """A number that is rounded stays or jumps: it does not move a little."""
    return close(answer, wanted)


def slips(inputs: Inputs) -> Slips:
    """Return what comes out with one idea missing, or two."""
    x = inputs["x"]
    codes = _places(np.abs(x), SIZES, "even", "distance").astype(float)
    far = [np.where(np.abs(x) > most, 0.0, right(inputs)) for most in (1e16, 1e308)]
    return [
        (codes, "You returned codes. Return the numbers that they stand for."),
        (codes * np.sign(x), "You returned codes. Return the numbers that they stand for."),
        *(
            (
                zero,
                "Your infinity, or a very large number, becomes 0: from there all sizes look "
                "equally far away. It becomes the largest number, 7.5.",
            )
            for zero in far
        ),
        (
            np.where(np.abs(x) < 1, 0.0, right(inputs)),
            "You turn everything below 1 into 0. With e = 0 there are numbers there: 1/8, … 7/8.",
        ),
        (
            _to_the_right(x),
            "You round ties toward +∞, as floor(x + ½) does. Round them to the value with an even "
            "m, on both sides of 0.",
        ),
        (
            _to_the_right(x, left=True),
            "You round ties toward −∞, as ceil(x − ½) does. Round them to the value with an even "
            "m, on both sides of 0.",
        ),
        *with_pairs(partial(_rounded, x), MISTAKES),
    ]


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first number that is wrong."""
    x, got, wanted = inputs["x"].ravel(), outputs["rounded"].ravel(), right(inputs).ravel()
    i = int(np.flatnonzero(~np.isclose(got, wanted, rtol=1e-7, atol=1e-9))[0])
    return f"You round {x[i]:g} to {got[i]:g}; it should become {wanted[i] + 0.0:g}."


EXERCISE = Exercise(
    id="to_e2m3",
    page="bits",
    title="Round to six bits",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=12,
    difficulty=2,
    stage="transfer",
    assessed=False,
    section="FP8, FP4 and block formats",
    text=TEXT,
    starter=STARTER,
    hints=(
        "How far apart are neighbors below 2, between 2 and 4, and above 4? What would you "
        "have to round to integers?",
        "The steps are 1/8, 1/4 and 1/2. Round size / step to an integer; `np.rint` takes the "
        "even one halfway. Clip the size at 7.5 first, and put the sign back at the end.",
    ),
    common_errors=(
        "A leading 1 in the smallest numbers too, so that there is no 0.",
        "One step for all numbers: right up to 2, where the steps become wider.",
        "Rounding ties up; forgetting the sign, or the numbers beyond 7.5.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=same,
    symptom=symptom,
)
