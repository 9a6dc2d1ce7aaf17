r"""The part of a pattern's language that means the same wherever tokenizers are run.

A tokenizer's file brings its own regular expression. `regex`, Python's `re` and the originals'
engines agree on characters, classes, ``\p{L}``, ``\s``, groups, choices and repeats; where they
don't, or where a repeat of repeats could take for ever, a pattern is refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn

from mini_attn.errors import ConfigError
from mini_attn.tokens._classes import CATEGORIES, WHITE, members

_PARTS = re.compile(
    r"""(?P<category>\\[pP]\{\w+\})
      | (?P<white>\\[sS])
      | (?P<escape>\\[rnt\W])
      | (?P<set>\[\^?(?:\\.(?:\{\w+\})?|[^\\\[\]])+\])
      | (?P<open>\((?:\?i:|\?:|\?!|\?=)?)
      | (?P<close>\))
      | (?P<repeat>[?*+]\+?|\{[0-9]{1,3}(?:,[0-9]{0,3})?\})
      | (?P<choice>\|)
      | (?P<end>\$)
      | (?P<plain>[^\\\[\](){}?*+|$^.])""",
    re.VERBOSE | re.DOTALL,
)
_ITEMS = re.compile(r"\\p\{\w+\}|\\s|\\[rnt\W]|[^\\]", re.DOTALL)
LONGEST = 4096


@dataclass(frozen=True)
class _Part:
    """A piece of a pattern: what it is, its text and where it stands."""

    kind: str
    text: str
    at: int


@dataclass
class _Group:
    """A group that's still open."""

    opening: str
    endless: bool = False  # something in it repeats without an end


def translated(pattern: str, *, classes: bool) -> str:
    r"""The pattern for `regex`, or with `classes` written out for `re`; both mean the same."""
    if not 0 < len(pattern) <= LONGEST:
        raise ConfigError(f"a pattern must have 1 to {LONGEST} characters, got {len(pattern)}")
    parts = _parts(pattern)
    _check(parts, pattern)
    return "".join(_written(part, pattern, classes) for part in parts)


def _parts(pattern: str) -> list[_Part]:
    parts: list[_Part] = []
    at = 0
    while at < len(pattern):
        found = _PARTS.match(pattern, at)
        if found is None:
            _refuse(pattern, at, repr(pattern[at : at + 8]))
        parts.append(_Part(str(found.lastgroup), found[0], at))
        at = found.end()
    return parts


def _check(parts: list[_Part], pattern: str) -> None:
    """Groups close, repeats follow what can repeat, and no repeat is in one that has no end."""
    groups = [_Group("")]
    before, closed = "", False  # the last part's kind; whether the last group was endless
    for part in parts:
        kind, text = part.kind, part.text
        if kind in ("close", "repeat") and before in ("", "open", "choice"):
            _refuse(pattern, part.at, f"nothing before {text!r}")
        if kind == "open":
            groups.append(_Group(text))
        elif kind == "close":
            if len(groups) == 1:
                _refuse(pattern, part.at, "a group that isn't open")
            closed = groups.pop().endless
            groups[-1].endless |= closed
        elif kind == "repeat":
            if before in ("repeat", "end") or (before == "close" and closed and text != "?"):
                _refuse(pattern, part.at, "a repeat of repeats")
            groups[-1].endless |= text[0] in "*+" or text.endswith(",}")
        elif kind == "end" and not pattern[: part.at].endswith(r"\s++"):
            _refuse(pattern, part.at, "'$', about which engines differ")
        if any(group.opening == "(?i:" for group in groups) and (
            kind in ("category", "white") or (kind == "set" and "\\" in text) or not text.isascii()
        ):
            _refuse(pattern, part.at, "a class where case is ignored")
        before = kind
    if len(groups) > 1:
        _refuse(pattern, len(pattern), "an open group")


def _refuse(pattern: str, at: int, what: str) -> NoReturn:
    raise ConfigError(
        f"the pattern {pattern!r:.60} has {what:.40} at {at}: only what means the same in every "
        "engine is read"
    )


def _written(part: _Part, pattern: str, classes: bool) -> str:
    kind, text = part.kind, part.text
    if kind == "category":
        _check_category(text, pattern, part.at)
        if classes:
            return f"[{'^' * (text[1] == 'P')}{members(text[3:-1])}]"
    elif kind == "white" and classes:
        return f"[{'^' * (text[1] == 'S')}{WHITE}]"
    elif kind == "set":
        return _written_set(text, pattern, part.at, classes)
    elif kind == "open" and text == "(":
        return "(?:"
    elif kind == "end":
        return r"\Z"
    elif kind == "plain" and not text.isalnum():
        return re.escape(text)
    return text


def _written_set(text: str, pattern: str, at: int, classes: bool) -> str:
    denied = text.startswith("[^")
    inside, out, end = text[1 + denied : -1], [], 0
    if re.search(r"&&|\|\||~~|--|^-.|\[:", inside):
        _refuse(pattern, at, "a set of sets")
    while end < len(inside):
        item = _ITEMS.match(inside, end)
        if item is None:
            _refuse(pattern, at, repr(inside[end : end + 6]))
        word, end = item[0], item.end()
        if word.startswith(r"\p"):
            _check_category(word, pattern, at)
            word = members(word[3:-1]) if classes else word
        elif word == r"\s":
            word = WHITE if classes else word
        elif len(word) == 1 and word not in "-^" and not word.isalnum():
            word = re.escape(word)
        elif word == "^":
            word = r"\^"
        out.append(word)
    return f"[{'^' * denied}{''.join(out)}]"


def _check_category(text: str, pattern: str, at: int) -> None:
    if text[3:-1] not in CATEGORIES:
        _refuse(pattern, at, text)
