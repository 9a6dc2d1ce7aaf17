"""Takes names, paths and addresses out of what a student wrote, and leaves what the code does."""

from __future__ import annotations

import builtins
import io
import re
import tokenize
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from classroom.submissions.collect import Submission

__all__ = ["Unnamed", "unnamed_one"]

WORD = re.compile(r"[^\W\d_]{3,}")
ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){0,4}\.[a-z]{2,12}\b")
HOME = re.compile(r"(/(?:home|Users|root)/|\\Users\\+|/jovyan/)[^/\\\s\"']{1,64}")
COMMENT = re.compile(r"#[^\n]*")
WHOLE = 6  # characters of a classmate's name that is looked for
TEXTS = ("COMMENT", "STRING", "FSTRING_MIDDLE")


def _any_of(phrases: Iterable[str], *, careful: bool = False) -> re.Pattern[str] | None:
    """A pattern for whole words or phrases, the longest first.

    A careful one takes a short word only as it is written, and with a capital: a small one may be
    what the code needs, as in mode="max", of a student called Max.
    """
    found = sorted({p for p in phrases if p.strip()}, key=lambda p: (-len(p), p))
    if careful:
        found = [p for p in found if len(p) >= WHOLE or p != p.lower()]
    forms = [re.escape(p) if careful and len(p) < WHOLE else f"(?i:{re.escape(p)})" for p in found]
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(forms)})(?![^\W_])") if forms else None


@dataclass(frozen=True)
class Unnamed:
    """What is taken out of the texts of one student.

    Parameters
    ----------
    name : str
        The pseudonym that stands there instead.
    places, prose, own : re.Pattern or None
        Files; names in comments, docstrings and messages; the student's own names in other
        strings, as they are written. A classmate's may be what the code needs.
    words : frozenset of str
        Words of the student's own names, in small letters.
    """

    name: str
    places: re.Pattern[str] | None
    prose: re.Pattern[str] | None
    own: re.Pattern[str] | None
    words: frozenset[str]

    def text(self, text: str, *, computed: bool = False) -> str:
        """A text without them; if code computes with it, without the student's own names."""
        for pattern in (self.places, self.own if computed else self.prose):
            text = pattern.sub(self.name, text) if pattern else text
        return HOME.sub(rf"\g<1>{self.name}", ADDRESS.sub(f"{self.name}@…", text))

    def source(self, source: str) -> tuple[str, bool]:
        """Code with its comments and strings cleaned, and whether a name is left in the code."""
        lines = source.splitlines(keepends=True)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line))
        try:
            tokens = list(tokenize.generate_tokens(io.StringIO(source, newline="").readline))
        except (tokenize.TokenError, SyntaxError):  # comments alone can be told from the rest
            return COMMENT.sub(lambda found: self.text(found[0]), source), True
        parts, end, left = [], 0, False
        alone = _standing_alone(tokens)
        for token in tokens:
            kind = tokenize.tok_name[token.type]
            left = left or (kind == "NAME" and self._names(token.string))
            if kind in TEXTS:
                first = starts[token.start[0] - 1] + token.start[1]
                last = starts[token.end[0] - 1] + token.end[1]
                is_prose = kind == "COMMENT" or token.start in alone
                new = self.text(source[first:last], computed=not is_prose)
                parts += [source[end:first], new]
                end = last
        return "".join([*parts, source[end:]]), left

    def _names(self, identifier: str) -> bool:
        """Whether a name of Python's has a word of the student's in it."""
        if hasattr(builtins, identifier) or hasattr(np, identifier):
            return False
        return not self.words.isdisjoint(WORD.findall(identifier.replace("_", " ").casefold()))


def _standing_alone(tokens: Sequence[tokenize.TokenInfo]) -> set[tuple[int, int]]:
    """Where strings begin that are a line of their own, as docstrings are."""
    passed = (tokenize.COMMENT, tokenize.NL, tokenize.INDENT, tokenize.DEDENT)
    told = [token for token in tokens if token.type not in passed]
    ends = (tokenize.NEWLINE, tokenize.ENDMARKER)
    before = [True, *(token.type in ends for token in told)]
    return {
        token.start
        for token, begins, after in zip(told, before, told[1:], strict=False)
        if token.type == tokenize.STRING and begins and after.type in ends
    }


def unnamed_one(
    one: Submission, name: str, everybody: Sequence[str], exercises: Iterable[str]
) -> Unnamed:
    """What is to be taken out of the texts of a student.

    Parameters
    ----------
    one : Submission
        What was handed in.
    name : str
        The pseudonym.
    everybody : sequence of str
        Names of the whole class: those of classmates go too, where they stand as a whole.
    exercises : iterable of str
        Ids of exercises, whose words are nobody's name.
    """
    forms = [one.student, *one.aliases, *filter(None, [one.written_name])]
    own = [form for form in forms if sum(map(str.isalpha, form)) > 1]
    known = {word for key in exercises for word in key.split("_")}
    words = {word for form in own for word in WORD.findall(form) if word.casefold() not in known}
    others = [form for form in everybody if len(form) >= WHOLE]
    places = [*one.files, *(part for place in one.files for part in place.split("/"))]
    return Unnamed(
        name,
        _any_of(places),
        _any_of([*own, *words, *others]),
        _any_of([*own, *words], careful=True),
        frozenset(word.casefold() for word in words),
    )
