"""Pencil: from which length on the choice is most of what a query reads."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.questions import LeadsTo, NumberQuestion, Remark, below, foreseen

CHOICES = {
    "stride": (16, 32, 64),
    "block": (64, 128),
    "blocks": (6, 8, 12),
    "window": (192, 256, 320),
}


class Numbers(NamedTuple):
    """Tokens between two spans, keys of a block, blocks, keys of the window."""

    stride: int = 32
    block: int = 128
    blocks: int = 8
    window: int = 256

    @property
    def span(self) -> int:
        """Tokens that a compressed key stands for: the spans overlap by half."""
        return 2 * self.stride

    @property
    def others(self) -> int:
        """Keys of the chosen blocks and of the window."""
        return self.blocks * self.block + self.window

    def length(self, more: int) -> int:
        """The shortest text with this many compressed keys after the first."""
        return self.span + self.stride * more

    @property
    def right(self) -> int:
        """The answer: one compressed key more than there are others."""
        return self.length(self.others)


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: a layer attends to selected blocks. One compressed key stands for a span of
{n.span} tokens, and a new span begins every {n.stride} tokens; only full spans have a key. A query
reads all of these keys. With their help it selects {n.blocks} blocks of {n.block} keys and reads
those as well, and also the last {n.window} keys. What's the shortest context, in tokens, for which
it reads more compressed keys than all other keys together?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    others, span, stride = n.others, n.span, n.stride
    overlap = f"Spans overlap: one begins every {stride} tokens, not every {span}."
    return {
        n.right - stride: f"There you have {others:,} compressed keys, just as many as the others. "
        "You need one more.",
        n.right - span: f"With that length there are {others - 1:,} compressed keys. The first "
        f"needs {span} tokens, each further one {stride}.",
        n.right + stride: f"You took one step too many: the first key is there after {span} "
        f"tokens, "
        f"and {others:,} more come after it.",
        n.right - 1: "Your last span is one token short of being full.",
        span * others: overlap,
        span * (others + 1): overlap,
        n.length(n.blocks + n.window): f"You counted one key per block. All {n.block} keys of a "
        "selected block are read.",
        n.length(others - n.window): f"You left out the window of {n.window} keys.",
        n.length(n.window): "You left out the selected blocks.",
        others + 1: "That's the number of compressed keys. How long is a context that has them?",
        2 * others + 1: "That's the number of keys read. How long is the context?",
    }


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="tokens",
        mistakes=foreseen(_mistakes(n)),
        leads_to=LeadsTo("steps", n.stride, start=n.span),
        otherwise=(
            Remark("{value:,.7g} tokens are enough, but not the shortest context.", low=n.right),
            Remark(
                "With {value:,.6g} tokens no span is full, so there's no compressed key.",
                high=below(n.span),
            ),
            Remark(
                "{value:,.7g} tokens have {leads_to:,.6g} compressed keys, but there are "
                f"{n.others:,} others."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="sparse_reads",
        page="fewer-keys",
        title="Where selecting is most of the reading",
        kind="pencil",
        groups={"by hand": 2},
        minutes=6,
        difficulty=2,
        stage="warm-up",
        assessed=False,
        section="Query-aware selection: Quest, NSA, DSA",
        text=_text(n),
        starter="answer = ...  # your number of tokens",
        number=_number(n),
        hints=(
            "How many keys does a query read besides the compressed ones? That doesn't depend on "
            "the length.",
            f"How long is a context with one compressed key, and with two? Each further one takes "
            f"{n.stride} tokens.",
        ),
        common_errors=(
            "Counting a span that the context doesn't fill.",
            "Counting a selected block as one key.",
            "Stopping where there are equally many of both.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
