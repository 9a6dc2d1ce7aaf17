"""Round to the fifteen numbers of a float of four bits."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
E2M1 is a float of four bits. Without the sign its codes 0 to 7 stand for 0, ½, 1, 1½, 2, 3, 4 and
6. Round every number of `x`, an array of any shape, to the nearest of these or of their negatives.
Half-way between two, take the one whose code is even; what lies beyond 6 becomes 6, infinity too,
and everything keeps its sign. Return an array of the shape of `x`, for example 2.5 → 2 and −0.8 →
−1.
"""
STARTER = '''
def to_e2m1(x):
    """Each number as the nearest one that four bits can hold."""
    raise NotImplementedError
'''
SIZES = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6])

Array = np.ndarray


def _case(*numbers: float) -> Inputs:
    return {"x": np.array(numbers, dtype=np.float64)}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one of each kind. The property: all half-ways."""
    halves = (SIZES[1:] + SIZES[:-1]) / 2
    ends = _case(np.inf, -np.inf, 1e300, -1e-300, 6.0, -6.0, 0.0)
    return {
        "by hand": [_case(0.3, -0.8, 2.4, -5.5, 9.0)],
        "random": [{"x": rng.uniform(-7, 7, (4, 9))}, {"x": 3 * rng.standard_normal((2, 3, 5))}],
        "property": [{"x": np.concatenate([halves, -halves])}, {"x": SIZES[None] * [[1.0], [-1]]}],
        "edges": [ends, {"x": np.zeros((0, 3))}, {"x": np.array([[4.9]])}],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """As many numbers as came."""
    return {"rounded": (inputs["x"].shape, "f")}


def _places(size: Array, sizes: Array, ties: str, by: str) -> Array:
    """Which of the sizes each number becomes."""
    between = (sizes[1:] + sizes[:-1]) / 2
    if by == "ratio":
        between = np.sqrt(np.maximum(sizes[1:] * sizes[:-1], 0.0625))
    if by == "floor":
        between = sizes[1:]
    down = np.searchsorted(between, size)  # half-way: the smaller
    up = np.searchsorted(between, size, side="right")
    even = np.where(down % 2, up, down)
    return {"even": even, "up": up, "down": down}[ties] if by != "floor" else up


def _rounded(
    x: Array,
    *,
    ties: str = "even",
    sign: str = "kept",
    by: str = "distance",
    sizes: str = "all",
    beyond: str = "6",
) -> Array:
    """The numbers, or what they become by another choice."""
    known = {
        "all": SIZES,
        "no half": SIZES[SIZES != 0.5],
        "even steps": np.arange(0, 6.5, 0.5),
        "whole": np.arange(7.0),
        "up to 4": SIZES[:-1],
    }[sizes]
    size = np.abs(x) if sign != "clipped" else np.maximum(x, 0)
    found = known[_places(size, known, ties, by)]
    if beyond == "as it is":
        found = np.where(size > 6, size, found)
    if beyond == "zero":
        found = np.where(size > 6, 0.0, found)
    return found * np.sign(x) if sign == "kept" else found


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"ties": "up"}, "Half-way the larger one is taken. It is the one whose code is even."),
    ({"ties": "down"}, "Half-way the smaller one is taken. It is the one whose code is even."),
    ({"sign": "lost"}, "The sign is lost: round the size and put the sign back."),
    ({"sign": "clipped"}, "Numbers below 0 become 0. They have negatives to go to."),
    ({"by": "floor"}, "The next smaller size is taken, not the nearest."),
    ({"by": "ratio"}, "The nearest by ratio is taken. Distance counts, also in a float."),
    ({"sizes": "even steps"}, "The steps are ½ throughout. From 2 on they are 1, from 4 on 2."),
    ({"sizes": "whole"}, "Those are whole numbers. Below 2 there are halves, and there is no 5."),
    ({"sizes": "no half"}, "½ is missing: below 1 the steps go on as they are, down to 0."),
    ({"sizes": "up to 4"}, "The last code stands for 6; here everything ends at 4."),
    ({"beyond": "as it is"}, "What lies beyond 6 stays as it is. No code holds it: it becomes 6."),
    ({"beyond": "zero"}, "What lies beyond 6 becomes 0. It becomes 6, the nearest there is."),
]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Nearest, half-way to the even code."""
    return _rounded(inputs["x"])


def same(answer: Array, wanted: Array, moved: float = 0.0) -> bool:
    """A number that is rounded stays or jumps: it does not move a little."""
    return close(answer, wanted)


def slips(inputs: Inputs) -> Slips:
    """What comes out with one idea missing, or two."""
    x = inputs["x"]
    codes = _places(np.abs(x), SIZES, "even", "distance").astype(float)
    return [
        (codes, "Those are codes. The numbers that they stand for were asked for."),
        (codes * np.sign(x), "Those are codes. The numbers that they stand for were asked for."),
        *with_pairs(partial(_rounded, x), MISTAKES),
    ]


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The first number that is wrong."""
    x, got, wanted = inputs["x"].ravel(), outputs["rounded"].ravel(), right(inputs).ravel()
    i = int(np.flatnonzero(~np.isclose(got, wanted))[0])
    return f"{x[i]:g} becomes {got[i]:g}; it should become {wanted[i]:g}."


EXERCISE = Exercise(
    id="to_e2m1",
    page="bits",
    title="Round to four bits",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=12,
    difficulty=2,
    stage="transfer",
    assessed=False,
    section="Floats of eight and four bits",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Work on sizes and put the sign back at the end. Between which two numbers does the "
        "choice change?",
        "The seven middles between neighbours decide: `np.searchsorted` says how many lie below a "
        "size. With `side` left and right it differs at a middle alone; there take the even code.",
    ),
    common_errors=(
        "`np.rint(2 * x) / 2`: right up to 2, where the steps become wider.",
        "Rounding half-way up.",
        "Forgetting the sign, or what lies beyond 6.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=same,
    symptom=symptom,
)
