"""The predictions of the chapter on what attention costs: FLOPs."""

from __future__ import annotations

from mini_attn import cost
from mini_attn.models import MODELS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

GPT2, LLAMA = MODELS["gpt2"], MODELS["llama-3-8b"]
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


def _million() -> Question:
    n = 1_000_000
    parts = cost.matmul_flops(LLAMA, q_len=n, kv_len=n, causal="exact", logit_rows=0)
    pairs = parts["scores"] + parts["weighted sum"]
    weights = sum(parts.values()) - pairs
    without_mlp = weights - parts["mlp"]
    percent = 100 * weights / (weights + pairs)
    return Question(
        key="attention-cost/million",
        text=f"{LLAMA.title} has 8 billion weights, and every token multiplies nearly all of them. "
        "It reads a million tokens (visible pairs, logits left out). How many percent of the "
        "FLOPs go to weight matmuls?",
        answer=round(percent, 2),
        unit="percent",
        kind="share",
        tolerance=0.03,
        explanation=f"Weights: {weights / 1e15:.1f} · 10¹⁵ FLOPs. Pairs: {pairs / 1e15:.0f} "
        "· 10¹⁵, "
        f"{pairs / weights:.0f} times as many. The weights are {percent:.1f}% of the total.",
        mistakes=(
            Mistake(100 - percent, "That's the share of the pairs. The weights have the rest."),
            Mistake(
                100 * weights / (weights + 2 * pairs),
                "You counted the full square. Visible pairs are about half of it.",
            ),
            Mistake(
                100 * without_mlp / (without_mlp + pairs),
                "You left out the MLP, which has most of a layer's weights.",
            ),
            Mistake(
                100 * weights / (weights + pairs / 2),
                "You counted one of two products: the scores and the weighted sum both work on "
                "pairs.",
            ),
            Mistake(percent / 100, "That's the share as a fraction. Multiply it by a hundred."),
            Mistake(
                50,
                "Half and half is the crossover, near 12 times the width: about 53,000 tokens "
                "here. A million is far beyond it.",
            ),
        ),
    )


def _doubled() -> Question:
    n = 1000
    once, twice = sum(_layer(n).values()), sum(_layer(2 * n).values())
    return Question(
        key="attention-cost/doubled",
        text=f"The attention of one layer of GPT-2 (projections, scores, weighted sum, output; no "
        f"MLP) works on {n:,} tokens, then on {2 * n:,}. How many times as many FLOPs does "
        "that take? "
        "Count the full square of pairs.",
        answer=round(twice / once, 2),
        unit="times",
        kind="ratio",
        tolerance=0.01,
        explanation="The weight matmuls double, and the quadratic part grows fourfold: "
        f"{twice / 1e9:.2f} GFLOP against {once / 1e9:.2f}, {twice / once:.2f} times.",
        mistakes=(
            Mistake(2, "That's right for the weight matmuls. But the scores have n² pairs."),
            Mistake(
                4,
                "That's right for the scores and the weighted sum. The weight matmuls only double, "
                "and at this length they're the larger part.",
            ),
            Mistake(
                _ratio_with_mlp(n),
                "You included the MLP, which only doubles. The question is about attention alone.",
            ),
            Mistake(
                _ratio_visible(n),
                "You counted visible pairs only. The question asks for the full square.",
            ),
            Mistake(3, "The two parts differ in size. Weigh the 2 and the 4 by their FLOPs."),
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
        explanation="Weights: 8d² per token for the four projections and 16d² for the MLP. "
        f"Square: 4nd per token. 4nd = 24d² gives n = 6d = {cross:,}.",
        mistakes=(
            Mistake(2 * WIDTH, "That's n = 2d. You left out the MLP."),
            Mistake(
                2 * cross,
                "That's 12d, right for visible pairs. The question asks for the full square.",
            ),
            Mistake(4 * WIDTH, "That's n = 4d. You left out the four projections, 8d² per token."),
            Mistake(WIDTH, "At n = d both would need the same factor, but it's 24d² against 4nd."),
            Mistake(
                3 * WIDTH,
                "That's 3d. Scores and weighted sum take 2nd FLOPs each, 4nd together, "
                "against 24d².",
            ),
            Mistake(
                24 * WIDTH,
                "You set n·d equal to 24d². Scores and weighted sum take 4nd.",
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
        f"sum: 5 / {4 * SIZE} = {percent:.2f}%, for any number of tokens.",
        mistakes=(
            Mistake(2 * percent, "You compared with one of the two products."),
            Mistake(
                4 * percent,
                f"You counted {SIZE} FLOPs per pair. There are two products of {SIZE} "
                "multiply-adds, "
                "2 FLOPs each.",
            ),
            Mistake(percent / 5, "That's one operation per score. Count 5."),
            Mistake(percent / 100, "That's the share as a fraction. Multiply it by a hundred."),
            Mistake(
                100 / percent,
                "That's how many times more FLOPs the products have. Take its inverse.",
            ),
            Mistake(
                500 / (4 * WIDTH),
                "You divided by `d_model`. The softmax runs in every head, and so do the products.",
            ),
        ),
    )


ALL = (_million(), _doubled(), _half(), _softmax())
