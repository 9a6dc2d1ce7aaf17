"""Pencil: how many parameters go with some heads of a GPT-2 layer."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn, in_words
from mini_attn.models import MODELS
from mini_attn.questions import NumberQuestion, Remark, foreseen

MODEL = MODELS["gpt2"]
CHOICES = {  # all with heads of dimension 64
    "d": (640, 768, 896, 1024, 1152, 1280, 1600),
    "gone": (2, 3, 4, 5, 7),
}


class Numbers(NamedTuple):
    """Width of the model, and heads that go."""

    d: int = MODEL.d_model
    gone: int = 3

    @property
    def heads(self) -> int:
        """Of the layer."""
        return self.d // MODEL.head_dim

    @property
    def width(self) -> int:
        """Columns that go, of each of W_q, W_k, W_v."""
        return self.gone * MODEL.head_dim

    @property
    def right(self) -> int:
        """The answer."""
        return 4 * self.width * self.d + 3 * self.width


def _text(n: Numbers) -> str:
    name = "GPT-2" if n.d == MODEL.d_model else "a model"
    return f"""
With pencil and paper: an attention layer of {name} has `d_model` {n.d:,} and {n.heads} heads of
dimension 64. $W_q$, $W_k$, $W_v$ and $W_o$ each have a bias. If you prune {in_words(n.gone)} heads,
how many parameters does the layer lose?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    d, width, right = n.d, n.width, n.right
    matrix = width * d
    return {
        4 * matrix: "The biases are missing. Each column of W_q, W_k and W_v that goes takes its "
        "bias with it.",
        3 * matrix + 3 * width: "W_o is missing. A head's rows of it go too.",
        3 * matrix: "W_o is missing, a head's rows of it go too. And the biases of the columns "
        "are missing.",
        4 * matrix + 4 * width: "The bias after W_o doesn't belong to any head. It stays, with "
        "d_model numbers.",
        4 * matrix + 3 * width + d: "The bias after W_o doesn't belong to any head. It stays.",
        3 * matrix + 2 * width: "One matrix is missing. W_q, W_k and W_v all lose columns.",
        matrix + width: "That's one matrix of four. Each holds a part of the heads that go.",
        4 * (d**2 + d) - right: "That's what the layer keeps. How much does it lose?",
        **dict.fromkeys(
            (4 * (d**2 - (d - width) ** 2) + k * width for k in (0, 3, 4)),
            f"You shrank both sides. Only one side of each matrix shrinks: d_model stays {d}.",
        ),
        right // n.gone: f"That's one head. {n.gone} go.",
        right // n.gone * (n.heads - n.gone): "Those are the parameters of the heads that stay.",
        right * MODEL.n_layers: "That's all layers of the model. The question is about one.",
        4 * d**2: "That's all four matrices, with all heads.",
        4 * n.gone * MODEL.head_dim**2: "A head's part of a matrix has d_model rows, not head_dim.",
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="parameters",
        mistakes=foreseen(_mistakes(n)),
        otherwise=(
            Remark("Heads that go take parameters with them, so the number is above zero.", high=0),
            Remark(
                "{value:,.6g} is {times_too_many}. Count columns of three matrices with their "
                "biases, and rows of the fourth."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="pruned_parameters",
        page="multihead",
        title=f"What {in_words(n.gone)} heads weigh",
        kind="pencil",
        groups={"by hand": 2},
        minutes=8,
        difficulty=1,
        stage="warm-up",
        assessed=False,
        section="What heads cost",
        text=_text(n),
        number=_number(n),
        hints=(
            "List what one head owns: in each of the four matrices, and in each of the "
            "four biases.",
            f"Columns: 3 matrices × {n.gone} heads × 64 × {n.d}. Rows of W_o: as many numbers as "
            "in one of these matrices. Biases: one number for each column that goes. Add them up.",
        ),
        common_errors=(
            "You forget that the rows of W_o go too.",
            "You count the bias after W_o, which doesn't belong to any head.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
