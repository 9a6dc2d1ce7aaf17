"""Write NTK-aware frequencies."""

from __future__ import annotations

from functools import partial

import numpy as np

from mini_attn.config import NTKAware
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

_close = partial(np.allclose, rtol=1e-6, atol=0)


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


def slips(inputs: Inputs) -> Slips:
    """What the frequencies would be with one idea missing."""
    size, theta, factor = inputs["rotary_dim"], inputs["theta"], inputs["factor"]
    exponents = -np.arange(0, size, 2) / size

    def of(growth: float) -> np.ndarray:
        return np.asarray((theta * growth) ** exponents)

    return [
        (of(1.0), "These are the frequencies without a rule: the base has to grow."),
        (of(1.0) / factor,
         "Every plane is slowed alike: that is position interpolation. Here the fastest plane "
         "keeps its speed."),
        (of(factor),
         "The base grows by the factor itself, so the slowest plane is slowed a little less than "
         "the factor. Its exponent is (rotary_dim − 2) / rotary_dim, not 1."),
        (of(factor ** ((size - 2) / size)),
         "The power is turned round: the base grows by factor to the rotary_dim / (rotary_dim "
         "− 2)."),
        (of(1 / factor ** (size / (size - 2))),
         "The base became smaller, and the planes turn faster. They have to slow down."),
        (1 / of(factor ** (size / (size - 2))),
         "These grow from plane to plane: the sign of the exponent is missing."),
        ((theta * factor ** (size / (size - 2))) ** (exponents / 2),
         "Plane i has the exponent −2 i / rotary_dim: two numbers of a head make one plane."),
        (of(1.0) / np.linspace(1, factor, size // 2),
         "The ends are right, the planes between them are not: the slowing grows evenly. With one "
         "larger base it grows by the same quotient from plane to plane."),
        (of(factor**2), "The base grows by the square of the factor."),
        (of(factor ** (size / (size - 2)))[::-1], "The fastest plane comes first."),
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
