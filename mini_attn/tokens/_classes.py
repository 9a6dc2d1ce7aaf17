r"""Classes of characters for `re`, which has no ``\p{L}``: from Python's own table of Unicode."""

from __future__ import annotations

import unicodedata
from functools import cache
from itertools import groupby

_NAMES = "L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp"
CATEGORIES = frozenset(_NAMES.split())
WHITE = r"\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000"  # of a class


@cache
def _runs() -> list[tuple[int, int, str]]:
    """First and last code point of each run of one category."""
    found, first = [], 0
    for category, run in groupby(map(unicodedata.category, map(chr, range(0x110000)))):
        length = sum(1 for _ in run)
        found.append((first, first + length - 1, category))
        first += length
    return found


@cache
def members(category: str) -> str:
    """Write what a class of `re` holds for a category, or for all that begin with its letter."""
    found: list[list[int]] = []
    for first, last, name in _runs():
        if not name.startswith(category):
            continue
        if found and found[-1][1] == first - 1:
            found[-1][1] = last
        else:
            found.append([first, last])
    return "".join(f"\\U{first:08x}-\\U{last:08x}" for first, last in found)
