"""A class that hands in: references, starters, wrong answers and the hostile kinds.

``python -m tests.classroom.simulate --students 200 --seed 1 --out FOLDER`` writes ``submissions``
and ``expected.json``; with ``--grade`` it also grades them, compares every grade, kills a second
run twice, resumes it and compares the two byte by byte (`tests.classroom.rehearse`). The same
seed gives the same class.
"""

from __future__ import annotations

import argparse
import inspect
import json
import random
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from itertools import cycle
from pathlib import Path

import nbformat

from classroom.sheets.notebook import student_notebook
from classroom.sheets.sheet import Sheet, chosen
from classroom.submissions.notebook import untouched
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise
from tests.classroom.hostile import SHEET, Hostile, hostile
from tests.classroom.hostile.files import FILES, HostileFile
from tests.classroom.hostile.notebooks import NOTEBOOKS, HostileNotebook
from tests.classroom.rehearse import rehearse
from tools import ROOT

__all__ = ["Answer", "answers_to", "notebook_of", "simulate"]

HOSTILE_SHARE = 0.05
NAME = "week1"
# Names by which every system knows its files; the others are tried in the tests of the grader.
PORTABLE = [
    f for f in FILES if f.place.startswith("{}") and f.place.isascii() and f.place[2:3] in "."
]


@dataclass(frozen=True)
class Answer:
    """An answer to one exercise, and what it must be given.

    Parameters
    ----------
    id, kind, name : str
        The exercise; ``right``, ``wrong``, ``starter``, ``missing``, ``hostile``, or ``lost`` with
        a file that cannot be read; which one.
    cell : str or None
        Source of its cell; None if it is not handed in.
    points : int
        What it earns.
    failed : tuple of str
        Checks one of which must fail; empty if none does.
    words : tuple of str
        One of them must stand in the message.
    """

    id: str
    kind: str
    name: str
    cell: str | None
    points: int
    failed: tuple[str, ...] = ()
    words: tuple[str, ...] = ("",)


def answers_to(exercise_id: str) -> list[Answer]:
    """Right, untouched, wrong and missing answers to an exercise, as cells.

    Parameters
    ----------
    exercise_id : str
        One whose solution needs NumPy only.

    Returns
    -------
    list of Answer
        The right one, the starter, none, and then every wrong one.
    """
    asked, module = exercise(exercise_id), import_module(f"solutions.{exercise_id}")
    points = asked.points
    # A wrong answer that uses the right one must not find itself under that name.
    source = re.sub(rf"\b{asked.name}\b", "the_right_one", inspect.getsource(module))
    pencil = asked.kind == "pencil"

    def cell(place: str, value: object) -> str:
        if pencil:
            return f"answer = {'...' if value is ... else repr(value)}"
        return f"{source}\n\n{asked.name} = {place}\n"

    found = [
        Answer(exercise_id, "right", "reference", cell("REFERENCE", module.REFERENCE), points),
        Answer(exercise_id, "starter", "as handed out", asked.starter, 0, ("attempted",)),
        Answer(exercise_id, "missing", "not handed in", None, 0),
    ]
    for number, (name, value, failed, words) in enumerate(module.WRONG):
        source_cell = cell(f"WRONG[{number}][1]", value)
        if untouched(exercise_id, [source_cell]):  # the starter again
            continue
        found.append(Answer(exercise_id, "wrong", name, source_cell, 0, (failed,), (words,)))
    return found


def _hostile_answer(one: Hostile, scratch: Path) -> Answer:
    # Port 9 discards what it gets, where there is one at all.
    points = 0 if one.failed else exercise(one.exercise).points
    source = one.source(scratch=scratch, port=9, canary="canary")
    words = one.words if one.failed else ("",)
    return Answer(one.exercise, "hostile", one.name, source, points, one.failed, words)


def notebook_of(sheet: Sheet, answers: list[Answer], student: str) -> bytes:
    """The notebook of a student.

    Parameters
    ----------
    sheet : Sheet
        What was handed out.
    answers : list of Answer
        One for each exercise of the sheet.
    student : str
        What stands in the cell for the name.

    Returns
    -------
    bytes
        The file.
    """
    notebook = student_notebook(sheet)
    cells = {answer.id: answer.cell for answer in answers}
    kept = []
    for cell in notebook.cells:
        tag = cell.metadata.get("exercise", {})
        if tag.get("role") == "name":
            cell.source += student
        if tag.get("role") == "starter":
            source = cells[tag["id"]]
            if source is None:
                continue
            cell.source = source
        kept.append(cell)
    notebook.cells = kept
    return nbformat.writes(notebook).encode("utf-8", "surrogatepass")


def _plain(path: Path, content: bytes) -> None:
    path.write_bytes(content)


# How honest students hand in: as the files of the hostile kinds that harm nobody, and plainly.
LAYOUTS = [
    HostileFile("a notebook", "{}.ipynb", _plain, True),
    *(f for f in FILES if f.name in ("a zip file", "a deep folder", "copies of the system")),
]


def _expected(
    answers: list[Answer], note: HostileNotebook | HostileFile | None
) -> dict[str, object]:
    """What a student's grade must be; a file that cannot be read costs all its answers."""
    lost = note is not None and not note.earns
    shown = []
    for answer in answers:
        if lost:
            answer = Answer(answer.id, "lost", note.name if note else "", None, 0)
        shown.append({k: v for k, v in asdict(answer).items() if k != "cell"})
    kind = type(note).__name__ if note else "answers"
    return {"answers": shown, "problem": note.words if note else "", "kind": kind}


def simulate(students: int, seed: int, out: Path) -> dict[str, dict[str, object]]:
    """Write a class's submissions and what they must be given.

    Parameters
    ----------
    students : int
        How many; one in twenty is hostile, and at least two.
    seed : int
        Seeds who answers what.
    out : Path
        A folder that does not exist yet.

    Returns
    -------
    dict of dict
        By student, as in ``expected.json``.

    Raises
    ------
    ConfigError
        If the folder exists or there are no students.
    """
    if students < 1:
        raise ConfigError(f"a class has at least one student, not {students}")
    if out.exists():
        raise ConfigError(f"{str(out)!r} exists already: choose a new folder")
    rng, sheet = random.Random(seed), chosen(exercises=" ".join(SHEET), name=NAME)[0]
    folder, scratch = out / "submissions", out / "scratch"
    folder.mkdir(parents=True)
    scratch.mkdir()
    (scratch / "keep.txt").write_text("keep", encoding="utf-8")
    bank = {exercise_id: answers_to(exercise_id) for exercise_id in SHEET}
    few = min(2, students)  # one is a cell, the other a file
    bad = set(rng.sample(range(students), max(few, round(students * HOSTILE_SHARE))))
    kinds: list[Sequence[Hostile | HostileNotebook | HostileFile]]
    kinds = [hostile(), NOTEBOOKS, hostile(), PORTABLE]
    hostile_kinds = cycle(kinds)
    expected = {}
    for number in range(students):
        student = f"student-{number:03d}"
        answers = [
            rng.choice(rng.choices((bank[i][:1], bank[i][1:3], bank[i][3:]), (45, 10, 45))[0])
            for i in SHEET
        ]
        layout = rng.choice(LAYOUTS)
        note: HostileNotebook | HostileFile | None = None
        change: Callable[[bytes], bytes] = bytes
        if number in bad:
            one = rng.choice(next(hostile_kinds))
            if isinstance(one, Hostile):
                mine = _hostile_answer(one, scratch)
                answers = [mine if answer.id == mine.id else answer for answer in answers]
            elif isinstance(one, HostileNotebook):
                note, change, layout = one, one.content, LAYOUTS[0]
            else:
                note = layout = one
        content = change(notebook_of(sheet, answers, student))
        layout.make(folder / layout.place.format(student), content)
        expected[student] = _expected(answers, note)
    text = json.dumps(expected, indent=1)
    (out / "expected.json").write_text(text + "\n", encoding="utf-8")
    return expected


def main() -> None:
    """The command behind ``make class``."""
    parser = argparse.ArgumentParser(prog="class", description=__doc__)
    parser.add_argument("--students", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="a new folder")
    parser.add_argument("--grade", action="store_true", help="grade, kill, resume and compare")
    parser.add_argument("--jobs", type=int, help="answers graded at the same time")
    asked = parser.parse_args()
    if asked.out is None:  # its own folder, which no one else writes into
        asked.out = ROOT / "_build/class"
        shutil.rmtree(asked.out, ignore_errors=True)
    try:
        expected = simulate(asked.students, asked.seed, asked.out)
    except ConfigError as error:
        sys.exit(f"[class] {error}")
    print(f"[class] {len(expected)} students handed in: {asked.out / 'submissions'}")
    if asked.grade:
        try:
            sys.exit(rehearse(asked.out, expected, jobs=asked.jobs))
        except RuntimeError as error:
            sys.exit(f"[class] {error}")


if __name__ == "__main__":
    main()
