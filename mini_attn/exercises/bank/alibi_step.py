"""Find the bug: ALiBi that forgets the cache."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
This function should return what ALiBi adds to the scores when the queries are the last `q_len` of
`kv_len` tokens: an array `(n_heads, q_len, kv_len)`. It was tested with whole prompts. Find out
when it's wrong, and fix it. Keys ahead of their query get 0, because a mask hides them.
"""
STARTER = '''
def alibi(slopes, q_len, kv_len):
    """ALiBi's bias for the last queries: (n_heads, q_len, kv_len)."""
    distance = np.arange(q_len)[:, None] - np.arange(kv_len)
    return -slopes[:, None, None] * np.maximum(distance, 0)


alibi(np.array([0.5]), 4, 4) + 0.0  # a whole prompt: looks right
'''

Array = np.ndarray


def cases(rng: np.random.Generator) -> Cases:
    """By hand: a whole prompt. The property: fewer queries than keys, as with a cache."""

    def sizes(q_len: int, kv_len: int, n_heads: int) -> Inputs:
        return {"slopes": ma.alibi_slopes(n_heads), "q_len": q_len, "kv_len": kv_len}

    def drawn(q_len: int, kv_len: int, n_heads: int) -> Inputs:
        """Any slopes will do, and nobody knows these by heart."""
        return sizes(q_len, kv_len, n_heads) | {"slopes": rng.uniform(0.01, 0.9, n_heads)}

    return {
        "by hand": [sizes(3, 3, 1)],
        "random": [sizes(5, 5, 8), drawn(4, 4, 3)],
        "property": [sizes(1, 6, 2), drawn(3, int(rng.integers(8, 12)), 4)],
        "edges": [sizes(1, 1, 1), drawn(2, int(rng.integers(30, 50)), 12)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """A number for each head, query and key."""
    return {"bias": ((len(inputs["slopes"]), inputs["q_len"], inputs["kv_len"]), "f")}


def _of(slopes: Array, distance: Array) -> Array:
    return np.asarray(-slopes[:, None, None] * distance)


def _bias(
    inputs: Inputs, *, last: int = 1, off: int = 0, ahead: str = "0", sign: int = 1,
    slopes: Array | None = None,
) -> Array:  # fmt: skip
    """The bias with some of its parts chosen wrongly."""
    q_len, kv_len = inputs["q_len"], inputs["kv_len"]
    start = off + (kv_len - q_len) * last
    distance = start + np.arange(q_len)[:, None] - np.arange(kv_len)
    ways = {"0": np.maximum(distance, 0), "far": np.abs(distance), "less": distance}
    return sign * _of(inputs["slopes"] if slopes is None else slopes, ways[ahead])


def slips(inputs: Inputs) -> Slips:
    """Return what the bias would be with one idea missing, or two."""
    slopes, q_len, kv_len = inputs["slopes"], inputs["q_len"], inputs["kv_len"]
    keys, here = np.arange(kv_len), np.arange(q_len)[:, None]
    places = here + kv_len - q_len
    parts: list[tuple[dict[str, Any], str]] = [
        ({"last": 0}, "You treat the queries as the first tokens. They're the last."),
        ({"last": -1},
         "You moved the queries to the front of the cache. They come after it, so their distances "
         "grow by kv_len - q_len."),
        ({"off": 1}, "Your distances are one too large. A token is at distance 0 from itself."),
        ({"off": -1}, "Your distances are one too small. The token before is at distance 1."),
        ({"sign": -1}, "Your bias is positive, so it would favor far keys. Subtract it."),
        ({"ahead": "far"},
         "You give keys ahead of the query a bias. Theirs is 0: a mask hides them, not ALiBi."),
        ({"ahead": "less"},
         "You give keys ahead of the query a positive bias. Theirs is 0: a mask hides them, not "
         "ALiBi."),
        ({"slopes": np.full_like(slopes, slopes[0])}, "You give all heads the first head's slope."),
        ({"slopes": slopes[::-1]}, "You have the slopes in the wrong order."),
    ]  # fmt: skip
    return [
        (_bias(inputs, last=0),
         "You treat the queries as the first tokens. They're the last. A single query after a "
         "cache "
         "gets a bias of 0 for every key."),
        *with_pairs(partial(_bias, inputs), parts),
        (np.where(places < keys, -np.inf, _of(slopes, places - keys)),
         "You set keys ahead of the query to minus infinity. That's the mask's work. ALiBi adds "
         "0."),
        (_of(-slopes, np.broadcast_to(keys, (q_len, kv_len))),
         "You took slope · key position. The softmax gives the same weights, because each row "
         "differs only by a constant. But return minus slope times distance."),
        (_of(slopes, np.maximum((here if q_len > 1 else places) - keys, 0)),
         "Your function is right for a single query. But you still treat several queries after a "
         "cache as the first tokens."),
        (_of(slopes, np.broadcast_to(kv_len - 1 - keys, (q_len, kv_len))),
         "You give every query the distances of the last one. The query before it is one position "
         "earlier, and so on."),
        (np.where(keys < kv_len - q_len, 0.0, _of(slopes, np.maximum(places - keys, 0))),
         "You give tokens in the cache a bias of 0. They're farther away than the new ones, so "
         "they "
         "get the largest penalty."),
        (_of(2.0 ** (-8 * np.arange(1, len(slopes) + 1) / len(slopes)),
             np.maximum(places - keys, 0)),
         "You compute the slopes anew from the number of heads. Use those that are passed in."),
    ]  # fmt: skip


def right(inputs: Inputs) -> Array:
    """Minus the slope times the distance."""
    q_len, kv_len = inputs["q_len"], inputs["kv_len"]
    bias = ma.alibi_bias(inputs["slopes"], np.arange(kv_len - q_len, kv_len), np.arange(kv_len))
    return np.asarray(bias)


EXERCISE = Exercise(
    id="alibi_step",
    page="position",
    title="The bias that vanished",
    kind="bug",
    groups={"edges": 3},
    minutes=10,
    difficulty=2,
    stage="transfer",
    assessed=True,
    section="With a cache, the query is the last token",
    definition="ALiBi: a penalty that grows",
    complaint=Complaint(
        "positions",
        "Perplexity on whole documents is what the paper says. In chat, long answers wander off, "
        "and the longer the text, the worse.",
        "[keras-hub, pull request 2977](https://github.com/keras-team/keras-hub/pull/2977): "
        "Falcon's bias was built over the length of the query, so with a cache it was zero at "
        "every decode step.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Print the bias for one query and six keys. How far is the first of these keys away?",
        "The queries are the last q_len of kv_len tokens. Give each its true position before you "
        "subtract the positions of the keys.",
    ),
    common_errors=(
        "Testing with whole prompts only, where first and last are the same.",
        "Fixing the case of one query but not that of a chunk.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
)
