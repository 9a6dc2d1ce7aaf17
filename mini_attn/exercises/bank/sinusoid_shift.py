"""Write the matrix that moves every sinusoidal row by some steps."""

from __future__ import annotations

from functools import partial

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = r"""
Write the matrix of shape `(d_model, d_model)` that moves every sinusoidal row by `steps` places:
if `rows` are the rows of exercise 1 for the positions $s$, then `rows @ matrix` are those for $s
+ \text{steps}$, for all $s$ at once. `steps` is a whole number and may be negative.
"""
STARTER = '''
def shift_matrix(d_model, steps):
    """The matrix that moves sinusoidal rows by some steps: (d_model, d_model)."""
    raise NotImplementedError
'''

TOLERANCE = 1e-6
PLACES = np.array([0, 1, 5, 12, 300])
Array = np.ndarray
_close = partial(np.allclose, rtol=0, atol=TOLERANCE)


def _blocks(d_model: int, angles: Array) -> Array:
    """Rows of sines and cosines times this matrix are turned by the angles."""
    out = np.zeros((d_model, d_model))
    cos, sin, i = np.cos(angles), np.sin(angles), np.arange(0, d_model, 2)
    out[i, i], out[i, i + 1], out[i + 1, i], out[i + 1, i + 1] = cos, -sin, sin, cos
    return out


def _plus(d_model: int, angles: Array) -> Array:
    """Such blocks without the minus sign."""
    out = _blocks(d_model, angles)
    i = np.arange(0, d_model, 2)
    out[i, i + 1] *= -1
    return out


def _sine_first(d_model: int, angles: Array) -> Array:
    """Such blocks with sine and cosine exchanged, and the minus sign at the end."""
    out, i = np.zeros((d_model, d_model)), np.arange(0, d_model, 2)
    out[i, i], out[i + 1, i + 1] = np.sin(angles), -np.sin(angles)
    out[i, i + 1] = out[i + 1, i] = np.cos(angles)
    return out


def _halves(d_model: int, angles: Array) -> Array:
    """The matrix for rows with all sines in front."""
    cos, sin = np.diag(np.cos(angles)), np.diag(np.sin(angles))
    return np.block([[cos, -sin], [sin, cos]])


_HALVES = (
    "It moves rows with all sines in front of all cosines. Here sine and cosine of a pair are "
    "neighbours: each pair has a block of 2 × 2 on the diagonal."
)


def _speeds(d_model: int) -> Array:
    return np.asarray(10000.0 ** (-np.arange(0, d_model, 2) / d_model))


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


def right(inputs: Inputs) -> Array:
    """A block of 2 × 2 for every pair."""
    return _blocks(inputs["d_model"], inputs["steps"] * _speeds(inputs["d_model"]))


def slips(inputs: Inputs) -> Slips:
    """What the matrix would be with one idea missing."""
    d_model, steps = inputs["d_model"], inputs["steps"]
    speeds = _speeds(d_model)
    return [
        (np.eye(d_model), "Nothing moves."),
        (_blocks(d_model, abs(steps) * speeds), "Steps may be negative: then it moves back."),
        (_blocks(d_model, -steps * speeds),
         f"It moves by {-steps} instead of {steps}: rows stand on the left of the matrix, and a "
         "pair is (sin, cos), so the minus sign belongs to the other sine."),
        (_plus(d_model, steps * speeds),
         "Both sines have the same sign. A turn has one minus: the sine of a + b is a sum, the "
         "cosine a difference."),
        (np.abs(_blocks(d_model, steps * speeds)),
         "No number is negative. A turn has one minus: the sine of a + b is a sum, the cosine a "
         "difference."),
        (_blocks(d_model, np.where(np.arange(len(speeds)) == 0, steps * speeds, 0.0)),
         "Only the first pair moves."),
        (_blocks(d_model, speeds), "It moves by one step, whatever `steps` says."),
        (_blocks(d_model, np.full(len(speeds), float(steps))),
         "All pairs turn by the same angle. Pair i turns by 10000 ** (-2i / d_model) a step."),
        (_blocks(d_model, steps * np.sqrt(speeds)),
         "The exponent of pair i is 2i / d_model; half of that is used."),
        (_blocks(d_model, max(steps, 0) * speeds),
         "With negative steps nothing moves. It should move back: the angle is negative then."),
        (np.eye(d_model, k=steps),
         "The numbers of a row are shifted along it. They should stay in their places: each pair "
         "turns, by steps times its speed."),
        (steps * _blocks(d_model, speeds),
         "The matrix of one step is multiplied by steps. Several steps are several turns: "
         "multiply the angle."),
        (_sine_first(d_model, steps * speeds),
         "The sine is on the diagonal of a block. The cosine belongs there: with 0 steps the "
         "matrix leaves every row as it is."),
        (_halves(d_model, steps * speeds), _HALVES),
        (_halves(d_model, -steps * speeds), _HALVES),
    ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Whether the first rows alone arrive, or pairs are mixed."""
    rows, moved = (
        ma.sinusoidal_positions(np.arange(2) + steps, inputs["d_model"], dtype="float64")
        for steps in (0, inputs["steps"])
    )
    if _close(rows @ outputs["matrix"], moved):
        return "The rows of positions 0 and 1 arrive, others do not. One matrix moves every row."
    outside = outputs["matrix"] * (1 - np.kron(np.eye(inputs["d_model"] // 2), np.ones((2, 2))))
    if np.abs(outside).max() > TOLERANCE:
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
    section="A step is a turn",
    text=TEXT,
    standalone=(
        "rows of exercise 1",
        "rows of equation {eq}`eq-position-sinusoids`",
    ),
    letters="$p_s$ is the row of position $s$, and $d$ is `d_model`.",
    starter=STARTER,
    hints=(
        "Write sin(a + b) and cos(a + b) with the sines and cosines of a and of b. With a the "
        "angle of the place and b that of the steps, which numbers multiply sin a and cos a?",
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
    same=_close,
    symptom=symptom,
)
