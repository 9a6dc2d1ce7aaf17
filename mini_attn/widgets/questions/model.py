"""The predictions of the chapter on the whole model."""

from __future__ import annotations

import math

from mini_attn.stories.members import MEMBERS
from mini_attn.stories.vocabulary import WORDS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

CONFIG = MEMBERS["mha"].config(len(WORDS))
V, WIDTH, INNER, LAYERS = len(WORDS), CONFIG.d_model, CONFIG.d_ff, CONFIG.n_layers
HEADS = CONFIG.attention.n_heads
TABLE, ATTENTION, MLP = V * WIDTH, 4 * WIDTH**2, 2 * WIDTH * INNER


def _parameters() -> Question:
    layer = ATTENTION + MLP + 2 * WIDTH
    whole = TABLE + LAYERS * layer + WIDTH
    return Question(
        key="model/parameters",
        text=f"How many weights does the model have: {V} words, a width of {WIDTH}, {LAYERS} "
        f"layers with 4 heads of 16 and an MLP of {INNER}, no biases, and the norms?",
        answer=whole,
        unit="weights",
        kind="sum",
        explanation=f"The table has {TABLE:,}; a layer has {ATTENTION:,} in attention, {MLP:,} in "
        f"the MLP and {2 * WIDTH} in its norms; with {LAYERS} layers and the last norm's {WIDTH} "
        f"that makes {whole:,}.",
        mistakes=(
            Mistake(whole - WIDTH, "The norm before the logits has a gain of its own."),
            Mistake(
                whole - (2 * LAYERS + 1) * WIDTH,
                f"The norms are missing: two in each layer and one at the end, {WIDTH} each.",
            ),
            Mistake(
                whole + TABLE,
                "The table is counted twice. It serves for the logits too, and is stored once.",
            ),
            Mistake(whole - TABLE, "The table of embeddings is missing."),
            Mistake(
                whole - layer * (LAYERS - 1), f"That is one layer; the model has {LAYERS} of them."
            ),
            Mistake(
                whole - LAYERS * MLP // 2,
                "An MLP has two matrices: one that widens and one that brings back.",
            ),
            Mistake(
                whole - LAYERS * WIDTH**2,
                "Attention has four matrices: for queries, keys, values and the output.",
            ),
        ),
    )


def _guess() -> Question:
    answer = math.log(V)
    return Question(
        key="model/guess",
        text=f"A model gives each of the {V} words of its vocabulary the same chance. What "
        "is its loss per word, in nats?",
        answer=round(answer, 3),
        unit="nats",
        kind="formula",
        tolerance=0.004,
        explanation=f"Each word has the chance 1/{V}, so the loss is ln {V} = {answer:.3f}, "
        "whatever comes.",
        mistakes=(
            Mistake(math.log2(V), "That is in bits. Nats take the natural logarithm."),
            Mistake(math.log10(V), "That is the logarithm to base 10. Nats take the natural one."),
            Mistake(1 / V, "That is the chance. The loss is minus its logarithm."),
            Mistake(V, "That is how many words there are. The loss is the logarithm of it."),
            Mistake(1 - 1 / V, "That is the chance to be wrong. The loss is minus ln p."),
        ),
    )


def _addends() -> Question:
    answer = 1 + LAYERS * (HEADS + 1)
    return Question(
        key="model/addends",
        text=f"Each head counts as an addend of its own. The stream of a token, before the last "
        f"norm, is a sum of how many addends? The model has {LAYERS} layers of {HEADS} heads.",
        answer=answer,
        unit="addends",
        kind="count",
        explanation=f"The embedding, and in each of {LAYERS} layers {HEADS} heads and an MLP: "
        f"1 + {LAYERS} · ({HEADS} + 1) = {answer}.",
        mistakes=(
            Mistake(answer - 1, "The embedding is an addend too: the stream begins with it."),
            Mistake(LAYERS * HEADS, "Those are the heads. The MLPs and the embedding add as well."),
            Mistake(1 + LAYERS * HEADS, "The MLPs are missing, one in each layer."),
            Mistake(
                1 + 2 * LAYERS,
                "That counts the attention of a layer as one addend. It is the sum of its heads.",
            ),
            Mistake(1 + HEADS + 1, f"That is one layer; there are {LAYERS}."),
        ),
    )


ALL = (_parameters(), _guess(), _addends())
