"""The absorbed step of latent attention."""

import numpy as np


def absorbed_step(q_nope, q_rope, latent, rope_key, w_uk, w_uv):
    q_latent = np.einsum("hn,hrn->hr", q_nope, w_uk)  # (n_heads, rank)
    # (n_heads, kv_len)
    scores = q_latent @ latent.T + q_rope @ rope_key.T
    scores = scores / np.sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = weights / weights.sum(axis=-1, keepdims=True)
    mixed = weights @ latent  # (n_heads, kv_lora_rank)
    return mixed, np.einsum("hr,hrv->hv", mixed, w_uv)


REFERENCE = absorbed_step


def _scaled_apart(q_nope, q_rope, latent, rope_key, w_uk, w_uv):
    query = np.einsum("hn,hrn->hr", q_nope, w_uk)
    scores = query @ latent.T * q_nope.shape[-1] ** -0.5
    scores = scores + q_rope @ rope_key.T * q_rope.shape[-1] ** -0.5
    weights = np.exp(scores - scores.max())
    mixed = weights / weights.sum(axis=-1, keepdims=True) @ latent
    return mixed, np.einsum("hr,hrv->hv", mixed, w_uv)


def _variant(*, scale=None, content=True, place=True, axis=-1, soft=True, read=None):
    """The reference with one thing changed."""

    def answer(q_nope, q_rope, latent, rope_key, w_uk, w_uv):
        nope, rope, rank = q_nope.shape[-1], q_rope.shape[-1], latent.shape[-1]
        scores = np.zeros((q_nope.shape[0], latent.shape[0]))
        if content:
            scores = scores + np.einsum("hn,hrn->hr", q_nope, w_uk) @ latent.T
        if place:
            scores = scores + q_rope @ rope_key.T
        scores = scores * ((nope + rope) ** -0.5 if scale is None else scale(nope, rope, rank))
        weights = np.exp(scores - scores.max())
        weights = weights / weights.sum(axis=axis, keepdims=True) if soft else scores
        mixed = weights @ latent
        return mixed, np.einsum("hr,hrv->hv", mixed, w_uv if read is None else read(w_uk, w_uv))

    return answer


def _softmax(scores):
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def _expanded(q_nope, q_rope, latent, rope_key, w_uk, w_uv):
    with np.errstate(all="ignore"):
        keys = latent @ w_uk  # (n_heads, kv_len, nope)
        scores = (keys @ q_nope[:, :, None])[:, :, 0] + q_rope @ rope_key.T
        weights = _softmax(scores / np.sqrt(q_nope.shape[1] + q_rope.shape[1]))
        return weights @ latent, np.einsum("ht,htv->hv", weights, latent @ w_uv)


def _values(**inputs):
    mixed, _ = absorbed_step(**inputs)
    scores = np.einsum("hn,hrn->hr", inputs["q_nope"], inputs["w_uk"]) @ inputs["latent"].T
    scores = scores + inputs["q_rope"] @ inputs["rope_key"].T
    weights = _softmax(scores / np.sqrt(inputs["q_nope"].shape[1] + inputs["q_rope"].shape[1]))
    with np.errstate(all="ignore"):
        values = inputs["latent"] @ inputs["w_uv"]
        return mixed, np.einsum("ht,htv->hv", weights, values)


def _starter(q_nope, q_rope, latent, rope_key, w_uk, w_uv):
    raise NotImplementedError


def _output_only(**inputs):
    return absorbed_step(**inputs)[1]


def _all_heads(**inputs):
    mixed, out = absorbed_step(**inputs)
    return mixed, out.reshape(-1)


def _query(q_nope, q_rope, latent, rope_key, w_uk, w_uv):
    mixed = np.einsum("hn,hrn->hr", q_nope, w_uk)
    return mixed, np.einsum("hr,hrv->hv", mixed, w_uv)


def _even(**inputs):
    mixed, out = absorbed_step(**inputs)
    return np.broadcast_to(inputs["latent"].mean(axis=0), mixed.shape).copy(), out


def _keys_read(**inputs):
    mixed, out = absorbed_step(**inputs)
    if inputs["w_uk"].shape != inputs["w_uv"].shape:
        return mixed, out
    return mixed, np.einsum("hr,hrn->hn", mixed, inputs["w_uk"])


def _scaled_twice(**inputs):
    mixed, out = absorbed_step(**inputs)
    return mixed, 2 * out


def _infinite(**inputs):
    mixed, out = absorbed_step(**inputs)
    return mixed, out / 0.0


def _wide_only(**inputs):
    """Right as long as the latent is not narrower than a key."""
    if inputs["latent"].shape[1] < inputs["q_nope"].shape[1]:
        return _variant(scale=lambda nope, rope, rank: rank**-0.5)(**inputs)
    return absorbed_step(**inputs)


def _alone(**inputs):
    """Nothing is seen where only the new token is there."""
    mixed, out = absorbed_step(**inputs)
    return (mixed, out) if inputs["latent"].shape[0] > 1 else (0 * mixed, 0 * out)


def _from_scores(weigh):
    """Another way from the two parts of the scores, before the scale, to the weights."""

    def answer(q_nope, q_rope, latent, rope_key, w_uk, w_uv):
        content = np.einsum("hn,hrn->hr", q_nope, w_uk) @ latent.T
        scale = (q_nope.shape[-1] + q_rope.shape[-1]) ** -0.5
        mixed = weigh(content, q_rope @ rope_key.T, scale) @ latent
        return mixed, np.einsum("hr,hrv->hv", mixed, w_uv)

    return answer


def _exp(scores):
    return np.exp(scores - scores.max(axis=-1, keepdims=True))


def _without_itself(q_nope, q_rope, latent, rope_key, w_uk, w_uv):
    return absorbed_step(q_nope, q_rope, latent[:-1], rope_key[:-1], w_uk, w_uv)


def _first_weights(q_nope, q_rope, latent, rope_key, w_uk, w_uv):
    first = (np.broadcast_to(w[:1], w.shape) for w in (w_uk, w_uv))
    return absorbed_step(q_nope, q_rope, latent, rope_key, *first)


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("output alone", _output_only, "type", "2 arrays"),
    ("heads run together", _all_heads, "shape", "out should have shape"),
    ("infinite", _infinite, "finite", "infinity"),
    ("keys and values made", _expanded, "finite", "made keys"),
    ("values made", _values, "finite", "made values"),
    ("scale of the latent and the rotated key",
     _variant(scale=lambda nope, rope, rank: (rank + rope) ** -0.5), "by hand", "same number"),
    ("scale of the latent", _variant(scale=lambda nope, rope, rank: rank**-0.5), "by hand",
     "latent's size"),
    ("scale of the first part", _variant(scale=lambda nope, rope, rank: nope**-0.5), "by hand",
     "rotated values"),
    ("two scales", _scaled_apart, "by hand", "two parts separately"),
    ("no scale", _variant(scale=lambda *_: 1.0), "by hand", "scale"),
    ("no rotated part", _variant(place=False), "by hand", "rotated part is missing"),
    ("only the rotated part", _variant(content=False), "by hand", "Only the rotated part"),
    ("softmax over heads", _variant(axis=0), "by hand", "over the heads"),
    ("no softmax", _variant(soft=False), "by hand", "softmax is missing"),
    ("even weights", _even, "by hand", "same weight"),
    ("the query for the mixture", _query, "by hand", "query taken to the latent"),
    ("one head's values", _variant(read=lambda uk, uv: np.broadcast_to(uv[:1], uv.shape)),
     "random", "Each head has its own"),
    ("keys for values", _keys_read, "random", "which made the keys"),
    ("read out twice", _scaled_twice, "by hand", "the output isn't"),
    ("a narrow latent scaled by its size", _wide_only, "property", "latent's size"),
    ("itself unseen", _alone, "edges", "sees itself"),
    ("only the rotated part scaled", _from_scores(lambda a, b, s: _softmax(a + b * s)), "by hand",
     "only one of the two parts"),
    ("only the content scaled", _from_scores(lambda a, b, s: _softmax(a * s + b)), "by hand",
     "only one of the two parts"),
    ("two softmaxes", _from_scores(lambda a, b, s: (_softmax(a * s) + _softmax(b * s)) / 2),
     "by hand", "one softmax"),
    ("not divided", _from_scores(lambda a, b, s: _exp((a + b) * s)), "by hand", "add up to 1"),
    ("the new token left out", _without_itself, "by hand", "sees itself"),
    ("the first head's weights", _first_weights, "random", "first head's W_UK"),
    ("no root", _variant(scale=lambda nope, rope, rank: 1 / (nope + rope)), "by hand",
     "by its root"),
]  # fmt: skip
