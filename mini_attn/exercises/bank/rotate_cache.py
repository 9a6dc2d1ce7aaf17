"""Bring cached keys, which are rotated already, from one set of frequencies to another."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import mini_attn.numpy as ma
from mini_attn import config
from mini_attn.exercises.comparing import close
from mini_attn.exercises.guesses import with_pairs
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips
from mini_attn.exercises.trained import trained_heads

TEXT = """
A text has outgrown its model, and from now on we use another scaling method. The keys in the cache
were rotated to their positions with the old frequencies, and we have no unrotated copy. Bring them
to the new frequencies. `k` has the shape `(kv_len, head_dim)`, one cached key per row (some cases
are the trained decoder's), `positions` has the shape `(kv_len,)`, and `old` and `new` hold radians
per token for each plane, `(head_dim / 2,)`. The layout is `half`. Return the keys as if they had
been rotated with the new frequencies from the start. The first tokens of a text may have left the
cache.
"""
STARTER = '''
def rotate_cache(k, positions, old, new):
    """Cached keys at other frequencies: (kv_len, head_dim)."""
    raise NotImplementedError
'''
Array = np.ndarray


def _turned(x: Array, angles: Array) -> Array:
    """Rows rotated by angles (kv_len, planes), layout half."""
    cos, sin = np.cos(angles), np.sin(angles)
    return np.asarray(ma.apply_rope(x[None, None], cos, sin, layout="half")[0, 0])


def _real(rng: np.random.Generator, rule: config.RopeScaling, first: int = 0) -> Inputs:
    """Keys of a trained head on a story, from some word on."""
    _, k, _ = trained_heads(rng, 40)
    speeds = (ma.rope_frequencies(16, scaling=which)[0] for which in (None, rule))
    names = dict(zip(("old", "new"), speeds, strict=True))
    return {"k": k[1, first:].copy(), "positions": np.arange(first, 40), **names}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: 90 degrees per position become 30. The property: real keys, the first ones gone."""

    def drawn(positions: Array, planes: int) -> Inputs:
        k = rng.standard_normal((len(positions), 2 * planes))
        old, new = rng.uniform(0.05, 1.0, (2, planes))
        return {"k": k, "positions": positions, "old": old, "new": new}

    hand = {"k": np.array([[1.0, 0.0], [0.0, 2.0]]), "positions": np.arange(2),
            "old": np.array([np.pi / 2]), "new": np.array([np.pi / 6])}  # fmt: skip
    same = drawn(np.arange(4), 2)
    return {
        "by hand": [hand],
        "random": [drawn(np.arange(5), 2), drawn(np.arange(6), 4),
                   _real(rng, config.NTKAware(4.0))],
        "property": [_real(rng, config.YaRN(4.0, 256), first=9),
                     _real(rng, config.PositionInterpolation(4.0), first=20)],
        "edges": [drawn(np.array([31]), 3), drawn(rng.permutation(50)[:5], 2),
                  same | {"new": same["old"]}],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """As many keys as came."""
    return {"k": (inputs["k"].shape, "f")}


def right(inputs: Inputs) -> Array:
    """Rotated on by the new angle minus the old one."""
    k, positions, old, new = inputs.values()
    return _turned(k, positions[:, None] * (new - old))


def _moved(
    inputs: Inputs,
    *,
    speeds: str = "new − old",
    places: str = "given",
    layout: str = "half",
    form: str = "turn",
) -> Array:
    """The keys at the new speeds, or what they become by another choice."""
    k, given, old, new = inputs.values()
    rate = {
        "new − old": new - old, "new": new, "−old": -old, "old − new": old - new, "−new": -new,
        "new + old": new + old, "new / old": new / old,
    }[speeds]  # fmt: skip
    count = np.ones(len(k))
    at = {
        "given": given, "rows": np.arange(len(k)), "left": given - given[0], "one": count,
        "last": given.max() * count, "back": given - given.max(),
    }[places]  # fmt: skip
    angles = at[:, None] * rate
    cos, sin = np.cos(angles), np.sin(angles)
    a, b = (k[:, 0::2], k[:, 1::2]) if layout == "neighbors" else np.hsplit(k, 2)
    first = a * cos - b * sin
    turned = {
        "turn": (first, a * sin + b * cos),
        "new": (first, first * sin + b * cos),
        "plus": (a * cos + b * sin, a * sin + b * cos),
    }[form]
    if layout == "half":
        return np.concatenate(turned, axis=1)
    return np.stack(turned, axis=2).reshape(k.shape)


def slips(inputs: Inputs) -> Slips:
    """Return what the keys would be with one idea missing, or two."""
    k, positions, old, new = inputs.values()
    angles = positions[:, None] * np.repeat(new - old, 2)
    a, b = np.hsplit(k, 2)
    repeated = k * np.cos(angles) + np.concatenate([-b, a], axis=1) * np.sin(angles)
    return [
        (k, "You return the keys unchanged."),
        *with_pairs(partial(_moved, inputs), MISTAKES),
        (k * np.tile(new / old, 2), "You multiplied the keys. A slower plane rotates less, but "
         "its keys don't change their length."),
        (repeated, "You rotate the two values of a plane by different angles: your angles are laid "
         "out for neighbors. In the layout `half`, i and i + d/2 make a plane."),
    ]  # fmt: skip


MISTAKES: list[tuple[dict[str, Any], str]] = [
    ({"speeds": "new"},
     "You put the new angle on top of the old one. Cached keys are rotated already."),
    ({"speeds": "−old"}, "You rotated the keys back, but not forward again."),
    ({"speeds": "old − new"},
     "You rotated the keys the wrong way. They have to end at the new angle, so rotate them by "
     "the new minus the old."),
    ({"speeds": "−new"},
     "You rotated the keys back by the new angle. They carry the old one: take that off, and put "
     "the new one on."),
    ({"places": "rows"},
     "You counted rows from 0. A key's angle follows its position in the text, and the first "
     "tokens have left the cache."),
    ({"speeds": "new / old"}, "You divided frequencies. Angles add up, so rotate by a difference."),
    ({"speeds": "new + old"},
     "You added the old angle once more. Take it off: rotate by a difference."),
    ({"layout": "neighbors"},
     "You rotate neighbors together. In the layout `half`, i and i + d/2 make a plane."),
    ({"layout": "woven"}, "You return the values of a key in the order of another layout."),
    ({"places": "left"},
     "You counted positions from the first key that's left. Use them as given: the keys were "
     "rotated by them."),
    ({"places": "back"},
     "You counted positions back from the newest key. Use them as given: the keys were rotated by "
     "them, and the next query will be."),
    ({"places": "one"},
     "You rotate every key as if it were at position 1. Frequencies are angles per token, so "
     "multiply them by the positions."),
    ({"places": "last"}, "You rotate all keys as if they were at the last position."),
    ({"form": "new"},
     "You compute the second half from the first after it was overwritten. Both need the old "
     "values."),
    ({"form": "plus"},
     "Your two sines have the same sign. A rotation subtracts one: a cos − b sin, a sin + b cos."),
]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say whether lengths or angles are wrong."""
    if not close(np.square(outputs["k"]).sum(1), np.square(inputs["k"]).sum(1)):
        return "The lengths of your keys have changed. Rotating doesn't change them."
    return (
        "Your lengths are right, but the angles aren't. By which angle is each plane of a key "
        "rotated now, and by which should it be?"
    )


EXERCISE = Exercise(
    id="rotate_cache",
    page="rope-scaling",
    title="Move a cache to another method",
    kind="write",
    groups={"random": 2, "property": 1, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="Keys that go stale",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Two rotations in a row are one rotation by the sum of the angles. What's missing from "
        "the old angle to the new one?",
        "Rotate plane i of the key at position p by p * (new[i] − old[i]): one table of cosines "
        "and sines, and the two halves of the key.",
    ),
    common_errors=(
        "Rotating by the new angle, although the old one is in the keys already.",
        "Counting positions from 0 where the cache has lost its first tokens.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
