"""One bad file becomes one named problem, and no other student's row changes by a byte.

Every hostile file and notebook of the collection is handed in beside three students, as a file of
a folder and in the zip file of a class, and graded with each option. What the three get back is
compared with what they get without it: their rows, their pages and their answers without names.
Which answers are right is not the matter here, so none is run.
"""

from __future__ import annotations

import csv
import functools
import io
import json
import os
import stat
import zipfile
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from classroom.grading import grade
from classroom.grading.judge import Judged
from classroom.grading.late import Late, Rule
from classroom.grading.people import names_of
from classroom.results import Result
from classroom.sheets.sheet import chosen
from classroom.submissions.collect import Submission, read
from mini_attn.exercises.report import Report
from tests.classroom.hostile import SHEET as KEYS
from tests.classroom.hostile.files import FILES
from tests.classroom.hostile.notebooks import NOTEBOOKS
from tests.classroom.simulate import answers_to, notebook_of
from tests.sampling import sampled

SHEET = chosen(exercises=" ".join(KEYS), name="week1")[0]
BAD, HONEST = "mal", ("ada", "Bo K_7_assignsubmission_file_", "zed")
NAMES = ("ada", "Bo K_7", "zed")
TIME = 1_790_000_000  # of every file: in September 2026
STAMP = (2026, 9, 21, 12, 0, 0)
DUE = "2026-09-20 12:00 UTC"
ROSTER = [*NAMES, BAD, "nobody else"]
LATE = Late(DUE, Rule.read("10 % a day, at most 50 %"))


@dataclass(frozen=True)
class Bad:
    """A hostile file, or a notebook as one."""

    name: str
    place: str
    make: Callable[[Path, bytes], object]
    earns: bool


def _notebook(change: Callable[[bytes], bytes]) -> Callable[[Path, bytes], object]:
    return lambda path, content: path.write_bytes(change(content))


COLLECTION = [
    *(Bad(f.name, f.place, f.make, f.earns) for f in FILES),
    *(Bad(n.name, "{}.ipynb", _notebook(n.content), n.earns) for n in NOTEBOOKS),
]


@functools.cache
def content(student: str) -> bytes:
    """An honest notebook: all right, or all untouched but one."""
    answers = [answers_to(key)[student == "zed"] for key in KEYS]
    return notebook_of(SHEET, [*answers[:1], *answers[1:]], student)


def in_folder(folder: Path, bad: dict[str, Bad]) -> Path:
    """Hand in the honest notebooks, and a bad file for each name."""
    folder.mkdir(parents=True)
    for number, name in enumerate(HONEST):
        path = folder / (f"{name}.ipynb" if number != 1 else f"{name}/week1.ipynb")
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content(NAMES[number]))
    for name, one in bad.items():
        one.make(folder / one.place.format(name), content("ada"))
    for path in folder.rglob("*"):
        if path.is_file() and not path.is_symlink():
            os.utime(path, (TIME, TIME))
    return folder


def in_zip(folder: Path, bad: dict[str, Bad]) -> Path:
    """The same as one zip file, as platforms pack it; pipes, devices and vast files don't go in."""
    plain = in_folder(folder / "plain", bad)
    (folder / "zip").mkdir()
    with zipfile.ZipFile(folder / "zip/class.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(plain.rglob("*")):
            name = str(path.relative_to(plain)).encode("utf-8", "replace").decode()
            entry = zipfile.ZipInfo(name + "/" * path.is_dir(), STAMP)
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                entry.create_system, entry.external_attr = 3, mode << 16
                archive.writestr(entry, os.readlink(path))
            elif path.is_dir():
                archive.writestr(entry, b"")
            elif path.is_file():
                archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 1)
    return folder / "zip"


LAYOUTS = {"folder": in_folder, "zip": in_zip}


OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {},
    "DUE": {"late": LATE},
    "TIMES": {"late": "times"},
    **{f"ATTEMPTS={how}": {"attempts": how} for how in ("best", "last", "first")},
    "ATTEMPTS, DUE": {"attempts": "best", "late": LATE},
    "ANONYMOUS": {"nameless": True},
    "ROSTER": {"roster": ROSTER},
    "DRAW": {"roster": ROSTER, "draw": "autumn"},
    "PARTIAL": {"partial": True},
    "AGAIN": {"again": [NAMES[0]]},
}


def _judged(task: Any, cells: list[str], name: str, **_: Any) -> Judged:
    """Right or wrong by the length of the text, which is as good as any other rule here."""
    failed = "property" if len("".join(cells)) % 2 else None
    return Judged(Report(task, failed, "an idea" if failed else "", passed=["by hand", "random"]))


@pytest.fixture
def unjudged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is run, and a class is read once for all options: reading bombs takes a while."""
    kept: dict[tuple[Path, bool], list[Submission]] = {}

    def once(folder: Path, *, attempts: bool = False) -> list[Submission]:
        if (folder, attempts) not in kept:
            kept[folder, attempts] = read(folder, attempts=attempts)
        return deepcopy(kept[folder, attempts])

    monkeypatch.setattr("classroom.grading.batch.judge", _judged)
    monkeypatch.setattr(grade, "read", once)
    held = dict.fromkeys(("landlock", "seccomp", "hook"), True)
    monkeypatch.setattr(grade, "probe", lambda: held)


def times_of(folder: Path, out: Path) -> Late:
    """A platform's table, with everybody in it."""
    sent = grade.read(folder)
    shown = names_of(sent)
    text = io.StringIO(newline="")
    table = csv.writer(text)
    table.writerow(["student", "handed in"])
    for one in sent:
        if one.cells:
            table.writerow([shown[one.student][1], "2026-09-21 12:00"])
    path = out.with_suffix(".table") / "times.csv"
    path.parent.mkdir()
    path.write_text(text.getvalue(), encoding="utf-8")
    return Late(DUE, LATE.rule, path)


def graded(
    folder: Path, out: Path, option: str
) -> tuple[dict[str, Result], dict[str, list[bytes]]]:
    """Grade a class; gives the results, and all that each of the honest ones gets back."""
    asked = dict(OPTIONS[option])
    if asked.get("late") == "times":
        asked["late"] = times_of(folder, out)
    out.mkdir()
    (out / "pseudonyms.json").write_text(json.dumps({"secret": "ab" * 32}))
    common: dict[str, Any] = {"sheet": SHEET, "seed": "a", "jobs": 1}
    if asked.pop("again", None):
        grade.grade_folder(folder, out, **common)
        common = {**common, "seed": None, "again": OPTIONS[option]["again"]}
    results = grade.grade_folder(folder, out, **common, **asked)
    names = {name: name for name in NAMES}
    if asked.get("nameless"):
        rows = csv.reader((out / "names.csv").read_text(encoding="utf-8-sig").splitlines())
        names |= {other: student for other, student in rows if student in NAMES}
    theirs: dict[str, list[bytes]] = {name: [] for name in NAMES}
    for path in sorted(p for p in out.rglob("*") if p.is_file() and "work" not in p.parts):
        if path.name == "grades.csv":
            for line in path.read_bytes().splitlines():
                who = names.get(line.split(b'"')[1].decode() if line.startswith(b'"') else "")
                theirs.get(str(who), []).append(line)
        elif (stem := path.stem.replace("Bo-K_7", "Bo K_7")) in names:
            theirs[names[stem]].append(path.read_bytes())
    return {result.student: result for result in results}, theirs


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str, str], dict[str, list[bytes]]]:
    """What the honest ones get back when nobody else hands in."""

    @functools.cache
    def of(layout: str, option: str) -> dict[str, list[bytes]]:
        base = tmp_path_factory.mktemp("alone")
        return graded(LAYOUTS[layout](base / "in", {}), base / "out", option)[1]

    return of


def spoiled(bad: dict[str, Bad], layout: str, base: Path, alone: Any) -> list[str]:
    """Grade with every option; gives what is not as it should be."""
    folder, found = LAYOUTS[layout](base / "in", bad), []
    for option in OPTIONS:
        results, theirs = graded(folder, base / f"out-{len(found)}-{option[:30]}", option)
        before = alone(layout, option)
        found += [f"{option}: {name} has changed" for name in NAMES if theirs[name] != before[name]]
        if any(len(theirs[name]) < 3 for name in NAMES):
            found.append(f"{option}: what somebody got is not there")
        others = {name: one for name, one in results.items() if name not in NAMES}
        if len(others) != len(bad):
            found.append(f"{option}: {len(others)} rows for {len(bad)}: {[*others][:5]}")
        for name, one in bad.items():
            mine = [result for student, result in others.items() if name in student]
            is_read = one.earns or (layout == "zip" and one.name == DEEP)
            if len(mine) != 1 or not (is_read or mine[0].problems):
                found.append(f"{option}: {one.name} is not named")
    return found


# What no platform packs: pipes and the like, names that are no text, and 4 GB.
UNPACKED = ("a pipe", "a socket", "a name that is no text", "one file with many names")
DEEP = "a folder that is too deep"  # and in a zip file a long name, which is read
PACKED = [one for one in COLLECTION if one.name not in UNPACKED]
CASES = [*(("folder", one) for one in COLLECTION), *(("zip", one) for one in PACKED)]


@pytest.mark.usefixtures("unjudged")
@pytest.mark.parametrize(
    ("layout", "one"),
    sampled(CASES, lambda case: (case[0], case[1].earns)),
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_one_bad_file_changes_nobody_else(
    layout: str, one: Bad, tmp_path: Path, alone: Any
) -> None:
    assert spoiled({BAD: one}, layout, tmp_path / "class", alone) == []


@pytest.mark.exhaustive  # make test grades them all at once in test_hostile
@pytest.mark.usefixtures("unjudged")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_all_bad_files_together_change_nobody_else(layout: str, tmp_path: Path, alone: Any) -> None:
    collection = COLLECTION if layout == "folder" else PACKED
    bad = {f"{BAD}{number:03}": one for number, one in enumerate(collection)}
    assert len(bad) > 100
    assert spoiled(bad, layout, tmp_path / "class", alone) == []
