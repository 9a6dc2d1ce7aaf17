"""Pencil: from how many tokens on the square is half of a model's layer."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn import cost
from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn, in_words
from mini_attn.models import MODELS
from mini_attn.questions import NumberQuestion, Remark, foreseen

MODEL = MODELS["llama-2-7b"]
WIDTHS = [(3072, 8192), (5120, 13_824), (6144, 16_384), (6656, 17_920), (2560, 6912), (3584, 9472)]
CHOICES = {"width": [(d, d_ff + more) for d, d_ff in WIDTHS for more in (0, 256, 512)]}


class Numbers(NamedTuple):
    """The widths of the model and of its MLP."""

    width: tuple[int, int] = (MODEL.d_model, MODEL.d_ff)

    @property
    def d(self) -> int:
        """Width of the model."""
        return self.width[0]

    @property
    def heads(self) -> int:
        """Of 128 numbers each."""
        return self.d // MODEL.head_dim

    @property
    def right(self) -> int:
        """The answer: FLOPs of all weight matmuls, over those of a key."""
        return (4 * self.d + 3 * self.width[1]) // 2


def _weights_flops() -> int:
    """FLOPs of all weight matmuls in a layer of the book's model, for one token."""
    flops = cost.matmul_flops(MODEL, q_len=1, kv_len=1, logit_rows=0)
    return (flops["projections"] + flops["output"] + flops["mlp"]) // MODEL.n_layers


assert Numbers().right == _weights_flops() // (4 * MODEL.d_model)


def _text(n: Numbers) -> str:
    name = "Llama-2-7B" if n == Numbers() else "a model"
    return f"""
With pencil and paper: a layer of {name} has `d_model` {n.d:,}, {n.heads} heads of dimension
128, as many key/value heads, and a gated MLP (three matrices) of width {n.width[1]:,}. At how many
tokens do scores and weighted sum, over the full square, take exactly as many FLOPs as all weight
matmuls?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    d, d_ff = n.width
    times = in_words(round(n.right / d))
    return {
        2 * d: "That's n = 2d. You left out the MLP, which has most of the weights.",
        2 * d + d_ff: "You counted two matrices for the MLP. It's gated, so it has three matrices.",
        2 * d + d_ff // 2: "You counted one matrix of the MLP. A gated one has three.",
        2 * n.right: "You counted half of the pairs: one of the two products, or the causal "
        "half of the square. Over the full square both take 4·n·d FLOPs per token.",
        n.right
        // 2: "You counted 1 FLOP per multiply-add in the weight matmuls. It's 2 on both sides.",
        4 * n.right: "A pair takes 4·d FLOPs over all heads: two products, and 2 FLOPs per "
        "multiply-add.",
        2 * n.right - 1: "You counted visible pairs only. The question asks for the full square.",
        6 * d: f"You took an MLP of width 8d/3 exactly. This one is rounded up to {d_ff:,}.",
        8 * d: f"You took an MLP of width 4d. This one has {d_ff:,}.",
        n.right - d // 2: "You left out the output projection, d × d more weights.",
        n.right - 2 * d: (
            "You left out the projections. Attention has weights too, four matrices of d × d."
        ),
        n.right - 3 * d // 4: "This model has as many key/value heads as query heads: W_K and W_V "
        "have d × d weights each, like W_Q.",
        d: f"At n = d_model the weight matmuls still take {times} times as many FLOPs. "
        "Write down both sides and solve for n.",
        n.right * n.heads: (
            f"That's {n.heads} times too many. If you took the scores of a single head: a "
            "layer has "
            f"{n.heads}, together as wide as d_model. If you multiplied by the layers: every layer "
            "has both parts, so their number cancels."
        ),
        n.right // n.heads: f"That's {n.heads} times too few. If you multiplied by the heads: "
        "they share d_model, and each has dimension 128. If you divided by the layers: every "
        "layer has both parts, so their number cancels.",
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="tokens",
        mistakes=foreseen(_mistakes(n)),
        otherwise=(
            Remark("A number of tokens is above zero.", high=0),
            Remark(
                "{value:,.6g} is {times_too_many}. Put the FLOPs per token of all weight "
                "matmuls on "
                "one side and 4·n·d on the other."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="square_half",
        page="attention-cost",
        title="Where the square takes over",
        kind="pencil",
        groups={"by hand": 2},
        minutes=8,
        difficulty=2,
        stage="transfer",
        assessed=False,
        section="Where the square takes over",
        text=_text(n),
        number=_number(n),
        hints=(
            "Per token, every weight of the layer takes one multiply-add. Every key takes one per "
            "dimension in the score and one per dimension in the weighted sum.",
            "2 · (4 d² + 3 d · d_ff) = 4 n d. Solve for n.",
        ),
        common_errors=(
            "Forgetting the MLP, or taking two matrices where a gated one has three.",
            "Counting one of the two products that grow with the square.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
