"""Find the bug: an intensity that is 1 for every model."""

from __future__ import annotations

from functools import partial

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
A tool prints how many FLOPs the attention of a decode step does per byte of cache. With 2 bytes
per value, it prints 1 for every model. Find out why, and fix it. `n_kv_heads` is an array with
several numbers of key/value heads. Return one intensity for each.
"""
STARTER = '''
def attention_intensity(
    n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes
):
    """FLOPs of scores and weighted sum per byte of keys and values."""
    flops = 2 * 2 * n_heads * head_dim * kv_len
    moved = 2 * n_heads * head_dim * kv_len * dtype_bytes
    return np.full(n_kv_heads.shape, flops / moved)


attention_intensity(np.array([32.0]), 32, 128, 8192, 2)  # looks right
'''

_close = partial(close, relative=True)


def _case(n_heads: int, kv: list[int], head_dim: int, kv_len: int, each: int) -> Inputs:
    return {
        "n_kv_heads": np.array(kv, dtype=float), "n_heads": n_heads, "head_dim": head_dim,
        "kv_len": kv_len, "dtype_bytes": each,
    }  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: 8 query heads on 8, 2 and 1. The property: lengths and sizes cancel."""
    drawn = []
    for _ in range(4):
        kv, group = int(rng.integers(1, 9)), int(rng.integers(2, 9))
        size, length = int(rng.integers(8, 200)), int(rng.integers(1, 5000))
        drawn.append(_case(kv * group, [kv], size, length, int(rng.choice([1, 2, 4]))))
    return {
        "by hand": [_case(8, [8, 2, 1], 4, 10, 4)],
        "random": drawn,
        "property": [
            _case(32, [32, 8, 4, 1], 128, length, 4)
            for length in (1, 100, int(rng.integers(4000, 9000)))
        ],
        "edges": [_case(1, [1], 1, 1, 1), _case(71, [71, 1], 64, int(rng.integers(2, 9)), 2)],
    }


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One intensity for each number of key/value heads."""
    return {"intensity": (inputs["n_kv_heads"].shape, "f")}


def slips(inputs: Inputs) -> Slips:
    """Return what comes out with one idea missing."""
    kv, heads, each = (inputs[name] for name in ("n_kv_heads", "n_heads", "dtype_bytes"))
    intensity = right(inputs)
    return [
        (np.full_like(kv, 2 / each),
         "You count the same heads in FLOPs and bytes, so every variant looks like multi-head "
         "attention. All query heads compute, but only the key/value heads are cached and read."),
        (np.full_like(kv, heads * 2 / each),
         f"You read one key/value head, whatever n_kv_heads says. Read {kv[0]:.0f} of them."),
        (intensity / 2,
         "You're missing a factor of 2 in the FLOPs. A multiply-add counts as two, and there are "
         "scores and a weighted sum."),
        (intensity * 2,
         "You're missing a factor of 2 in the bytes. A step reads keys and values."),
        (intensity * each, "That's FLOPs per value. A value has dtype_bytes bytes."),
        (1 / intensity, "Your quotient is upside down. We want FLOPs per byte."),
        (intensity / heads, "You counted the FLOPs of one query head. Count all of them."),
        (np.full_like(kv, intensity[0]),
         "You used the first number of heads for all. Each has its own bytes."),
        (np.full_like(kv, 2 * heads / kv.mean() / each),
         "That's the intensity for the mean number of heads. Return one for each number."),
        (heads / kv,
         "That's the size of a group. It's right at 2 bytes per value, but a value has dtype_bytes "
         "bytes."),
        (4 * heads / (kv + heads) / each,
         "You shared only the keys or only the values. Both have n_kv_heads heads."),
        (intensity / inputs["kv_len"],
         "You counted the cached tokens only in the bytes. Each of them takes FLOPs too."),
        (intensity * inputs["kv_len"],
         "You counted the cached tokens only in the FLOPs. Each of them has bytes too."),
        (np.floor(intensity), "You rounded down. An intensity doesn't have to be an integer."),
        (2 * heads / (kv + heads / inputs["kv_len"]) / each,
         "You counted queries and outputs in the bytes. Only keys and values are in the cache."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """FLOPs over bytes."""
    kv, heads, each = (inputs[name] for name in ("n_kv_heads", "n_heads", "dtype_bytes"))
    return np.asarray(2 * heads / kv / each)


EXERCISE = Exercise(
    id="attention_intensity",
    page="decoding-roofline",
    title="An intensity that's always 1",
    kind="bug",
    groups={"edges": 3},
    minutes=8,
    difficulty=1,
    stage="transfer",
    assessed=True,
    section="Each sequence reads its own cache",
    complaint=Complaint(
        "numbers",
        "Your tool says 1 FLOP per byte for a model with 32 key/value heads, and the same for "
        "one with 8. I measured more on the second.",
        "[LLM-Viewer, issue 12](https://github.com/hahnyuan/LLM-Viewer/issues/12): the bytes "
        "read from the cache counted the query heads, even in models that share key/value heads.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Which of the two, the FLOPs or the bytes, depends on how many query heads share a "
        "key/value head?",
        "For the FLOPs, every query head meets every token, once for the scores and once for the "
        "weighted sum. For the bytes, only the cache counts, and it has n_kv_heads heads.",
    ),
    common_errors=(
        "Testing with as many key/value heads as query heads, where the bug is invisible.",
        "Dividing the FLOPs by the group size too, which hides the gain again.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
)
