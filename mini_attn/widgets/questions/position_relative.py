"""The predictions of the chapter on order: buckets, slopes, and what relative vectors cost."""

from __future__ import annotations

import numpy as np

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.numpy.positions.position import alibi_bias, alibi_slopes, relative_position_bucket
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


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
        f"{(farthest / (buckets / 2)) ** (2 / buckets):.3f}; here: {len(sharing)} distances.",
        mistakes=(
            Mistake(1, f"That holds up to distance {buckets // 2 - 1}. Farther out they share."),
            Mistake(
                (farthest - buckets // 2) // (buckets // 2),
                f"That shares {farthest - buckets // 2} distances evenly. The steps grow with the "
                "distance: they are equal as factors.",
            ),
            Mistake(farthest // buckets, "That shares all distances evenly among all buckets."),
            Mistake(
                farthest - distance,
                "That counts all up to the last distance. More than one bucket lies there.",
            ),
            Mistake(
                buckets // 2,
                "That is how many buckets the far distances share, not how many share.",
            ),
        ),
    )


def _slope() -> Question:
    n_heads, head, distance = 8, 3, 16
    slope = float(alibi_slopes(n_heads)[head - 1])
    places = np.array([distance])
    answer = -float(alibi_bias(np.array([slope]), places, np.array([0]))[0, 0, 0])
    return Question(
        key="position/slope",
        text=f"ALiBi with {n_heads} heads has the slopes 1/2, 1/4, 1/8 and so on. In the third "
        f"head, how much is subtracted from the score of a key {distance} tokens back?",
        answer=answer,
        unit="units",
        kind="product",
        explanation=f"1/8 × {distance} = {answer:g}, so that key's weight is e² = "
        f"{np.exp(answer):.1f} times smaller than that of an equal key at distance 0.",
        mistakes=(
            Mistake(slope, "That is the slope. It is multiplied by the distance."),
            Mistake(distance, "That is the distance. It is multiplied by the head's slope."),
            Mistake(distance / 2, "That is the first head's."),
            Mistake(distance / 4, "That is the second head's."),
            Mistake(distance / 16, "That is the fourth head's: the first slope is 1/2, not 1."),
            Mistake(distance / head, "The slopes halve from head to head; they are no thirds."),
            Mistake(
                float(np.exp(answer)),
                "That is by what factor the weight falls. The question is what is "
                "subtracted before the softmax.",
            ),
        ),
    )


def _bias_bytes() -> Question:
    model, dtype_bytes = MODELS["mpt-7b"], 4
    tokens, heads = model.max_context, model.n_heads
    answer = heads * tokens**2 * dtype_bytes
    return Question(
        key="position/bias-bytes",
        text=f"MPT-7B uses ALiBi with {heads} heads and {tokens:,} tokens of context. How many "
        "bytes are the biases of all heads, stored as full matrices in float32?",
        answer=answer,
        unit="bytes",
        kind="product",
        tolerance=0.01,
        explanation=f"{heads} heads × {tokens:,} × {tokens:,} × {dtype_bytes} bytes = {answer:,}, "
        f"made of {heads} slopes. Fused kernels compute each bias where it is needed instead.",
        mistakes=(
            Mistake(heads * tokens**2, "That counts the numbers; each has 4 bytes."),
            Mistake(tokens**2 * dtype_bytes, "That is one head. Each has a slope of its own."),
            Mistake(
                heads * tokens * dtype_bytes,
                "That is one row a head. Each query has a row of its own.",
            ),
            Mistake(
                answer * model.n_layers,
                "The slopes are the same in all layers, so one array would do.",
            ),
            Mistake(
                answer // 2,
                "That is 2 bytes a number, or the visible half. Asked are full matrices, 4 bytes "
                "a number.",
            ),
            Mistake(heads * dtype_bytes, "Those are the slopes. The matrices are made of them."),
        ),
    )


def _shaw() -> Question:
    tokens, head_dim, most = 512, 64, 16
    rows = 2 * most + 1
    pairs = tokens * cost.product_flops(1, head_dim, tokens)
    once = cost.product_flops(tokens, head_dim, rows)
    return Question(
        key="position/shaw-work",
        text=f"Shaw's vectors, {tokens} tokens, distances clipped to −{most} … {most}. A first "
        "program takes the dot product of every query with the vector of every key's distance; a "
        "second takes it once for every different vector and then copies. How many times fewer "
        "multiply-adds has the second?",
        answer=pairs / once,
        unit="times",
        kind="ratio",
        tolerance=0.02,
        explanation=f"{tokens} products a query against {rows}, the number of different vectors: "
        f"{tokens} / {rows} = {pairs / once:.2f}.",
        mistakes=(
            Mistake(
                tokens / most,
                f"There are {rows} vectors: {most} on each side, and one for distance 0.",
            ),
            Mistake(
                tokens / (2 * most),
                "Distance 0 has a vector as well.",
            ),
            Mistake(
                tokens / (most + 1),
                "That would hold for a causal query. The table has both sides.",
            ),
            Mistake(tokens, "That would be one product a query. There are several vectors."),
            Mistake(
                tokens**2 / rows,
                "That compares all queries of the first with one query of the second.",
            ),
            Mistake(rows, "That is how many products a query has in the second program."),
        ),
    )


ALL = (_bucket(), _slope(), _bias_bytes(), _shaw())
