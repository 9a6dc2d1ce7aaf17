"""Pencil: the tables that have a row for each token."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.models import MODELS
from mini_attn.questions import NumberQuestion, Remark, above, below, foreseen

MODEL, EACH = MODELS["qwen3-8b"], 2
CHOICES = {
    "vocabulary": (49_152, 65_024, 100_352, 131_072),
    "width": (2048, 3072, 5120, 6144),
    "layers": (24, 28, 40),
}


class Numbers(NamedTuple):
    """Tokens of the vocabulary, width of a vector, layers."""

    vocabulary: int = MODEL.vocab_size
    width: int = MODEL.d_model
    layers: int = MODEL.n_layers

    @property
    def right(self) -> int:
        """The answer: two tables."""
        return 2 * self.vocabulary * self.width * EACH


assert not MODEL.tied_embeddings


def _text(n: Numbers) -> str:
    name = "Qwen3-8B" if n == Numbers() else "A model"
    return f"""
With pencil and paper: {name} has a vocabulary of {n.vocabulary:,} tokens, {n.layers} layers and
vectors of width {n.width:,}. Its embedding and the matrix of its logits are two tables of the same
shape, in bfloat16. How many bytes do the two take?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    right = n.right
    return {
        right // 2: "Half is missing: there are two tables, and a bfloat16 value takes 2 bytes.",
        right // 4: "Those are the values of one table. There are two, at 2 bytes per value.",
        2 * right: "That's twice as much. A bfloat16 value takes 2 bytes, not 4.",
        4 * right: "That's four times as much. A bfloat16 value takes 2 bytes.",
        8 * right: "Those are bits.",
        right * n.layers: f"The tables are there once, not in each of the {n.layers} layers.",
        right // 2 * n.layers: f"The tables are there once, not in each of the {n.layers} layers.",
        2 * n.vocabulary * EACH: "A token has a whole vector in each table, not one number.",
        2 * n.width * EACH: "Those are the bytes of one token's two rows.",
        n.vocabulary**2 * EACH: "A row of a table has as many numbers as a vector is wide.",
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="bytes",
        mistakes=foreseen(_mistakes(n)),
        tolerance=0.005,
        otherwise=(
            Remark(
                "The answer should be in bytes. Write the number out, or as 1.23e9.",
                low=above(0),
                high=below(1e4),
            ),
            Remark(
                "{value:,.6g} bytes is {factor:,.3g} times too {large}. First count the rows of a "
                "table, then the numbers in a row."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="vocabulary_bytes",
        page="tokens",
        title="A row for each token",
        kind="pencil",
        groups={"by hand": 2},
        minutes=5,
        difficulty=1,
        stage="warm-up",
        assessed=False,
        section="What a vocabulary costs",
        text=_text(n),
        starter="answer = ...  # your number of bytes",
        number=_number(n),
        hints=(
            "Each table has a row for each token. How many numbers are in a row?",
            f"{n.vocabulary:,} rows of {n.width:,} numbers, twice, at 2 bytes per number.",
        ),
        common_errors=(
            "Counting one of the two tables.",
            "Multiplying by the number of layers.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
