"""Chapters for learning platforms: ``make export TO=moodle``, ``TO=qti`` or ``TO=scorm``.

``moodle`` writes pencil exercises, predictions and open questions as Moodle XML, ``qti`` the same
as packages of QTI 2.1, ``scorm`` the built pages as packages of SCORM 1.2. Everything is made
before anything is written, and only a file that was written here before is replaced.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from pathlib import Path

from classroom import ROOT
from classroom.adapters.markup import MARK
from classroom.adapters.moodle import moodle_file
from classroom.adapters.qti import qti_package
from classroom.adapters.questions import asked_of
from classroom.adapters.scorm import scorm_package
from classroom.atomic import replace_file
from classroom.sheets.commands import add_choice, choice
from classroom.sheets.sheet import Sheet, chapters
from mini_attn.errors import ConfigError

__all__ = ["exported", "main", "write"]

OUT = ROOT / "_build/export"
HTML = ROOT / "_build/html"
FORMS = ("number", "choice")
QUESTIONS = {"moodle": (moodle_file, ".xml"), "qti": (qti_package, ".zip")}
PLACES = (*QUESTIONS, "scorm")
NEXT = {
    "moodle": "in Moodle: Question bank, Import, Moodle XML format",
    "qti": "import each as a QTI 2.1 package",
    "scorm": "add each to a course as a SCORM 1.2 package",
}


def exported(
    to: str, sheets: list[Sheet], *, form: str = "number", html: Path = HTML, python: bool = False
) -> tuple[dict[str, bytes], int]:
    """The files for a platform, and how many questions are in them.

    Parameters
    ----------
    to : {"moodle", "qti", "scorm"}
        The format.
    sheets : list of Sheet
        A file each; those with nothing to export are left out.
    form : {"number", "choice"}
        Whether a question's number is typed or chosen.
    html : Path
        The built book, for "scorm".
    python : bool
        Whether a page brings its Python, for "scorm".

    Returns
    -------
    dict of str to bytes
        By name.
    int
        Questions in all of them.

    Raises
    ------
    ConfigError
        For an unknown format or form, where there is nothing to export, or where the book is not
        built.
    """
    if to not in PLACES:
        raise ConfigError(f"exports go to {', '.join(PLACES)}, not to {to[:40]!r}")
    if form not in FORMS:
        raise ConfigError(f"a question's form is {' or '.join(FORMS)}, not {form[:40]!r}")
    if to == "scorm":
        other = [sheet.name for sheet in sheets if sheet.name not in chapters()]
        if other:
            raise ConfigError(f"a SCORM package is a chapter's page: {other[0]!r} is a sheet")
        made = {f"{sheet.name}.zip": scorm_package(sheet.name, html, python) for sheet in sheets}
        return made, 0
    make, suffix = QUESTIONS[to]
    asked = asked_of(sheets)
    files = {f"{name}{suffix}": make(name, found, form) for name, found in asked.items()}
    return files, sum(map(len, asked.values()))


def _is_ours(path: Path) -> bool:
    """Whether a file was written by an export."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                return archive.comment == MARK.encode()
        return MARK.encode() in path.read_bytes()[:200]
    except (OSError, zipfile.BadZipFile):
        return False


def write(files: dict[str, bytes], folder: Path) -> list[Path]:
    """Write the files into a folder, for its owner alone: questions stand beside their answers.

    Raises
    ------
    ConfigError
        If something else has the name of one of them; nothing is written then.
    """
    paths = {folder / name: content for name, content in files.items()}
    foreign = [path for path in paths if path.exists() and not _is_ours(path)]
    if foreign:
        raise ConfigError(f"{foreign[0]} is there and was not {MARK}: move it, or give another OUT")
    for path, content in paths.items():
        replace_file(path, content, private=True)
    return list(paths)


def main(arguments: list[str] | None = None) -> int:
    """The command; its exit status."""
    parser = argparse.ArgumentParser(prog="export", description=__doc__)
    parser.add_argument("to", help=", ".join(PLACES))
    add_choice(parser)
    parser.add_argument("--form", default=FORMS[0], help="number or choice")
    parser.add_argument("--python", action="store_true", help="scorm: with Python in the page")
    parser.add_argument("--html", type=Path, default=HTML, help="the built book")
    parser.add_argument("--out", type=Path, default=OUT, help="gets a folder for each format")
    asked = parser.parse_args(arguments)
    try:
        sheets = choice(asked)
        files, questions = exported(
            asked.to, sheets, form=asked.form, html=asked.html, python=asked.python
        )
        paths = write(files, asked.out / asked.to)
    except (ConfigError, OSError) as problem:
        print(f"[export] {problem}", file=sys.stderr)
        return 2
    size = sum(map(len, files.values())) / 1e6
    held = f" with {questions} questions" if questions else ""
    many = "file" if len(paths) == 1 else "files"
    print(f"[export] {len(paths)} {many}{held}, {size:.1f} MB, in {paths[0].parent}")
    print(f"[export] {NEXT[asked.to]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
