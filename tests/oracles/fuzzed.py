"""Texts that a tokenizer may meet, the same in every run."""

from __future__ import annotations

import random
import unicodedata
from functools import cache

from tests.oracles.made import OTHER_SCRIPTS, SPECIAL, prose

SPACES = " \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0\u1680\u2003\u2028\u202f\u3000\u200b\ufeff"
LOOKS = [*SPECIAL, "<unk>", "<mask>", "<r>", "<tool>", "<h1>", "<0x41>", "▁", "Ġ", "'s", "'LL",
         "'ſ", "don't", "1234567", "\r\n", "\n\n", "e\u0301", "ﬁ", "Å", "👩‍👩‍👧",
         "🏳️‍🌈", "का"]  # fmt: skip
BLOCKS = [(0x20, 0x7F), (0xA0, 0x250), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00),
          (0x3040, 0x3100), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3), (0x1F300, 0x1FAFF)]  # fmt: skip


@cache
def settled() -> frozenset[str]:
    """Characters that Python's own table of Unicode holds: those of whose class all are sure."""
    found = map(chr, range(0x110000))
    return frozenset(c for c in found if unicodedata.category(c) not in ("Cn", "Cs"))


@cache
def alphabet() -> str:
    return "".join(sorted(settled()))


def _any(draw: random.Random) -> str:
    return "".join(draw.choices(alphabet(), k=draw.randrange(1, 20)))


def _block(draw: random.Random) -> str:
    low, high = draw.choice(BLOCKS)
    found = (chr(draw.randrange(low, high)) for _ in range(draw.randrange(1, 20)))
    return "".join(character for character in found if character in settled())


def _run(draw: random.Random) -> str:
    return draw.choice("a aA1 \n\té日▁🙂'.\u0301" + SPACES) * draw.choice((2, 3, 7, 30, 120))


def _words(draw: random.Random) -> str:
    text = draw.choice(prose())
    start = draw.randrange(len(text))
    return text[start : start + draw.randrange(1, 60)]


def _control(draw: random.Random) -> str:
    return "".join(chr(draw.randrange(0x20)) for _ in range(draw.randrange(1, 8)))


def _spaces(draw: random.Random) -> str:
    return "".join(draw.choices(SPACES, k=draw.randrange(1, 6)))


def _looks(draw: random.Random) -> str:
    return draw.choice(LOOKS) + draw.choice(("", " ", draw.choice(OTHER_SCRIPTS)))


PARTS = [_any, _block, _run, _words, _words, _control, _spaces, _looks]


def text(number: int) -> str:
    """Text number so and so."""
    draw = random.Random(number)
    return "".join(draw.choice(PARTS)(draw) for _ in range(draw.randrange(0, 6)))
