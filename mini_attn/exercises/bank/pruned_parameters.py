"""Pencil: how many parameters go with three heads of a GPT-2 layer."""

from __future__ import annotations

from operator import eq

from mini_attn.exercises.guesses import explain, times_too_many
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.models import MODELS

TEXT = """
With pencil and paper: an attention layer of GPT-2 has `d_model` 768 and 12 heads of 64. $W_q$,
$W_k$, $W_v$ and $W_o$ are each followed by a bias. Three heads are pruned. How many parameters
does the layer lose?
"""

MODEL = MODELS["gpt2"]
GONE = 3

_WIDTH = GONE * MODEL.head_dim  # columns that go, of each of W_q, W_k, W_v
_MATRIX = _WIDTH * MODEL.d_model
_LAYER = 4 * (MODEL.d_model**2 + MODEL.d_model)
ANSWER = 4 * _MATRIX + 3 * _WIDTH

MISTAKES = {
    4 * _MATRIX: "The biases are missing: each column of W_q, W_k and W_v that goes takes its "
    "bias along.",
    3 * _MATRIX + 3 * _WIDTH: "W_o is missing: a head's rows of it go too.",
    3 * _MATRIX: "W_o is missing, a head's rows of it go too, and so are the biases of the "
    "columns.",
    4 * _MATRIX + 4 * _WIDTH: "The bias after W_o does not belong to any head: it stays, with "
    "d_model numbers.",
    4 * _MATRIX + 3 * _WIDTH + MODEL.d_model: "The bias after W_o does not belong to any head: it "
    "stays.",
    3 * _MATRIX + 2 * _WIDTH: "One matrix is missing: W_q, W_k and W_v all lose columns.",
    _MATRIX + _WIDTH: "That is one matrix of four: each holds a part of the heads that go.",
    _LAYER - ANSWER: "That is what the layer keeps. How much does it lose?",
    **dict.fromkeys(
        (4 * (MODEL.d_model**2 - (MODEL.d_model - _WIDTH) ** 2) + n * _WIDTH for n in (0, 3, 4)),
        f"Only one side of each matrix shrinks: d_model stays {MODEL.d_model}.",
    ),
    ANSWER // GONE: f"That is one head; {GONE} go.",
    ANSWER // GONE * (MODEL.n_heads - GONE): "That is what the heads weigh that stay.",
    ANSWER * MODEL.n_layers: "That is all layers of the model; the question is about one.",
    4 * MODEL.d_model**2: "That is all four matrices, with all heads.",
    4 * GONE * MODEL.head_dim**2: "A head's part of a matrix has d_model rows, not head_dim.",
}


def judge(inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or how far off another one is."""
    value = float(outputs["answer"])
    if value == ANSWER:
        return None
    if idea := explain(value, MISTAKES.items(), eq):
        return idea
    if value <= 0:
        return "Heads that go take parameters along: the number is above zero."
    return (
        f"{value:,.6g} is {times_too_many(value, ANSWER)}. "
        "Columns of three matrices with their biases, and rows of the fourth."
    )


EXERCISE = Exercise(
    id="pruned_parameters",
    page="multihead",
    title="What three heads weigh",
    kind="pencil",
    groups={"by hand": 2},
    minutes=8,
    difficulty=1,
    assessed=False,
    section="What heads cost",
    text=TEXT,
    unit="parameters",
    mistakes=MISTAKES,
    hints=(
        "List what one head owns: in each of the four matrices, and in each of the four biases.",
        "Columns: 3 matrices × 3 heads × 64 × 768. Rows of W_o: as many again as one of these. "
        "Biases: one number for each column that goes. Add.",
    ),
    common_errors=(
        "Forgetting that the rows of W_o go as well.",
        "Counting the bias after W_o, which belongs to no head.",
    ),
    judge=judge,
)
