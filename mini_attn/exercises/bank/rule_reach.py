"""How long a text may be under a rule before a plane meets an angle that training has not shown."""

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
A rule for longer contexts gives each plane another speed. How long may a text be before some plane
meets an angle that training has not shown? `speeds`, of shape `(pairs,)`, are radians per token in
training, on texts of `trained` tokens, and each row of `slowed`, of shape `(rules, pairs)`, has the
speeds under one rule. Count as if a text of n tokens had distances up to n, also in training. At
least one plane did not come round in training. Return the lengths in tokens, `(rules,)`, not
rounded.
"""
STARTER = '''
def rule_reach(speeds, slowed, trained):
    """The longest text under each rule (rules,) in which no plane meets a new angle."""
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
     "Planes that came round in training are counted too. Which angles can still be new to them?"),
    ({"counted": "fast"},
     "The planes that came round are looked at. The others have angles that were never shown."),
    ({"counted": "under the rule"},
     "Whether a plane came round in training depends on its speed there, not under the rule."),
    ({"counted": "slowest"},
     "Only the slowest plane is looked at. A rule may slow another one by less."),
    ({"counted": "first"},
     "Only the fastest plane that did not come round is looked at. A rule may slow another one by "
     "less."),
    ({"turn": 1.0}, "A plane has come round after 2π radians, not after one."),
    ({"turn": math.pi}, "That is half a rotation: a plane has come round after 2π radians."),
    ({"turn": 1 / math.tau},
     "A plane has come round once its speed times the trained length is 2π: check on which side "
     "the 2π belongs."),
    ({"of": "largest"},
     "That is when the last plane meets a new angle. The first plane that does sets the limit."),
    ({"of": "mean"}, "That is a mean over the planes. The first that meets a new angle decides."),
    ({"ratio": -1},
     "Old and new speeds are exchanged: a slower plane takes longer to the same angle."),
    ({"unit": "ratio"}, "That is how many times longer a text may be. Its length is asked for."),
]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the lengths would be with one idea missing, or two."""
    slowed, trained = inputs["slowed"], inputs["trained"]
    waves, slow = math.tau / slowed, inputs["speeds"] * trained < math.tau
    first = (inputs["speeds"][slow] * trained / slowed[:, slow]).min(axis=1)
    return [
        *with_pairs(partial(_reach, inputs), MISTAKES),
        (np.full(len(slowed), float(trained)),
         "That is the trained length. Under a rule a plane takes longer to the same angle."),
        (np.maximum(_reach(inputs), trained), "The lengths are never below the trained one. A rule "
         "may also make a plane faster."),
        (np.floor(first), "The lengths are rounded down. They should not be."),
        (np.where(slow, waves, np.inf).min(axis=1),
         "That is when a slow plane comes round under the rule. It meets a new angle earlier, as "
         "training has shown a part of its circle only."),
        (np.floor(_reach(inputs) + 1e-9), "The lengths are rounded down. They should not be."),
        (waves.max(axis=1),
         "That is the longest wavelength. A plane that never came round in training has shown a "
         "part of its circle only."),
        (waves.min(axis=1), "That is the shortest wavelength: its plane has shown all its angles."),
        (np.full(len(slowed), _reach(inputs)[0]), "All rules get the length of the first."),
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
            return f"Under rule {n}, a text of {found:,.6g} tokens brings {planes} to new angles."
        return (
            f"Under rule {n}, a text of {found:,.6g} tokens brings no plane to a new angle: the "
            "text may be longer."
        )
    return "Some length is wrong."


EXERCISE = Exercise(
    id="rule_reach",
    page="rope-scaling",
    title="How far does a rule reach?",
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
        "A plane with speed · trained < 2π has shown the angles up to speed · trained. Under the "
        "rule it gets there after speed · trained / slowed tokens. The first plane to get there "
        "decides.",
    ),
    common_errors=(
        "Counting the planes that came round: they have no new angles.",
        "Looking at the slowest plane alone.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
    symptom=symptom,
)
