"""Pencil: how many keys a query reads that chooses blocks."""

from __future__ import annotations

from functools import partial
from operator import eq
from typing import Any, NamedTuple

from mini_attn import cost
from mini_attn.exercises.guesses import explain
from mini_attn.exercises.spec import Exercise, Inputs, Outputs
from mini_attn.exercises.variants import drawn

CHOICES = {
    "context": (16_384, 32_768, 49_152),
    "stride": (32, 64),
    "block": (64, 128),
    "blocks": (6, 8, 12),
    "window": (192, 256, 320),
}


class Numbers(NamedTuple):
    """Tokens so far, tokens between two spans, keys of a block, blocks, keys of the window."""

    context: int = 32_768
    stride: int = 32
    block: int = 128
    blocks: int = 8
    window: int = 256

    @property
    def span(self) -> int:
        """Tokens that a compressed key stands for: the spans overlap by half."""
        return 2 * self.stride

    @property
    def compressed(self) -> int:
        """Compressed keys."""
        return (self.context - self.span) // self.stride + 1

    @property
    def chosen(self) -> int:
        """Keys of the chosen blocks."""
        return self.blocks * self.block

    @property
    def right(self) -> int:
        """The answer."""
        return cost.block_reads(
            self.context, span=self.span, stride=self.stride, block_size=self.block,
            n_blocks=self.blocks, window=self.window,
        )  # fmt: skip


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: a layer attends to chosen blocks. One compressed key stands for a span of
{n.span} tokens, and a new span begins every {n.stride} tokens; only spans that are full have a key.
By them each query chooses {n.blocks} blocks of {n.block} keys, and it reads the last {n.window}
keys besides. How many keys does one query read at {n.context:,} tokens?
"""


def _mistakes(n: Numbers) -> dict[float, str]:
    c, chosen, window = n.compressed, n.chosen, n.window
    return {
        c + 1 + chosen + window: "The last span would begin where the text has only half a span "
        "left: it is not full and has no key.",
        c - 1 + chosen + window: "The first span begins at 0 and counts too: one more than the "
        "steps from the first to the last.",
        n.context // n.span
        + chosen
        + window: f"Spans overlap: one begins every {n.stride} tokens, not every {n.span}.",
        chosen + window: "The compressed keys are missing. Without reading them the query cannot "
        "know which blocks are best.",
        c + n.blocks + window: f"Of a chosen block all {n.block} keys are read, not one.",
        c + chosen: f"The window of {window} keys is missing.",
        c + window: "The chosen blocks are missing.",
        c: "Those are the compressed keys alone.",
        n.context: "That is every key. Add up what is read of each kind.",
        2 * (c + chosen + window): "A key and its value are read together; count keys.",
    }


def _judge(n: Numbers, inputs: Inputs, outputs: Outputs) -> str | None:
    """The idea behind a foreseen wrong number, or which parts to add up."""
    value = float(outputs["answer"])
    if value == n.right:
        return None
    if idea := explain(value, _mistakes(n).items(), eq):
        return idea
    side = "many" if value > n.right else "few"
    return (
        f"{value:,.6g} keys are too {side}. There are three parts: compressed keys, those of the "
        "chosen blocks, and those of the window."
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="sparse_reads",
        page="fewer-keys",
        title="What a query reads",
        kind="pencil",
        groups={"by hand": 2},
        minutes=6,
        difficulty=2,
        stage="warm-up",
        assessed=False,
        section="Chosen for each query",
        text=_text(n),
        starter="answer = ...  # your number of keys",
        unit="keys",
        mistakes=_mistakes(n),
        hints=(
            "Three kinds of keys are read. For two of them one multiplication is enough, or none.",
            f"Spans begin at 0, {n.stride}, {2 * n.stride}, … and the last one ends with the text: "
            f"how many steps of {n.stride} fit between the beginnings of the first and the last?",
        ),
        common_errors=(
            "Counting a span that the text does not fill.",
            "Counting a chosen block as one key.",
            "Leaving out the compressed keys, which are read first.",
        ),
        right=lambda inputs: n.right,
        judge=partial(_judge, n),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
