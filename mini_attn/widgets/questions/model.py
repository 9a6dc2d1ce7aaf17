"""The predictions of the chapter on the whole model."""

from __future__ import annotations

import math

from mini_attn.questions import Remark, above, below
from mini_attn.stories.family import film
from mini_attn.stories.members import MEMBERS
from mini_attn.stories.vocabulary import WORDS
from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]

CONFIG = MEMBERS["mha"].config(len(WORDS))
V, LAYERS = len(WORDS), CONFIG.n_layers
HEADS = CONFIG.attention.n_heads


def _guess() -> Question:
    answer = math.log(V)
    return Question(
        key="model/guess",
        text=f"A model gives each of the {V} words of its vocabulary the same probability. What's "
        "its loss per word, in nats?",
        answer=round(answer, 3),
        unit="nats",
        kind="formula",
        tolerance=0.0005,
        explanation=f"Each word has probability 1/{V}, so the loss is ln {V} = {answer:.3f}, "
        "whichever word comes.",
        mistakes=(
            Mistake(
                math.log(V - 1),
                f"You left out one word: `<s>` is in the vocabulary too, so take ln {V}.",
            ),
            Mistake(math.log2(V), "That's in bits. For nats, take the natural logarithm."),
            Mistake(math.log10(V), "You took the logarithm to base 10. Take the natural one."),
            Mistake(1 / V, "That's the probability. The loss is minus its logarithm."),
            Mistake(V, "That's the number of words. The loss is its logarithm."),
            Mistake(1 - 1 / V, "That's the probability of being wrong. The loss is −ln p."),
        ),
    )


def _addends() -> Question:
    answer = 1 + LAYERS * (HEADS + 1)
    return Question(
        key="model/addends",
        text="Count each head as an addend of its own. Before the last norm, the stream of a token "
        f"is a sum of how many addends? The model has {LAYERS} layers of {HEADS} heads.",
        answer=answer,
        unit="addends",
        kind="count",
        explanation=f"The embedding, and in each of {LAYERS} layers {HEADS} heads and an MLP: "
        f"1 + {LAYERS} · ({HEADS} + 1) = {answer}.",
        mistakes=(
            Mistake(answer - 1, "The embedding is an addend too: the stream starts with it."),
            Mistake(
                LAYERS * HEADS, "You counted the heads. The MLPs and the embedding add as well."
            ),
            Mistake(1 + LAYERS * HEADS, "You left out the MLPs, one in each layer."),
            Mistake(
                1 + 2 * LAYERS,
                "You counted the attention of a layer as one addend. It's the sum of its heads.",
            ),
            Mistake(1 + HEADS + 1, f"That's one layer. There are {LAYERS}."),
        ),
    )


def _phase() -> Question:
    curve = film()["curve"]
    losses = list(zip(curve["step"], curve["copying"], strict=True))
    first, whole = max(curve["copying"]), curve["step"][-1]
    begins = max(step for step, loss in losses if loss > 0.9 * first)
    ends = min(step for step, loss in losses if loss < 0.1 * first)
    answer, every = ends - begins, curve["step"][0]
    return Question(
        key="model/phase",
        text=f"The training took {whole:,} steps, and the loss was measured at every "
        f"{every}th. How many steps passed between the last time that copying cost more than 90% "
        "of its first loss and the first time that it cost less than 10%?",
        answer=answer,
        unit="steps",
        kind="place",
        within=every,
        explanation=f"{answer} of {whole:,}: until step {begins:,} hardly anything happens, and at "
        f"step {ends:,} nearly all of it is done.",
        mistakes=(
            Mistake(whole, "That's the whole training. For much of it the loss hardly moves."),
            Mistake(
                whole / 2, "You expect a steady fall over half of the training. It's far steeper."
            ),
            Mistake(
                ends,
                f"By step {ends:,} the model can copy. But for most of that time nothing happened.",
            ),
            Mistake(
                begins, f"That's how long it takes to begin. Until step {begins:,} little happens."
            ),
            Mistake(whole / 10, "A tenth of the training is a bold guess, and still too long."),
        ),
        otherwise=(
            Remark(
                "It's faster: {value:,.0f} steps would be {factor:.2g} times as long.",
                low=above(answer),
            ),
            Remark("It's a little slower than that.", high=below(answer)),
        ),
    )


ALL = (_guess(), _addends(), _phase())
