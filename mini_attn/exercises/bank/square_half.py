"""Pencil: from how many tokens on the square is half of a model's layer."""

from __future__ import annotations

from operator import eq

from mini_attn import cost
from mini_attn.exercises.guesses import explain, times_too_many
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.models import MODELS

TEXT = """
With pencil and paper: a layer of Llama-2-7B has `d_model` 4,096, 32 heads of 128, as many
key/value heads, and a gated MLP (three matrices) of width 11,008. At how many tokens are scores
and weighted sum, over the full square, exactly as many FLOPs as all products with weights?
"""

MODEL = MODELS["llama-2-7b"]
D, D_FF = MODEL.d_model, MODEL.d_ff


def _weights_flops() -> int:
    """FLOPs of all products with weights in a layer, for one token."""
    flops = cost.matmul_flops(MODEL, q_len=1, kv_len=1, logit_rows=0)
    return (flops["projections"] + flops["output"] + flops["mlp"]) // MODEL.n_layers


ANSWER = _weights_flops() // (4 * D)

MISTAKES = {
    2 * D: "That is n = 2d: the MLP is missing, and it is the larger part of the weights.",
    2 * D + D_FF: "The MLP is gated: it has three matrices, not two.",
    2 * D + D_FF // 2: "That is one matrix of the MLP; a gated one has three.",
    2 * ANSWER: "That counts only half of these FLOPs: one of the two products, or the causal half "
    "of the square. Scores and weighted sum over the full square are 4·n·d FLOPs a token.",
    ANSWER // 2: "A multiply-add is 2 FLOPs on both sides: in the products with weights, too.",
    4 * ANSWER: "A pair has 4·d FLOPs in all heads: two products, and a multiply-add is 2.",
    2 * ANSWER - 1: "That counts visible pairs only. The full square was asked for.",
    6 * D: "That takes an MLP of width 8d/3 exactly. This one is rounded up to 11,008.",
    8 * D: "That takes an MLP of width 4d. This one has 11,008.",
    ANSWER - D // 2: "The output projection is missing: d × d weights more.",
    ANSWER - 2 * D: (
        "The projections are missing: the attention has weights too, four matrices of d × d."
    ),
    ANSWER - 3 * D // 4: "This model has as many key/value heads as query heads: W_K and W_V have "
    "d × d weights each, like W_Q.",
    D: "At n = d_model the products with weights still have six times as many FLOPs. Write down "
    "both sides and solve for n.",
    ANSWER * MODEL.n_heads: (
        "That is too many by a factor of 32. If you took the scores of a single head: a layer has "
        "32, together as wide as d_model. If you multiplied by the layers: every layer has both "
        "parts, so their number cancels."
    ),
    ANSWER // MODEL.n_layers: "That is too few by a factor of 32. If you multiplied by the heads: "
    "they share d_model, each has 128 numbers. If you divided by the layers: every layer has both "
    "parts, so their number cancels.",
}


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or how far off another one is."""
    value = float(outputs["answer"])
    if value == ANSWER:
        return None
    if idea := explain(value, MISTAKES.items(), eq):
        return idea
    if value <= 0:
        return "A number of tokens is above zero."
    return (
        f"{value:,.6g} is {times_too_many(value, ANSWER)}. "
        "FLOPs a token of all products with weights on one side, 4·n·d on the other."
    )


EXERCISE = Exercise(
    id="square_half",
    page="attention-cost",
    title="Where the square takes over",
    kind="pencil",
    groups={"by hand": 2},
    minutes=8,
    difficulty=2,
    assessed=False,
    section="Where the square takes over",
    text=TEXT,
    unit="tokens",
    mistakes=MISTAKES,
    hints=(
        "Per token: every weight of the layer takes one multiply-add, every key takes one for each "
        "number in the score and one for each number in the weighted sum.",
        "2 · (4 d² + 3 d · d_ff) = 4 n d. Solve for n.",
    ),
    common_errors=(
        "Forgetting the MLP, or taking two matrices where a gated one has three.",
        "Counting one of the two products that grow with the square.",
    ),
    judge=judge,
)
