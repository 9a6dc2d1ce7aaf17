"""Write the cached attention step."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.comparing import close
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Write one step of attention with a cache, in NumPy. The inputs are the new token's `q`, `k_new`,
`v_new` of shape `(batch, heads, 1, head_dim)`, the arrays `k_cache` and `v_cache` of shape
`(batch, heads, capacity, head_dim)`, and `length`, the number of slots that hold a token. Return
`out` of the shape of `q`, and both caches with the new row in its slot. Slots that hold no token
may contain anything, NaN too. Leave the arrays that were passed in as they are.
"""
STARTER = '''
def cached_step(q, k_new, v_new, k_cache, v_cache, length):
    """One cached attention step: (out, k_cache, v_cache)."""
    raise NotImplementedError
'''


def _case(q: np.ndarray, k: np.ndarray, v: np.ndarray, capacity: int, junk: float) -> Inputs:
    """Inputs of a step whose past is all but the last row; unused slots hold junk."""
    batch, heads, seq, size = k.shape
    caches = np.full((2, batch, heads, capacity, size), junk)
    caches[:, :, :, : seq - 1] = np.stack([k, v])[:, :, :, :-1]
    return {
        "q": q, "k_new": k[:, :, -1:], "v_new": v[:, :, -1:],
        "k_cache": caches[0], "v_cache": caches[1], "length": seq - 1,
    }  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: three keys, two along the axes. The property: what unused slots hold is ignored."""
    k = np.array([[[[2.0, 0.0], [0.0, 2.0], [1.0, 1.0]]]])
    v = np.array([[[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]])
    drawn = {"by hand": [_case(np.array([[[[0.0, 1.0]]]]), k, v, capacity=4, junk=0.0)]}
    sizes = {  # batch, heads, tokens, head_dim, capacity, what unused slots hold
        "random": [(1, 2, 5, 4, 8, 0.0), (2, 3, 7, 5, 7, 0.0)],
        "property": [(1, 1, 4, 3, 9, 7.0), (2, 2, 6, 4, 11, np.nan)],
        "edges": [(1, 2, 1, 4, 3, 0.0), (2, 1, 1, 1, 1, np.nan), (1, 2, 1, 4, 3, np.nan)],
    }
    for group, rows in sizes.items():
        drawn[group] = []
        for batch, heads, seq, size, capacity, junk in rows:
            q = rng.standard_normal((batch, heads, 1, size))
            k, v = rng.standard_normal((2, batch, heads, seq, size))
            drawn[group].append(_case(q, k, v, capacity, junk))
    return drawn


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Output and both caches."""
    return {name: (inputs[like].shape, "f") for name, like in
            (("out", "q"), ("k_cache", "k_cache"), ("v_cache", "v_cache"))}  # fmt: skip


def _out(inputs: Inputs, k: np.ndarray, v: np.ndarray, scale: float | None = None) -> np.ndarray:
    return np.asarray(ma.scaled_dot_product_attention(inputs["q"], k, v, scale=scale))


def _guesses(inputs: Inputs) -> list[tuple[np.ndarray, str]]:
    """Return what the output would be with one idea missing."""
    at, size = inputs["length"], inputs["q"].shape[-1]
    k = np.concatenate([inputs["k_cache"][:, :, :at], inputs["k_new"]], axis=2)
    v = np.concatenate([inputs["v_cache"][:, :, :at], inputs["v_new"]], axis=2)
    full_k, full_v = (np.nan_to_num(inputs[name]) for name in ("k_cache", "v_cache"))
    holes = inputs["v_cache"][:, :, at + 1 :].sum(axis=2, keepdims=True)
    full_k[:, :, at], full_v[:, :, at] = k[:, :, at], v[:, :, at]
    scores = inputs["q"] @ k.swapaxes(-1, -2) * size**-0.5
    return [
        (_out(inputs, k, v, scale=1.0),
         f"The scores are not scaled: divide q·k by the square root of head_dim = {size}."),
        (_out(inputs, k, v, scale=1.0 / size),
         f"The scores are divided by head_dim = {size}; it is its square root."),
        (_out(inputs, k, v, scale=(size * inputs["q"].shape[1]) ** -0.5),
         "The scores are scaled by the width of all heads together; the scale is one head's."),
        (_out(inputs, k[:, :, :at], v[:, :, :at]),  # zeros, if there is no other token
         "The new token does not see itself: its own key and value belong to what it attends to."),
        (_out(inputs, k[:, :, :1], v[:, :, :1]),
         "The query looks at key 0 only: a causal mask aligned to the top left. The new token is "
         "the last one and sees every key."),
        (_out(inputs, full_k, full_v),
         f"Slots that hold no token take part: only the first length + 1 = {at + 1} do."),
        (scores @ v, "The scores are used as weights: the softmax is missing."),
        (_out(inputs, k, k), "The keys are summed; the output is a weighted sum of the values."),
        (np.broadcast_to(v.mean(axis=2, keepdims=True), inputs["q"].shape),
         "Every token gets the same weight: the scores have no effect on the result."),
        (np.broadcast_to(v.sum(axis=2, keepdims=True), inputs["q"].shape),
         "Each weight is 1: the softmax has to run over the keys, the last axis of the scores."),
        (_out(inputs, k, v, scale=(at + 1) ** -0.5),
         "The scores are divided by the root of the number of tokens. It is the root of head_dim = "
         f"{size}, however many tokens there are."),
        (_out(inputs, k, v) + 0 * holes,
         "Empty slots have weight 0, but 0 times NaN is NaN: leave their values out, do not only "
         "hide their scores."),
    ]  # fmt: skip


def right(inputs: Inputs) -> Outputs:
    """The caches with the new row behind the past, then the output."""
    at = inputs["length"]
    k = np.concatenate([inputs["k_cache"][:, :, :at], inputs["k_new"]], axis=2)
    v = np.concatenate([inputs["v_cache"][:, :, :at], inputs["v_new"]], axis=2)
    return {"k_cache": k, "v_cache": v, "out": _out(inputs, k, v)}


def asked(inputs: Inputs, outputs: Outputs) -> Outputs:
    """Slots that hold no token may hold anything."""
    used = slice(None, inputs["length"] + 1)
    return {name: array if name == "out" else array[:, :, used] for name, array in outputs.items()}


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Say whether the past has changed, or the new row is not where it should be."""
    at, wanted = inputs["length"], right(inputs)
    for name, word in (("k_cache", "key"), ("v_cache", "value")):
        if not close(outputs[name][:, :, :at], wanted[name][:, :, :at]):
            return (
                f"A row of the past changed in {name}. The new {word} belongs in the next free "
                f"slot, number {at} (counting from 0); the slots before it are taken."
            )
        if not close(outputs[name][:, :, at], wanted[name][:, :, at]):
            return (
                f"The new {word} is not in slot {at} of {name}: append it, "
                "or the next step will miss this token."
            )
    return None


def slips(inputs: Inputs) -> Slips:
    """Return what an output of the right form would be with one idea missing."""
    return [({"out": out}, idea) for out, idea in _guesses(inputs)]


EXERCISE = Exercise(
    id="cached_step",
    page="kv-cache",
    title="The cached step",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=2,
    stage="warm-up",
    assessed=False,
    section="The cached step",
    text=TEXT,
    starter=STARTER,
    hints=(
        "The new token brings one key and one value. First they go into the cache, then the query "
        "meets everything that is in it now.",
        "Copy both caches. Write k_new and v_new into slot `length`. Cut both to the first "
        "`length + 1` slots. Scores: q times the transposed keys, divided by the root of head_dim. "
        "Softmax over the last axis, times the values.",
    ),
    common_errors=(
        "Forgetting that the new token also sees itself.",
        "Attending to the whole array, unused slots included. With zeros in them the result looks "
        "almost right.",
        "Writing into the array that was passed in: the caller's cache changes behind its back.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
    asked=asked,
    keeps_inputs=True,
)
