"""How long a text can be under a method before a plane meets an angle new to it."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips
from mini_attn.numpy.positions.rope import rope_frequencies

TEXT = """
A method for longer contexts gives each plane another frequency. How long can a text be before some
plane meets an angle that training hasn't shown? `speeds`, of shape `(pairs,)`, are radians per
token in training, on texts of `trained` tokens, and each row of `slowed`, of shape
`(rules, pairs)`, has the frequencies under one method. Count as if a text of n tokens had distances
up to n, also in training. At least one plane didn't complete a rotation in training. Return the
lengths in tokens, `(rules,)`, not rounded.
"""
STARTER = '''
def rule_reach(speeds, slowed, trained):
    """Each method's longest text without a new angle: (rules,)."""
    raise NotImplementedError
'''
_close = partial(close, relative=True)


def _case(rng: np.random.Generator, head_dim: int, trained: int, rules: int = 3) -> Inputs:
    """Some rules that slow planes at will, the slow ones by more."""
    speeds = rope_frequencies(head_dim)[0]
    shares = np.linspace(0, 1, len(speeds)) ** rng.uniform(0.3, 2, size=(rules, 1))
    by = rng.uniform(2, 9, size=(rules, 1)) ** (
        shares * rng.uniform(0.7, 1.3, (rules, len(speeds)))
    )
    return {"speeds": speeds, "slowed": speeds / by, "trained": trained}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: three planes, of which one came round. The property: the slowest does not decide."""
    slowed = np.array([[1.0, 0.0025, 0.0005], [0.2, 0.004, 0.0002]])
    hand = {"speeds": np.array([1.0, 0.01, 0.001]), "slowed": slowed, "trained": 100}
    middle = _case(rng, 64, int(rng.integers(2000, 5000)), 2)
    slow = np.flatnonzero(middle["speeds"] * middle["trained"] < math.tau)
    by = np.ones(len(middle["speeds"]))
    by[slow] = rng.uniform(5, 9, size=len(slow))
    by[slow[len(slow) // 2]] = rng.uniform(1.5, 4)
    middle["slowed"][0] = middle["speeds"] / by
    ntk = rope_frequencies(32)[0]
    faster = {"speeds": ntk, "slowed": np.stack([ntk, ntk / 3, ntk * 1.25]), "trained": 500}
    return {
        "by hand": [hand],
        "random": [_case(rng, 32, int(rng.integers(300, 900))), _case(rng, 64, 4096)],
        "property": [middle, _case(rng, 128, 8192, 4)],
        "edges": [faster, _case(rng, 4, 50, 1), _case(rng, 16, 3)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A length for each rule."""
    return {"reach": ((len(inputs["slowed"]),), "f")}


def _reach(
    inputs: Inputs,
    *,
    counted: str = "slow",
    turn: float = math.tau,
    of: str = "smallest",
    ratio: int = 1,
    unit: str = "tokens",
) -> np.ndarray:
    """The lengths, or what they become by another choice in one of the steps."""
    speeds, slowed, trained = inputs["speeds"], inputs["slowed"], inputs["trained"]
    first = int((speeds * trained < math.tau).argmax())
    decides = {
        "slow": np.broadcast_to(speeds * trained < turn, slowed.shape),
        "all": np.full(slowed.shape, True),
        "fast": np.broadcast_to(speeds * trained >= turn, slowed.shape),
        "under the rule": slowed * trained < turn,
        "slowest": np.broadcast_to(np.arange(len(speeds)) == len(speeds) - 1, slowed.shape),
        "first": np.broadcast_to(np.arange(len(speeds)) == first, slowed.shape),
    }[counted]
    reach = (speeds / slowed) ** ratio * (trained if unit == "tokens" else 1)
    empty = ~decides.any(axis=1)
    if of == "largest":
        found = np.where(decides, reach, -np.inf).max(axis=1)
    elif of == "mean":
        found = np.where(decides, reach, 0).sum(axis=1) / np.maximum(decides.sum(axis=1), 1)
    else:
        found = np.where(decides, reach, np.inf).min(axis=1)
    return np.asarray(np.where(empty, trained, found))


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"counted": "all"},
     "You count planes that completed a rotation, too. Which angles can still be new to them?"),
    ({"counted": "fast"},
     "You look at the planes that completed a rotation. The others have angles never shown."),
    ({"counted": "under the rule"},
     "Whether a plane completed a rotation in training depends on its frequency there."),
    ({"counted": "slowest"},
     "You only look at the slowest plane. A method can slow another one by less."),
    ({"counted": "first"},
     "You only look at the fastest plane without a full rotation. A method can slow another one "
     "by less."),
    ({"turn": 1.0}, "A full rotation is 2π radians, not one."),
    ({"turn": math.pi}, "You used half a rotation. A full one is 2π radians."),
    ({"turn": 1 / math.tau},
     "A plane has completed a rotation once its frequency times the training context is 2π. "
     "Check on which side the 2π belongs."),
    ({"of": "largest"},
     "That's when the last plane meets a new angle. The first plane that does sets the limit."),
    ({"of": "mean"},
     "You took the mean over the planes. The first that meets a new angle decides."),
    ({"ratio": -1},
     "You swapped old and new frequencies. A slower plane takes longer to the same angle."),
    ({"unit": "ratio"}, "That's how many times longer a text can be. Return its length."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the lengths would be with one idea missing, or two."""
    slowed, trained = inputs["slowed"], inputs["trained"]
    waves, slow = math.tau / slowed, inputs["speeds"] * trained < math.tau
    first = (inputs["speeds"][slow] * trained / slowed[:, slow]).min(axis=1)
    return [
        *with_pairs(partial(_reach, inputs), MISTAKES),
        (np.full(len(slowed), float(trained)),
         "That's the training context. A slowed plane takes longer to the same angle."),
        (np.maximum(_reach(inputs), trained), "Your lengths are never below the training context. "
         "A method can also make a plane faster."),
        (np.floor(first), "You round the lengths down. Don't."),
        (np.where(slow, waves, np.inf).min(axis=1),
         "That's when a slowed plane completes a rotation. It meets a new angle earlier, because "
         "training has only shown a part of its circle."),
        (np.floor(_reach(inputs) + 1e-9), "You round the lengths down. Don't."),
        (waves.max(axis=1),
         "That's the longest wavelength. A plane that never completed a rotation in training has "
         "only shown a part of its circle."),
        (waves.min(axis=1), "That's the shortest wavelength. Its plane has shown all its angles."),
        (np.full(len(slowed), _reach(inputs)[0]), "You give all methods the length of the first."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """The first of the planes that had not come round to leave the angles of its training."""
    return _reach(inputs)


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Of the first rule that is wrong: what its slow planes do at the length that came."""
    speeds, trained = inputs["speeds"], inputs["trained"]
    slow = speeds * trained < math.tau
    for n, (found, wanted) in enumerate(zip(outputs["reach"], right(inputs), strict=True)):
        if math.isclose(found, wanted, rel_tol=1e-6):
            continue
        fresh = int((inputs["slowed"][n][slow] * found > speeds[slow] * trained * (1 + 1e-9)).sum())
        if fresh:
            planes = "one plane" if fresh == 1 else f"{fresh} planes"
            return f"Under method {n}, a text of {found:,.6g} tokens brings {planes} to new angles."
        return (
            f"Under method {n}, a text of {found:,.6g} tokens brings no plane to a new angle. The "
            "text can be longer."
        )
    return "Some length is wrong."


EXERCISE = Exercise(
    id="rule_reach",
    page="rope-scaling",
    title="How far does a method reach?",
    kind="write",
    groups={"random": 1, "property": 1, "edges": 1},
    minutes=10,
    difficulty=2,
    stage="transfer",
    assessed=True,
    section="Wavelength and training context",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Which planes can meet a new angle at all? For one of them: what is the largest angle that "
        "training has shown?",
        "A plane with speed · trained < 2π has shown the angles up to speed · trained. Slowed, it "
        "gets there after speed · trained / slowed tokens. The first plane to get there decides.",
    ),
    common_errors=(
        "Counting the planes that completed a rotation: they have no new angles.",
        "Looking only at the slowest plane.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
    symptom=symptom,
)
