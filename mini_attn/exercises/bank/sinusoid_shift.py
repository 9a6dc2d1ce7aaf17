"""Write the matrix that moves every sinusoidal row by some steps."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.comparing import TIGHT, close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = r"""
Write the matrix of shape `(d_model, d_model)` that moves every sinusoidal row by `steps` positions:
if `rows` are the rows of exercise 1 for the positions $s$, then `rows @ matrix` are those for $s
+ \text{steps}$, for all $s$ at once. `steps` is a whole number and may be negative.
"""
STARTER = '''
def shift_matrix(d_model, steps):
    """The matrix that moves sinusoidal rows by some steps: (d_model, d_model)."""
    raise NotImplementedError
'''

Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one pair, one step. The property: backwards, and not at all."""
    drawn = int(rng.integers(3, 9))
    return {
        "by hand": [{"d_model": 2, "steps": 1}],
        "random": [{"d_model": 8, "steps": drawn}, {"d_model": 6, "steps": 2}],
        "property": [{"d_model": 4, "steps": -3}, {"d_model": 8, "steps": 0}],
        "edges": [{"d_model": 2, "steps": 50_000}, {"d_model": 32, "steps": 1}],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A square matrix."""
    return {"matrix": ((inputs["d_model"], inputs["d_model"]), "f")}


def _matrix(
    inputs: Inputs,
    *,
    count: str = "steps",
    sign: int = 1,
    power: float = 1.0,
    first: int = 0,
    base: float = 10000.0,
    unit: float = 1.0,
    form: str = "turn",
    layout: str = "neighbours",
) -> Array:
    """A block of 2 × 2 for every pair, or what it becomes by another choice."""
    d_model, steps = inputs["d_model"], inputs["steps"]
    far = {"steps": steps, "size": abs(steps), "forwards": max(steps, 0), "one": 1,
           "more": steps + 1}[count]  # fmt: skip
    i = np.arange(0, d_model, 2)
    angles = sign * unit * far * base ** (-power * (i + 2 * first) / d_model)
    cos, sin = np.cos(angles), np.sin(angles)
    block = {
        "turn": (cos, -sin, sin, cos),
        "plus": (cos, sin, sin, cos),
        "sizes": (abs(cos), abs(sin), abs(sin), abs(cos)),
        "sine first": (sin, cos, cos, -sin),
        "cosines": (cos, 0 * sin, 0 * sin, cos),
    }[form]
    if layout == "halves":
        return np.block([[np.diag(block[0]), np.diag(block[1])],
                         [np.diag(block[2]), np.diag(block[3])]])  # fmt: skip
    out = np.zeros((d_model, d_model))
    out[i, i], out[i, i + 1], out[i + 1, i], out[i + 1, i + 1] = block
    return out


def right(inputs: Inputs) -> Array:
    """A block of 2 × 2 for every pair."""
    return _matrix(inputs)


def slips(inputs: Inputs) -> Slips:
    """What the matrix would be with one idea missing, or two."""
    d_model, steps = inputs["d_model"], inputs["steps"]
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"count": "size"}, "Steps may be negative: then it moves back."),
        ({"sign": -1},
         f"It moves by {-steps} instead of {steps}: rows stand on the left of the matrix, and a "
         "pair is (sin, cos), so the minus sign belongs to the other sine."),
        *MISTAKES,
    ]  # fmt: skip
    first = np.eye(d_model)
    first[:2, :2] = right(inputs)[:2, :2]
    return [
        (np.eye(d_model), "Nothing moves."),
        *with_pairs(partial(_matrix, inputs), mistakes),
        (first, "Only the first pair moves."),
        (np.eye(d_model, k=steps),
         "The numbers of a row are shifted along it. They should stay in their places: each pair "
         "turns, by steps times its speed."),
        (steps * _matrix({**inputs, "steps": 1}),
         "The matrix of one step is multiplied by steps. Several steps are several turns: "
         "multiply the angle."),
    ]  # fmt: skip


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"form": "plus"},
     "Both sines have the same sign. A turn has one minus: the sine of a + b is a sum, the cosine "
     "a difference."),
    ({"form": "sizes"},
     "No number is negative. A turn has one minus: the sine of a + b is a sum, the cosine a "
     "difference."),
    ({"count": "one"}, "It moves by one step, whatever `steps` says."),
    ({"power": 0.0},
     "All pairs turn by the same angle. Pair i turns by 10000 ** (-2i / d_model) a step."),
    ({"power": 0.5}, "The exponent of pair i is 2i / d_model; half of that is used."),
    ({"power": 2.0}, "The exponent of pair i is 2i / d_model; twice that is used."),
    ({"power": -1.0},
     "The angles grow with i. The exponent is negative: later pairs turn more slowly."),
    ({"first": 1}, "The first pair turns by 1 radian a step: i is counted from 0."),
    ({"base": 1000.0}, "The base is 10,000, not 1,000."),
    ({"count": "forwards"},
     "With negative steps nothing moves. It should move back: the angle is negative then."),
    ({"count": "more"}, "It moves by one step too many."),
    ({"form": "sine first"},
     "The sine is on the diagonal of a block. The cosine belongs there: with 0 steps the matrix "
     "leaves every row as it is."),
    ({"form": "cosines"},
     "The sines are missing. Each new sine takes a part of the old cosine, and the other way "
     "round."),
    ({"layout": "halves"},
     "It moves rows with all sines in front of all cosines. Here sine and cosine of a pair are "
     "neighbours: each pair has a block of 2 × 2 on the diagonal."),
    ({"unit": np.pi / 180},
     "The angles are taken for degrees. They are radians, as np.cos expects them."),
]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Whether the first rows alone arrive, or pairs are mixed."""
    rows, moved = (
        ma.sinusoidal_positions(np.arange(2) + steps, inputs["d_model"], dtype="float64")
        for steps in (0, inputs["steps"])
    )
    if close(rows @ outputs["matrix"], moved):
        return "The rows of positions 0 and 1 arrive, others do not. One matrix moves every row."
    outside = outputs["matrix"] * (1 - np.kron(np.eye(inputs["d_model"] // 2), np.ones((2, 2))))
    if np.abs(outside).max() > TIGHT:
        return "It mixes pairs. Each pair has a block of 2 × 2 on the diagonal, and 0 elsewhere."
    return None


EXERCISE = Exercise(
    id="sinusoid_shift",
    page="position",
    title="One matrix moves them all",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    assessed=False,
    section="A step is a rotation",
    text=TEXT,
    standalone=(
        "rows of exercise 1",
        "rows of equation {eq}`eq-position-sinusoids`",
    ),
    letters="$p_s$ is the row of position $s$, and $d$ is `d_model`.",
    starter=STARTER,
    hints=(
        "Write sin(a + b) and cos(a + b) with the sines and cosines of a and of b. With a the "
        "angle of the position and b that of the steps, which numbers multiply sin a and cos a?",
        "The new sine is sin a · cos b + cos a · sin b, so the first column of the block is "
        "(cos b, sin b). The new cosine is cos a · cos b − sin a · sin b, so the second is "
        "(−sin b, cos b). Write one such block for every pair.",
    ),
    common_errors=(
        "The transposed block. It is right for columns, with the matrix on the left; here rows "
        "stand on the left.",
        "One angle for all pairs.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
