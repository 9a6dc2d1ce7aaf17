"""Write the absorbed decode step of latent attention."""

from __future__ import annotations

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
Write one decode step without making a key or a value. You get the new token's queries `q_nope`
`(n_heads, qk_nope_head_dim)` and `q_rope` `(n_heads, qk_rope_head_dim)`, already rotated, the cache
`latent` `(kv_len, kv_lora_rank)` and `rope_key` `(kv_len, qk_rope_head_dim)`, and the weights
`w_uk` `(n_heads, kv_lora_rank, qk_nope_head_dim)` and `w_uv` `(n_heads, kv_lora_rank, v_head_dim)`.
The new token is already in the cache and sees everything. Return `mixed` `(n_heads, kv_lora_rank)`,
each head's weighted sum of latents, and `out` `(n_heads, v_head_dim)`. In one check, all arrays are
float32, one token gets no weight, and its key and value would be too large for their type.
"""
STARTER = '''
def absorbed_step(q_nope, q_rope, latent, rope_key, w_uk, w_uv):
    """One absorbed decode step: (mixed, out)."""
    raise NotImplementedError
'''

NAMES = ("q_nope", "q_rope", "latent", "rope_key", "w_uk", "w_uv")


def _case(rng: np.random.Generator, *sizes: int) -> Inputs:
    heads, kv_len, rank, nope, rope, v = sizes
    shapes = (
        (heads, nope), (heads, rope), (kv_len, rank), (kv_len, rope),
        (heads, rank, nope), (heads, rank, v),
    )  # fmt: skip
    drawn = (rng.standard_normal(shape) for shape in shapes)
    return dict(zip(NAMES, drawn, strict=True))


def _huge(inputs: Inputs) -> Inputs:
    """Token 1 has no weight, and neither its key nor its value fits into float32."""
    inputs["latent"][:, 0], inputs["latent"][1, 0] = 0.0, 1e30
    inputs["w_uk"][:, 0], inputs["w_uk"][:, 0, 0] = 0.0, 1e30
    inputs["w_uv"][:, 0] = 1e30
    inputs["q_nope"][:, 0] = 0.0  # what meets the huge weight is nothing
    inputs["q_rope"] = np.abs(inputs["q_rope"]) + 1
    inputs["rope_key"][1] = -1e6
    return {name: array.astype(np.float32) for name, array in inputs.items()}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: one head, two tokens. The property: only sizes decide the scale."""
    by_hand = {
        "q_nope": np.array([[1.0]]), "q_rope": np.array([[0.0, 3.0]]),
        "latent": np.array([[2.0, 0.0], [0.0, 1.0]]),
        "rope_key": np.array([[1.0, 0.0], [0.0, 1.0]]),
        "w_uk": np.array([[[1.0], [4.0]]]), "w_uv": np.array([[[1.0, 0.0, 1.0], [2.0, 3.0, 1.0]]]),
    }  # fmt: skip
    drawn = {
        "by hand": [by_hand],
        "random": [_case(rng, 2, 5, 6, 4, 2, 5), _case(rng, 4, 7, 4, 4, 2, 4)],
        # A latent wider than a key, and one that is narrower.
        "property": [_case(rng, 3, 6, 24, 4, 2, 3), _case(rng, 2, 4, 2, 12, 4, 6)],
        "edges": [_case(rng, 1, 1, 1, 1, 2, 1), _case(rng, 3, 1, 5, 2, 2, 4)],
    }
    drawn["property"].append(_huge(_case(rng, 2, 5, 4, 3, 2, 3)))
    return drawn


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A mixture of latents and an output for each head."""
    heads, rank, v = inputs["w_uv"].shape
    return {"mixed": ((heads, rank), "f"), "out": ((heads, v), "f")}


def _softmax(scores: np.ndarray, axis: int = -1) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=axis, keepdims=True))
    return np.asarray(weights / weights.sum(axis=axis, keepdims=True))


def _scores(inputs: Inputs, *, content: bool = True, place: bool = True) -> np.ndarray:
    """Scores (n_heads, kv_len) before the scale."""
    query = np.einsum("hn,hrn->hr", inputs["q_nope"], inputs["w_uk"])
    scores = content * query @ inputs["latent"].T
    return np.asarray(scores + place * inputs["q_rope"] @ inputs["rope_key"].T)


def _guesses(inputs: Inputs) -> list[tuple[np.ndarray, str]]:
    """Return what the mixture of latents would be with one idea missing."""
    (heads, rank, nope), rope = inputs["w_uk"].shape, inputs["q_rope"].shape[-1]
    scores, latent, scale = _scores(inputs), inputs["latent"], (nope + rope) ** -0.5
    content = _scores(inputs, place=False)
    return [
        (_softmax(scores * (rank + rope) ** -0.5) @ latent,
         f"You used the scale of the latent, 1/√({rank} + {rope}). The score is the same number as "
         f"in the expanded form, where a key has {nope} + {rope} values: divide by their root."),
        (_softmax(scores * rank**-0.5) @ latent,
         f"You scaled by 1/√{rank}, the latent's size. Use that of a key, {nope} + {rope}."),
        (_softmax(scores * nope**-0.5) @ latent,
         f"You scaled by 1/√{nope}, but a key also has its {rope} rotated values."),
        (_softmax(content * nope**-0.5 + (scores - content) * rope**-0.5) @ latent,
         "You scaled the two parts separately. They're one dot product of longer vectors: add them "
         f"first, then divide by the root of {nope} + {rope}."),
        (_softmax(scores) @ latent,
         f"You didn't scale the scores. Divide by the root of {nope} + {rope}."),
        (_softmax(content * scale) @ latent,
         "Your rotated part is missing. q_rope meets rope_key and adds its own terms to the score. "
         "Without it, no score depends on a token's position."),
        (_softmax(scores - content) @ latent,
         "Only the rotated part sets your weights. q_nope has to meet the latent too."),
        (_softmax(_scores(inputs, content=False) * scale) @ latent,
         "Only the rotated part sets your weights. q_nope has to meet the latent too."),
        (_softmax(scores * scale, axis=0) @ latent,
         "The weights of a head don't add up to 1 over the tokens. You ran the softmax over the "
         "heads."),
        ((scores * scale) @ latent, "You used the scores as weights. The softmax is missing."),
        (np.broadcast_to(latent.mean(axis=0), (heads, rank)),
         "Every token gets the same weight, so your scores have no effect."),
        (np.einsum("hn,hrn->hr", inputs["q_nope"], inputs["w_uk"]),
         "That's the query taken to the latent. The mixture is the sum of the latents, with the "
         "weights this query gives them."),
    ]  # fmt: skip


def _more_guesses(inputs: Inputs) -> list[tuple[np.ndarray, str]]:
    """Return the mixture with the parts, the tokens or the heads put together wrongly."""
    (_, _, nope), rope, latent = inputs["w_uk"].shape, inputs["q_rope"].shape[-1], inputs["latent"]
    scale, w_uk = (nope + rope) ** -0.5, inputs["w_uk"]
    scores, content = _scores(inputs) * scale, _scores(inputs, place=False) * scale
    shared = {**inputs, "w_uk": np.broadcast_to(w_uk[:1], w_uk.shape)}
    rotated, alone = scores - content, len(latent) == 1
    apart = (
        "You scaled only one of the two parts. They're one dot product of longer vectors: add them "
        f"first, then divide by the root of {nope} + {rope}."
    )
    return [
        (_softmax(content / scale + rotated) @ latent, apart),
        (_softmax(content + rotated / scale) @ latent, apart),
        (0 * scores[:, :1] @ latent if alone else _softmax(scores[:, :-1]) @ latent[:-1],
         "You left out the new token. It's already in the cache, and it sees itself."),
        (_softmax(scores * scale) @ latent,
         f"You divided the scores by {nope} + {rope} itself. Divide by its root."),
        (_softmax(_scores(shared) * scale) @ latent,
         "You used the first head's W_UK for every head. Each head has its own."),
        ((_softmax(content) + _softmax(rotated)) / 2 @ latent,
         "You took a softmax of each part. They're two parts of one score: add them, then take one "
         "softmax."),
        (np.exp(scores - scores.max(axis=-1, keepdims=True)) @ latent,
         "The weights of mixed don't add up to 1. Divide by their sum before mixing."),
    ]  # fmt: skip


def _mixed(inputs: Inputs) -> np.ndarray:
    scale = (inputs["w_uk"].shape[2] + inputs["q_rope"].shape[-1]) ** -0.5
    return np.asarray(_softmax(_scores(inputs) * scale) @ inputs["latent"])


def right(inputs: Inputs) -> dict[str, np.ndarray]:
    """The mixture of latents, then what W_UV reads out of it."""
    mixed = _mixed(inputs)
    return {"mixed": mixed, "out": np.einsum("hr,hrv->hv", mixed, inputs["w_uv"])}


def _expanded(inputs: Inputs) -> Slips:
    """The same by way of keys, or of values, where they can be made."""
    with np.errstate(all="ignore"):
        keys = np.einsum("tr,hrn->htn", inputs["latent"], inputs["w_uk"])
        scores = np.einsum("hn,htn->ht", inputs["q_nope"], keys)
        scores = scores + inputs["q_rope"] @ inputs["rope_key"].T
        size = inputs["q_nope"].shape[1] + inputs["q_rope"].shape[1]
        weights = _softmax(scores * size**-0.5)
        mixed = weights @ inputs["latent"]
        values = np.einsum("tr,hrv->htv", inputs["latent"], inputs["w_uv"])
        sound = _softmax(_scores(inputs) * size**-0.5)
        out = np.einsum("ht,htv->hv", sound, values)
    return [
        ({"mixed": mixed},
         "You made keys on the way, by multiplying the latents by W_UK. Take the query to the "
         "latents instead."),
        ({"out": out},
         "You made values on the way, by multiplying the latents by W_UV. Mix the latents first, "
         "then read the mixture out."),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return what the mixture, or the output of the right one, would be with one idea missing."""
    mixed, w_uk, w_uv = _mixed(inputs), inputs["w_uk"], inputs["w_uv"]
    fits = w_uk.shape == w_uv.shape
    return [
        *_expanded(inputs),
        *(({"mixed": one}, idea) for one, idea in _guesses(inputs) + _more_guesses(inputs)),
        ({"out": np.einsum("hr,rv->hv", mixed, w_uv[0])},
         "You read out every head with the first head's W_UV. Each head has its own."),
        ({"out": np.einsum("hr,hrn->hn", mixed, w_uk)} if fits else None,
         "You read the output out with W_UK, which made the keys. Use W_UV."),
    ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str | None:
    """Say whether the mixture is right."""
    if not close(outputs["mixed"], _mixed(inputs)):
        return None
    return "Your mixture of latents is right, but the output isn't."


EXERCISE = Exercise(
    id="absorbed_step",
    page="mla",
    title="The absorbed step",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="Absorbing the expansion",
    definition="The scale of the absorbed form",
    text=TEXT,
    starter=STARTER,
    hints=(
        "The query goes to where the keys would have come from. Then it meets the latents "
        "themselves, and the weights mix the latents themselves.",
        "q_nope times W_UK, head by head, gives a query of the latent's size. Scores: that query "
        "times the latents, plus q_rope times the rotated keys, all times one factor. Softmax "
        "over the tokens. Mix the latents, then read each head's mixture out with its W_UV.",
    ),
    common_errors=(
        "Scaling by the size of the vectors you multiply instead of the size of a key.",
        "Leaving out the rotated part, which no absorption touches.",
        "Making keys or values after all: the result is right, but the saving is gone.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
