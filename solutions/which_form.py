"""Which form of latent attention has fewer FLOPs."""

import numpy as np


def which_form(q_len, kv_len, kv_lora_rank, qk_nope_head_dim, v_head_dim):
    # Expanded, every cached token is turned into keys and values, and
    # pairs are cheap. Absorbed, only new tokens meet W_UK and W_UV, and
    # each pair costs the rank, twice. The rotated part is the same in
    # both.
    made = kv_lora_rank * (qk_nope_head_dim + v_head_dim)  # W_UK and W_UV, for one token
    pairs = q_len * kv_len
    expanded = made * kv_len + (qk_nope_head_dim + v_head_dim) * pairs
    absorbed = made * q_len + 2 * kv_lora_rank * pairs
    return absorbed < expanded


REFERENCE = which_form


def _rule(rule):
    """An answer by the lengths, the cost of an expansion and of a pair in each form."""

    def answer(q_len, kv_len, kv_lora_rank, qk_nope_head_dim, v_head_dim):
        both = qk_nope_head_dim + v_head_dim
        return rule(q_len, kv_len, kv_lora_rank * both, kv_lora_rank, both)

    return answer


def _starter(**inputs):
    raise NotImplementedError


WRONG = [
    ("starter", _starter, "attempted", "NotImplementedError"),
    ("words", lambda **i: np.where(which_form(**i), "absorbed", "expanded"), "dtype", "boolean"),
    ("one for all", lambda **i: which_form(**i)[0], "shape", "shape"),
    ("a list", lambda **i: which_form(**i).tolist(), "type", "NumPy array"),
    ("upside down", lambda **i: ~which_form(**i), "by hand", "upside down"),
    ("only single tokens", _rule(lambda q, kv, *_: q == 1), "random", "short chunk"),
    ("every past", _rule(lambda q, kv, *_: q < kv), "random", "long chunk"),
    ("always", _rule(lambda q, kv, *_: q > 0), "by hand", "whole prompts"),
    ("never", _rule(lambda q, kv, *_: q < 0), "by hand", "never absorb"),
    ("absorbing is free", _rule(lambda q, kv, made, r, b: made > (2 * r - b) * q), "random",
     "absorbed form"),
    ("no pairs when expanded",
     _rule(lambda q, kv, made, r, b: made * kv > made * q + 2 * r * q * kv), "random",
     "multiplies pairs too"),
    ("only new tokens expanded",
     _rule(lambda q, kv, made, r, b: (made + b * kv) * q > (made + 2 * r * kv) * q), "by hand",
     "only the new tokens"),
    ("the latent once",
     _rule(lambda q, kv, made, r, b: made * (kv - q) > (r - b) * q * kv), "random",
     "needed twice"),
    ("ties absorb",
     _rule(lambda q, kv, made, r, b: made * (kv - q) >= (2 * r - b) * q * kv), "edges",
     "absorb ties"),
    ("a fixed length", _rule(lambda q, kv, *_: q < 128), "random", "Write down both"),
    ("by the limit of a long past",
     lambda **i: _rule(lambda q, kv, made, r, b: (q < made / (2 * r - b)) & (q < kv))(**i),
     "random", "length of the context"),
    ("true for expanded",
     _rule(lambda q, kv, made, r, b: made * kv + b * q * kv < made * q + 2 * r * q * kv), "by hand",
     "upside down"),
    ("expanding is free",
     _rule(lambda q, kv, made, r, b: made * q + 2 * r * q * kv < b * q * kv), "by hand",
     "before it can attend"),
    ("values as wide as keys", lambda **i: which_form(**i | {"v_head_dim": i["qk_nope_head_dim"]}),
     "random", "each have their own"),
    ("new tokens twice", lambda **i: which_form(**i | {"kv_len": i["kv_len"] + i["q_len"]}),
     "random", "new tokens again"),
    ("one choice for all", lambda **i: np.full(i["q_len"].shape, which_form(**i).any()), "by hand",
     "one choice for all"),
    ("old tokens only", _rule(lambda q, kv, made, r, b: made * q + 2 * r * q * kv
                              < made * (kv - q) + b * q * kv), "random", "only the old tokens"),
    ("half of the pairs", _rule(lambda q, kv, made, r, b: made * q + r * q * kv
                                < made * kv + b / 2 * q * kv), "random", "half of the pairs"),
    ("causal pairs", _rule(lambda q, kv, made, r, b: made * q + 2 * r * (q * kv - q * (q - 1) // 2)
                           < made * kv + b * (q * kv - q * (q - 1) // 2)), "random",
     "causal mask shows"),
    ("upside down, the latent once", _rule(lambda q, kv, made, r, b: made * q + r * q * kv
                                           > made * kv + b * q * kv), "by hand", "Two things"),
]  # fmt: skip
