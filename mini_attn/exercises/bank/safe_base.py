"""Invert the formula of the wavelengths: which base keeps enough planes slow."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
You design a model for long texts. At least a fraction `share` of each head's planes, more than 0
and at most 1, mustn't complete a rotation within the context: their wavelengths must be `context`
tokens or more. Return the smallest base that does it, for each number of tokens in the array
`context`, `(n,)`, to at least six digits. You can search for it or use a formula. A base is at
least 1; where no base is large enough, return 0 instead. A head rotates `rotary_dim` dimensions.
"""
STARTER = '''
def safe_base(rotary_dim, share, context):
    """The smallest base for each context (n,)."""
    raise NotImplementedError
'''
_close = partial(close, relative=True)


def _case(rotary_dim: int, slow: float, *context: float) -> Inputs:
    """So many slow planes, where half a one more or less changes nothing."""
    share = slow / (rotary_dim // 2)
    return {"rotary_dim": rotary_dim, "share": share, "context": np.array(context, dtype=float)}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two planes of four. The property: shares of planes that are not integers."""

    def drawn(rotary_dim: int, slow: float) -> Inputs:
        return _case(rotary_dim, slow, *np.round(np.exp(rng.uniform(6, 13, size=3))))

    def some(rotary_dim: int) -> float:
        return float(rng.integers(2, rotary_dim // 4))

    return {
        "by hand": [_case(8, 2, 1000.0)],
        "random": [drawn(16, some(16)), drawn(64, some(64)), drawn(128, some(128))],
        "property": [drawn(n, some(n) + rng.uniform(0.2, 0.45)) for n in (32, 64, 128)],
        "edges": [
            drawn(64, 1), drawn(4, 0.5), _case(16, 2.5, 5.0, 6.0, 700.0),
            _case(128, 64, 1000.0, 4.0, 9.0, 30.0), _case(128, 63.5, 50.0, 1e4, 7.0, 8.0),
        ],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A base for each context."""
    return {"base": (inputs["context"].shape, "f")}


def _base(
    inputs: Inputs,
    *,
    counted: str = "up",
    plane: int = 0,
    turn: float = math.tau,
    power: float = 1.0,
    order: str = "slowest",
    bounds: bool = True,
) -> np.ndarray:
    """The smallest base, or what it becomes by another choice in one of the steps."""
    pairs, context = inputs["rotary_dim"] // 2, inputs["context"]
    wanted = inputs["share"] * pairs
    slow = {"up": math.ceil(wanted), "down": math.floor(wanted), "share": wanted, "one": 1,
            "numbers": math.ceil(2 * wanted), "down, or one": max(1, math.floor(wanted)),
            "nearest": round(wanted)}[counted]  # fmt: skip
    decides = (pairs - slow if order == "slowest" else slow) + plane
    if order == "fastest, no further":
        decides = min(decides, pairs - 1)
    if decides <= 0:
        return np.where(context <= turn, 1.0, 0.0)
    with np.errstate(over="ignore"):
        base = (context / turn) ** (power * pairs / decides)
    return np.asarray(np.maximum(base, 1.0) if bounds else base)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"counted": "down"},
     "You round the number of planes down, so there are fewer than the share. Round up."),
    ({"counted": "down, or one"},
     "You round the number of planes down, so there are fewer than the share. Round up."),
    ({"counted": "nearest"},
     "You round the number of planes to the nearest. We want at least the share, so round up."),
    ({"counted": "share"},
     "You count parts of a plane. Only whole planes help, so round their number up."),
    ({"plane": -1},
     "You keep one plane too many slow. Planes are numbered 0 to rotary_dim/2 − 1: which number "
     "has the fastest of the slow ones?"),
    ({"plane": 1},
     "You keep one plane too few slow. Planes are numbered 0 to rotary_dim/2 − 1: which number "
     "has the fastest of the slow ones?"),
    ({"turn": 1.0}, "A full rotation is 2π radians, not one."),
    ({"turn": math.pi}, "You used half a rotation. A full one is 2π radians."),
    ({"turn": 360.0}, "Angles are in radians. A full rotation is 2π of them, not 360."),
    ({"power": 0.5},
     "The exponent of plane i is 2i / rotary_dim, because a plane has two dimensions. You used "
     "twice that."),
    ({"power": 2.0},
     "The exponent of plane i is 2i / rotary_dim, because a plane has two dimensions. You used "
     "half of that."),
    ({"order": "fastest"},
     "You count planes from the fast end. A larger base slows the other end most."),
    ({"order": "fastest, no further"},
     "You count planes from the fast end. A larger base slows the other end most."),
    ({"counted": "one"},
     "You keep only the slowest plane slow. The share asks for more of them."),
    ({"counted": "numbers"}, "You take the share of the head's dimensions. Take it of the planes."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the bases would be with one idea missing, or two."""
    base, planes = _base(inputs), math.ceil(inputs["share"] * (inputs["rotary_dim"] // 2))
    return [
        *with_pairs(partial(_base, inputs), MISTAKES),
        (_base(inputs, bounds=False),
         "You return a base below 1. That would make the later planes the fast ones."),
        *((np.where(base, base, none),
         "If even plane 0 has to be slow, no base is large enough: it rotates by 1 radian per "
         "token, whatever the base.") for none in (1.0, np.inf)),
        (np.full_like(base, base[0]), "You give all contexts the base of the first."),
        (np.where(planes < inputs["rotary_dim"] // 2, _base(inputs, turn=1.0) / math.tau, base),
         "You divide the result by 2π. Divide the context by it, before the power."),
        (1 / np.where(base, base, np.inf),
         "That's one over the base. Frequencies are negative powers of it."),
        *((np.round(base, digits), "Your idea is right, but the answer is too coarse. Give six "
           "digits.") for digits in (-2, -1)),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """From the fastest of the planes that have to be slow."""
    return _base(inputs)


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say how many planes stay slow under the bases that came."""
    pairs, wanted = inputs["rotary_dim"] // 2, right(inputs)
    found, least = outputs["base"], math.ceil(inputs["share"] * pairs)
    for base, context, smallest in zip(found, inputs["context"], wanted, strict=True):
        if math.isclose(base, smallest, rel_tol=1e-6):
            continue
        if smallest == 0:
            return (
                f"All {pairs} planes should be slow within {context:g} tokens. Is there a base "
                "that slows plane 0?"
            )
        if math.isclose(base, smallest, rel_tol=1e-2):
            return "Close, but not to six digits."
        if base == 0:
            end = (
                f"; for {context:,.0f} tokens base 1 does it."
                if smallest == 1
                else f" for {context:,.0f} tokens, but {smallest:.4g} is."
            )
            return f"By 0, you say that no base is large enough{end}"
        if not base >= 1:
            return "A base is at least 1."
        waves = math.tau * float(base) ** (np.arange(pairs) / pairs)
        slow = int((waves >= context * (1 - 1e-9)).sum())
        size = "too small" if base < smallest else "larger than necessary"
        return (
            f"For {context:,.0f} tokens, your base of {base:,.6g} is {size}: it keeps {slow} of "
            f"{pairs} planes slow, and we want {least}."
        )
    return "Some base is wrong."


EXERCISE = Exercise(
    id="safe_base",
    page="rope-scaling",
    title="How large a base?",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="A larger base from the start",
    text=TEXT,
    starter=STARTER,
    hints=(
        "How many planes must be slow? They're the last ones, and the first of them is the "
        "fastest. If that one doesn't complete a rotation, none of the others does.",
        "The planes are numbered 0 to pairs − 1, so the plane that decides is number pairs − "
        "ceil(share · pairs). Set its wavelength, 2π · base ** (2i / rotary_dim), equal to the "
        "context and solve for the base. What if i is 0?",
    ),
    common_errors=(
        "Rounding the number of planes down.",
        "Forgetting 2π: a wavelength is a full rotation.",
        "A search that ends at a base of a million: some answers are far larger.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
    symptom=symptom,
)
