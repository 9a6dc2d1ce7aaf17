"""Write pencil exercises to print, and a key for the marker.

``make handout`` prints them, too: a browser is handed in by whoever has one.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jinja2
from markupsafe import Markup

from classroom import ROOT
from classroom.sheets.commands import add_choice, choice
from classroom.sheets.key import key
from classroom.sheets.notebook import title
from classroom.sheets.sheet import Sheet
from classroom.sheets.standalone import source_line, standalone
from classroom.sheets.typeset import fonts, html
from mini_attn.errors import ConfigError
from mini_attn.exercises.spec import exercise

__all__ = ["key_page", "main", "sheet_page", "write"]

OUT = ROOT / "_build/handout"
HERE = Path(__file__).parent
A_PAGE = 2  # exercises
PENCIL = re.compile(r"^With pencil and paper: (.)")
Printer = Callable[[dict[Path, str]], None]


def pencils(sheet: Sheet) -> list[tuple[int, str]]:
    """The pencil exercises of a sheet, with their numbers on it."""
    kinds = [(n, i, exercise(i).kind) for n, i in enumerate(sheet.exercises, 1)]
    return [(number, exercise_id) for number, exercise_id, kind in kinds if kind == "pencil"]


def _item(number: int, exercise_id: str, *, of_chapter: bool) -> dict[str, Any]:
    """What both papers say of an exercise; a chapter's own sheet does not name it again."""
    found = exercise(exercise_id)
    source = source_line(exercise_id).replace("*", "")
    if of_chapter:
        _, _, section = source.partition("; see its section ")
        source = f"See the section {section}" if section else ""
    text = PENCIL.sub(lambda first: first[1].upper(), standalone(exercise_id))
    return {
        "number": number,
        "id": exercise_id,
        "title": found.title,
        "points": found.points,
        "source": source,
        "text": html(text),
        "unit": found.unit,
    }


def _render(kind: str, sheet: Sheet, items: list[dict[str, Any]]) -> str:
    """One page from its template, with everything that it needs in it."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(HERE / "templates"),
        autoescape=True,
        trim_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    mathematics = any('class="katex' in item["text"] for item in items)
    own = Markup((HERE / "paper.css").read_text(encoding="utf-8"))
    return environment.get_template(f"{kind}.html.jinja").render(
        kind=kind,
        title=title(sheet).removesuffix(" · exercises"),
        points=sum(item["points"] for item in items),
        pages=[items[at : at + A_PAGE] for at in range(0, len(items), A_PAGE)],
        style=fonts(mathematics=mathematics) + own,
    )


def _items(sheet: Sheet) -> list[dict[str, Any]]:
    of_chapter = title(sheet) != f"Problem sheet: {sheet.name}"
    return [_item(n, i, of_chapter=of_chapter) for n, i in pencils(sheet)]


def sheet_page(sheet: Sheet) -> str:
    """The sheet that students get, as HTML in one file."""
    return _render("sheet", sheet, _items(sheet))


def key_page(sheet: Sheet) -> str:
    """The key to it, for the marker."""
    more = [{"key": key(i), "hints": exercise(i).hints} for _, i in pencils(sheet)]
    return _render("key", sheet, [a | b for a, b in zip(_items(sheet), more, strict=True)])


def write(sheets: list[Sheet], out: Path = OUT, *, printer: Printer | None = None) -> list[Path]:
    """Write sheets and keys, each into a folder of its own.

    Parameters
    ----------
    sheets : list of Sheet
        What to print; those without a pencil exercise are left out.
    out : Path
        Gets the folders ``sheets`` and ``keys``.
    printer : callable or None
        Gets each page's path and content and puts a PDF beside it; None writes HTML alone.

    Returns
    -------
    list of Path
        The files.

    Raises
    ------
    ConfigError
        If there is no pencil exercise at all.
    """
    used = [sheet for sheet in sheets if pencils(sheet)]
    if not used:
        raise ConfigError("there is no pencil exercise among these, so there is nothing to print")
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".unfinished-") as name:
        folder = Path(name)
        pages = {}
        for sheet in used:
            for kind, make in (("sheets", sheet_page), ("keys", key_page)):
                path = folder / kind / f"{sheet.name}{'-key' if kind == 'keys' else ''}.html"
                path.parent.mkdir(exist_ok=True)
                pages[path] = make(sheet)
                path.write_text(pages[path], encoding="utf-8")
        if printer:
            printer(pages)
        written = []
        for path in sorted(folder.glob("*/*")):
            target = out / path.relative_to(folder)
            target.parent.mkdir(exist_ok=True)
            os.replace(path, target)
            written.append(target)
    return written


def main(arguments: list[str] | None = None, *, printer: Printer | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="handout", description=__doc__)
    add_choice(parser)
    parser.add_argument("--out", type=Path, default=OUT, help="folder of sheets and keys")
    parser.add_argument("--no-pdf", action="store_true", help="HTML alone, without a browser")
    options = parser.parse_args(arguments)
    try:
        sheets = choice(options)
        paths = write(sheets, options.out, printer=None if options.no_pdf else printer)
    except ConfigError as problem:
        print(f"[handout] {problem}", file=sys.stderr)
        return 2
    other = sum(len(sheet.exercises) - len(pencils(sheet)) for sheet in sheets)
    if other and options.exercises:
        print(f"[handout] not on paper, because answered with code: {other} of the exercises")
    count = sum(path.parent.name == "sheets" and path.suffix == ".html" for path in paths)
    print(f"[handout] {count} sheet{'s' * (count > 1)} in {options.out / 'sheets'}")
    print(f"[handout] keys, for the marker alone, in {options.out / 'keys'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
