"""Find the bug: an intensity that is 1 for every model."""

from __future__ import annotations

from functools import partial

import numpy as np

from mini_attn.exercises.comparing import close
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
A tool prints how many FLOPs the attention of a decode step does for each byte of cache, and with 2
bytes per number it prints 1 for every model. Find out why, and repair it. `n_kv_heads` is an array
with several numbers of key/value heads; return one intensity for each.
"""
STARTER = '''
def attention_intensity(n_kv_heads, n_heads, head_dim, kv_len, dtype_bytes):
    """FLOPs of scores and weighted sum for each byte of keys and values."""
    flops = 2 * 2 * n_heads * head_dim * kv_len
    moved = 2 * n_heads * head_dim * kv_len * dtype_bytes
    return np.full(n_kv_heads.shape, flops / moved)


attention_intensity(np.array([32.0]), 32, 128, 8192, 2)  # MHA: looks right
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
         "FLOPs and bytes count the same heads, so every variant looks like multi-head attention. "
         "All query heads compute; only the key/value heads are cached and read."),
        (np.full_like(kv, heads * 2 / each),
         f"One key/value head is read, whatever n_kv_heads says: {kv[0]:.0f} of them are."),
        (intensity / 2,
         "A factor 2 is missing in the FLOPs: a multiply-add counts as two, and there are scores "
         "and a weighted sum."),
        (intensity * 2,
         "A factor 2 is missing in the bytes: keys and values are both read."),
        (intensity * each, "That is FLOPs for each number. A number has dtype_bytes bytes."),
        (1 / intensity, "The quotient is upside down: FLOPs for each byte."),
        (intensity / heads, "The FLOPs are those of one query head: all of them ask."),
        (np.full_like(kv, intensity[0]),
         "The first number of heads is used for all. Each has bytes of its own."),
        (np.full_like(kv, 2 * heads / kv.mean() / each),
         "That is the intensity for the mean number of heads. Return one for each number."),
        (heads / kv,
         "That is the size of a group, which happens to be right at 2 bytes a number. A number has "
         "dtype_bytes bytes."),
        (4 * heads / (kv + heads) / each,
         "Only one of keys and values is shared here. Both have n_kv_heads heads."),
        (intensity / inputs["kv_len"],
         "The cached tokens are counted in the bytes alone. Every one of them takes FLOPs too."),
        (intensity * inputs["kv_len"],
         "The cached tokens are counted in the FLOPs alone. Every one of them has bytes too."),
        (np.floor(intensity), "The quotient is rounded down. An intensity need not be whole."),
        (2 * heads / (kv + heads / inputs["kv_len"]) / each,
         "Queries and outputs are counted in the bytes. Only keys and values are in the cache."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """FLOPs over bytes."""
    kv, heads, each = (inputs[name] for name in ("n_kv_heads", "n_heads", "dtype_bytes"))
    return np.asarray(2 * heads / kv / each)


EXERCISE = Exercise(
    id="attention_intensity",
    page="decoding-roofline",
    title="An intensity that is always 1",
    kind="bug",
    groups={"edges": 3},
    minutes=8,
    difficulty=1,
    stage="transfer",
    assessed=True,
    section="Each sequence reads its own cache",
    text=TEXT,
    starter=STARTER,
    hints=(
        "Which of the two, the FLOPs or the bytes, depends on how many query heads share a "
        "key/value head?",
        "FLOPs: every query head meets every token, once for the scores and once for the weighted "
        "sum. Bytes: what lies in the cache, and that has n_kv_heads heads.",
    ),
    common_errors=(
        "Testing with as many key/value heads as query heads, where the bug is invisible.",
        "Dividing the FLOPs by the group as well, which hides the gain again.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    same=_close,
)
