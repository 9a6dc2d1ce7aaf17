"""Words that students wrote, made harmless: for a page, for Markdown, a spreadsheet, a file name.

Names, messages, notes and file names come from outside. Each is cleaned once, when it is read;
the escape that its place needs comes last, from the template or the writer.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

__all__ = ["clean", "file_names", "folded", "for_markdown", "for_spreadsheet", "shown_names"]

KEPT = "\u200c\u200d"  # joiners, which some scripts need inside a word
# Drawn as nothing, or as a change of the character before: they only hide differences.
UNSEEN = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
MARKS = 3  # marks on one letter; more would be drawn across the lines above
RESERVED = {"con", "prn", "aux", "nul"} | {f"{n}{i}" for n in ("com", "lpt") for i in range(10)}
NAME_LENGTH = 50  # characters, at most 200 bytes: a file system takes 255
# A cell that begins like a formula, also where another separator would begin a new cell.
FORMULA = re.compile(r"(^|[;,|\t])(?=[\s\"'\u200c\u200d]*[=+\-@＝＋－＠])")
# What emphasises, links, quotes or includes, anywhere or at the start of a line.
MARKDOWN = re.compile(
    r"(?<![^\W_])_|_(?![^\W_])|[\\`*\[\]{}~$@#|]|^[-+=:%(!]"
    r"|/(?=/\S)|(?<=www)\.",  # an address becomes a link without brackets
    re.IGNORECASE,
)
NUMBERED = re.compile(r"^(\d+)([.)])(?=\s|$)")


def _seen(letter: str) -> str:
    """Return a character, or its number where it would be unseen or turn the line round."""
    return letter if letter.isprintable() or letter in KEPT else ascii(letter)[1:-1]


def _few_marks(text: str) -> str:
    """Return a text without what is unseen, and with no letter under a tower of marks."""
    kept, marks = [], 0
    for letter in UNSEEN.sub("", text):
        marks = marks + 1 if unicodedata.category(letter) in ("Mn", "Me") else 0
        if marks <= MARKS:
            kept.append(letter)
    return "".join(kept)


def clean(text: object, limit: int) -> str:
    """Return one line that shows what it holds.

    Parameters
    ----------
    text : object
        What a student wrote; None is empty.
    limit : int
        Characters that are kept; an ellipsis stands for the rest.

    Returns
    -------
    str
        Without line breaks; control characters, changes of direction and half characters are
        written as their numbers.
    """
    raw = "" if text is None else str(text)
    line = "".join(map(_seen, _few_marks(" ".join(raw[: 8 * limit].split()))))
    return line if len(line) <= limit and len(raw) <= 8 * limit else f"{line[: limit - 1]}…"


def for_markdown(text: str) -> str:
    """Return a cleaned line in which Markdown finds nothing to interpret.

    Entities where a reader of Markdown may not know the backslash, so that no tag survives.
    """
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = MARKDOWN.sub(lambda found: f"\\{found.group()}", text)
    return NUMBERED.sub(r"\1\\\2", text)


def for_spreadsheet(text: str) -> str:
    """Return a cleaned line that no spreadsheet computes: formulas begin with an apostrophe."""
    return FORMULA.sub(r"\1'", text)


def _stem(name: str) -> str:
    """Letters and digits of a name, the rest as hyphens."""
    text = unicodedata.normalize("NFKC", _few_marks(name))
    letters = [c if unicodedata.category(c)[0] in "LNM" or c == "_" else "-" for c in text]
    stem = re.sub("-+", "-", "".join(letters)[: 4 * NAME_LENGTH])[:NAME_LENGTH].strip("-_")
    stem = stem or "student"
    return f"{stem}-" if stem.casefold() in RESERVED else stem


def file_names(students: Iterable[str]) -> dict[str, str]:
    """Return a safe, readable file name without its ending for each student.

    Parameters
    ----------
    students : iterable of str
        As they were found; any text.

    Returns
    -------
    dict of str to str
        Different also on a disk that takes small and capital letters for the same. Students
        whose names would meet all get an addition from the name, whoever comes first.
    """
    students = sorted(set(students))
    stems = {student: _stem(student) for student in students}
    plain = {student: folded(stem) for student, stem in stems.items()}
    count = Counter(plain.values())
    names = {s: stem for s, stem in stems.items() if count[plain[s]] == 1}
    taken = {plain[s] for s in names}
    for student in (s for s in students if s not in names):
        mark = hashlib.sha256(student.encode("utf-8", "surrogatepass")).hexdigest()
        sizes = (n for n in range(6, 65) if f"{plain[student]}-{mark[:n]}" not in taken)
        names[student] = f"{stems[student]}-{mark[: next(sizes)]}"
        taken.add(folded(names[student]))
    return names


def folded(stem: str) -> str:
    """Return what a careless file system makes of a name."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", stem).casefold())


def _exact(name: str) -> str:
    """Return a name whose odd blanks, and marks on letters, are written as numbers."""
    letters = []
    for before, letter, after in zip(f" {name[:-1]}", name, f"{name[1:]} ", strict=True):
        odd = unicodedata.combining(letter) or UNSEEN.match(letter) or letter in KEPT
        odd = odd or (letter.isspace() and (letter != " " or before.isspace() or after.isspace()))
        letters.append(f"\\x{ord(letter):02x}" if odd and ord(letter) < 256
                       else ascii(letter)[1:-1] if odd else letter)  # fmt: skip
    return "".join(letters)


def shown_names(students: Iterable[str], limit: int) -> dict[str, str]:
    """Return a line for each student that no other student has.

    Parameters
    ----------
    students : iterable of str
        As they were found; any text.
    limit : int
        Characters of a line.

    Returns
    -------
    dict of str to str
        Names that would look alike, such as "ada" and "ada " with a blank behind, show what tells
        them apart, and so does one of blanks alone; where that lies beyond the limit, they end in
        a number of their own.
    """
    students = sorted(set(students))
    names = {student: clean(student, limit) for student in students}
    for further in (_exact, _numbered):
        count = Counter(unicodedata.normalize("NFC", name) for name in names.values())
        for student, name in names.items():
            if count[unicodedata.normalize("NFC", name)] > 1 or (student and not name):
                names[student] = clean(further(student), limit)
    return names


def _numbered(name: str) -> str:
    """Return the beginning of a name, and a number made from all of it."""
    mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{clean(name, NAME_LENGTH)} #{mark}"
