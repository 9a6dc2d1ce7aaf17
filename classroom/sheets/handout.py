"""Write exercises for a number or for words to print, and a key for the marker.

``make handout`` prints them, too: a browser is handed in by whoever has one.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import jinja2
from markupsafe import Markup

from classroom import ROOT
from classroom.atomic import replace_file
from classroom.drawing import add_drawing, asked_students
from classroom.sheets.commands import add_choice, choice
from classroom.sheets.key import key, own_key
from classroom.sheets.notebook import title
from classroom.sheets.sheet import Sheet
from classroom.sheets.standalone import source_line, standalone
from classroom.sheets.students import Student, with_numbers
from classroom.sheets.typeset import fonts, html
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise

__all__ = ["key_page", "main", "sheet_page", "write"]

OUT = ROOT / "_build/handout"
HERE = Path(__file__).parent
A_PAGE = 2  # exercises
PAPER = ("pencil", "open")  # kinds that a pencil can answer
PENCIL = re.compile(r"^With pencil and paper: (.)")
Printer = Callable[[dict[Path, str]], None]


def on_paper(sheet: Sheet) -> list[tuple[int, str]]:
    """Return the exercises of a sheet that are answered without code, with their numbers on it."""
    kinds = [(n, i, exercise(i).kind) for n, i in enumerate(sheet.exercises, 1)]
    return [(number, exercise_id) for number, exercise_id, kind in kinds if kind in PAPER]


def _item(number: int, exercise_id: str, sheet: Sheet, own: str) -> dict[str, Any]:
    """Return what both papers say of an exercise; a chapter's own sheet does not name it again."""
    found = exercise(exercise_id).for_student(own)
    source = source_line(exercise_id).replace("*", "")
    if title(sheet) != f"Problem sheet: {sheet.name}":
        _, _, section = source.partition("; see its section ")
        source = f"See the section {section}" if section else ""
    text = PENCIL.sub(lambda first: first[1].upper(), standalone(exercise_id, own))
    return {
        "number": number,
        "id": exercise_id,
        "title": found.title,
        "points": sheet.worth(exercise_id),
        "source": source,
        "text": html(text),
        "unit": found.question.unit if found.number else "",
        "rubric": list(found.rubric.items()),
    }


def _render(kind: str, sheet: Sheet, papers: list[dict[str, Any]]) -> str:
    """Return one page from its template, with everything that it needs in it."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    items = papers[0]["items"]
    mathematics = any('class="katex' in item["text"] for item in items)
    own = Markup((HERE / "paper.css").read_text(encoding="utf-8"))
    return environment.get_template(f"{kind}.html.jinja").render(
        kind=kind,
        title=title(sheet).removesuffix(" · exercises"),
        points=sum(item["points"] for item in items),
        items=items,
        papers=papers,
        a_page=A_PAGE,
        letters=ascii_uppercase,
        style=fonts(mathematics=mathematics) + own,
    )


def _items(sheet: Sheet, own: str = "") -> list[dict[str, Any]]:
    return [_item(n, i, sheet, own) for n, i in on_paper(sheet)]


def sheet_page(sheet: Sheet, students: Sequence[Student] = ()) -> str:
    """Return the sheet that students get, as HTML in one file; with names, one for each of them."""
    papers = [{"name": s.name, "items": _items(sheet, s.key)} for s in students]
    return _render("sheet", sheet, papers or [{"name": "", "items": _items(sheet)}])


def _words_key(exercise_id: str) -> dict[str, Any]:
    """Return a model answer, and answers that are marked already."""
    solution = import_module(f"solutions.{exercise_id}")
    samples = [(name, html(text), marks) for name, text, marks in solution.SAMPLES]
    return {"model": html(solution.MODEL), "samples": samples}


def key_page(sheet: Sheet, students: Sequence[Student] = ()) -> str:
    """Return the key to it, for the marker; with names, a table of everybody's numbers."""
    items = []
    for item in _items(sheet):
        task = exercise(item["id"])
        if task.kind == "open":
            items.append(item | {"own": [], "words": _words_key(task.id), "hints": task.hints})
            continue
        own = [{"name": s.name, "key": own_key(task.id, s.key)} for s in students if task.draw]
        ideas = [one.message for one in task.question.mistakes]
        more = {"words": None, "key": key(task.id), "hints": task.hints, "own": own, "ideas": ideas}
        items.append(item | more)
    return _render("key", sheet, [{"name": "", "items": items}])


def write(
    sheets: list[Sheet],
    out: Path = OUT,
    *,
    printer: Printer | None = None,
    students: Sequence[Student] = (),
) -> list[Path]:
    """Write sheets and keys, each into a folder of its own.

    Parameters
    ----------
    sheets : list of Sheet
        What to print; those on which everything is answered with code are left out.
    out : Path
        Gets the folders ``sheets`` and ``keys``.
    printer : callable or None
        Gets each page's path and content and puts a PDF beside it; None writes HTML alone.
    students : sequence of Student
        Who gets a paper with numbers of one's own; nobody for one paper with the book's.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    ConfigError
        If there is nothing to print at all.
    """
    used = [sheet for sheet in sheets if on_paper(sheet)]
    if not used:
        raise ConfigError(
            "no pencil exercise and no open question among these, so there is nothing to print"
        )
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".unfinished-") as name:
        folder = Path(name)
        pages = {}
        for sheet in used:
            for kind, make in (("sheets", sheet_page), ("keys", key_page)):
                path = folder / kind / f"{sheet.name}{'-key' if kind == 'keys' else ''}.html"
                path.parent.mkdir(exist_ok=True)
                pages[path] = make(sheet, students)
                path.write_text(pages[path], encoding="utf-8")
        if printer:
            printer(pages)
        written = []
        for path in sorted(folder.glob("*/*")):
            target = out / path.relative_to(folder)
            private = bool(students) or path.parent.name == "keys"
            replace_file(target, path.read_bytes(), private=private)
            written.append(target)
    return written


def main(arguments: list[str] | None = None, *, printer: Printer | None = None) -> int:
    """Return the command; its exit status."""
    parser = argparse.ArgumentParser(prog="handout", description=__doc__)
    add_choice(parser)
    add_drawing(parser)
    parser.add_argument("--out", type=Path, default=OUT, help="folder of sheets and keys")
    parser.add_argument("--no-pdf", action="store_true", help="HTML alone, without a browser")
    options = parser.parse_args(arguments)
    try:
        sheets, students = choice(options), asked_students(options)
        sheets = [with_numbers(sheets)] if students else sheets
        given = None if options.no_pdf else printer
        paths = write(sheets, options.out, printer=given, students=students)
    except ConfigError as problem:
        print(f"[handout] {problem}", file=sys.stderr)
        return 2
    other = sum(len(sheet.exercises) - len(on_paper(sheet)) for sheet in sheets)
    if other and options.exercises:
        print(f"[handout] not on paper, because answered with code: {other} of the exercises")
    count = sum(path.parent.name == "sheets" and path.suffix == ".html" for path in paths)
    print(f"[handout] {count} sheet{'s' * (count > 1)} in {options.out / 'sheets'}")
    if students:
        print(f"[handout] with a paper for each of {len(students)} students, by name")
    print(f"[handout] keys, for the marker alone, in {options.out / 'keys'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
