"""Find the bug: attention over blocks of keys that forgets to bring old sums up to date."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn.exercises.complaint import Complaint
from mini_attn.exercises.spec import Cases, Exercise, Inputs, Slips

TEXT = """
This function should compute attention of one head over blocks of keys, so that no more than
`(q_len, block)` scores exist at a time. It passes the one test below it. Find out when it's wrong,
and repair it. `q` is `(q_len, head_dim)`, `k` is `(kv_len, head_dim)`, `v` is
`(kv_len, v_head_dim)`. Return `out` of shape `(q_len, v_head_dim)`. Scores can be in the tens of
thousands, positive or negative.
"""
STARTER = '''
def block_attention(q, k, v, block):
    """Attention of one head, a block of keys at a time."""
    top = np.full(len(q), -np.inf)  # largest score so far
    total, out = np.zeros(len(q)), np.zeros((len(q), v.shape[1]))
    for start in range(0, len(k), block):
        scores = q @ k[start : start + block].T / np.sqrt(q.shape[1])
        top = np.maximum(top, scores.max(axis=1))
        weights = np.exp(scores - top[:, None])
        total = total + weights.sum(axis=1)
        out = out + weights @ v[start : start + block]
    return out / total[:, None]


keys = np.array([[3.0], [2.0], [1.0], [0.0]])  # and their values
block_attention(np.ones((1, 1)), keys, keys, 2)    # looks right
'''


def _drawn(rng: np.random.Generator, q_len: int, kv_len: int, size: int, block: int) -> Inputs:
    draw = rng.standard_normal
    return {
        "q": draw((q_len, size)), "k": draw((kv_len, size)), "v": draw((kv_len, 3)),
        "block": block,
    }  # fmt: skip


def cases(rng: np.random.Generator) -> Cases:
    """By hand: the better key comes in the second block. The property: scores far apart."""
    by_hand = {
        "q": np.array([[2.0, 0.0]]),
        "k": np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.0, 2.0]]),
        "v": np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 4.0], [3.0, 0.0, 0.0], [0.0, 2.0, 1.0]]),
        "block": 2,
    }  # fmt: skip
    huge = _drawn(rng, 3, 12, 4, 4)
    huge["k"] *= np.linspace(1, 600, 12)[:, None]
    low = _drawn(rng, 2, 6, 4, 2)
    low["q"], low["k"] = np.abs(low["q"]) + 1, -300 * (np.abs(low["k"]) + 1)
    falling = _drawn(rng, 3, 12, 4, 4)
    falling["q"], falling["k"] = np.abs(falling["q"]) + 1, np.abs(falling["k"]) + 1
    falling["k"][:6] *= 1000
    apart = _drawn(rng, 2, 6, 4, 2)
    apart["q"] = np.array([[1.0], [-1.0]]) * (np.abs(apart["q"]) + 1)
    apart["k"] = 500 * (np.abs(apart["k"]) + 1)
    rising = _drawn(rng, 2, 6, 1, 3)  # row 0 stays where it began, row 1 rises out of reach
    rising["q"], rising["k"] = np.array([[1.0], [-1.0]]), 800 - 600.0 * np.arange(6)[:, None]
    deep = _drawn(rng, 2, 6, 1, 3)  # all scores of row 0 are far below any number one would guess
    deep["q"], deep["k"] = np.array([[1.0], [1e-4]]), -20_000 - np.arange(6.0)[:, None]
    return {
        "by hand": [by_hand],
        "random": [_drawn(rng, 3, 8, 4, 2), _drawn(rng, 2, 9, 5, 3)],
        # And a row of keys so long that all scores at once are seen to take room.
        "property": [
            huge, low, falling, apart, rising, deep, _drawn(rng, 64, 1024, 4, 8),
        ],
        # A last block that is not full, one block, more room than keys, one key.
        "edges": [
            _drawn(rng, 4, 7, 3, 3), _drawn(rng, 2, 5, 4, 5), _drawn(rng, 2, 3, 4, 8),
            _drawn(rng, 1, 1, 2, 1),
        ],
    }  # fmt: skip


def expected(inputs: Inputs) -> dict[str, tuple[tuple[int, ...], str]]:
    """One output row for each query."""
    return {"out": ((len(inputs["q"]), inputs["v"].shape[1]), "f")}


def room(inputs: Inputs) -> tuple[int, str]:
    """Half of what the scores of all keys take; short rows do not matter."""
    rows, keys = len(inputs["q"]), len(inputs["k"])
    return max(4 * rows * keys, 200_000), (
        f"You hold the scores of all {keys:,} keys at the same time, for {rows} queries. The task "
        f"allows those of one block of {inputs['block']}."
    )


def _tops(top: np.ndarray, scores: np.ndarray) -> dict[str, np.ndarray]:
    """Return what may be subtracted from the scores of a block: the first is right."""
    return {
        "first": np.where(np.isfinite(top), top, scores.max(axis=1)),
        "so far": np.maximum(top, scores.max(axis=1)), "block": scores.max(axis=1),
        "shared": np.full(len(top), max(top.max(), scores.max())), "none": np.zeros(len(top)),
    }  # fmt: skip


def _blocked(
    inputs: Inputs, *, keep_total: str = "right", keep_out: str = "right", rule: str = "so far",
    begin: float = -np.inf,
) -> np.ndarray:  # fmt: skip
    """The loop over blocks, with the old sums brought up to date in one way or another."""
    q, k, v, block = (inputs[key] for key in ("q", "k", "v", "block"))
    top = np.full(len(q), begin)
    total, out = np.zeros(len(q)), np.zeros((len(q), v.shape[1]))
    for start in range(0, len(k), block):
        scores = q @ k[start : start + block].T * q.shape[1] ** -0.5
        new_top = _tops(top, scores)[rule]
        weights = np.exp(scores - new_top[:, None])
        factor = np.exp(top - new_top)
        with np.errstate(over="ignore"):
            grown = np.where(np.isfinite(top), np.exp(new_top - top), 0.0)
        keep = {"right": factor, "not": np.ones_like(factor), "grown": grown}
        total = total * keep[keep_total] + weights.sum(axis=1)
        out = out * keep[keep_out][:, None] + weights @ v[start : start + block]
        top = new_top
    return out / total[:, None]


def _each_alone(inputs: Inputs, blocks: list[slice]) -> np.ndarray:
    """The mean of the blocks' own outputs."""
    q, k, v = inputs["q"], inputs["k"], inputs["v"]
    scale = q.shape[1] ** -0.5
    parts = [ma.softmax(q @ k[part].T * scale) @ v[part] for part in blocks]
    return np.mean(parts, axis=0)


def slips(inputs: Inputs) -> Slips:
    """Return what the output would be with one idea missing."""
    k, block = inputs["k"], inputs["block"]
    blocks = [slice(start, start + block) for start in range(0, len(k), block)]
    whole = len(k) // block * block
    cut = {**inputs, "k": k[:whole], "v": inputs["v"][:whole]}
    plain = {**inputs, "q": inputs["q"] * inputs["q"].shape[1] ** 0.5}
    return [
        (_blocked(inputs, keep_total="not", keep_out="not"),
         "When a larger score comes, your old sums are still relative to the old maximum. Old and "
         "new sums need the same one, so rescale the old sums."),
        (_blocked(inputs, keep_total="not"),
         "You rescale out to the new maximum, but not the total. The quotient mixes two maxima."),
        (_blocked(inputs, keep_out="not"),
         "You rescale the total to the new maximum, but not out. The quotient mixes two maxima."),
        (_each_alone(inputs, blocks),
         "You normalize each block by itself and then average the blocks. A block with small "
         "scores "
         "should count less, so normalize once, at the end."),
        (_blocked(cut) if whole else np.full_like(_blocked(inputs), np.nan),
         "You left out the last keys. The last block can hold fewer than the others."),
        (_each_alone(inputs, blocks[-1:]), "Only the last block is in your result. Add to the sums "
         "of the earlier blocks instead of replacing them."),
        (_blocked(plain), "You lost the scale 1 / √head_dim."),
        (_blocked(inputs, keep_total="grown", keep_out="grown"),
         "Your factor is upside down. When the maximum grows, the old sums shrink: e to the old "
         "maximum minus the new one."),
        (_blocked(inputs, rule="none"),
         "You don't subtract a maximum, so large scores overflow and very low ones become 0."),
        (_blocked(inputs, rule="first"),
         "You subtract the first block's maximum from every block. Where a later block has much "
         "larger scores, the exponentials overflow. Update the maximum as you go."),
        (_blocked(inputs, begin=-1e4),
         "Your maximum starts at a finite number. Where all scores are far below it, all weights "
         "become 0. Start at −inf."),
        (_blocked(inputs, rule="block"),
         "Your maximum falls where a block has smaller scores, and then the factor overflows. Keep "
         "the largest score so far."),
        (_blocked(inputs, rule="shared"),
         "All your queries share one maximum. Where a query's own scores are far below it, its "
         "weights all become 0. Every query needs its own."),
    ]  # fmt: skip


def right(inputs: Inputs) -> np.ndarray:
    """Attention, block by block."""
    return _blocked(inputs)


EXERCISE = Exercise(
    id="block_softmax",
    page="attention-cost",
    title="One block after another",
    kind="bug",
    groups={"edges": 4},
    minutes=12,
    difficulty=2,
    stage="transfer",
    assessed=True,
    section="In tiles: exact, with linear memory",
    complaint=Complaint(
        "softmax",
        "With one large block, the output is right. With small blocks, it's close for some "
        "prompts and far off for others.",
        "Similar: [rocm-libraries, pull request 7194]("
        "https://github.com/ROCm/rocm-libraries/pull/7194): where a kernel skipped a "
        "rescale, the new weights and the sum so far were taken against different maxima.",
    ),
    text=TEXT,
    starter=STARTER,
    hints=(
        "Follow one query over two blocks, the larger score in the second. Against which maximum "
        "were the first block's exponentials taken?",
        "Keep the old maximum until you know the new one. exp(score − new) is exp(score − old) "
        "times one factor, the same for all old scores. Put it on both sums.",
    ),
    common_errors=(
        "Testing with the best key first: then nothing ever has to be rescaled.",
        "Leaving the maximum out: right for small scores, overflow for large ones.",
        "Starting it at a number that some scores are below.",
    ),
    cases=cases,
    expected=expected,
    right=right,
    slips=slips,
    room=room,
)
