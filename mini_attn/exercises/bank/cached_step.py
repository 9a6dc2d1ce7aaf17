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
`out` with the shape of `q`, and both caches with the new row in its slot. Slots without a token may
contain anything, even NaN. Don't change the arrays that were passed in.
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
         f"You haven't scaled the scores. Divide q·k by the square root of head_dim = {size}."),
        (_out(inputs, k, v, scale=1.0 / size),
         f"You divided the scores by head_dim = {size}. Divide by its square root instead."),
        (_out(inputs, k, v, scale=(size * inputs["q"].shape[1]) ** -0.5),
         "You scaled the scores by the width of all heads together. Use the size of one head."),
        (_out(inputs, k[:, :, :at], v[:, :, :at]),  # zeros, if there is no other token
         "Your new token doesn't attend to itself. Include its own key and value."),
        (_out(inputs, k[:, :, :1], v[:, :, :1]),
         "Your query attends to key 0 only, as with a causal mask aligned to the top left. The new "
         "token is the last one, so it attends to every key."),
        (_out(inputs, full_k, full_v),
         f"You let slots without a token take part. Only the first length + 1 = {at + 1} should."),
        (scores @ v, "You used the scores as weights. The softmax is missing."),
        (_out(inputs, k, k), "You summed the keys. The output is a weighted sum of the values."),
        (np.broadcast_to(v.mean(axis=2, keepdims=True), inputs["q"].shape),
         "Every token gets the same weight, so your scores have no effect on the result."),
        (np.broadcast_to(v.sum(axis=2, keepdims=True), inputs["q"].shape),
         "Each of your weights is 1. Run the softmax over the keys, the last axis of the scores."),
        (_out(inputs, k, v, scale=(at + 1) ** -0.5),
         "You divided the scores by the root of the number of tokens. Divide by the root of "
         f"head_dim = {size}, however many tokens there are."),
        (_out(inputs, k, v) + 0 * holes,
         "You gave empty slots a weight of 0, but 0 times NaN is NaN. Leave out their values, not "
         "just their scores."),
    ]  # fmt: skip


def right(inputs: Inputs) -> Outputs:
    """The caches with the new row behind the past, then the output."""
    at = inputs["length"]
    k = np.concatenate([inputs["k_cache"][:, :, :at], inputs["k_new"]], axis=2)
    v = np.concatenate([inputs["v_cache"][:, :, :at], inputs["v_new"]], axis=2)
    return {"k_cache": k, "v_cache": v, "out": _out(inputs, k, v)}


def asked(inputs: Inputs, outputs: Outputs) -> Outputs:
    """Slots that hold no token can hold anything."""
    used = slice(None, inputs["length"] + 1)
    return {name: array if name == "out" else array[:, :, used] for name, array in outputs.items()}


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Say whether an earlier row has changed, or where the new row is missing."""
    at, wanted = inputs["length"], right(inputs)
    for name, word in (("k_cache", "key"), ("v_cache", "value")):
        if not close(outputs[name][:, :, :at], wanted[name][:, :, :at]):
            return (
                f"You changed an earlier row of {name}. The new {word} belongs in the next free "
                f"slot, number {at} (counting from 0)."
            )
        if not close(outputs[name][:, :, at], wanted[name][:, :, at]):
            return (
                f"The new {word} isn't in slot {at} of {name}. Write it there, or the next step "
                "will miss this token."
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
        "The new token brings one key and one value. Put them into the cache first. Then compare "
        "the query with everything that's in it.",
        "Copy both caches. Write k_new and v_new into slot `length`. Cut both to the first "
        "`length + 1` slots. The scores are q times the transposed keys, divided by the root of "
        "head_dim. Take the softmax over the last axis and multiply by the values.",
    ),
    common_errors=(
        "Forgetting that the new token also attends to itself.",
        "Attending to the whole array, including unused slots. With zeros in them, the result "
        "looks almost right.",
        "Writing into the array that was passed in, which changes the caller's cache.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
    asked=asked,
    keeps_inputs=True,
)
