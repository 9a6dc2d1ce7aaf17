"""Pencil: the largest block of queries that fits, and what it reads."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

from mini_attn import cost
from mini_attn.exercises.spec import Exercise
from mini_attn.exercises.variants import drawn
from mini_attn.questions import NumberQuestion, Remark, above, below, foreseen, near

EACH, SUMS, STEP = 2, 4, 16
TOLERANCE = 0.005
IN_BYTES = "The answer is in bytes: write the number out, or as 1.23e9."
CHOICES = {
    "tokens": (8192, 10_240, 16_384),
    "size": (96, 128),
    "block_k": (48, 64),
    "fast": tuple(range(190_000, 310_000, 10_000)),
}


class Numbers(NamedTuple):
    """Tokens, head_dim, keys of a tile, and bytes of the fast memory."""

    tokens: int = 8192
    size: int = 128
    block_k: int = 64
    fast: int = 220_000

    def fitting(
        self, *, out: bool = True, scores: bool = True, keys: int = 2, sums: int = SUMS
    ) -> float:
        """Queries that fit together with the keys, with or without some part."""
        left = self.fast - keys * EACH * self.block_k * self.size
        row = EACH * self.size + sums * (out * self.size + scores * self.block_k)
        return left / row

    def read(self, block_q: float, *, keys: int = 2) -> int:
        """Bytes of keys and values, for so many queries at a time."""
        return -(-self.tokens // int(block_q)) * self.once(keys)

    def once(self, keys: int = 2) -> int:
        """Bytes of all keys and values."""
        return keys * EACH * self.tokens * self.size

    @property
    def block_q(self) -> int:
        """The largest multiple of 16 queries that fits."""
        return int(self.fitting()) // STEP * STEP

    @property
    def right(self) -> int:
        """The answer."""
        return self.read(self.block_q)


def _counted(n: Numbers) -> int:
    moved = cost.tiled_traffic(
        n.tokens, n.tokens, head_dim=n.size, block_q=n.block_q, block_k=n.block_k
    )
    return EACH * (moved["k"] + moved["v"])


assert Numbers().right == _counted(Numbers())


def _text(n: Numbers) -> str:
    return f"""
With pencil and paper: one head of dimension {n.size}, {n.tokens:,} tokens, no mask. A tile has
{n.block_k} keys. Its queries, keys and values are in bfloat16. Its scores and the running output of
its queries are in float32. Ignore the maxima and sums. The fast memory has room for {n.fast:,}
bytes. Blocks of queries are multiples of {STEP}, and you take the largest that fits. How many bytes
of keys and values does the head read from the large memory?
"""


def _floor(value: float) -> int:
    """A multiple of 16, at least one of them."""
    return max(STEP, int(value) // STEP * STEP)


def _rounded(n: Numbers) -> dict[float, str]:
    """Blocks, or queries, that are rounded the wrong way."""
    odd, down = int(n.fitting()), n.tokens // n.block_q
    floor = (
        f"You rounded the blocks down. {n.tokens:,} / {n.block_q} is more than {down}, and the "
        "last block isn't full but reads all keys too."
    )
    steps = f"{odd} queries fit, but blocks of queries are multiples of {STEP}: {n.block_q}."
    if n.read(odd) == down * n.once():
        floor = steps = (
            f"That's {down} blocks. If you took {odd} queries: blocks of queries are multiples of "
            f"{STEP}. If you rounded {n.tokens:,} / {n.block_q} down: the last block isn't "
            "full but "
            "reads all keys too."
        )
    return {down * n.once(): floor, n.read(odd): steps}


def _mistakes(n: Numbers) -> dict[float, str]:
    power = 1 << (n.block_q.bit_length() - 1)
    found: dict[float, str] = {
        n.once(): (
            "You read keys and values once. Every block of queries reads all of them again."
        ),
        n.read(_floor(n.fitting(out=False))): (
            "You left out the running output. It stays in fast memory too, one float32 row "
            "per query."
        ),
        n.read(_floor(n.fitting(scores=False))): (
            f"You left out the tile's scores. They take {n.block_k} float32 numbers per query."
        ),
        n.read(_floor(n.fitting(keys=1))): (
            "You left out the tile's values. They take as much memory as its keys."
        ),
        n.read(_floor(n.fitting(keys=0))): "You left out the tile's keys and values. They "
                                           "take memory as well.",
        n.read(_floor(n.fitting(sums=EACH))): (
            "You counted 2 bytes for the running output and the scores. In float32 it's 4."
        ),
        **_rounded(n),
        round(n.once() * n.tokens / n.block_q): (
            "The last block of queries isn't full, but it reads all keys. Round the number of "
            "blocks up."
        ),
        n.read(power): f"{power} queries fit, but more do too. Take the largest multiple of "
                       f"{STEP}.",
        n.read(n.block_k): (
            f"{n.block_k} is how many keys a tile has. Keys are read again for each block of "
            "queries."
        ),
        n.right // 2: "That's half. Keys and values are both read, at 2 bytes per number.",
        8 * n.right: "Those are bits.",
        n.tokens * n.once(): (
            "You read all keys for every single query. The queries of a block share a read."
        ),
        n.block_q: "Those are the queries of a block. The question asks for the bytes that "
                   "are read.",
    }  # fmt: skip
    off = TOLERANCE * n.right
    return {value: idea for value, idea in found.items() if abs(value - n.right) > off}


def _number(n: Numbers) -> NumberQuestion:
    return NumberQuestion(
        answer=n.right,
        unit="bytes",
        mistakes=foreseen(_mistakes(n)),
        tolerance=TOLERANCE,
        otherwise=(
            Remark(IN_BYTES, low=above(0), high=below(1e5)),
            near(n.right / 1e3, IN_BYTES, TOLERANCE),
            near(n.right / 1024, IN_BYTES, TOLERANCE),
            Remark(
                "{value:,.6g} bytes is {factor:,.3g} times too {large}. First the queries of a "
                "block, then how often keys and values are read, then their bytes."
            ),
        ),
    )


def made(**numbers: Any) -> Exercise:
    """The exercise with these numbers, or with the book's."""
    n = Numbers(**numbers)
    return Exercise(
        id="tile_budget",
        page="flash",
        title="A block that fits",
        kind="pencil",
        groups={"by hand": 3},
        minutes=10,
        difficulty=2,
        stage="warm-up",
        assessed=False,
        section="How much it saves depends on the fast memory",
        text=_text(n),
        starter="answer = ...  # your number of bytes",
        number=_number(n),
        hints=(
            "How many bytes does one more query take in fast memory? How many do a tile's keys and "
            "values take, however many queries there are?",
            f"A query takes {n.size} numbers of 2 bytes, {n.size} of 4 bytes for its output and "
            f"{n.block_k} of 4 bytes for its scores. Keys and values are read once per block of "
            "queries, including the last one.",
        ),
        common_errors=(
            "Forgetting what stays in fast memory in addition to the inputs.",
            "Dividing by the keys of a tile instead of the queries.",
            "Not rounding up: the last block reads all keys too.",
        ),
        draw=partial(drawn, made, CHOICES),
    )


EXERCISE = made()
