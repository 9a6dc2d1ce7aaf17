"""The predictions of the chapter on which keys may stay: blocks, sinks, and what is evicted."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _strided() -> Question:
    tokens, stride, block = 64, 8, 8
    at = np.arange(tokens)
    mask = ma.strided_mask(at, at, stride)
    seen, whole = ma.count_blocks(mask, block, block)
    side = tokens // block
    eighth = (
        f"You took an eighth of the {seen} blocks. An eighth of the pairs is left, but where are "
        f"they? "
        "A block is computed if there is one pair in it."
    )
    return Question(
        key="fewer-keys/strided",
        text=f"Each of {tokens} tokens attends to itself and to every {stride}th token before it, "
            f"so "
        f"about one pair in {stride} of the triangle is left. A kernel walks over the score matrix "
        f"in blocks of {block} × {block} and skips fully masked ones. How many blocks does it "
        "compute?",
        answer=seen,
        unit="blocks",
        kind="count",
        explanation=f"Every block on the diagonal or below it has {block} pairs, one in each row: "
        f"{side} × {side + 1} / 2 = {seen}. The kernel can't skip any block of a causal mask.",
        mistakes=(
            Mistake(whole, "You counted blocks above the diagonal. They only hold later tokens."),
            Mistake(seen - side, "You left out the diagonal blocks: each token attends to itself."),
            Mistake(side, f"{side} is an eighth of all blocks, and that many are on the diagonal. "
                    "But a block is computed if there is one pair in it: look at a block below "
                    "the diagonal."),
            Mistake(seen / stride, eighth),
            Mistake(seen // stride, eighth),
            Mistake(seen // stride + 1, eighth),
            Mistake(2 * side - 1, "Those are the blocks on the diagonal and just below it, as for "
                    "a window. Strides go back to the first token."),
            Mistake(whole // 2, "You took half of the matrix, but the diagonal blocks count in "
                    "full: 1 in the first row, 2 in the second, and so on."),
            Mistake(int(mask.sum()), "Those are the pairs. We asked for blocks."),
        ),
    )  # fmt: skip


def _sink() -> Question:
    weight = 0.95
    answer = round(1 / (1 - weight))
    return Question(
        key="fewer-keys/sink",
        text=f"A head with nothing to look for gives {weight:.0%} of its weight to the first "
            f"token. "
        "Then that token's key is evicted, and all other scores stay the same. By what factor do "
        "the other weights grow?",
        answer=answer,
        unit="times",
        kind="ratio",
        tolerance=0.005,
        explanation=f"The others had {1 - weight:.0%} together and now share everything. Each "
        f"weight is divided by {1 - weight:.2f}, a factor of {answer}.",
        mistakes=(
            Mistake(round(weight / (1 - weight)), "You divided the evicted weight by the rest. The "
                "rest becomes "
                    "everything: 1, not 0.95."),
            Mistake(1, "A softmax always sums to 1, so the others get what the key had."),
            Mistake(1 + weight, "You gave the free weight to each of them. They share it in "
                    "proportion to what they had."),
            Mistake(round(1 - weight, 2), "That's what was left. It becomes 1: what factor is "
                "that?"),
            Mistake(1 / weight, f"You divided by {weight}, or added {1 - weight:.2f} to 1. Neither "
                    f"is the factor: the others had {1 - weight:.2f} together and now have 1."),
            Mistake(weight * 100, "That's the share that was evicted, in percent."),
            Mistake((1 - weight) * 100, "That's the share that was left, in percent."),
        ),
    )  # fmt: skip


ROWS = ((1.0,), (0.5, 0.5), (0.2, 0.2, 0.6), (0.1, 0.2, 0.1, 0.6))  # what each query gave


def _heavy() -> Question:
    weights = np.zeros((len(ROWS), len(ROWS)))
    for i, row in enumerate(ROWS):
        weights[i, : len(row)] = row
    totals = weights.sum(axis=0)
    kept = ma.kept_keys(totals, np.arange(len(ROWS)), 3, recent=1)
    (leaves,) = set(range(len(ROWS))) - set(kept.tolist())
    means = totals / (weights > 0).sum(axis=0)
    rows = "; ".join(" ".join(f"{weight:g}" for weight in row) for row in ROWS)
    return Question(
        key="fewer-keys/heavy",
        text="Four queries gave these weights to the keys before them and their own, row by row: "
        f"{rows}. The cache adds up what each key has received and has space for 3 keys. The "
        "newest always stays. Which key is evicted? Give its position, counted from 0.",
        answer=leaves,
        unit="positions from the start",
        kind="place",
        signed=True,
        explanation="The keys have received "
        + ", ".join(f"{total:.1f}" for total in totals)
        + f". The newest is protected, and of the others the one at position {leaves} has "
        "the least.",
        mistakes=(
            Mistake(int(totals.argmin()), "It has the least, but only one query has seen it. The "
                    "newest key always stays."),
            Mistake(0, "That's the oldest, which a window would evict. It has the most."),
            Mistake(int(means.argmin()), "You took the mean per query that saw it. H2O takes the "
                "sum, "
                    "which favors old keys."),
            Mistake(len(ROWS), "Positions count from 0, so there's none with that number."),
            Mistake(float(totals[leaves].round(1)), "That's what the key has received. We "
                    "asked for its position."),
        ),
    )  # fmt: skip


def _position() -> Question:
    prompt, budget = 1000, 128
    return Question(
        key="fewer-keys/position",
        text=f"A prompt of {prompt:,} tokens, counted from position 0, has been read, and the "
        f"cache has kept {budget} keys per head. By which position do you rotate the query and key "
        "of the next token?",
        answer=prompt,
        unit="positions from the start",
        kind="place",
        signed=True,
        explanation=f"The prompt has positions 0 to {prompt - 1}, and the next token comes after "
            f"them, "
        f"at {prompt:,}. The number of rows left doesn't matter.",
        mistakes=(
            Mistake(budget, "That's the number of rows kept. The kept keys are at positions up to "
                    f"{prompt - 1}, and the new token comes after them."),
            Mistake(budget + 1, "Rows aren't positions: the token comes after all that were read."),
            Mistake(budget - 1, "That's the last row of the cache, not a position."),
            Mistake(prompt - 1, "That's the last token of the prompt, counted from 0."),
            Mistake(prompt + 1, "Counted from 0, the position after the prompt is its length."),
            Mistake(prompt - budget, "That's how many were evicted. They still count."),
            Mistake(prompt + budget, "You added the kept keys. They're among those of the prompt "
                "and "
                    "already counted."),
            Mistake(0, "That's where the sequence began. The new token comes after all others."),
        ),
    )  # fmt: skip


ALL = (_strided(), _sink(), _heavy(), _position())
