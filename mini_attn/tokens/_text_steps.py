"""What happens to text before tokens are looked for: it's rewritten, then cut."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from mini_attn.tokens._alphabet import WHITE
from mini_attn.tokens.patterns import spans

Rewrite = Callable[[str], str]
Cut = Callable[[str, bool], "list[str]"]  # a piece, and whether the text starts with it


@dataclass(frozen=True)
class Steps:
    """Rewrites of a text between special tokens, and then the cuts of its pieces."""

    rewrites: tuple[Rewrite, ...] = ()
    cuts: tuple[Cut, ...] = ()

    def rewritten(self, text: str) -> str:
        for rewrite in self.rewrites:
            text = rewrite(text)
        return text

    def pieces(self, text: str, first: bool) -> list[str]:
        found = [text] if text else []
        for cut in self.cuts:
            found = [
                part
                for at, piece in enumerate(found)
                for part in cut(piece, first and at == 0)
                if part
            ]
        return found


def normal_form(form: Any) -> Rewrite:
    return lambda text: unicodedata.normalize(form, text)


def lowercase(text: str) -> str:
    """Each character by itself, so that a sigma at a word's end is no other letter."""
    return "".join(map(str.lower, text))


def strip(left: bool, right: bool) -> Rewrite:
    def rewrite(text: str) -> str:
        text = text.lstrip(WHITE) if left else text
        return text.rstrip(WHITE) if right else text

    return rewrite


def prepend(prefix: str) -> Rewrite:
    return lambda text: prefix + text if text else text


def replace(old: str, new: str) -> Rewrite:
    return lambda text: text.replace(old, new)


def replace_matches(pattern: Any, new: str) -> Rewrite:
    return lambda text: "".join(new if match else part for part, match in spans(text, pattern))


def matches(find: Callable[[str], list[tuple[str, bool]]], behavior: str, invert: bool) -> Cut:
    """Cut where something is found; `behavior` says where what is found goes."""

    def cut(piece: str, first: bool) -> list[str]:
        return _placed([(part, match != invert) for part, match in find(piece)], behavior)

    return cut


def _placed(parts: list[tuple[str, bool]], behavior: str) -> list[str]:
    if behavior == "removed":
        return [part for part, match in parts if not match]
    if behavior == "isolated":
        return [part for part, _ in parts]
    if behavior == "merged_with_next":
        turned = _joined([(part[::-1], match) for part, match in reversed(parts)], behavior)
        return [part[::-1] for part in reversed(turned)]
    return _joined(parts, behavior)


def _joined(parts: Iterable[tuple[str, bool]], behavior: str) -> list[str]:
    """Join a match to what stands before it, or whatever is alike if `contiguous`."""
    found: list[list[str]] = []
    last: bool | None = None
    for part, match in parts:
        joins = match == last if behavior == "contiguous" else match and not last
        if joins and found:
            found[-1].append(part)
        else:
            found.append([part])
        last = match
    return ["".join(part) for part in found]


def is_white(character: str) -> bool:
    return character in WHITE


def each(text: str, test: Callable[[str], bool]) -> list[tuple[str, bool]]:
    """Every character, and whether it is of a kind."""
    found: list[tuple[str, bool]] = []
    start = 0
    for at, character in enumerate(text):
        if test(character):
            found += [(text[start:at], False)] if at > start else []
            found.append((character, True))
            start = at + 1
    return found + ([(text[start:], False)] if start < len(text) else [])


def literal(wanted: str) -> Callable[[str], list[tuple[str, bool]]]:
    """Every place of a text in another, from left to right."""

    def find(text: str) -> list[tuple[str, bool]]:
        found: list[tuple[str, bool]] = []
        for part in text.split(wanted):
            found += [(wanted, True), (part, False)] if part else [(wanted, True)]
        return found[1:]

    return find


def is_number(character: str) -> bool:
    return unicodedata.category(character).startswith("N")


def prefix_space(piece: str, first: bool) -> list[str]:
    return [piece if piece.startswith(" ") else " " + piece]


def metaspace(mark: str, scheme: str, split: bool) -> Cut:
    """Spaces as a character of their own, one before the text, and a cut before each."""
    find = literal(mark)

    def cut(piece: str, first: bool) -> list[str]:
        piece = piece.replace(" ", mark)
        prepended = scheme == "always" or (scheme == "first" and first)
        if prepended and not piece.startswith(mark):
            piece = mark + piece
        return _placed(find(piece), "merged_with_next") if split else [piece]

    return cut
