"""Find the bug: keys that keep their own base step."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

import mini_attn.numpy as ma
from mini_attn.config import DynamicNTK
from mini_attn.exercises.comparing import wrong_along
from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Outputs, Slips

TEXT = """
This is a decode step under dynamic NTK (factor 1, trained on 4 tokens, base 100, layout `half`).
`q` is the unrotated query of the newest token, `(head_dim,)`; `k` holds the unrotated keys of all
tokens, `(kv_len, head_dim)`, the newest included. It's right for texts up to four tokens. Find
out what's wrong with longer ones, and repair it. Return the scaled scores `(kv_len,)`.
"""
STARTER = '''
def rotate(x, position, seq_len):
    """x rotated as a text of seq_len tokens asks for."""
    growth = max(seq_len, 4) / 4
    size = len(x)
    base = 100.0 * growth ** (size / (size - 2))
    angle = position * base ** (-np.arange(0, size, 2) / size)
    a, b = x[: size // 2], x[size // 2 :]
    cos, sin = np.cos(angle), np.sin(angle)
    return np.concatenate([a * cos - b * sin, a * sin + b * cos])


def dynamic_scores(q, k):
    """Scores of the newest query for all keys."""
    q = rotate(q, len(k) - 1, seq_len=len(k))
    cache = [rotate(row, j, seq_len=j + 1) for j, row in enumerate(k)]
    return np.stack(cache) @ q / np.sqrt(len(q))
'''

THETA, TRAINED = 100.0, 4
Places = Sequence[int] | None


def cases(rng: np.random.Generator) -> Cases:
    """By hand: as long as in training. The property: beyond it only distances count."""
    drawn: Cases = {"by hand": [], "random": [], "property": [], "edges": []}
    for group, sizes in {
        "by hand": [(6, 4)],
        "random": [(9, 4), (12, 8)],
        "edges": [(1, 4), (4, 8)],
    }.items():
        for kv_len, size in sizes:
            k = rng.standard_normal((kv_len, size))
            drawn[group].append({"q": rng.standard_normal(size), "k": k})
    same = np.tile(rng.standard_normal(6), (10, 1))  # one key ten times
    drawn["property"] = [{"q": same[0].copy(), "k": same}]
    return drawn


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One score for each key."""
    return {"scores": ((len(inputs["k"]),), "f")}


def _frequencies(size: int, seq_len: int) -> np.ndarray:
    rule = DynamicNTK(1.0, TRAINED)
    return ma.rope_frequencies(size, theta=THETA, scaling=rule, seq_len=seq_len)[0]


def _turn(x: np.ndarray, position: int, inv_freq: np.ndarray) -> np.ndarray:
    tables = ma.rope_table(np.array([position]), inv_freq, dtype="float64")
    return np.asarray(ma.apply_rope(x[None, None, None], *tables, layout="half"))[0, 0, 0]


def _scores(
    inputs: Inputs, query: int, keys: list[int], *, at: int = 0, places: Places = None
) -> np.ndarray:
    """Scores with frequencies for `query` tokens in the query and `keys[j]` in key j.

    The query stands `at` places further on, and the keys at `places`.
    """
    k, size = inputs["k"], len(inputs["q"])
    places = range(len(k)) if places is None else places
    q = _turn(inputs["q"], at + len(k) - 1, _frequencies(size, query))
    turned = [_turn(row, place, _frequencies(size, n))
              for row, place, n in zip(k, places, keys, strict=True)]  # fmt: skip
    return np.stack(turned) @ q / size**0.5


def right(inputs: Inputs) -> np.ndarray:
    """All rotated by the rule of the present length."""
    kv_len = len(inputs["k"])
    return _scores(inputs, kv_len, [kv_len] * kv_len)


def _slips_of_counting(inputs: Inputs) -> Slips:
    """Return the scores with one place or one token more or less, or rotated twice."""
    kv_len = len(inputs["k"])
    before = max(kv_len - 1, 1)
    now, size = [kv_len] * kv_len, len(inputs["q"])
    old = [_turn(row, j, _frequencies(size, j + 1)) for j, row in enumerate(inputs["k"])]
    return [
        (_scores(inputs, kv_len, now, places=range(1, kv_len + 1)),
         "Your keys are one position too far. Positions count from 0, so key j is at position j."),
        (_scores(inputs, kv_len, now, at=1),
         "Your query is one position too far. The newest of n tokens is at position n − 1."),
        (_scores(inputs, kv_len, now, at=1 - kv_len),
         "You don't rotate the query. It's at the newest position, not at 0."),
        (_scores(inputs, kv_len, now, places=[0] * kv_len),
         "You don't rotate the keys. Rotate each to its own position."),
        (right(inputs) * (size / kv_len) ** 0.5,
         "You divide the scores by the root of the number of keys. Use head_dim instead."),
        (_scores(inputs, kv_len, [kv_len + 1] * kv_len),
         "You rotate the keys for one more token than the query. Both need the current length."),
        (_scores(inputs | {"k": np.stack(old)}, kv_len, now),
         "You rotate the keys twice, with the old base and with the current one. k holds them "
         "unrotated, so rotate them once."),
        (_scores(inputs, kv_len + 1, [kv_len + 1] * kv_len),
         "You use the base of one more token. The current length is the number of keys."),
        (_scores(inputs, before, [before] * kv_len),
         "You use the base of one token less. The new token counts."),
        (right(inputs)[::-1], "Your scores are right but in the wrong order. Key 0 comes first."),
    ]  # fmt: skip


def slips(inputs: Inputs) -> Slips:
    """Return the scores with one idea missing, or with two rotated by different rules."""
    kv_len, root = len(inputs["k"]), len(inputs["q"]) ** 0.5
    now, old = [kv_len] * kv_len, [TRAINED] * kv_len
    come, before = [j + 1 for j in range(kv_len)], max(kv_len - 1, 1)
    unlike = "You rotate keys and query with different bases: "
    return [
        (_scores(inputs, kv_len, come),
         "You rotate each key with the base of the step in which it came, and the query with the "
         "current one. Their score then doesn't depend only on the distance. Which base do all "
         "keys need now?"),
        (_scores(inputs, TRAINED, old),
         "Your base doesn't grow. Beyond the training context, it follows the number of tokens."),
        (_scores(inputs, kv_len, old),
         f"{unlike}the keys with the training base, the query with the current one. Both need the "
         "same."),
        (_scores(inputs, TRAINED, now),
         f"{unlike}the query with the training base, the keys with the current one. Both need the "
         "same."),
        (_scores(inputs, TRAINED, come),
         f"{unlike}each key with the base of the step in which it came, the query with the "
         "training base. Which base do all need now?"),
        (_scores(inputs, kv_len, [before] * (kv_len - 1) + [kv_len]),
         f"{unlike}the keys from the cache with the base of the step before, the new key and the "
         "query with the current one."),
        (_scores(inputs, before, now),
         f"{unlike}the query with the base of the step before, the keys with the current one."),
        (_scores(inputs, kv_len, [before] * kv_len),
         f"{unlike}the keys with the base of one token fewer. Both need the current length, the "
         "newest token included."),
        (_scores(inputs, kv_len, [TRAINED] * min(TRAINED, kv_len) + now[TRAINED:]),
         f"{unlike}the first keys keep the training base. Once the text outgrows it, the base "
         "changes for all keys, the oldest too."),
        (right(inputs) * root, "You don't divide the scores by the root of head_dim."),
        (np.array([_scores(inputs, j + 1, [j + 1] * kv_len)[j] for j in range(kv_len)]),
         "You rotate the query with each key's old base. Then the pairs agree, but a distance "
         "means something else for every key. All need one base, that of the current length."),
        (inputs["k"] @ inputs["q"] / root,
         "Your scores don't depend on positions: nothing is rotated, or the query and all keys by "
         "the same angle. Each key has its own position."),
        *_slips_of_counting(inputs),
    ]  # fmt: skip


def symptom(inputs: Inputs, outputs: Outputs) -> str:
    """Say which keys are wrong."""
    wrong = list(map(str, wrong_along(outputs["scores"], right(inputs))))
    which = "key" if len(wrong) == 1 else "keys"
    return f"Of {len(inputs['k'])} keys, your scores are wrong for {which} {', '.join(wrong)}."


EXERCISE = Exercise(
    id="stale_keys",
    page="rope-scaling",
    title="The keys that went stale",
    kind="bug",
    groups={"edges": 4},
    minutes=15,
    difficulty=3,
    stage="transfer",
    assessed=False,
    section="Keys that go stale",
    definition="Dynamic NTK",
    complaint=Complaint(
        "positions",
        "Up to the training length, it matches the reference. Beyond that, the scores drift off, "
        "further with each token.",
        "[transformers, issue 25104](https://github.com/huggingface/transformers/issues/25104): "
        "under dynamic NTK, cached keys kept the base of the length at which they were written.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Print the base that rotates each key, and the one that rotates the query.",
        "The current length decides, the same for the query and for every key. Keep the keys "
        "unrotated, and rotate all of them again in each step.",
    ),
    common_errors=(
        "Testing only with texts up to the training context, where the base never changes.",
        "Rotating the old keys with the training base: better for short texts, but still not the "
        "query's base.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    symptom=symptom,
)
