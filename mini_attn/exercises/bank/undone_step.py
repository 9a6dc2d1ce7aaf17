"""Write the way back: the state before a token that was refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = r"""
A drafted token was written into a head's state by the gated delta rule, and then it was refused.
Nobody kept the state before it, but the token's numbers are still there: `k` `(key_dim,)` of
length 1, `v` `(v_head_dim,)`, `log_decay` (from −1 to 0) and `beta` (from 0 to 0.95). The step
was: multiply the state by `exp(log_decay)`, look up what `k` finds in it, and add the outer product
of `k` and `beta * (v - found)`. `state` `(key_dim, v_head_dim)` is the result. Return the
state before, up to rounding.
"""
STARTER = '''
def undone_step(state, k, v, log_decay, beta):
    """The state before the step (key_dim, v_head_dim)."""
    raise NotImplementedError
'''

Array = np.ndarray


def _step(state: Array, k: Array, v: Array, log_decay: float, beta: float) -> Array:
    state = np.exp(log_decay) * state
    return state + beta * np.outer(k, v - k @ state)


def _case(rng: np.random.Generator, sizes: tuple[int, int], decay: float, beta: float) -> Inputs:
    k = rng.standard_normal(sizes[0])
    numbers: dict[str, Any] = {
        "k": k / np.linalg.norm(k),
        "v": rng.standard_normal(sizes[1]),
        "log_decay": float(np.log(decay)),
        "beta": beta,
    }
    return {"state": _step(rng.standard_normal(sizes), **numbers), **numbers}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a half, a quarter. The property: strong writes. Edges: no write, no decay."""
    given: dict[str, Any] = {
        "k": np.array([1.0, 0.0]),
        "v": np.array([4.0]),
        "log_decay": float(np.log(0.5)),
        "beta": 0.25,
    }
    hand = {"state": _step(np.array([[16.0], [6.0]]), **given), **given}
    return {
        "by hand": [hand],
        "random": [_case(rng, (3, 2), 0.8, 0.4), _case(rng, (5, 4), 0.6, 0.7)],
        "property": [_case(rng, (4, 3), 0.9, 0.9), _case(rng, (6, 2), 0.5, 0.95)],
        "edges": [_case(rng, (3, 2), 0.7, 0.0), _case(rng, (3, 2), 1.0, 0.5),
                  _case(rng, (1, 1), 0.5, 0.5)],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """The state before."""
    return {"state": (inputs["state"].shape, "f")}


def _back(inputs: Inputs, *, erased: str = "all", fades: str = "last", write: float = 1.0) -> Array:
    """The state before, or what another choice gives."""
    state, k, v, log_decay, beta = inputs.values()
    left = np.exp(log_decay)
    rest = (state / left if fades == "first" else state) - write * beta * np.outer(k, v)
    share = {"all": beta / (1 - beta), "none": 0.0, "once": beta, "too much": 1 / (1 - beta),
             "minus": -beta / (1 - beta)}[erased]  # fmt: skip
    rest = rest + share * np.outer(k, k @ rest)
    return {"last": rest / left, "none": rest, "again": rest * left, "first": rest}[fades]


def right(inputs: Inputs) -> Array:
    """Along k, a part 1 − β is left of the faded state; everywhere else all of it."""
    return _back(inputs)


def _with_found(inputs: Inputs) -> list[tuple[Array, str]]:
    """Slips of an answer that solves for what k found."""
    state, k, v, log_decay, beta = inputs.values()
    left = np.exp(log_decay)
    found = (k @ state - beta * v) / (1 - beta)
    bare, undone = state - beta * np.outer(k, v), state / left
    late = _back({**inputs, "v": np.zeros_like(v)}) - beta * np.outer(k, v)
    by_log = (bare + beta * np.outer(k, found)) / log_decay if log_decay else state
    swapped = (k @ state - (1 - beta) * v) / beta if beta else np.zeros_like(v)
    return [
        ((bare + beta * np.outer(k, swapped)) / left, "You swapped beta and 1 − beta. After the "
         "step, k finds a part 1 − beta of the old value and a part beta of the new one."),
        (late, "You take the new value away last. It was added last, so it has to be the first "
         "that goes."),
        ((bare + beta * np.outer(k, k @ state / (1 - beta))) / left, "What k finds after the step "
         "has two parts: what's left of the old value, and beta times the new one."),
        (by_log, "You divide by the logarithm of the decay. The factor was its exponential."),
        ((state - np.outer(k, v - found)) / left, "Your found value is right. Only a part beta of "
         "the difference was written, so take away that part."),
        ((bare + np.outer(k, found)) / left, "You give back all of what k found. Only a part beta "
         "of it was erased."),
        (undone - beta * np.outer(k, v - k @ undone), "You undo the decay first, and look up what "
         "k finds after the write. The write came last, and it changed what k finds."),
        ((bare + beta * np.outer(k, found / left)) / left, "You undo the decay of the found value "
         "twice. What was written depends on the state after the decay."),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """The state with one idea missing."""
    state, k, v, log_decay, beta = inputs.values()
    left = np.exp(log_decay)
    after = (state - beta * np.outer(k, v - k @ state)) / left
    choices: list[tuple[dict[str, Any], str]] = [
        ({"erased": "none"}, "You took the new value away, but you didn't give back what the write "
         "erased along k."),
        ({"erased": "once"}, "You give back a part beta of what's left along k. But beta was a "
         "part of what was there *before* it was erased."),
        ({"fades": "none"}, "You undid the write, but not the decay before it."),
        ({"fades": "again"}, "You let the state decay once more. To undo a decay, divide by it."),
        ({"fades": "first"}, "You undo the decay first. The last thing that happened has to be "
         "undone first, and the value was written after the decay."),
        ({"write": 0.0}, "You gave back what was erased, but the new value is still in it."),
        ({"write": -1.0}, "You add the new value once more."),
        ({"erased": "minus"}, "You erase along k once more instead of giving back."),
        ({"erased": "none", "fades": "none"}, "You only took the new value away. The step also "
         "erased what k found, and let the state decay."),
        ({"erased": "once", "fades": "none"}, "Two things: the decay isn't undone, and beta was a "
         "part of what was there before it was erased."),
    ]  # fmt: skip
    return [
        (after, "You look up what k finds in the state after the step. The step looked it up "
         "before it wrote, so your number is another one."),
        (_step(state, k, v, log_decay, beta), "You make the step again. It should be undone."),
        (state, "That's the state as it came."),
        *((_back(inputs, **given), idea) for given, idea in choices),
        *_with_found(inputs),
    ]  # fmt: skip


EXERCISE = Exercise(
    id="undone_step",
    page="state",
    title="Undo a step",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=15,
    difficulty=4,
    stage="invent",
    assessed=False,
    section="A state can't be cut back",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Let f be what k finds in the faded state. What does k find after the step, in terms of "
        "f, v and beta? Solve for f.",
        "After the step, k finds (1 − beta) · f + beta · v. With f you know what was added: take "
        "it away, then divide by the decay.",
    ),
    common_errors=(
        "Looking up what k finds after the step, and taking it for what it found before.",
        "Undoing the decay first.",
        "Forgetting that the delta rule erases before it writes.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=lambda inputs, outputs: (
        "Make the step from your state, and compare with `state`: where do they differ, along k or "
        "everywhere?"
    ),
)
