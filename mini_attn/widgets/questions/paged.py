"""The predictions of the chapter on pages: what is held, what is empty, what a fork copies."""

from __future__ import annotations

from mini_attn.widgets.questions.question import Mistake, Question

__all__ = ["AGAIN", "ALL"]


def _held(room: int = 2048, prompt: int = 200, answer: int = 300) -> Question:
    held = 100 * (prompt + answer / 2) / room
    return Question(
        key="paged/held",
        text=f"A server reserves {room:,} slots per request. A request has a prompt of {prompt} "
        f"tokens and gets an answer of {answer}, one token per step. What percentage of its slots "
        "holds a token, on average over the steps of the answer?",
        answer=held,
        unit="percent",
        kind="share",
        tolerance=0.01,
        explanation=f"The prompt's {prompt} slots are filled from the start, the answer's {answer} "
        f"half of the time on average: ({prompt} + {answer // 2}) / {room:,} = {held:.1f}%.",
        mistakes=(
            Mistake(
                100 * (prompt + answer) / room,
                "That's the last step. Before it, much of the answer isn't there yet.",
            ),
            Mistake(100 * prompt / room, "That's the first step. The answer fills slots, too."),
            Mistake(
                100 * answer / 2 / room,
                "You left out the prompt. Its keys and values take slots as well.",
            ),
            Mistake(
                100 * answer / room,
                "You left out the prompt, whose keys and values take slots as well. And the "
                "answer's "
                "slots are filled one by one.",
            ),
            Mistake(
                50 * (prompt + answer) / room,
                "You halved both. The prompt's slots are filled from the start; only the answer "
                "grows.",
            ),
            Mistake(100 - held, "That's the share that holds nothing."),
            Mistake(held / 100, "That's the share of 1. We asked for percent."),
            Mistake(
                100 * (prompt + answer / 2) / (prompt + answer),
                f"That's a share of what the request will have used. All {room:,} slots are "
                f"reserved "
                "for it.",
            ),
        ),
    )


def _empty(sequences: int = 50, size: int = 16) -> Question:
    answer = sequences * (size - 1)
    return Question(
        key="paged/empty",
        text=f"{sequences} sequences of any lengths run, each in its own blocks of {size} slots. "
        "How many of the slots that they hold can be empty, at most?",
        answer=answer,
        unit="slots",
        kind="product",
        explanation=f"Only a last block isn't full, and it holds at least one token: "
        f"{sequences} × ({size} − 1) = {answer}.",
        mistakes=(
            Mistake(
                sequences * size,
                "You let whole blocks be empty. A block is taken for a token, so at least one of "
                "its "
                "slots is filled.",
            ),
            Mistake(size - 1, "That's one sequence. Each has its own last block."),
            Mistake(
                sequences * size // 2,
                "That's about the average. We asked for the most.",
            ),
            Mistake(
                sequences * (size - 1) // 2,
                "That's the average, if all lengths are equally likely. We asked for the most.",
            ),
            Mistake(sequences, "That would be one empty slot per sequence."),
            Mistake(size, f"That's one whole block. There are {sequences} sequences."),
            Mistake(
                (sequences - 1) * (size - 1),
                "You left one sequence out. Every sequence has its own last block.",
            ),
        ),
    )


def _fork(tokens: int = 37, size: int = 16, others: int = 3) -> Question:
    answer = others
    full = tokens // size
    return Question(
        key="paged/fork",
        text=f"A sequence of {tokens} tokens is stored in blocks of {size} slots. You fork it "
        f"{others} times, so {others + 1} sequences hold the same blocks. Now each of the "
        f"{others + 1} writes one token. How many blocks do they take from the free list?",
        answer=answer,
        unit="blocks",
        kind="count",
        signed=True,
        explanation=f"The last block has space, but all of them hold it. {others} copy it before "
        f"they "
        "write. The remaining one is then alone with the old block and writes into it.",
        mistakes=(
            Mistake(
                0,
                "The last block has space for one of them. Each writes another token, and all "
                "would "
                "write it into the same slot.",
            ),
            Mistake(
                others + 1,
                "The last one doesn't have to copy: once the others have their own blocks, it "
                "holds "
                "the old one alone.",
            ),
            Mistake(
                others * (full + 1),
                "You copied whole sequences. The full blocks are only read, so they stay shared.",
            ),
            Mistake(
                (others + 1) * (full + 1),
                "That's every block of every sequence. Blocks that are only read aren't copied.",
            ),
            Mistake(
                1,
                "One copy can't serve all: each writes another token into the same slot.",
            ),
            Mistake(
                others * tokens, "Those are tokens. We copy blocks, and only the last one of each."
            ),
            Mistake(full, "Those are the full blocks. No sequence writes into them."),
        ),
    )


ALL = (_held(), _empty(), _fork())
AGAIN = (
    _held(4096, 700, 300),
    _held(1024, 100, 250),
    _held(2048, 600, 200),
    _empty(30, 32),
    _empty(80, 16),
    _empty(20, 64),
    _fork(70, 16, 5),
    _fork(41, 8, 2),
    _fork(100, 32, 4),
)
