"""Reads what students sent: whose each file is, and which of several answers counts."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from classroom.sheets.sheet import chapters
from classroom.submissions.archives import is_handed_in, is_mistaken, unrenamed, wanted
from classroom.submissions.attempts import MOODLE, attempt_of
from classroom.submissions.files import find
from classroom.submissions.notebook import Notebook, read_notebook, same_text, untouched
from mini_attn.exercises.spec import exercise_ids

__all__ = ["Submission", "moodle_name", "read"]

DIGITS = re.compile(r"(\d{1,9})")
ATTEMPTS = 20  # of one student: what has more is a class with numbers for names
COPY = re.compile(r"(?: ?\(\d+\)|-Copy\d+|-checkpoint)+$")  # as browsers and Jupyter name one


@dataclass
class Submission:
    """All that one student sent.

    Parameters
    ----------
    student : str
        The first part of the files' place: a folder's or a file's name without its ending.
    written_name : str or None
        What stands in the cell for the name.
    files : list of str
        The notebooks that were read.
    problems : list of str
        Files and cells that could not be used, in words.
    cells : dict of str to list of str
        Sources by exercise, in the order of the notebook.
    defined : dict of str to str
        Where the notebooks define a name, in words, for all their code.
    checked : dict of str to str
        What was given to the check of an exercise, by name.
    attempt : int
        Which of the student's attempts it is, from 1.
    aliases : list of str
        Other names of the student, from other attempts.
    time : datetime or None
        When the last of its notebooks was written.
    keys : list of str
        Of the numbers that the notebooks say they have; anybody can write any.
    key : str
        Of the numbers that were drawn for this student; empty if none were.
    """

    student: str
    written_name: str | None = None
    files: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    cells: dict[str, list[str]] = field(default_factory=dict)
    defined: dict[str, str] = field(default_factory=dict)
    checked: dict[str, str] = field(default_factory=dict)
    attempt: int = 1
    aliases: list[str] = field(default_factory=list)
    time: datetime | None = None
    keys: list[str] = field(default_factory=list)
    key: str = ""

    def graded(self) -> dict[str, Any]:
        """Return all of it that a grade depends on."""
        data = asdict(self)
        return {key: data[key] for key in data if key not in ("aliases", "time")}


def _of_one_student(notebooks: list[Notebook]) -> bool:
    """Return whether a lone archive is a student's: copies of one notebook, or chapters."""
    # A report beside the notebook is the same student's, one in a folder of its own is not.
    places = [notebook.parts[1:] for notebook in notebooks]
    inner = [p for p in places if p and (wanted(p[-1]) or (p[1:] and is_mistaken(p[-1])))]
    if len({notebook.written_name for notebook in notebooks} - {None}) > 1:
        return False
    if any(part.lower().endswith(".zip") for parts in inner for part in parts):
        return False
    if any(MOODLE.fullmatch(parts[0]) for parts in inner):
        return False
    stems = {COPY.sub("", parts[-1].rsplit(".", 1)[0]) for parts in inner if wanted(parts[-1])}
    folders = {parts[:-1] for parts in inner}
    return len(folders) == 1 and (len(stems) == 1 or stems <= set(chapters()))


def _is_lone(notebook: Notebook) -> bool:
    """Return whether it's a file that somebody handed in instead of a notebook."""
    name = notebook.parts[-1]
    return not notebook.cells and not wanted(name) and is_handed_in(name)


Owned = tuple[str, tuple[str, ...], Notebook]  # the student, the place below the own entry


def _students(notebooks: list[Notebook]) -> list[Owned]:
    """Return whose each notebook is."""
    first = {notebook.parts[0] for notebook in notebooks}
    depth = 0
    in_archive = len(first) == 1 and first.pop().lower().endswith(".zip")
    if in_archive and not _of_one_student(notebooks):
        # The whole class in one archive, perhaps in a folder of its own.
        depth = 1
        below = [n.parts[1:] for n in notebooks if not (len(n.parts) == 2 and _is_lone(n))]
        shared = len({parts[:1] for parts in below}) == 1 and all(len(p) > 1 for p in below)
        if shared and len({parts[1] for parts in below}) > 1:
            depth = 2
    places = [n.parts[min(depth, len(n.parts) - 1) :] for n in notebooks]
    return [(_student(p), p[1:], n) for p, n in zip(places, notebooks, strict=True)]


def _student(parts: tuple[str, ...]) -> str:
    """Return a student's name, of the place of a file from the student's own entry on."""
    entry = unrenamed(parts[0])
    kind = entry.rsplit(".", 1)[-1].lower() if "." in entry else ""
    if kind in ("ipynb", "zip") or (len(parts) == 1 and (kind == "json" or is_mistaken(entry))):
        entry = entry.rsplit(".", 1)[0] or entry
    moodle = MOODLE.fullmatch(entry)
    return moodle[1] + moodle[2] if moodle else entry


def moodle_name(student: str, places: Iterable[str]) -> str | None:
    """Return the name alone, if the files' places show that Moodle put a number behind it."""
    found = re.fullmatch(r"(.+)_\d+", student, re.DOTALL)
    ours = found and any(f"{student}_assignsubmission_" in place for place in places)
    return found[1] if found and ours else None


def _turn(notebook: Notebook) -> tuple[bool, list[list[tuple[int, str]]]]:
    """Return which of a student's files comes later and counts: 2 before 10, "x" before "x (1)".

    What Jupyter kept as a copy comes first.
    """
    stems = [part.rsplit(".", 1)[0] for part in notebook.parts]
    pieces = [[(int(p), "") if p.isdecimal() else (-1, p) for p in DIGITS.split(s)] for s in stems]
    return not stems[-1].endswith("-checkpoint"), pieces


def _add(sent: Submission, notebook: Notebook) -> None:
    """One more file of a student: a later answer takes the place of an earlier one.

    A cell as it was handed out takes the place of nothing.
    """
    place = "/".join(notebook.parts)
    sent.problems += notebook.problems
    if notebook.cells:
        sent.files.append(place)
        sent.time = max(filter(None, (sent.time, notebook.time)), default=None)
    again = []
    for key, sources in notebook.cells.items():
        earlier = sent.cells.get(key)
        if earlier is not None and untouched(key, sources):
            continue
        if earlier is not None and not same_text(earlier, sources) and not untouched(key, earlier):
            again.append(key)
        sent.cells[key] = sources
    if again:
        words = "answers differ from those in another file; these count"
        sent.problems.append(f"{place}: {words}: {', '.join(again)}")
    sent.written_name = sent.written_name or notebook.written_name
    sent.defined |= {name: f"cell {n} of {place}" for name, n in notebook.defined.items()}
    sent.checked |= notebook.checked
    if notebook.key and notebook.key not in sent.keys:
        sent.keys.append(notebook.key)


def _merged(student: str, notebooks: Iterable[Notebook], **about: Any) -> Submission:
    """Return all files of one attempt."""
    sent = Submission(student, **about)
    for notebook in sorted(notebooks, key=_turn):
        _add(sent, notebook)
    return sent


def _in_attempts(owned: list[Owned]) -> list[Submission]:
    """Return all attempts of all students; files without an answer are no attempt of their own."""
    groups: dict[str, dict[int, list[Notebook]]] = {}
    names: dict[str, dict[str, bool]] = {}  # of each student, and whether a platform wrote it
    for student, below, notebook in sorted(owned, key=lambda one: _turn(one[2])):
        moodle = moodle_name(student, ["/".join(notebook.parts)]) is not None
        who, number, platform = attempt_of(student, below, moodle=moodle)
        groups.setdefault(who, {}).setdefault(number, []).append(notebook)
        names.setdefault(who, {})[student] = platform
    found = []
    for who, numbered in sorted(groups.items()):
        last = list(names[who])[-1]
        student = last if names[who][last] else who
        if len(numbered) > ATTEMPTS:  # this costs the others nothing
            words = f"{len(numbered)} attempts of at most {ATTEMPTS}: none is graded"
            problem = f"{words}; if these are students, leave out ATTEMPTS"
            found.append(Submission(student, problems=[problem]))
            continue
        full = [n for n in sorted(numbered) if any(one.cells for one in numbered[n])]
        full = full or [max(numbered)]
        lost = [one for n in numbered if n not in full for one in numbered[n]]
        aliases = [name for name in names[who] if name != student]
        found += [
            _merged(student, [*lost, *numbered[n]], attempt=place, aliases=aliases)
            for place, n in enumerate(full, 1)
        ]
    return found


def read(folder: Path, *, attempts: bool = False) -> list[Submission]:
    """Read a folder of submissions.

    Parameters
    ----------
    folder : Path
        As in `classroom.submissions.files.find`. Each entry is a student's: a notebook, a folder
        or a zip file. If the only entry is a zip file of several students, its entries are.
    attempts : bool
        Whether files that differ in a number are attempts, as `attempt_of` reads it; else all
        files of a student are one submission, and entries with numbers are students.

    Returns
    -------
    list of Submission
        By student, sorted, and then by attempt.

    Raises
    ------
    ConfigError
        If there is no such folder.
    """
    known = set(exercise_ids())
    notebooks = [read_notebook(file, known) for file in find(folder)]
    owned = _students(notebooks)
    if attempts:
        return sorted(_in_attempts(owned), key=lambda one: (one.student, one.attempt))
    students: dict[str, list[Notebook]] = {}
    for student, _, notebook in owned:
        students.setdefault(student, []).append(notebook)
    return [_merged(student, students[student]) for student in sorted(students)]
