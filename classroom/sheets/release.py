"""Write what students get: notebooks without solutions, and what runs them. ``make release``."""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import json
import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import nbformat

from classroom import ROOT
from classroom.atomic import replace_file
from classroom.drawing import add_drawing, asked_students, seal
from classroom.packed import packed
from classroom.sheets.commands import add_choice, choice
from classroom.sheets.leaks import leaks
from classroom.sheets.notebook import student_notebook, title
from classroom.sheets.sheet import Sheet, chapters, sheet_of_file
from classroom.sheets.students import Student, with_numbers
from classroom.sheets.wheel import build_wheel
from mini_attn.errors import ConfigError, MiniAttnError
from mini_attn.exercises.spec import exercise

__all__ = ["main", "release"]

OUT = ROOT / "_build/release"
README = Path(__file__).with_name("release.md")


def manifest(sheet: Sheet, notebook: bytes) -> dict[str, object]:
    """Return what is in a sheet, for the teacher's own tools."""
    tasks = [exercise(i) for i in sheet.exercises]
    rows = [
        {"id": e.id, "title": e.title, "chapter": e.page, "kind": e.kind,
         "points": sheet.worth(e.id), "minutes": e.minutes, "difficulty": e.difficulty}
        for e in tasks
    ]  # fmt: skip
    file = {"notebook": f"{sheet.name}.ipynb", "sha256": hashlib.sha256(notebook).hexdigest()}
    return {
        **sheet.as_data(),
        "title": title(sheet),
        "points": dict(sheet.weights) or sheet.points,
        "minutes": sum(e.minutes for e in tasks),
        "tasks": rows,
        **({} if sheet.drawn else file),
    }


def readme(sheets: list[Sheet], wheel: str) -> str:
    """Return how a student begins, with a table of what is here."""
    rows = [
        f"| {f'[{s.name}.ipynb]({s.name}.ipynb)' if not s.drawn else 'one of your own'} "
        f"| {title(s)} | {len(s.exercises)} | {s.points} |"
        for s in sheets
    ]
    count = "one notebook" if len(sheets) == 1 else f"{len(sheets)} notebooks"
    text = README.read_text(encoding="utf-8")
    for key, value in {
        "sheets": count, "version": sheets[0].version, "table": "\n".join(rows), "wheel": wheel,
    }.items():  # fmt: skip
        text = text.replace(f"{{{key}}}", value)
    return text


def archive_name(sheets: list[Sheet]) -> str:
    """Return the zip's name: the sheet's, or one that no sheet can have for all chapters."""
    name = sheets[0].name if len(sheets) == 1 else "mini_attn-exercises"
    return f"{name}-{sheets[0].version}.zip"


def pack(folder: Path, name: str) -> None:
    """One zip of a folder's files."""
    paths, top = sorted(folder.iterdir()), Path(name).stem
    (folder / name).write_bytes(packed((f"{top}/{p.name}", p.read_bytes()) for p in paths))


def write(sheets: list[Sheet], folder: Path) -> None:
    """All files of a release."""
    for sheet in sheets:
        text = nbformat.writes(student_notebook(sheet)) + "\n"
        data = text.encode()
        if not sheet.drawn:
            (folder / f"{sheet.name}.ipynb").write_bytes(data)
        facts = json.dumps(manifest(sheet, data), indent=1, ensure_ascii=False) + "\n"
        (folder / f"{sheet.name}.json").write_text(facts, encoding="utf-8")
    wheel = build_wheel(folder)
    (folder / "README.md").write_text(readme(sheets, wheel.name), encoding="utf-8")
    pack(folder, archive_name(sheets))


def _in_order(sheets: list[Sheet]) -> list[Sheet]:
    """Chapters as in the book, and behind them the sheets of one's own."""
    order = chapters()
    names = {sheet.name: sheet for sheet in sheets}
    return [names[n] for n in (*order, *sorted(names.keys() - {*order})) if n in names]


def _sheets_in(folder: Path) -> list[Sheet]:
    """Return the sheets that lie in a folder."""
    found = []
    for path in folder.glob("*.json"):
        with contextlib.suppress(ConfigError):  # a file of the teacher's
            found.append(sheet_of_file(path))
    return _in_order(found)


def _guide(sheets: list[Sheet], wheel: str, target: Path) -> str | None:
    """Return the page about all sheets of the folder; None if the teacher has changed it.

    The page in the zip is about this release alone.
    """
    here, place = _sheets_in(target), target / "README.md"
    if place.exists() and (not here or place.read_bytes() != readme(here, wheel).encode()):
        return None
    return readme(_in_order([*here, *sheets]), wheel)


def _refuse_changed(folder: Path, target: Path) -> None:
    """A notebook that the teacher has changed since it was released is not written over."""
    for path in sorted(folder.glob("*.ipynb")):
        facts, notebook = target / f"{path.stem}.json", target / path.name
        if not notebook.exists():
            continue
        digest = hashlib.sha256(notebook.read_bytes()).hexdigest()
        if not facts.exists() or digest not in facts.read_text(encoding="utf-8", errors="ignore"):
            words = "was changed since it was released: move it away, or choose another NAME="
            raise ConfigError(f"nothing was released: {notebook} {words}")


def own_notebooks(sheet: Sheet, students: Sequence[Student], target: Path) -> dict[Path, str]:
    """Return the notebook of each student, by its place; one that is there and differs stays.

    Raises
    ------
    ConfigError
        If one does.
    """
    folder = target / f"{sheet.name}-students"
    texts = {
        folder / f"{s.file}.ipynb": nbformat.writes(student_notebook(sheet, s)) + "\n"
        for s in students
    }
    for path, text in texts.items():
        if path.exists() and path.read_bytes() != text.encode():
            words = "is another one: move it away, or choose another NAME="
            raise ConfigError(f"nothing was released: {path} {words}")
    return texts


def release(
    sheets: list[Sheet], out: Path = OUT, *, students: Sequence[Student] = ()
) -> list[Path]:
    """Write a release, unless a solution is in it.

    Parameters
    ----------
    sheets : list of Sheet
        What to hand out.
    out : Path
        The release goes into a folder of its version in here, beside others.
    students : sequence of Student
        Who gets a notebook with numbers of one's own, of the one sheet; nobody for the book's.

    Returns
    -------
    list of Path
        The files, by name; of the students' none.

    Raises
    ------
    ConfigError
        If a file holds a solution, or a notebook there was changed; then nothing is written.
    """
    target = out / sheets[0].version
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".unfinished-") as name:
        folder = Path(name)
        write(sheets, folder)
        paths = sorted(folder.iterdir())
        own = own_notebooks(sheets[0], students, target)
        contents = {**dict.fromkeys(paths), **{path: text.encode() for path, text in own.items()}}
        found = [place for path, content in contents.items() for place in leaks(path, content)]
        if found:
            raise ConfigError(f"nothing was released: a solution stands in {', '.join(found)}")
        _refuse_changed(folder, target)
        guide = _guide(sheets, next(folder.glob("*.whl")).name, target)
        if guide is None:
            (folder / "README.md").unlink()
            print(f"[release] {target / 'README.md'} is yours and stays; the zip has a new one")
        else:
            (folder / "README.md").write_text(guide, encoding="utf-8")
        target.mkdir(exist_ok=True)
        for path in sorted(folder.iterdir()):
            os.replace(path, target / path.name)
        for path, text in own.items():
            replace_file(path, text, private=True)
    return [target / path.name for path in paths]


def main(arguments: list[str] | None = None) -> int:
    """Return the command; its exit status."""
    parser = argparse.ArgumentParser(prog="release", description=__doc__)
    add_choice(parser)
    add_drawing(parser)
    parser.add_argument("--out", type=Path, default=OUT, help="folder of the releases")
    parser.add_argument("--partial", action="store_true", help="groups of checks count one by one")
    options = parser.parse_args(arguments)
    try:
        sheets = choice(options)
        sheets = [replace(sheet, partial=options.partial) for sheet in sheets]
        students = asked_students(options)
        if students:
            sheets = [replace(with_numbers(sheets), drawn=seal(options.draw))]
        paths = release(sheets, options.out, students=students)
    except (MiniAttnError, OSError) as problem:
        print(f"[release] {problem}", file=sys.stderr)
        return 2
    folder = paths[0].parent
    exercises = sum(len(sheet.exercises) for sheet in sheets)
    many = len(students) or len(sheets)
    count = f"{many} notebook{'s' * (many > 1)}"
    print(f"[release] {count} with {exercises} exercises in all; no file holds a solution")
    print(f"[release] hand out {folder / archive_name(sheets)}")
    if students:
        own = folder / f"{sheets[0].name}-students"
        print(f"[release] and to each of {len(students)} students the one notebook in {own}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
