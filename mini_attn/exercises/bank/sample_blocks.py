"""Pencil: the blocks of several samples of one prompt."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.questions import NumberQuestion, Remark, foreseen

CHOICES = {
    "size": (16, 32),
    "samples": (4, 5, 7, 8),
    "prompt": (75, 106, 151, 202),
    "answer": (52, 61, 72, 88),
}


class Numbers(NamedTuple):
    """Slots of a block, samples, tokens of the prompt and of each answer so far."""

    size: int = 16
    samples: int = 6
    prompt: int = 90
    answer: int = 40

    def blocks(self, tokens: int) -> int:
        """Blocks for this many tokens."""
        return -(-tokens // self.size)

    @property
    def full(self) -> int:
        """Blocks that the prompt fills."""
        return self.prompt // self.size

    @property
    def each(self) -> int:
        """Blocks of one sample."""
        return self.blocks(self.prompt + self.answer)

    @property
    def right(self) -> int:
        """The answer."""
        return self.full + self.samples * (self.each - self.full)


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: you sample {n.samples} answers to one prompt of {n.prompt} tokens, in blocks
of {n.size} slots. After the prompt was run, the sequence was forked, and by now each of the
{n.samples} samples has {n.answer} tokens after the prompt. How many blocks do they hold in all,
counting each block once?
"""


def _mistakes(n: Numbers) -> dict[int, str]:
    apart, first = n.blocks(n.answer), n.blocks(n.prompt)
    found = [
        (n.samples * n.each, "You share nothing. All samples hold the blocks that the prompt "
            "fills, "
         "so those count once."),
        (n.full + n.samples * apart, "You let each answer begin in a new block. It continues in a "
         "copy of the block where the prompt ends."),
        (first + n.samples * apart, "You count the prompt's last block once and begin the answers "
         "in new blocks. But each sample writes into a copy of that block."),
        (first + n.samples * (n.each - first), "You share the prompt's last block, but it isn't "
         "full: each sample writes into it, so each has its own copy."),
        (n.right + 1, "You count the old last block besides its copies. The last sample to write "
            "is "
         "alone with it and keeps it."),
        (n.right - 1, "One copy of the prompt's last block is missing: each sample has such a "
         "block."),
        (n.each, "That's one sample. The others have their own tokens, which can't share its "
         "slots."),
        (n.each - n.full, "Those are the blocks that one sample has for itself."),
        (n.samples * (n.each - n.full), "You left out the blocks that the prompt fills. All "
         "samples hold them, and they count once."),
        (n.blocks(n.prompt + n.samples * n.answer), "You pour the samples together. Their tokens "
         "do not share a block: after the fork, each sample writes into its own."),
        (n.right * n.size, "Those are slots. How many blocks is that?"),
    ]  # fmt: skip
    mistakes: dict[int, str] = {}
    for value, idea in found:
        if value != n.right:
            mistakes.setdefault(value, idea)
    return mistakes


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="blocks",
        mistakes=foreseen(_mistakes(n)),
        otherwise=(
            Remark("They hold at least one block.", high=0),
            Remark(
                "{value:,.6g} is {times_too_many}. Which blocks does no sample write into after "
                "the "
                "fork, and how many more does each have?"
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="sample_blocks",
        page="paged",
        title="Six answers to one prompt",
        kind="pencil",
        groups={"by hand": 2},
        minutes=8,
        difficulty=2,
        stage="transfer",
        assessed=False,
        section="Reference counts and copy-on-write",
        text=_text(n),
        starter="answer = ...  # your number of blocks",
        number=_number(n),
        hints=(
            "Which blocks does the prompt fill? No sample writes into those any more.",
            f"A sample has {n.prompt + n.answer} tokens. How many blocks is that, and how many of "
            "them are shared? Add the rest for each sample.",
        ),
        common_errors=(
            "Also sharing the block in which the prompt ends: every sample writes into it.",
            "Letting each answer begin in a new block.",
            "Counting the shared blocks once for each sample.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
