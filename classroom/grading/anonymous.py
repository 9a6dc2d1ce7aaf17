"""Shows grades and answers of a class without names: to mark by hand, or to pass on.

A secret beside the grades makes other names, the same at every run; whoever has it, or
``names.csv``, has the way back. Names, paths and addresses go from what a student wrote, and what
the code does stays.
"""

from __future__ import annotations

import builtins
import csv
import hashlib
import hmac
import io
import json
import re
import secrets
import sys
import tokenize
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from classroom.grading.run_folder import write_data
from classroom.reports.report import reports
from classroom.reports.sanitize import clean, for_spreadsheet
from classroom.results import Result, Run
from classroom.submissions.collect import Submission
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise

__all__ = ["FOLDER", "KEY", "anonymous", "pseudonyms", "read_key", "secret_key", "unnamed_one"]

KEY = "pseudonyms.json"
LETTERS = "23456789BCDFGHJKMNPQRSTVWXZ"  # that make no words and are not taken for each other
LENGTH = 8


def read_key(out: Path) -> bytes | None:
    """Return the secret of a folder of grades; None if it has none.

    Raises
    ------
    ConfigError
        If the file is broken: other pseudonyms would be made.
    """
    path = out / KEY
    try:
        key = json.loads(path.read_text(encoding="utf-8"))["secret"]
        return bytes.fromhex(key) or None
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, LookupError, RecursionError):
        words = "holds no secret. Put back the file of the earlier run, or move it away"
        raise ConfigError(f"{str(path)!r} is broken: it {words} for new pseudonyms") from None


def secret_key(out: Path) -> bytes:
    """Return the secret of a folder of grades, made where there is none."""
    key = read_key(out)
    if key is None:
        key = secrets.token_bytes(32)
        write_data(out / KEY, {"secret": key.hex()})
    return key


def _letters(key: bytes, name: str, length: int) -> str:
    """So many letters that only the secret gives for a name."""
    text = name.encode("utf-8", "surrogatepass")
    number = int.from_bytes(hmac.new(key, text, hashlib.sha256).digest(), "big")
    letters = []
    for _ in range(length):
        number, place = divmod(number, len(LETTERS))
        letters.append(LETTERS[place])
    return "".join(letters)


def pseudonyms(key: bytes, sent: Sequence[Submission]) -> dict[str, str]:
    """Return another name for each student.

    Parameters
    ----------
    key : bytes
        The secret.
    sent : sequence of Submission
        Of a student with several attempts any of them.

    Returns
    -------
    dict of str to str
        By student. It depends on the name of the first attempt, so that a later one keeps it;
        two that would be alike are longer.
    """
    first = {one.student: min([one.student, *one.aliases]) for one in sent}
    short = {student: _letters(key, name, LENGTH) for student, name in first.items()}
    count = Counter(short.values())
    return {
        s: t if count[t] == 1 else _letters(key, first[s], 2 * LENGTH) for s, t in short.items()
    }


def name_table(names: Mapping[str, str]) -> str:
    """Return the way back, as a table."""
    out = io.StringIO(newline="")
    out.write("\ufeff")
    table = csv.writer(out)
    table.writerow(["pseudonym", "student"])
    rows = sorted((other, student) for student, other in names.items())
    table.writerows((other, for_spreadsheet(clean(student, 300))) for other, student in rows)
    return out.getvalue()


WORD = re.compile(r"[^\W\d_]{3,}")
ADDRESS = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}(?:\.[\w-]{1,64}){0,4}\.[a-z]{2,12}\b")
HOME = re.compile(r"(/(?:home|Users|root)/|\\Users\\+|/jovyan/)[^/\\\s\"']{1,64}")
COMMENT = re.compile(r"#[^\n]*")
WHOLE = 6  # characters of a classmate's name that is looked for
TEXTS = ("COMMENT", "STRING", "FSTRING_MIDDLE")


def _any_of(phrases: Iterable[str], *, careful: bool = False) -> re.Pattern[str] | None:
    """Return a pattern for whole words or phrases, the longest first.

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
        """Return a text without them; if code computes with it, without the student's own names."""
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
        """Return whether a name of Python's has a word of the student's in it."""
        if hasattr(builtins, identifier) or hasattr(np, identifier):
            return False
        return not self.words.isdisjoint(WORD.findall(identifier.replace("_", " ").casefold()))


def _standing_alone(tokens: Sequence[tokenize.TokenInfo]) -> set[tuple[int, int]]:
    """Return where strings begin that are a line of their own, as docstrings are."""
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
    """Return what is to be taken out of the texts of a student.

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


FOLDER = "anonymous"
OURS = ("id", "title", "page", "kind", "state", "failed")  # texts that no student writes


def _nameless(value: Any, unnamed: Unnamed) -> Any:
    """Return a result in which every text of a student's or a teacher's is cleaned."""
    if isinstance(value, str):
        return unnamed.text(value)
    if isinstance(value, list | tuple):
        return type(value)(_nameless(one, unnamed) for one in value)
    if is_dataclass(value) and not isinstance(value, type):
        names = [one.name for one in fields(value) if one.name not in OURS]
        return replace(value, **{n: _nameless(getattr(value, n), unnamed) for n in names})
    return value


def _result(result: Result, unnamed: Unnamed) -> Result:
    """Return a result under a pseudonym."""
    files = [f"{unnamed.name}.ipynb"] if result.files else []
    nameless: Result = _nameless(result, unnamed)
    return replace(nameless, student=unnamed.name, written_name=None, files=files)


def _notebook(one: Submission, exercises: Sequence[str], unnamed: Unnamed) -> tuple[str, bool]:
    """Return the answers alone, and whether a name may be left in their code."""
    cells: list[dict[str, Any]] = []
    left = False
    for key in exercises:
        for number, source in enumerate(one.cells.get(key, [])):
            if not number:
                cells.append({"cell_type": "markdown", "id": f"{key}-title", "metadata": {},
                              "source": f"## {exercise(key).title}"})  # fmt: skip
            about = {"id": f"{key}-{number}",
                     "metadata": {"exercise": {"id": key, "role": "starter"}}}  # fmt: skip
            if exercise(key).kind == "open":
                text = unnamed.text(source)
                cells.append({"cell_type": "markdown", "source": text, **about})
                continue
            text, named = unnamed.source(source)
            left = left or named
            cells.append({"cell_type": "code", "source": text, "outputs": [],
                          "execution_count": None, **about})  # fmt: skip
    kernel = {"language_info": {"name": "python"}}
    data = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(data, indent=1, sort_keys=True, ensure_ascii=False) + "\n", left


def anonymous(
    run: Run,
    results: Sequence[Result],
    sent: Sequence[Submission],
    names: Mapping[str, str],
) -> dict[str, str]:
    """Grades, feedback, summary and answers under pseudonyms, and the way back.

    Parameters
    ----------
    run, results
        As the reports get them.
    sent : sequence of Submission
        The attempts that count.
    names : dict of str to str
        The pseudonym of each student.

    Returns
    -------
    dict of str to str
        Texts by name: all in `FOLDER` but ``names.csv``, which stays with the teacher.
    """
    everybody = [form for one in sent
                 for form in (one.student, *one.aliases, one.written_name) if form]  # fmt: skip
    exercises = run.exercises
    by_student = {one.student: one for one in sent}
    unnamed = {student: unnamed_one(one, names[student], everybody, exercises)
               for student, one in by_student.items()}  # fmt: skip
    nameless = [_result(result, unnamed[result.student]) for result in results]
    again = [names.get(student, "") for student in run.again]
    # Marks that fit nobody, and whose answers are whose, are for the teacher and name names.
    texts = reports(replace(run, again=again, unfit=(), alike=(), borrowed=()), nameless)
    for student, one in by_student.items():
        text, left = _notebook(one, exercises, unnamed[student])
        place = f"answers/{names[student]}.ipynb"
        texts[place] = text
        if left:
            words = "a name may stand in the code itself: look before you pass it on"
            print(f"[grade] {FOLDER}/{place}: {words}", file=sys.stderr)
    return {f"{FOLDER}/{place}": text for place, text in texts.items()} | {
        "names.csv": name_table(names)
    }
