"""Read positions from noisy sinusoidal rows: slow clocks say which turn, fast ones the rest."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.clocks import WHOLE, angles_of, read_by, sinusoids, speeds_of
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Which positions do these rows belong to? `rows` is `(n, d)`: rows of equation
{eq}`eq-position-sinusoids` with `base` in place of 10,000, the sine and cosine of a pair next to
each other, but each number is off by up to 0.05. The positions are integers from 0 to
`longest - 1`, in any order. The slowest clock takes more than `longest` steps for one turn, so its
angle differs at every position. Return the positions, an integer array `(n,)`.
"""
STARTER = '''
def read_clock(rows, base, longest):
    """Positions of noisy sinusoidal rows: (n,)."""
    raise NotImplementedError
'''
OFF = 0.05  # the most that a number is off

Array = np.ndarray


def _case(positions: Any, d: int, base: float, longest: int, noise: Any) -> Inputs:
    """Noise between -1 and 1, in units of the most."""
    rows = sinusoids(np.asarray(positions), d, base) + OFF * np.asarray(noise)
    return {"rows": rows, "base": base, "longest": longest}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: 44 steps are seven turns of the fastest clock, nearly.

    The property: each clock alone is wrong, and so are the cosines. The last case has one clock,
    whose sines confuse 1 and 2.
    """

    def drawn(n: int, d: int, base: float, longest: int) -> Inputs:
        positions = rng.choice(np.arange(longest // 3, longest), size=n, replace=False)
        return _case(positions, d, base, longest, rng.uniform(-1, 1, (n, d)))

    def worst(positions: Array, d: int, base: float, longest: int) -> Inputs:
        signs = rng.choice([-1.0, 1.0], size=(len(positions), d))
        return _case(positions, d, base, longest, signs)

    ends = np.sign(sinusoids(np.array([90, 0, 80]), 8, 10_000.0))
    turns = np.rint(WHOLE * np.array([1, 10, 100, 400, 700])).astype(int)
    mirrored = np.array([355, 5928])  # 113 half turns, and what lies as far from the whole round
    towards = np.sign(sinusoids(mirrored[::-1], 8, 10_000.0) - sinusoids(mirrored, 8, 10_000.0))
    return {
        "by hand": [_case([44], 4, 400.0, 120, [[0.2, -0.3, 1.0, 1.0]])],
        "random": [drawn(4, 6, 500.0, 380), drawn(5, 8, 10_000.0, 6000)],
        "property": [
            worst(turns + rng.integers(-1, 2, size=5), 8, 10_000.0, 6000),
            worst(rng.choice(5000, size=5, replace=False), 16, 3000.0, 6000),
            _case(mirrored, 8, 10_000.0, 6000, towards),
        ],
        "edges": [
            _case([0, 5999, 1], 8, 10_000.0, 6000, -ends),
            _case(range(6), 2, 10_000.0, 6, [[-1, 1], [1, 0], [-1, 0], [1, -1], [0, 1], [-1, 1]]),
        ],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A position for each row."""
    return {"positions": ((len(inputs["rows"]),), "i")}


def _table(inputs: Inputs, base: float | None = None, power: float = 1.0) -> Array:
    """The rows of all positions, by this base or another."""
    base = inputs["base"] if base is None else base
    return sinusoids(np.arange(inputs["longest"]), inputs["rows"].shape[1], base**power)


def _nearest_of(rows: Array, table: Array) -> Array:
    """The position whose row comes nearest."""
    return np.asarray(((table**2).sum(axis=1) - 2 * rows @ table.T).argmin(axis=1))


def _nearest(inputs: Inputs, numbers: slice = slice(None)) -> Array:
    """The same by some of the numbers."""
    return _nearest_of(inputs["rows"][:, numbers], _table(inputs)[:, numbers])


def right(inputs: Inputs) -> Array:
    """The nearest of all rows; the noise is smaller than half of the distance of any two."""
    return _nearest(inputs)


FASTEST = (
    "You read only the fastest clock. It completes a turn in about 6 steps, so it says how far "
    "into a turn a position is, but not which turn. The slower clocks know."
)
SLOWEST = (
    "You read only the slowest clock. Numbers that are off by 0.05 move its angle by as much, and "
    "that's many positions. The faster clocks tell them apart."
)
DOWN = (
    "You round the number of turns down. Near the end of a turn the slower clock may be a little "
    "ahead or behind, so take the turn that brings both clocks closest together."
)
END = (
    "You take a row near position 0 for one near the end. Noise can put the slowest hand just "
    "before its start. Counted from 0 to 2π its angle is then almost 2π, but it should be a small "
    "negative number."
)
HALF = (
    "You read the slowest clock wrongly past half a turn. np.arctan2 gives angles between −π and "
    "π: "
    "a negative one there is 2π too small, unless it is only just below 0."
)
SWAPPED = "Sine and cosine are swapped: the sine comes first in a pair, and in np.arctan2 too."
SINES_FIRST = (
    "You read the rows as if all sines came in front of all cosines. Here the sine and cosine of "
    "a pair are next to each other."
)
NO_BASE = "You use base 10,000. Use the `base` you're given."
HALF_POWER = "You use half of the exponent. For pair i it's 2i / d."
TWICE_POWER = "You use twice the exponent. For pair i it's 2i / d."
BEYOND: list[tuple[dict[str, Any], str]] = [
    *(({"turns": turns, "beyond": beyond, "begin": begin}, DOWN)
      for turns in ("floor", "floor of the rest") for beyond in ("kept", "clipped", "modulo")
      for begin in ("middle", "zero")),
    *(({"begin": "zero", "beyond": beyond}, END) for beyond in ("clipped", "absolute", "modulo")),
    *(({"begin": "signed", "beyond": beyond}, HALF)
      for beyond in ("kept", "clipped", "absolute", "modulo")),
]  # fmt: skip
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"clocks": "fastest"}, FASTEST),
    ({"clocks": "slowest"}, SLOWEST),
    ({"clocks": "ends"},
     "You read only the slowest and the fastest clock. The slowest is too uncertain to say which "
     "turn of the fastest it is, so go through the clocks between them."),
    ({"clocks": "but the fastest"},
     "You don't read the fastest clock. Without it the last step or two are uncertain."),
    ({"turns": "floor"}, DOWN),
    ({"hand": "sine"},
     "You take the angle from the sine alone. In every turn each sine comes twice, and the cosine "
     "says which of the two it is."),
    ({"hand": "cosine"},
     "You take the angle from the cosine alone. In every turn each cosine comes twice, and the "
     "sine says which of the two it is."),
    ({"hand": "quotient"},
     "You use the quotient of sine and cosine, which comes twice in every turn. The signs of both "
     "say which of the two it is, as in np.arctan2."),
    ({"hand": "swapped"}, SWAPPED),
    ({"begin": "zero"}, END),
    ({"whole": "floor"}, "You round the positions down. Take the nearest integer."),
    ({"layout": "halves"}, SINES_FIRST),
    ({"base": 10_000.0}, NO_BASE),
    ({"power": 0.5}, HALF_POWER),
    ({"power": 2.0}, TWICE_POWER),
    ({"more": 1}, "Your positions are all one too large. They start at 0."),
    ({"more": -1}, "Your positions are all one too small. The first is 0."),
    ({"degrees": True}, "You treat the angles as degrees. They're radians."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the positions would be with one idea missing, or two."""
    rows, d, table = inputs["rows"], inputs["rows"].shape[1], _table(inputs)
    swapped = np.arange(d).reshape(-1, 2)[:, ::-1].ravel()
    woven = np.arange(d).reshape(2, -1).T.ravel()
    readings = angles_of(rows, "both", "neighbours") % WHOLE / speeds_of(d, inputs["base"])
    found, average = right(inputs), np.rint(readings.mean(axis=1)).astype(int)
    return [
        (_nearest(inputs, slice(0, 2)), FASTEST),
        (np.rint(angles_of(inputs["rows"], "both", "neighbours")[:, 0]).astype(int), FASTEST),
        (_nearest(inputs, slice(d - 2, d)), SLOWEST),
        (_nearest(inputs, slice(0, None, 2)),
         "You compare only the sines. In every turn each sine comes twice, and with noise others "
         "come near. Compare the cosines, too."),
        (_nearest(inputs, slice(1, None, 2)),
         "You compare only the cosines. They're the same for two positions at equal distances "
         "before "
         "and after a full turn. Compare the sines, too."),
        (np.zeros(len(inputs["rows"]), int),
         "All your positions are 0. No row equals one of the table exactly, so look for the "
         "nearest."),
        (_nearest_of(rows[:, swapped], table), SWAPPED),
        (_nearest_of(rows[:, woven], table), SINES_FIRST),
        (_nearest_of(rows, _table(inputs, 10_000.0)), NO_BASE),
        (_nearest_of(rows, _table(inputs, power=0.5)), HALF_POWER),
        (_nearest_of(rows, _table(inputs, power=2.0)), TWICE_POWER),
        (_nearest_of(rows, table[:-1]),
         "You never find the last position, longest − 1. Is your table one row too short?"),
        (np.sort(found), "You sorted the positions. Return them in the order of the rows."),
        *((mean, "You average the clocks. Each but the slowest knows a position only up to its "
           "full turns, so read them one after the other.")
          for mean in (average, np.minimum(average, inputs["longest"] - 1))),
        *((read_by(inputs, **choices), idea) for choices, idea in BEYOND),
        *with_pairs(partial(read_by, inputs), MISTAKES),
    ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say which positions cannot be, or how far they are off."""
    found, wanted = outputs["positions"], right(inputs)
    if (found < 0).any():
        return "A position is negative. Angles from np.arctan2 are between -π and π."
    if (found >= inputs["longest"]).any():
        return "A position is not below `longest`."
    off = np.abs(found - wanted)[found != wanted]
    if (off <= 2).all():
        return "You have the turns right, but some position is a step or two off."
    if (off == 6).all():
        return "Some position is off by 6 steps, one turn of the fastest clock."
    if (found < WHOLE).all() and (wanted > 2 * WHOLE).any():
        return (
            "None of your positions is 7 or more. That's as far as the fastest clock goes in one "
            "turn. A slower clock says which turn it is."
        )
    return "Some position is far off."


EXERCISE = Exercise(
    id="read_clock",
    page="position",
    title="Read the clocks",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="Sinusoids: a set of clocks",
    text=TEXT,
    letters="$p_m$ is the row of position $m$.",
    starter=STARTER,
    hints=(
        "How do you read a clock with several hands? The slowest hand says roughly where you are, "
        "and the next one says it more exactly, once you know which of its turns it is.",
        "From sine and cosine comes the angle, and the angle over the speed is the number of steps "
        "since the last full turn. Begin with the slowest clock. For each faster one, add the "
        "number of full turns that brings it closest to the guess so far; that is the new guess. "
        "(Another way: make the rows of all positions, and look for the nearest.)",
    ),
    common_errors=(
        "Rounding the number of turns down instead of to the nearest.",
        "Taking the angle from the sine alone.",
        "Looking for equal numbers. Every number is a little off.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
