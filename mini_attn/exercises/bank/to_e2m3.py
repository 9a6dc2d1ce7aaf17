"""Round to the numbers of a float of six bits, whose smallest are evenly spaced."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
E2M3 is a float of six bits: a sign, an exponent field $e$ of two bits and a mantissa $m$ of three.
Without its sign a code stands for $m/8$ if $e = 0$, and for $2^{e-1} (1 + m/8)$ if $e$ is 1, 2 or
3. There is no infinity and no NaN. Round every number of `x`, an array of any shape, to the nearest
of these numbers or of their negatives. Half-way between two, take the one with an even $m$; what
lies beyond the largest becomes the largest, infinity too, and numbers below 0 stay negative (of a 0
the sign does not matter). Return an array of the shape of `x`, for example 2.7 → 2.75 and −0.8 →
−0.75.
"""
STARTER = '''
def to_e2m3(x):
    """Each number as the nearest one that six bits can hold."""
    raise NotImplementedError
'''

Array = np.ndarray

EIGHTHS = np.arange(8) / 8
SIZES = np.concatenate([EIGHTHS, *(2.0**e * (1 + EIGHTHS) for e in range(3))])
LARGEST = SIZES[-1]


def _case(*numbers: float) -> Inputs:
    return {"x": np.array(numbers, dtype=np.float64)}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one of each kind. The property: all half-ways."""
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
    "one less": SIZES[:-1],
    "field 3 taken": SIZES[:24],
    "e2m1": np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6]),
    "whole": np.arange(8.0),
}


def _places(size: Array, sizes: Array, ties: str, by: str) -> Array:
    """Return which of the sizes each number becomes."""
    if by == "floor":
        return np.maximum(np.searchsorted(sizes, size, side="right") - 1, 0)
    between = (sizes[1:] + sizes[:-1]) / 2
    if by == "ratio":
        between = np.sqrt(sizes[1:] * np.maximum(sizes[:-1], 1 / 16))
    down = np.searchsorted(between, size)  # half-way: the smaller
    up = np.searchsorted(between, size, side="right")
    even, odd = np.where(down % 2, up, down), np.where(down % 2, down, up)
    return {"even": even, "odd": odd, "up": up, "down": down}[ties]


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
    ({"ties": "up"}, "Half-way the larger one is taken. It is the one whose m is even."),
    ({"ties": "down"}, "Half-way the smaller one is taken. It is the one whose m is even."),
    ({"ties": "odd"}, "Half-way the one with an odd m is taken. Count from m = 0 at each e."),
    ({"sign": "lost"}, "The sign is lost: round the size and put the sign back."),
    ({"sign": "clipped"}, "Numbers below 0 become 0. They have negatives to go to."),
    ({"by": "floor"}, "The next smaller size is taken, not the nearest."),
    ({"by": "ratio"}, "The nearest by ratio is taken. Distance counts, also in a float."),
    ({"sizes": "leading 1"}, "Where e is 0 there is no leading 1: those numbers are 0, 1/8, … 7/8. "
     "Here they begin at 1/2."),
    ({"sizes": "0 below 1"}, "Between 0 and 1 lie the numbers with e = 0: 1/8, 2/8, … 7/8."),
    ({"sizes": "eighths"}, "The steps are 1/8 throughout. From 2 on they are 1/4, from 4 on 1/2."),
    ({"sizes": "one less"}, "The last code stands for 7.5; here everything ends at 7."),
    ({"sizes": "field 3 taken"}, "Without infinity and NaN the largest e is in use, too. Here "
     "everything ends at 3.75."),
    ({"sizes": "e2m1"}, "Those are the numbers of E2M1. Three bits of mantissa give more of them."),
    ({"sizes": "whole"}, "Those are whole numbers. Most of the numbers of E2M3 are not whole."),
    ({"beyond": "as it is"}, "What lies beyond 7.5 stays as it is. No code holds it: it becomes "
     "7.5."),
    ({"beyond": "zero"}, "What lies beyond 7.5 becomes 0. It becomes 7.5, the nearest there is."),
    ({"beyond": "infinite"}, "What lies beyond 7.5 becomes infinite. E2M3 has no infinity: it "
     "becomes 7.5."),
    ({"first": "scaled"}, "The numbers are scaled first, so that the largest becomes 7.5. Here "
     "there is no scale."),
]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Nearest, half-way to the even code."""
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
        (codes, "Those are codes. The numbers that they stand for were asked for."),
        (codes * np.sign(x), "Those are codes. The numbers that they stand for were asked for."),
        *(
            (
                zero,
                "Infinity, or a very large number, becomes 0: from there all sizes look equally "
                "far away. It becomes the largest number, 7.5.",
            )
            for zero in far
        ),
        *with_pairs(partial(_rounded, x), MISTAKES),
    ]


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first number that is wrong."""
    x, got, wanted = inputs["x"].ravel(), outputs["rounded"].ravel(), right(inputs).ravel()
    i = int(np.flatnonzero(~np.isclose(got, wanted, rtol=1e-7, atol=1e-9))[0])
    return f"{x[i]:g} becomes {got[i]:g}; it should become {wanted[i] + 0.0:g}."


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
        "How far apart are neighbours below 2, between 2 and 4, and above 4? What would have to "
        "be rounded to whole numbers?",
        "The steps are 1/8, 1/4 and 1/2. Round size / step to a whole number; `np.rint` takes the "
        "even one half-way. Cut the size off at 7.5 before, and put the sign back at the end.",
    ),
    common_errors=(
        "A leading 1 in the smallest numbers too, so that there is no 0.",
        "One step for all numbers: right up to 2, where the steps become wider.",
        "Rounding half-way up; forgetting the sign, or what lies beyond 7.5.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=same,
    symptom=symptom,
)
