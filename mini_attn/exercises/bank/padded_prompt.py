"""Find the bug: padded tokens of a batch's row change its state."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
This function reads the newest message of one conversation into one head's state, by the gated delta
rule. Messages of several conversations make a batch, and shorter ones are filled up with padded
tokens. `real` `(n,)` is True for the tokens of the message, wherever they are. `k` is
`(n, key_dim)`, each of length 1, `v` `(n, v_head_dim)`, `log_decay` and `beta` are `(n,)`, and
`state` `(key_dim, v_head_dim)` holds what was said before. Sent alone, a short message gets a good
answer. In a batch with a long one, the model has forgotten what was said before. Repair the
function, so that the returned state is the one of the message sent alone.
"""
STARTER = '''
def padded_prompt(k, v, log_decay, beta, real, state):
    """State after one message of a batch (key_dim, v_head_dim)."""
    v = np.where(real[:, None], v, 0)
    for t in range(len(k)):
        state = np.exp(log_decay[t]) * state
        found = k[t] @ state
        state = state + beta[t] * np.outer(k[t], v[t] - found)
    return state
'''

Array = np.ndarray


def _case(rng: np.random.Generator, real: Any, key_dim: int, size: int) -> Inputs:
    """Padded tokens are one token again and again, as in a batch."""
    real = np.asarray(real, bool)
    n = len(real)
    k = rng.standard_normal((n, key_dim))
    k[~real] = rng.standard_normal(key_dim)
    v = rng.standard_normal((n, size))
    v[~real] = rng.standard_normal(size)
    return {
        "k": k / np.linalg.norm(k, axis=1, keepdims=True),
        "v": v,
        "log_decay": -0.05 - 0.5 * rng.random(n),
        "beta": 0.2 + 0.7 * rng.random(n),
        "real": real,
        "state": rng.standard_normal((key_dim, size)),
    }


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one padded token in front. The property: padding anywhere."""
    hand = {
        "k": np.array([[1.0, 0.0], [0.0, 1.0]]),
        "v": np.array([[3.0], [5.0]]),
        "log_decay": np.log([0.5, 0.25]),
        "beta": np.array([0.5, 1.0]),
        "real": np.array([False, True]),
        "state": np.array([[8.0], [16.0]]),
    }
    return {
        "by hand": [hand],
        "random": [_case(rng, [0, 0, 1, 1, 1], 3, 2), _case(rng, [0, 1, 1], 4, 3)],
        "property": [_case(rng, [1, 1, 0, 0, 1], 3, 2), _case(rng, [0, 1, 1, 0], 2, 3)],
        "edges": [_case(rng, [1, 1, 1], 3, 2), _case(rng, [0, 0], 2, 2), _case(rng, [1], 1, 1)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """The state."""
    return {"state": (inputs["state"].shape, "f")}


def _who(real: Array) -> dict[str, Array]:
    """Mark tokens that do something, by whom one takes for real."""
    places = np.arange(len(real))
    first = int(np.argmax(real)) if real.any() else len(real)
    return {
        "real": real,
        "all": np.ones_like(real),
        "padded": ~real,
        "from the first": places >= first,
        "up to padding": np.cumprod(real).astype(bool),
        "from argmax": places >= (first if real.any() else 0),
        "front": places < real.sum(),
        "last": places >= len(real) - real.sum(),
    }


def _factor(log_decay: float, kind: str) -> float:
    """By what a token multiplies the state."""
    return {"exp": float(np.exp(log_decay)), "log": log_decay, "none": 1.0}[kind]


def _read(
    inputs: Inputs,
    *,
    decays: str = "real",
    writes: str = "real",
    value: str = "v",
    start: str = "state",
    order: str = "decay first",
    rule: str = "delta",
    factor: str = "exp",
    strength: str = "beta",
) -> Array:
    """The state by what real tokens do, or what another choice gives."""
    k, v, log_decay, beta, real, state = inputs.values()
    who = _who(real)
    state = state if start == "state" else np.zeros_like(state)
    for t in range(len(k)):
        left = _factor(log_decay[t], factor) if who[decays][t] else 1.0
        seen = state if order == "found first" else left * state
        state = left * state
        if not who[writes][t]:
            continue
        new = v[t] if value == "v" or real[t] else np.zeros_like(v[t])
        found = k[t] @ seen if rule == "delta" else 0.0
        part = beta[t] if strength == "beta" else 1.0
        state = state + part * np.outer(k[t], new - found)
    return state


def right(inputs: Inputs) -> Array:
    """Real tokens alone."""
    return _read(inputs)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"decays": "all"}, "Padded tokens don't write now, but the state still decays at each of "
     "them."),
    ({"writes": "all", "value": "zero"}, "The decay is right. But the delta rule with a value of "
     "0 isn't nothing: it erases what the key finds."),
    ({"writes": "all"}, "The decay is right, but padded tokens write their values."),
    ({"decays": "from the first", "writes": "from the first"}, "You drop the padded tokens in "
     "front. They may be anywhere."),
    ({"decays": "last", "writes": "last"}, "You count the real tokens and take as many from the "
     "end. They may be anywhere."),
    ({"decays": "front", "writes": "front"}, "You count the real tokens and take as many from the "
     "front. They may be anywhere."),
    ({"decays": "from argmax", "writes": "from argmax"}, "You drop the padded tokens in front. "
     "They may be anywhere. And where no token is real, argmax gives 0, so all of them pass."),
    ({"decays": "up to padding", "writes": "up to padding"}, "You stop at the first padded token. "
     "Real ones may follow."),
    ({"factor": "log"}, "You multiply by the logarithm of the decay. The factor is its "
     "exponential."),
    ({"strength": "none"}, "You replace all of what the key finds. Only a part beta is replaced."),
    ({"decays": "padded", "writes": "padded"}, "You let the padded tokens through, and drop the "
     "real ones."),
    ({"start": "zeros"}, "Your state begins with this message. What was said before is in "
     "`state`."),
    ({"factor": "none"}, "Nothing decays now. Real tokens should let the state decay."),
    ({"order": "found first"}, "You look up what a key finds before the state decays. First it "
     "decays."),
    ({"rule": "sum"}, "You add values without taking away what their keys find."),
]  # fmt: skip


def _at_once(inputs: Inputs) -> Array:
    """All real tokens look up the same state."""
    k, v, log_decay, beta, real, state = inputs.values()
    k, v, beta = k[real], v[real], beta[real]
    state = np.exp(log_decay[real].sum()) * state
    return np.asarray(state + (k * beta[:, None]).T @ (v - k @ state))


def _shifted(inputs: Inputs) -> Array:
    """Keys and values of the real tokens, with decays and betas from the front."""
    real, n = inputs["real"], int(inputs["real"].sum())
    rest = {"log_decay": inputs["log_decay"][:n], "beta": inputs["beta"][:n]}
    return _read({"k": inputs["k"][real], "v": inputs["v"][real], **rest,
                  "real": np.ones(n, bool), "state": inputs["state"]})  # fmt: skip


def _forgotten(inputs: Inputs) -> Array:
    """A padded token makes the state empty."""
    real = inputs["real"]
    if real.all():
        return right(inputs)
    last = int(np.flatnonzero(~real)[-1]) + 1
    names = ("k", "v", "log_decay", "beta", "real")
    rest = {name: inputs[name][last:] for name in names}
    return _read({**rest, "state": np.zeros_like(inputs["state"])})


def slips(inputs: Inputs) -> Slips:
    """Give the state with one idea missing, or two; first the fault as it was."""
    whole: dict[str, Any] = {"decays": "all", "writes": "all"}
    return [
        (_read(inputs, **whole, value="zero"), "That's the same fault: a padded token changes the "
         "state in two ways. Go through the loop with one, and look at what each line does."),
        (_read(inputs, **whole), "Padded tokens do all that real ones do."),
        *with_pairs(partial(_read, inputs), MISTAKES),
        (_at_once(inputs), "You let all real tokens write at once. What a key finds includes what "
         "the tokens before it have just written."),
        (_shifted(inputs), "You left out keys and values of padded tokens, but not their log_decay "
         "and beta. So real tokens get the numbers of others."),
        (_forgotten(inputs), "Your state is empty after a padded token: it was multiplied by 0. "
         "What was said before should stay, as if it were multiplied by 1."),
    ]  # fmt: skip


EXERCISE = Exercise(
    id="padded_prompt",
    page="state",
    title="A message in a batch",
    kind="bug",
    groups={"edges": 4},
    minutes=10,
    difficulty=2,
    stage="transfer",
    assessed=True,
    section="A padded token must not write",
    complaint=Complaint(
        "caches",
        "Sent alone, a short message gets a good answer. In a batch with a long one, the model has "
        "forgotten what was said before.",
        "[Transformers, pull request 32677](https://github.com/huggingface/transformers/pull/32677):"
        " padded tokens went through Mamba's convolution and its state, so that a short prompt in "
        "a batch was continued with nonsense "
        "([issue 31540](https://github.com/huggingface/transformers/issues/31540)).",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Let the message be empty: all tokens are padded. Which state should come back, and which "
        "lines of the loop change it?",
        "A token that isn't real must leave the state as it is: no decay, and nothing written or "
        "erased.",
    ),
    common_errors=(
        "Setting values to 0, which lets the delta rule erase.",
        "Stopping the writes and not the decay.",
        "Skipping only the tokens in front.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=lambda inputs, outputs: (
        "After a padded token, the state should be what it was before. After a real one it has "
        "decayed, and then what the key finds was replaced by a part beta."
    ),
)
