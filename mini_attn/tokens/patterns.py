r"""How text is cut into pieces before any token is looked for; no token crosses a cut.

With the library `regex` (extra ``tokens``) classes of characters are its own, of the newest
Unicode. Without it Python's `re` does the same with classes made from `unicodedata`: the
patterns mean the same, and only characters that are newer than Python's table are taken for
others.
"""

from __future__ import annotations

import re
from functools import cache
from importlib import import_module
from typing import Any

from mini_attn.errors import ConfigError, DTypeError
from mini_attn.tokens._grammar import translated

__all__ = ["PATTERNS", "cut"]

_ENDINGS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_ENDS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_UPPER, _LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"

PATTERNS: dict[str, str] = {
    "gpt2": r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
    "cl100k": r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
    r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s++$|" + _ENDS,
    "o200k": rf"[^\r\n\p{{L}}\p{{N}}]?{_UPPER}*{_LOWER}+{_ENDINGS}?"
    rf"|[^\r\n\p{{L}}\p{{N}}]?{_UPPER}+{_LOWER}*{_ENDINGS}?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _ENDS,
    "llama3": _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _ENDS,
    "qwen2": _ENDINGS + r"|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _ENDS,
}
"""Patterns by the name of the first tokenizer that used each, in the syntax of `regex`."""


def cut(text: str, pattern: str = "gpt2") -> list[str]:
    """Cut text into the pieces within which tokens are looked for.

    ``"".join(pieces) == text``

    Parameters
    ----------
    text : str
        Any text.
    pattern : str
        A name of `PATTERNS`, or a regular expression; what it doesn't match is a piece too.

    Returns
    -------
    list of str
        Pieces in the text's order, none of them empty.

    Raises
    ------
    ConfigError
        If the pattern has parts that engines read differently, or matches nothing at all.
    DTypeError
        If the text or the pattern is no str.

    Notes
    -----
    Characters newer than the tables of `regex`, or of Python without it, are of no class.

    Examples
    --------
    >>> cut("We've 2024 tokens.", "llama3")
    ['We', "'ve", ' ', '202', '4', ' tokens', '.']
    """
    if not isinstance(text, str):
        raise DTypeError(f"text must be a str, got {text!r:.60} ({type(text).__name__})")
    return [part for part, _ in spans(text, compiled(pattern))]


def spans(text: str, pattern: Any) -> list[tuple[str, bool]]:
    """Parts of a text in order, and whether the pattern matched each."""
    found, end = [], 0
    for match in pattern.finditer(text):
        start, stop = match.span()
        if start > end:
            found.append((text[end:start], False))
        if stop > start:
            found.append((match[0], True))
        end = stop
    if end < len(text):
        found.append((text[end:], False))
    return found


@cache
def compiled(pattern: str) -> Any:
    """The pattern, or the one of that name, for the engine that there is."""
    if not isinstance(pattern, str):
        raise DTypeError(f"pattern must be a str, got {pattern!r:.60} ({type(pattern).__name__})")
    written = PATTERNS.get(pattern, pattern)
    if written == pattern and pattern.isalnum():
        raise ConfigError(f"pattern must be one of {', '.join(PATTERNS)}, got {pattern!r:.40}")
    engine = _engine()
    try:
        made = engine.compile(translated(written, classes=engine is re))
    except (engine.error, OverflowError, RecursionError) as fault:
        raise ConfigError(f"the pattern {written!r:.60} can't be used: {fault!s:.80}") from None
    if made.match("") is not None:
        raise ConfigError(f"the pattern {written!r:.60} matches nothing at all, so it cuts nothing")
    return made


def _engine() -> Any:
    """The library `regex`, or Python's own."""
    try:
        return import_module("regex")
    except ImportError:
        return re
