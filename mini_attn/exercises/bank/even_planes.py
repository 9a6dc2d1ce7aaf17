"""Make the planes of a head's keys equally large without changing a score."""

from __future__ import annotations

from functools import partial

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.comparing import SINGLE, close
from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips
from mini_attn.exercises.trained import trained_heads

TEXT = """
Remove the large plane before the keys are rounded. `q` and `k`, both `(seq, head_dim)`, are the
queries and keys of one head, not rotated yet; dimensions $i$ and $i + d/2$ make a plane (layout
`half`). Some come from the trained decoder, with a plane enlarged. Return two arrays `q, k` of the
same shapes. In every plane of the new keys, the longest of the `seq` keys has length 1, where the
length in a plane is $\\sqrt{a^2 + b^2}$. And no score changes, once queries and keys have been
rotated to their positions.
"""
STARTER = '''
def even_planes(q, k):
    """Queries and keys: same scores, planes of equal size."""
    raise NotImplementedError
'''
Array = np.ndarray
ONE_FACTOR = "Rotating mixes the two values of a plane, i and i + d/2, so they need one factor."


def _real(rng: np.random.Generator, layer: int, head: int) -> Inputs:
    """A trained head on a story, one of its planes enlarged."""
    q, k, _ = trained_heads(rng, 24, layer=layer, rotated=False)
    own = int(rng.integers(8)) + np.array([0, 8])
    q, k = q[head].copy(), k[head].copy()
    q[:, own], k[:, own] = q[:, own] / 8, k[:, own] * 8
    return {"q": q, "k": k}


def cases(rng: np.random.Generator) -> Cases:
    """By hand: two planes, of length 5 and 1/2. The property: real heads, rotated."""

    def drawn(seq: int, size: int) -> Inputs:
        q, k = rng.standard_normal((2, seq, size))
        return {"q": q, "k": k * 4.0 ** rng.integers(-2, 3, size // 2).repeat(2)}

    hand = {"q": np.array([[1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 0.0, 1.0]]),
            "k": np.array([[3.0, 0.5, 4.0, 0.0], [1.0, 0.25, 0.0, 0.0]])}  # fmt: skip
    return {
        "by hand": [hand],
        "random": [drawn(5, 6), drawn(7, 8)],
        "property": [_real(rng, 0, 1), _real(rng, 1, 3)],
        "edges": [drawn(1, 4), drawn(4, 2), {"q": np.zeros((3, 4)), "k": drawn(3, 4)["k"]}],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """Both as they came."""
    return {name: (inputs[name].shape, "f") for name in ("q", "k")}


def _lengths(k: Array) -> Array:
    """Of each key in each plane, (seq, planes)."""
    half = k.shape[1] // 2
    return np.asarray(np.hypot(k[:, :half], k[:, half:]))


def _scores(q: Array, k: Array, *, turned: bool = True) -> Array:
    """Every query with every key, at positions 0, 1, …."""
    if turned:
        speeds = ma.rope_frequencies(q.shape[1])[0]
        cos, sin = ma.rope_table(np.arange(len(q)), speeds, dtype="float64")
        q, k = (ma.apply_rope(x[None, None], cos, sin, layout="half")[0, 0] for x in (q, k))
    return np.asarray(q @ k.T)


def _same_scores(outputs: Outputs, inputs: Inputs, *, turned: bool = True) -> bool:
    """Return whether they are as before, up to rounding each number of queries and keys."""
    (q, k), (new_q, new_k) = inputs.values(), outputs.values()
    rounded = SINGLE * float((np.abs(q) @ np.abs(k).T).max(initial=0))
    now, before = _scores(new_q, new_k, turned=turned), _scores(q, k, turned=turned)
    return close(now, before, moved=rounded)


def _of_the_scores(inputs: Inputs, outputs: Outputs) -> str | None:
    """Return what is wrong with the scores, or None."""
    (q, k), (new_q, new_k) = inputs.values(), outputs.values()
    if _same_scores(outputs, inputs):
        return None
    if _same_scores(outputs, inputs, turned=False):
        return (
            "Your scores are right as long as nothing is rotated, but they change with the "
            "positions. " + ONE_FACTOR
        )
    if np.array_equal(q, new_q):
        return "You changed the keys but not the queries, so the scores are different now."
    factors = _lengths(new_k) / np.where(_lengths(k), _lengths(k), 1)
    if np.ptp(factors, axis=0).max() > 1e-6:
        return (
            "You gave keys of different tokens different factors. A query meets all of them, so it "
            "can only undo a factor that they share."
        )
    return (
        "Your scores have changed. If you multiply a plane of the keys by a factor, the same "
        "plane of the queries has to be divided by it."
    )


def _of_the_lengths(k: Array, new_k: Array) -> str:
    """Return what is wrong with the lengths of keys whose scores are right."""
    before, longest = (_lengths(x).max(axis=0) for x in (k, new_k))
    kept, half = np.isclose(longest, before), k.shape[1] // 2
    numbers, lengths = np.abs(new_k).max(axis=0), _lengths(new_k)
    ones = [
        (np.maximum(numbers[:half], numbers[half:]),
         "The largest value of each plane is 1 now. Use the length, √(a² + b²), instead: a "
         "rotated key can point anywhere."),
        (np.square(lengths).mean(axis=0),
         "The root mean square is 1 in each plane now. The longest key should have length 1."),
        (lengths.mean(axis=0),
         "The mean length is 1 in each plane now. The longest key should have length 1."),
        (lengths.min(axis=0),
         "The shortest key has length 1 in each plane now. The longest one should."),
        (longest * before,
         "You divided the keys by the squared length, a² + b². Take its root."),
        (longest**2 / before,
         "You divided the keys only by the square root of their largest length. They need the "
         "whole factor, and the queries need its inverse."),
        (np.where(kept, 1.0, longest),
         "You left some planes alone. Every plane needs its own factor."),
    ]  # fmt: skip
    if half > 1 and not kept.all() and np.ptp(longest / before) < 1e-6 * (longest / before).max():
        return "You gave the whole head one factor. Its planes are as unequal as before."
    if not kept.all() and (idea := explain(1.0, ones, partial(np.allclose, rtol=1e-6))):
        return idea
    found = ", ".join(f"{value:.3g}" for value in longest[:4])
    return (
        f"Your scores are right. But the longest keys have lengths {found} … in the planes, not 1."
    )


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea that is missing: about the scores first, then about the lengths."""
    k, new_k = inputs["k"], outputs["k"]
    if idea := _of_the_scores(inputs, outputs):
        return idea
    longest = _lengths(new_k).max(axis=0)
    if close(longest, np.ones(len(longest))):
        return None
    return _of_the_lengths(k, new_k)


def slips(inputs: Inputs) -> Slips:
    """A factor for each number, which is 0 where a number is 0 in all keys."""
    by = np.abs(inputs["k"]).max(axis=0)
    return [({"q": inputs["q"] * by, "k": inputs["k"] / by}, ONE_FACTOR)]


EXERCISE = Exercise(
    id="even_planes",
    page="rope",
    title="Take the outlier out",
    kind="write",
    groups={"random": 1, "property": 2, "edges": 1},
    minutes=15,
    difficulty=3,
    stage="invent",
    assessed=False,
    section="The outlier that no output shows",
    text=TEXT,
    starter=STARTER,
    hints=(
        "A score is a sum over planes. Which change of a plane's key can the same plane of the "
        "query undo, at every distance?",
        "For each plane, take the longest key, np.hypot(a, b).max(axis=0). Divide both values of "
        "the plane by it in the keys, and multiply them by it in the queries.",
    ),
    common_errors=(
        "A factor for each dimension: the scores are only right at distance 0.",
        "A factor for each token: no query can undo it.",
    ),
    cases=cases,
    expected=expected,
    judge=judge,
    slips=slips,
)
