"""Write YaRN's frequencies, as in the paper."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from mini_attn.config import YaRN
from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips
from mini_attn.numpy.rope import rope_frequencies
from mini_attn.numpy.rope_scaling import scale_frequencies

TEXT = """
Write YaRN's frequencies with the ramp of the paper. `inv_freq` is an array `(pairs,)` of radians
per token, `factor` the longer context over the trained one, `trained` the trained length in
tokens. A plane with at least 32 rotations in the trained length keeps its frequency, one with at
most 1 rotation gets it divided by `factor`, and between the two are mixed in proportion to the
number of rotations. Return an array of the same shape.
"""
STARTER = '''
def yarn_ramp(inv_freq, factor, trained):
    """Frequencies under YaRN, ramp over rotations."""
    raise NotImplementedError
'''

SLOW, FAST = 1.0, 32.0  # rotations in the trained context, as published
_close = partial(close, relative=True)


def _case(inv_freq: np.ndarray, factor: float, trained: int) -> Inputs:
    return {"inv_freq": inv_freq, "factor": factor, "trained": trained}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: planes of 64, 16.5, 1 and 1/4 rotations. The property: nothing leaves its bounds."""
    turns = np.array([64.0, 16.5, 1.0, 0.25])
    drawn = [
        _case(rope_frequencies(2 * int(rng.integers(12, 40)))[0], 2 + 30 * rng.random(),
              int(rng.integers(1000, 9000)))
        for _ in range(3)
    ]  # fmt: skip
    trained = int(rng.integers(3000, 5000))
    return {
        "by hand": [_case(math.tau * turns / 1000, 4.0, 1000)],
        "random": drawn,
        "property": [_case(rope_frequencies(128)[0], 1.0, trained)],
        "edges": [
            _case(np.array([1.0]), 2 + 30 * rng.random(), 4096),
            _case(np.array([1e-6]), 8.0, 16),
        ],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One frequency for each plane."""
    return {"scaled": (inputs["inv_freq"].shape, "f")}


def _ramp(
    inputs: Inputs,
    *,
    turn: float = math.tau,
    context: str = "trained",
    ramp: str = "linear",
    flip: bool = False,
    whole: bool = False,
    blend: str = "frequencies",
) -> np.ndarray:
    """The frequencies, or what they become by another choice."""
    inv, factor, trained = inputs["inv_freq"], inputs["factor"], inputs["trained"]
    turns = inv * trained * (factor if context == "longer" else 1) / turn
    if context == "wavelength":
        turns = turn / inv
    turns = np.floor(turns) if whole else turns
    kept = {
        "linear": np.clip((turns - SLOW) / (FAST - SLOW), 0, 1),
        "not clipped": (turns - SLOW) / (FAST - SLOW),
        "from 0": np.minimum(turns / FAST, 1),
        "from 0 above 1": np.where(turns > SLOW, np.minimum(turns / FAST, 1), 0),
        "logarithm": np.clip(np.log(turns) / np.log(FAST), 0, 1),
        "step in the middle": turns > (SLOW + FAST) / 2,
        "step at 1": turns > SLOW,
        "step at 32": turns >= FAST,
    }[ramp].astype(float)
    kept = 1 - kept if flip else kept
    return np.asarray({
        "frequencies": kept * inv + (1 - kept) * inv / factor,
        "wavelengths": inv / (kept + (1 - kept) * factor),
        "multiplied": inv * (kept + (1 - kept) * factor),
    }[blend])  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """What the frequencies would be with one idea missing, or two."""
    inv = inputs["inv_freq"]
    return [
        (inv, "Nothing has changed: planes with few rotations have to slow down."),
        (inv / inputs["factor"], "Every plane is slowed in full: that is position interpolation."),
        *with_pairs(partial(_ramp, inputs), MISTAKES),
    ]


_WIDTH = "The ramp is at 0 for 1 rotation and at 1 for 32: it begins at 1 and is 31 rotations wide."
_STEP = "There is a step instead of a ramp: between 1 and 32 rotations the two speeds are mixed."
MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"flip": True},
     "The ramp is turned round: planes with many rotations in training keep their speed."),
    ({"ramp": "not clipped"},
     "The ramp goes on below 0 and above 1: clip it, so that planes outside are kept or slowed in "
     "full."),
    ({"context": "longer"},
     "Rotations are counted in the longer context. What counts is how often a plane came round in "
     "training."),
    ({"turn": 1.0}, "Radians are taken for rotations: a rotation is 2π of them."),
    ({"blend": "wavelengths"}, "The ramp blends wavelengths. YaRN blends the frequencies."),
    ({"ramp": "step in the middle"}, _STEP),
    ({"ramp": "step at 1"}, _STEP),
    ({"ramp": "step at 32"}, _STEP),
    ({"ramp": "from 0"}, _WIDTH),
    ({"ramp": "from 0 above 1"}, _WIDTH),
    ({"ramp": "logarithm"},
     "The ramp runs over the logarithm of the rotations. It should be proportional to them."),
    ({"context": "wavelength"},
     "Wavelengths are taken for rotations. A plane comes round as often as its wavelength fits "
     "into the trained length."),
    ({"whole": True}, "Only whole rotations are counted. The ramp takes parts of one as well."),
    ({"blend": "multiplied"},
     "Slow planes are multiplied by the factor here. To stretch the context they have to slow "
     "down: divide."),
]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The rule of the paper."""
    rule = YaRN(inputs["factor"], inputs["trained"], rule="paper")
    size = 2 * len(inputs["inv_freq"])
    return scale_frequencies(inputs["inv_freq"], rule, theta=10000.0, rotary_dim=size)[0]


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """The plane that is furthest off."""
    inv, got, wanted = inputs["inv_freq"], outputs["scaled"], right(inputs)
    kept = (got / inv * inputs["factor"] - 1) / (inputs["factor"] - 1)
    between = kept[(kept > 1e-6) & (kept < 1 - 1e-6)]
    if len(between) > 3 and np.allclose(np.diff(between, 2), 0, atol=1e-6):
        return (
            "From plane to plane the ramp falls by the same amount. It should follow the number of "
            "rotations, not the number of the plane."
        )
    i = int(np.abs(got / wanted - 1).argmax())
    turns = inv[i] * inputs["trained"] / math.tau
    often = "once" if math.isclose(turns, 1) else f"{turns:.4g} times"
    return (
        f"Plane {i} came round {often} in training; its frequency should be "
        f"{wanted[i] / inv[i]:.4g} of what it was, it is {got[i] / inv[i]:.4g}."
    )


EXERCISE = Exercise(
    id="yarn_ramp",
    page="rope-scaling",
    title="The ramp",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    assessed=True,
    section="YaRN",
    text=TEXT,
    starter=STARTER,
    hints=(
        "For each plane: how many full rotations did it make in training? That number decides "
        "how much of its speed it keeps.",
        "Rotations are inv_freq times trained over 2π. What is kept is (rotations - 1) / (32 - 1), "
        "clipped to 0 … 1. The result is kept times the old frequency plus (1 - kept) times the "
        "old one over the factor.",
    ),
    common_errors=(
        "Taking radians for rotations.",
        "Blending wavelengths in place of frequencies.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
    symptom=symptom,
)
