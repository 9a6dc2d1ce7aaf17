"""The predictions of the chapter on pages: what is held, what is empty, what a fork copies."""

from __future__ import annotations

from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["ALL"]


def _held() -> Question:
    room, prompt, answer = 2048, 200, 300
    held = 100 * (prompt + answer / 2) / room
    return Question(
        key="paged/held",
        text=f"A server reserves {room:,} slots for each request. A request has a prompt of "
        f"{prompt} tokens and gets an answer of {answer}, one token a step. Which share of its "
        "slots holds a token, on average over the steps of the answer?",
        answer=held,
        unit="percent",
        kind="share",
        tolerance=0.01,
        explanation=f"The prompt's {prompt} slots are filled from the start, the answer's "
        f"{answer} only half of the time: ({prompt} + {answer // 2}) / {room:,} = {held:.1f} %.",
        mistakes=(
            Mistake(
                100 * (prompt + answer) / room,
                "That is the last step. Before it, much of the answer is not there yet.",
            ),
            Mistake(100 * prompt / room, "That is the first step. The answer fills slots too."),
            Mistake(
                100 * answer / 2 / room, "The keys and values of the prompt lie in slots as well."
            ),
            Mistake(
                100 * answer / room,
                "The keys and values of the prompt lie in slots as well, and the answer's are "
                "filled one by one.",
            ),
            Mistake(
                50 * (prompt + answer) / room,
                "Only the answer grows from nothing. The prompt's slots are filled from the start.",
            ),
            Mistake(100 - held, "That is the share that holds nothing."),
            Mistake(held / 100, "That is the share of 1. The question asks for percent."),
            Mistake(
                100 * (prompt + answer / 2) / (prompt + answer),
                f"That is a share of what the request will have used. All {room:,} slots are "
                "reserved for it.",
            ),
        ),
    )


def _empty() -> Question:
    sequences, size = 50, 16
    answer = sequences * (size - 1)
    return Question(
        key="paged/empty",
        text=f"{sequences} sequences run, each in blocks of its own with {size} slots. Their "
        "lengths are whatever they are. How many of the slots that they hold can be empty, at "
        "the most?",
        answer=answer,
        unit="slots",
        kind="product",
        explanation=f"Only a last block is not full, and it holds at least one token: "
        f"{sequences} × ({size} − 1) = {answer}.",
        mistakes=(
            Mistake(
                sequences * size,
                "A block is taken for a token, so at least one of its slots is filled.",
            ),
            Mistake(size - 1, "That is one sequence. Each has a last block of its own."),
            Mistake(
                sequences * size // 2,
                "That is about the average. The question asks for the most.",
            ),
            Mistake(
                sequences * (size - 1) // 2,
                "That is the average, if all lengths are equally likely. The question asks for the "
                "most.",
            ),
            Mistake(sequences, "That would be one empty slot for each sequence."),
            Mistake(size, f"That is one whole block. There are {sequences} sequences."),
            Mistake(
                (sequences - 1) * (size - 1),
                "Every sequence has a last block of its own; none is left out.",
            ),
        ),
    )


def _fork() -> Question:
    tokens, size, others = 37, 16, 3
    answer = others
    full = tokens // size
    return Question(
        key="paged/fork",
        text=f"A sequence of {tokens} tokens lies in blocks of {size} slots. It is forked "
        f"{others} times, so that {others + 1} sequences hold the same blocks. Now each of the "
        f"{others + 1} writes one token. How many blocks are taken from the free list?",
        answer=answer,
        unit="blocks",
        kind="count",
        signed=True,
        explanation=f"The last block has room, but all hold it. {others} of them copy it before "
        "they write; the one that is left is alone with the old block and writes into it.",
        mistakes=(
            Mistake(
                0,
                "The last block has room, but for one of them: each writes another token, and all "
                "would write it into the same slot.",
            ),
            Mistake(
                others + 1,
                "The last one need not copy: when the others have their own block, nobody else "
                "holds the old one.",
            ),
            Mistake(
                others * (full + 1),
                "That copies whole sequences. The full blocks are only read, and stay shared.",
            ),
            Mistake(
                (others + 1) * (full + 1),
                "That is every block of every sequence. What is only read is not copied.",
            ),
            Mistake(
                1,
                "One copy cannot serve all: each writes another token into the same slot.",
            ),
            Mistake(
                others * tokens, "Those are tokens. A block is copied, and one of each is enough."
            ),
            Mistake(full, "Those are the full blocks, which nobody writes into."),
        ),
    )


ALL = (_held(), _empty(), _fork())
