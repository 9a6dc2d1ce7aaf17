"""Write NTK-aware frequencies."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.config import NTKAware
from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips
from mini_attn.numpy.rope import rope_frequencies

TEXT = """
Write the frequencies of NTK-aware scaling. `rotary_dim` is an even number of at least 4, `theta`
the base, `factor` the longer context over the trained one. Return an array `(rotary_dim / 2,)`,
radians per token, the fastest plane first. The fastest plane keeps its speed; the slowest is
slowed exactly `factor` times.
"""
STARTER = '''
def ntk_frequencies(rotary_dim, theta, factor):
    """Radians per token of each plane, with a larger base."""
    raise NotImplementedError
'''

_close = partial(close, relative=True)


def _case(rotary_dim: int, theta: float, factor: float) -> Inputs:
    return {"rotary_dim": rotary_dim, "theta": theta, "factor": factor}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two planes. The property: a factor of 1 changes nothing."""
    drawn = [
        _case(
            2 * int(rng.integers(3, 40)), float(rng.integers(1000, 900_000)), 2 + 9 * rng.random()
        )
        for _ in range(4)
    ]
    return {
        "by hand": [_case(4, 100.0, 4.0)],
        "random": drawn,
        "property": [_case(16, 10_000.0, 1.0)],
        "edges": [_case(4, 2.0, 64.0), _case(256, 1e6, 32.0)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One frequency for each plane."""
    return {"inv_freq": ((inputs["rotary_dim"] // 2,), "f")}


def _of(
    inputs: Inputs,
    *,
    growth: str = "right",
    theta: float | None = None,
    step: int = 2,
    order: int = 1,
    sign: int = -1,
) -> np.ndarray:
    """The frequencies, or what they become by another choice in one of the steps."""
    size, factor = inputs["rotary_dim"], inputs["factor"]
    powers = {"right": size / (size - 2), "none": 0.0, "factor": 1.0, "turned": (size - 2) / size,
              "plus": (size + 2) / size, "less": -size / (size - 2), "squared": 2.0}  # fmt: skip
    base = (inputs["theta"] if theta is None else theta) * factor ** powers[growth]
    return np.asarray(base ** (sign * step * np.arange(size // 2) / size))[::order]


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"growth": "none"}, "These are the frequencies without a rule: the base has to grow."),
    ({"growth": "factor"},
     "The base grows by the factor itself. The slowest plane has an exponent of less than 1, "
     "so its speed falls by less than the factor: the base has to grow by more."),
    ({"growth": "turned"},
     "The power is turned round: the base grows by factor to the rotary_dim / (rotary_dim "
     "− 2)."),
    ({"growth": "plus"},
     "The power is near, but not it: the slowest plane is not slowed exactly by the factor. Its "
     "exponent is (rotary_dim − 2) / rotary_dim."),
    ({"growth": "less"},
     "The base became smaller, and the planes turn faster. They have to slow down."),
    ({"growth": "squared"}, "The base grows by the square of the factor."),
    ({"sign": 1}, "These grow from plane to plane: the sign of the exponent is missing."),
    ({"step": 1},
     "Plane i has the exponent −2 i / rotary_dim: two numbers of a head make one plane."),
    ({"order": -1}, "The fastest plane comes first."),
    ({"theta": 10_000.0}, "The base is 10,000 here, whatever theta is."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """What the frequencies would be with one idea missing, or two."""
    size, factor = inputs["rotary_dim"], inputs["factor"]
    plain, last = _of(inputs, growth="none"), np.arange(size // 2) == size // 2 - 1
    raised = (inputs["theta"] * factor) ** (size / (size - 2))
    return [
        (plain / factor,
         "Every plane is slowed alike: that is position interpolation. Here the fastest plane "
         "keeps its speed."),
        *with_pairs(partial(_of, inputs), MISTAKES),
        (plain / np.linspace(1, factor, size // 2),
         "The ends are right, the planes between them are not: the slowing grows evenly. With one "
         "larger base it grows by the same quotient from plane to plane."),
        (np.where(last, plain / factor, plain),
         "Only the slowest plane is slowed. A larger base slows the planes between as well, each "
         "by the same quotient more than the one before."),
        (np.where(np.arange(size // 2), plain / factor, plain),
         "All planes but the first are slowed alike. With one larger base the slowing grows by the "
         "same quotient from plane to plane."),
        (raised ** (-np.arange(0, size, 2) / size),
         "theta is raised to the power as well. Only the growth is: without scaling, with a factor "
         "of 1, the base has to stay theta."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The rule of the package."""
    rule = NTKAware(inputs["factor"])
    return rope_frequencies(inputs["rotary_dim"], theta=inputs["theta"], scaling=rule)[0]


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """How much of its speed the first and the last plane keep."""
    plain = rope_frequencies(inputs["rotary_dim"], theta=inputs["theta"])[0]
    first, last = (float(outputs["inv_freq"][i] / plain[i]) for i in (0, -1))
    return (
        f"The first plane keeps {first:.4g} of its speed and the last one {last:.4g}; it should be "
        f"1 and {1 / inputs['factor']:.4g}."
    )


EXERCISE = Exercise(
    id="ntk_frequencies",
    page="rope-scaling",
    title="A larger base",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=12,
    difficulty=2,
    assessed=False,
    section="NTK-aware scaling",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Only the base changes. Ask which base slows the last plane by the factor; the first has "
        "the exponent 0 and cannot change.",
        "Plane i turns by base ** (-2 i / rotary_dim). The last i is rotary_dim / 2 - 1. Put the "
        "old and the new base in, and solve new = old / factor for the new base.",
    ),
    common_errors=(
        "Multiplying the base by the factor itself.",
        "Dividing the frequencies by the factor: that is position interpolation.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
    symptom=symptom,
)
