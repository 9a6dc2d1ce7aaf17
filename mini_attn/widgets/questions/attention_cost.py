"""The predictions of the chapter on what attention costs: FLOPs."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GPT2 = MODELS["gpt2"]
WIDTH, HEADS, SIZE, LAYERS = GPT2.d_model, GPT2.n_heads, GPT2.head_dim, GPT2.n_layers


def _layer(n: int) -> dict[str, int]:
    """FLOPs of the attention of one layer of GPT-2, by part."""
    flops = cost.matmul_flops(GPT2, q_len=n, kv_len=n)
    parts = ("projections", "scores", "weighted sum", "output")
    return {part: flops[part] // LAYERS for part in parts}


def _ratio_with_mlp(n: int) -> float:
    once, twice = (
        sum(cost.matmul_flops(GPT2, q_len=m, kv_len=m, logit_rows=0).values()) for m in (n, 2 * n)
    )
    return twice / once


def _ratio_visible(n: int) -> float:
    def attention(m: int) -> int:
        parts = cost.matmul_flops(GPT2, q_len=m, kv_len=m, causal="exact", logit_rows=0)
        return sum(parts.values()) - parts["mlp"]

    return attention(2 * n) / attention(n)


def _projections() -> Question:
    n = 1000
    flops = _layer(n)["projections"]
    return Question(
        key="attention-cost/projections",
        text=f"One layer of GPT-2 (`d_model` = {WIDTH}, {HEADS} heads of {SIZE}) makes queries, "
        f"keys and values for {n:,} tokens. How many FLOPs are these three products together?",
        answer=flops,
        unit="FLOPs",
        kind="product",
        tolerance=0.005,
        explanation=f"Each matrix is {WIDTH} × {WIDTH}, a multiply-add is 2 FLOPs: "
        f"2 × {n:,} × {WIDTH} × {WIDTH} × 3 = {flops:,}.",
        mistakes=(
            Mistake(flops // 2, "Half: a multiply-add counts as 2 FLOPs."),
            Mistake(flops // 3, "That is one of the three matrices."),
            Mistake(
                flops // 3 * 4,
                "Four matrices: the output projection comes later and was not asked for.",
            ),
            Mistake(
                flops // HEADS,
                "That is one head. All heads together make `d_model` columns.",
            ),
            Mistake(
                flops * HEADS,
                f"{HEADS} times too many: the heads share the width, and one layer was asked for.",
            ),
        ),
    )


def _doubled() -> Question:
    n = 1000
    once, twice = sum(_layer(n).values()), sum(_layer(2 * n).values())
    return Question(
        key="attention-cost/doubled",
        text=f"The attention of one layer of GPT-2 (projections, scores, weighted sum, output; no "
        f"MLP) works on {n:,} tokens, then on {2 * n:,}. How many times as many FLOPs is that? "
        "The full square of pairs is computed.",
        answer=round(twice / once, 2),
        unit="times",
        kind="ratio",
        tolerance=0.01,
        explanation="Products with weights double, the square's part grows fourfold: "
        f"{twice / 1e9:.2f} GFLOP against {once / 1e9:.2f}, {twice / once:.2f} times.",
        mistakes=(
            Mistake(2, "That is right for the products with weights. The scores have n² pairs."),
            Mistake(
                4,
                "That is right for the scores and the weighted sum. The products with weights "
                "double, and at this length they are the larger part.",
            ),
            Mistake(
                _ratio_with_mlp(n),
                "That includes the MLP, which only doubles. The attention alone was asked for.",
            ),
            Mistake(
                _ratio_visible(n),
                "That counts visible pairs only. The full square was asked for.",
            ),
            Mistake(3, "The two parts are not of one size: weigh the 2 and the 4 by FLOPs."),
        ),
    )


def _half() -> Question:
    cross = 6 * WIDTH
    flops = cost.matmul_flops(GPT2, q_len=cross, kv_len=cross, logit_rows=0)
    square = flops["scores"] + flops["weighted sum"]
    assert 2 * square == sum(flops.values())
    return Question(
        key="attention-cost/half",
        text=f"A layer of GPT-2 has `d_model` = {WIDTH} and an MLP of width 4 × {WIDTH}. At how "
        "many tokens are scores and weighted sum half of all its FLOPs (full square)?",
        answer=cross,
        unit="tokens",
        kind="crossover",
        tolerance=0.005,
        explanation="Weights: 8d² for the four projections and 16d² for the MLP, each token. "
        f"Square: 4nd each token. 4nd = 24d² gives n = 6d = {cross:,}.",
        mistakes=(
            Mistake(2 * WIDTH, "That is n = 2d, without the MLP."),
            Mistake(
                2 * cross, "That is 12d: right if only visible pairs are computed, about half."
            ),
            Mistake(4 * WIDTH, "That is n = 4d: the four projections, 8d² a token, are missing."),
            Mistake(WIDTH, "n = d would need both to have the same factor: it is 24d² and 4nd."),
            Mistake(
                3 * WIDTH,
                "That is 3d: q kᵀ and the weighted sum take 2nd FLOPs each, 4nd together, "
                "against 24d².",
            ),
            Mistake(
                24 * WIDTH,
                "That sets n·d equal to 24d². Scores and weighted sum take 4nd.",
            ),
        ),
    )


def _softmax() -> Question:
    n = 1000
    ops = cost.elementwise_ops(GPT2, q_len=n, kv_len=n)["softmax"] // LAYERS
    parts = _layer(n)
    percent = 100 * ops / (parts["scores"] + parts["weighted sum"])
    return Question(
        key="attention-cost/softmax",
        text="Count 5 operations of the softmax for each score: scale, maximum, exponential, sum, "
        f"division. With `head_dim` = {SIZE}, how many percent is that of the FLOPs of scores and "
        "weighted sum?",
        answer=round(percent, 2),
        unit="percent",
        kind="share",
        tolerance=0.02,
        explanation=f"A pair takes 2 × {SIZE} FLOPs for its score and 2 × {SIZE} for the weighted "
        f"sum: 5 / {4 * SIZE} = {percent:.2f} %, whatever the number of tokens.",
        mistakes=(
            Mistake(2 * percent, "That compares with one of the two products; there are two."),
            Mistake(
                4 * percent,
                f"That counts {SIZE} FLOPs a pair. There are two products of {SIZE} multiply-adds, "
                "2 FLOPs each.",
            ),
            Mistake(percent / 5, "That is one operation a score; 5 were to be counted."),
            Mistake(percent / 100, "That is the share; in percent it is a hundred times that."),
            Mistake(
                100 / percent,
                "That is how many times more FLOPs the products have. The share is its inverse.",
            ),
            Mistake(
                500 / (4 * WIDTH),
                "That divides by `d_model`. The softmax runs in every head, so does the product.",
            ),
        ),
    )


ALL = (_projections(), _doubled(), _half(), _softmax())
