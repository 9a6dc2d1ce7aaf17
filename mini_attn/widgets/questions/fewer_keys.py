"""The predictions of the chapter on which keys may stay: blocks, idle weight, and who leaves."""

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
        f"An eighth of the pairs of the {seen} blocks is left. But where do they lie? A block is "
        "computed if there is one pair in it."
    )
    return Question(
        key="fewer-keys/strided",
        text=f"{tokens} tokens; each sees itself and every {stride}th token before it, so about "
        f"one pair in {stride} of the triangle is left. A kernel walks over the square in blocks "
        f"of {block} × {block} and skips those in which nobody sees anything. How many blocks does "
        "it compute?",
        answer=seen,
        unit="blocks",
        kind="count",
        explanation=f"Every block on the diagonal or below it has {block} visible pairs, one in "
        f"each row: {side} × {side + 1} / 2 = {seen}. None of the blocks of a causal mask can be "
        "skipped.",
        mistakes=(
            Mistake(whole, "Blocks above the diagonal hold later tokens only: nobody sees any."),
            Mistake(seen - side, "The blocks on the diagonal count too: each token sees itself."),
            Mistake(side, f"{side} is an eighth of all blocks, and as many stand on the diagonal. "
                    "But a block is computed if there is one visible pair in it: look at a block "
                    "below the diagonal."),
            Mistake(seen / stride, eighth),
            Mistake(seen // stride, eighth),
            Mistake(seen // stride + 1, eighth),
            Mistake(2 * side - 1, "Those are the blocks on the diagonal and just below it, as of "
                    "a window. Strides go back to the first token."),
            Mistake(whole // 2, "Half of the square, but the blocks on the diagonal count whole: "
                    "1 in the first row, 2 in the second, and so on."),
            Mistake(int(mask.sum()), "Those are the pairs. The question is about blocks."),
        ),
    )  # fmt: skip


def _sink() -> Question:
    weight = 0.95
    answer = round(1 / (1 - weight))
    return Question(
        key="fewer-keys/sink",
        text=f"A head that finds nothing to look for gives {weight:.0%} of its weight to the first "
        "token. Then the key of that token is evicted; the scores of all others stay as they are. "
        "How many times as large do their weights become?",
        answer=answer,
        unit="times",
        kind="ratio",
        tolerance=0.005,
        explanation=f"The others had {1 - weight:.0%} together and now share everything: each "
        f"weight is divided by {1 - weight:.2f}, which is {answer} times as much.",
        mistakes=(
            Mistake(round(weight / (1 - weight)), "That is the weight that went divided by what "
                    "was left. What was left becomes everything: 1, not 0.95."),
            Mistake(1, "A softmax always sums to 1: what the key had goes to the others."),
            Mistake(1 + weight, "The weight that is free is not given to each of them; they share "
                    "it in proportion to what they had."),
            Mistake(round(1 - weight, 2), "That is what was left. It becomes 1: how many times as "
                    "much is that?"),
            Mistake(1 / weight, "Divided by what the evicted key had. Divide by what is left."),
            Mistake(weight * 100, "That is the share that went, in per cent."),
            Mistake((1 - weight) * 100, "That is the share that was left, in per cent."),
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
        text="Four queries gave the keys before them, and their own, these weights, row by row: "
        f"{rows}. The cache adds up what each key has received and has room for 3 keys. The newest "
        "always stays. One key has to leave. What is its position, counted from 0?",
        answer=leaves,
        unit="positions from the start",
        kind="place",
        signed=True,
        explanation="The keys have received "
        + ", ".join(f"{total:.1f}" for total in totals)
        + f". The newest is safe, and of the others the one at position {leaves} has the "
        "least.",
        mistakes=(
            Mistake(int(totals.argmin()), "It has the least, but only one query has seen it. The "
                    "newest key always stays."),
            Mistake(0, "That is the oldest, which a window would drop. It has received most."),
            Mistake(int(means.argmin()), "It has the least for each query that saw it. The rule "
                    "takes the sum, which favours keys that have been there for long."),
            Mistake(len(ROWS), "Positions are counted from 0: there is none of that number."),
            Mistake(float(totals[leaves].round(1)), "That is what the key has received. Asked "
                    "is where it stands."),
        ),
    )  # fmt: skip


def _position() -> Question:
    prompt, budget = 1000, 128
    return Question(
        key="fewer-keys/position",
        text=f"A prompt of {prompt:,} tokens, counted from position 0, has been read, and the "
        f"cache has kept {budget} keys of each head. By which position are the query and the key "
        "of the next token rotated?",
        answer=prompt,
        unit="positions from the start",
        kind="place",
        signed=True,
        explanation=f"The prompt has the positions 0 to {prompt - 1}, and the next token comes "
        f"after them, at {prompt:,}. How many rows are left says nothing about that.",
        mistakes=(
            Mistake(budget, "That is the number of rows kept. The kept keys stand at positions up "
                    f"to {prompt - 1}, and the new token comes after them."),
            Mistake(budget + 1, "Rows are no positions: the token comes after all that were read."),
            Mistake(budget - 1, "That is the last row of the cache, not a position in the text."),
            Mistake(prompt - 1, "That is the last token of the prompt, counted from 0."),
            Mistake(prompt + 1, "Counted from 0, the position after the prompt is its length."),
            Mistake(prompt - budget, "That is how many were evicted. They still count."),
            Mistake(prompt + budget, "The kept keys are among those of the prompt: they were "
                    "counted already."),
            Mistake(0, "That is where the text began. The kept keys stand at their positions in "
                    "it, and the new token comes after them."),
        ),
    )  # fmt: skip


ALL = (_strided(), _sink(), _heavy(), _position())
