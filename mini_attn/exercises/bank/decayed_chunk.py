"""Write one chunk of a head whose state decays: two products instead of a loop."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = r"""
A head keeps a `state` `(key_dim, v_head_dim)`. At each token, the state is first multiplied by
$e^g$, where $g \le 0$ is the token's `log_decay`. Then the outer product of its `k` and `v` is
added, and then its `q` reads. Compute a whole chunk: `q` and `k` are `(n, key_dim)`, `v` is
`(n, v_head_dim)`, `log_decay` is `(n,)`. Return `out` `(n, v_head_dim)` and the new `state`.
Nothing is scaled. `log_decay` may be as low as −1,000. A loop over the tokens passes too, but
prompts run as products of matrices, so try those.
"""
STARTER = '''
def decayed_chunk(q, k, v, log_decay, state):
    """A chunk with decay: (out, state)."""
    raise NotImplementedError
'''

Array = np.ndarray


def _case(rng: np.random.Generator, n: int, key_dim: int, size: int, most: float) -> Inputs:
    q, k = rng.standard_normal((2, n, key_dim))
    return {
        "q": q,
        "k": k,
        "v": rng.standard_normal((n, size)),
        "log_decay": -most * rng.random(n),
        "state": rng.standard_normal((key_dim, size)),
    }


def cases(rng: np.random.Generator) -> Cases:
    """By hand: halves. The property: long chunks. Edges: one token, and decays that are 0."""
    hand = {
        "q": np.ones((2, 1)),
        "k": np.array([[1.0], [2.0]]),
        "v": np.array([[4.0], [8.0]]),
        "log_decay": np.log([0.5, 0.25]),
        "state": np.array([[16.0]]),
    }
    strong = _case(rng, 6, 2, 2, 1000.0)
    strong["log_decay"] = np.round(strong["log_decay"])  # so float32 holds their sums exactly
    return {
        "by hand": [hand],
        "random": [_case(rng, 5, 3, 2, 0.5), _case(rng, 8, 2, 4, 2.0)],
        "property": [_case(rng, 60, 4, 3, 0.1), _case(rng, 40, 3, 2, 0.3)],
        "edges": [_case(rng, 1, 3, 2, 0.5), _case(rng, 6, 2, 3, 0.0), strong],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """An output row for each token, and the state."""
    return {"out": (inputs["v"].shape, "f"), "state": (inputs["state"].shape, "f")}


def _factors(log_decay: Array, kind: str) -> Array:
    """By what the state is multiplied at each token."""
    if kind == "minus":
        with np.errstate(over="ignore"):
            return np.exp(-log_decay)
    used = log_decay[:1].repeat(len(log_decay)) if kind == "first" else log_decay
    return {"none": np.ones_like(used), "log": used}.get(kind, np.exp(used))


def _walk(
    inputs: Inputs,
    *,
    order: str = "decay, write, read",
    factor: str = "exp",
    start: str = "state",
    kept: str = "all",
    scale: float = 1.0,
    role: str = "k",
) -> dict[str, Array]:
    """Token by token, by the true order, or what another choice gives."""
    q, k, v, log_decay = (inputs[key] for key in ("q", "k", "v", "log_decay"))
    state = inputs["state"] if start == "state" else np.zeros_like(inputs["state"])
    out = np.empty_like(v)
    for t, left in enumerate(_factors(log_decay, factor)):
        for step in order.split(", "):
            if step == "decay":
                state = left * state
            elif step == "write":
                state = state + np.outer((k if role == "k" else q)[t], v[t])
            elif step == "write gated":
                state = state + (1 - left) * np.outer(k[t], v[t])
            else:
                out[t] = scale * q[t] @ state
    return {"out": out, "state": inputs["state"] if kept == "old" else state}


def right(inputs: Inputs) -> dict[str, Array]:
    """Decay, write, read."""
    return _walk(inputs)


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"order": "write, decay, read"}, "A token's own write has decayed already when it's read. "
     "First the state decays, then the token writes."),
    ({"order": "decay, read, write"}, "Each token reads before it writes. It should find its own "
     "value too."),
    ({"order": "read, decay, write"}, "Each token reads before anything else. First the state "
     "decays, then the token writes, then it reads."),
    ({"order": "write, read, decay"}, "Your state decays after a token has read. It decays before "
     "the token writes."),
    ({"order": "decay, write gated, read"}, "You weaken what a token writes by 1 minus its decay. "
     "Here the whole product of k and v is added."),
    ({"factor": "none"}, "Nothing decays."),
    ({"factor": "log"}, "You multiply by the logarithm of the decay. The factor is its "
     "exponential."),
    ({"factor": "minus"}, "Your state grows. The factor is e to the power of log_decay, which is "
     "0 or below."),
    ({"factor": "first"}, "You use the first token's decay for all of them."),
    ({"start": "zeros"}, "You begin with an empty state. Tokens of earlier chunks are in `state`."),
    ({"kept": "old"}, "Your outputs are right, but you return the state as it came."),
    ({"scale": 0.5}, "You halve what is read. Nothing is scaled here."),
    ({"role": "q"}, "You write with q. A query reads; the key writes."),
]  # fmt: skip


def _by_products(inputs: Inputs) -> Slips:
    """Give what products are with a decay or a mask in the wrong place."""
    q, k, v, log_decay, old = (inputs[key] for key in ("q", "k", "v", "log_decay", "state"))
    with np.errstate(all="ignore"):
        done = np.cumsum(log_decay)
        between = np.exp(np.minimum(done[:, None] - done, 0))
        causal = np.tril(between) * (q @ k.T)
        reach, left = np.exp(done)[:, None], np.exp(done[-1] - done)[:, None]
        true = _walk(inputs)
        new, end = true["state"], np.exp(done[-1])
        size = q.shape[1] ** -0.5
        past, before = reach * (q @ old), np.exp(done - log_decay)[:, None]
        ahead = np.triu(np.exp(-np.abs(done[:, None] - done))) * (q @ k.T)
        scores = np.where(np.tri(len(q)) > 0, q @ k.T + (done[:, None] - done), -np.inf)
        own = np.exp(done[-1] - done + log_decay)[:, None]
        grown = np.exp(done[:, None] - done)
        divided = np.tril((reach * q) @ (k / reach).T) @ v
        late_mask = np.tri(len(q)) * grown * (q @ k.T) @ v
        full = reach * (q @ old) + np.exp(-np.abs(done[:, None] - done)) * (q @ k.T) @ v
        return [
            ({"out": causal @ v, "state": new}, "Your outputs leave out what earlier chunks wrote. "
             "Each query also reads `state`, as far as it has decayed."),
            ({"out": q @ old + causal @ v, "state": new}, "Your queries read the state of earlier "
             "chunks as if it hadn't decayed until then."),
            *(
                ({"out": each, "state": new}, "Tokens read what later ones write. A mask is "
                 "missing in your chunk.")
                for each in (full, *(past + each * (q @ k.T) @ v for each in (between, grown)))
            ),
            ({"out": past + divided}, "You divide by the product of the decays so far, which may "
             "be 0. Take differences of the sums of logarithms first, then the exponential."),
            ({"out": past + late_mask}, "For later tokens, the exponential of your difference "
             "overflows, and infinity times 0 is NaN. Make the difference at most 0 before the "
             "exponential, or choose with np.tril or np.where instead of multiplying by a mask."),
            ({"out": true["out"], "state": end * old + (k * own).T @ v}, "In your new state, each "
             "write has decayed at its own token too. It decays at the tokens after it."),
            ({"out": reach * (q @ old) + np.tril(q @ k.T) @ v, "state": new}, "Between the tokens "
             "of your chunk, nothing decays."),
            ({"out": true["out"], "state": end * old + k.T @ v}, "In your new state, the writes "
             "of this chunk haven't decayed. The first ones should, most of all."),
            ({"out": true["out"], "state": old + (k * left).T @ v}, "In your new state, what "
             "earlier chunks wrote hasn't decayed."),
            ({"out": true["out"], "state": (k * left).T @ v}, "Your new state forgets what "
             "earlier chunks wrote."),
            ({"out": true["out"], "state": end * old + (k * reach).T @ v}, "In your new state, "
             "a write has decayed by what came before it. It decays by what comes after."),
            ({"out": before * (q @ old) + causal @ v, "state": new}, "The state that came in has "
             "also decayed at the token that reads it."),
            ({"out": past + ahead @ v, "state": new}, "Your mask is the wrong way around: tokens "
             "read what later ones write, and not what earlier ones wrote."),
            ({"out": past + ma.softmax(scores) @ v, "state": new}, "You take a softmax within the "
             "chunk. Here products of q and k are weights as they are."),
            ({"out": true["out"], "state": np.exp(log_decay[-1]) * old + k.T @ v}, "Your new state "
             "has decayed at the last token only, and it has done so at all of them."),
            ({"out": size * true["out"], "state": new}, "You scale what is read by the root of "
             "key_dim. Nothing is scaled here."),
        ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what comes of one idea missing, or two."""
    with np.errstate(all="ignore"):
        return [*with_pairs(partial(_walk, inputs), MISTAKES), *_by_products(inputs)]


EXERCISE = Exercise(
    id="decayed_chunk",
    page="state",
    title="A chunk that decays",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="Three ways to compute the same",
    text=TEXT,
    starter=STARTER,
    hints=(
        "By what has the write of token j decayed when token i reads it? Write it with the sums "
        "of the logarithms up to j and up to i.",
        "With `c = np.cumsum(log_decay)`, the factor is `exp(c[i] - c[j])` for j up to i. For the "
        "state that comes in it's `exp(c[i])`, and at the end of the chunk `exp(c[-1] - c[j])`.",
    ),
    common_errors=(
        "Letting a token's own write decay.",
        "Dividing by the decays so far, which may be 0.",
        "Returning a state whose first writes haven't decayed.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom={
        "out": "A read has two parts: the state that came in, and the tokens of the chunk up to "
        "this one. Each has decayed since it was written. Compute both for the case.",
        "state": "Every write has decayed by all log_decay after its own. Check the first one.",
    },
)
