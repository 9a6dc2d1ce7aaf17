"""The predictions of the chapter on order: buckets, ALiBi's range, and relative vectors."""

from __future__ import annotations

import numpy as np

import mini_attn.numpy as ma
from mini_attn import cost
from mini_attn.numpy.positions.position import alibi_bias, alibi_slopes, relative_position_bucket
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]


def _bucket() -> Question:
    distance, buckets, farthest = 100, 32, 128
    distances = np.arange(farthest)
    of = relative_position_bucket(
        -distances, bidirectional=False, num_buckets=buckets, max_distance=farthest
    )
    sharing = distances[of == of[distance]]
    return Question(
        key="position/bucket",
        text=f"T5's rule, causal, with {buckets} buckets up to distance {farthest}: distances 0 to "
        f"{buckets // 2 - 1} have a bucket each, farther ones share the other {buckets // 2} by "
        f"their logarithm. How many distances are in the bucket of distance {distance}?",
        answer=len(sharing),
        unit="distances",
        kind="count",
        explanation=f"{sharing[0]} to {sharing[-1]}. {buckets // 2} steps lead from {buckets // 2} "
        f"to {farthest}, each a factor of {farthest // (buckets // 2)}^(1/{buckets // 2}) = "
        f"{(farthest / (buckets / 2)) ** (2 / buckets):.3f}. Here: {len(sharing)} distances.",
        mistakes=(
            Mistake(1, f"That holds up to distance {buckets // 2 - 1}. Farther out they share."),
            Mistake(
                (farthest - buckets // 2) // (buckets // 2),
                f"You shared {farthest - buckets // 2} distances evenly. The steps are equal as "
                "factors, so they grow with the distance.",
            ),
            Mistake(farthest // buckets, "You shared all distances evenly among all buckets."),
            Mistake(
                farthest - distance,
                "You counted up to the last distance. More than one bucket is in that range.",
            ),
            Mistake(
                buckets // 2,
                "That's how many buckets the far distances share, not how many distances share "
                "one.",
            ),
        ),
    )


def _newest() -> Question:
    n_heads, tokens, newest = 8, 1000, 4
    slopes = alibi_slopes(n_heads)
    bias = alibi_bias(slopes, np.array([tokens - 1]), np.arange(tokens))
    weights = ma.softmax(bias[:, 0])[[0, -1], -newest:].sum(axis=-1)
    first, last = (float(weight) for weight in weights)
    percent = 100.0
    return Question(
        key="position/newest",
        text=f"ALiBi's first head of {n_heads} has slope 1/2. A text has {tokens:,} tokens, and "
        "all keys score the same without the penalty. What percentage of the weight do the newest "
        f"{newest} tokens get, the query's own among them?",
        answer=float(round(percent * first, 1)),
        unit="%",
        kind="share",
        tolerance=0.02,
        explanation=f"Each step back multiplies the weight by e^(−1/2) = {np.exp(-0.5):.3f}, so "
        f"the newest {newest} get 1 − e^(−{newest}/2) = {percent * first:.1f}%, however long the "
        f"text. In the last head, with slope 1/256, they get {percent * last:.1f}%.",
        mistakes=(
            Mistake(
                percent * newest / tokens,
                "You gave all tokens the same weight. The penalty grows with the distance.",
            ),
            Mistake(
                percent * float(np.exp(-newest / 2)),
                f"That's what all the others get together: e^(−{newest}/2).",
            ),
            Mistake(
                percent * (1 - float(np.exp(-newest))),
                "You took slope 1. The first head has slope 1/2.",
            ),
            Mistake(
                percent * (1 - 0.5**newest),
                "You halved the weight at each step. The slope is subtracted from the score, so "
                "the factor is e^(−1/2).",
            ),
            Mistake(
                percent * (1 - float(np.exp(-(newest - 1) / 2))),
                f"You counted {newest - 1} tokens. The query's own, at distance 0, is one too.",
            ),
            Mistake(
                percent * (1 - float(np.exp(-0.5))), "That's the weight of the newest token alone."
            ),
            Mistake(
                percent * last, "That's the last head, with slope 1/256. The first has slope 1/2."
            ),
        ),
    )


def _shaw(tokens: int = 512, head_dim: int = 64, most: int = 16) -> Question:
    rows = 2 * most + 1
    pairs = tokens * cost.product_flops(1, head_dim, tokens)
    once = cost.product_flops(tokens, head_dim, rows)
    return Question(
        key="position/shaw-work",
        text=f"Shaw's vectors, {tokens} tokens, distances clipped to −{most} … {most}. One program "
        "takes the dot product of every query with the vector of every key's distance. Another "
        "takes it once for every different vector and then copies. How many times fewer "
        "multiply-adds does the second need?",
        answer=pairs / once,
        unit="times",
        kind="ratio",
        tolerance=0.02,
        explanation=f"{tokens} dot products per query against {rows}, the number of different "
        f"vectors: {tokens} / {rows} = {pairs / once:.2f}.",
        mistakes=(
            Mistake(
                tokens / most,
                f"There are {rows} vectors: {most} on each side, and one for distance 0.",
            ),
            Mistake(tokens / (2 * most), "You left out distance 0. It has a vector as well."),
            Mistake(
                tokens / (most + 1),
                "You counted one side, as for a causal query. The table has both.",
            ),
            Mistake(tokens, "You took one dot product per query. It needs one for each vector."),
            Mistake(
                tokens**2 / rows,
                "You compared all queries of the first program with one of the second.",
            ),
            Mistake(rows, "That's how many dot products the second program takes per query."),
        ),
    )


ALL = (_bucket(), _newest(), _shaw())
AGAIN = (
    _shaw(256, 64, 8),
    _shaw(1024, 64, 20),
    _shaw(384, 64, 12),
)
