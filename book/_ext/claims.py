"""No claim without a cell that shows it.

Each row of ``book/claims.md`` links to ``#claim-N``. The link is resolved by the parser, which
warns where there is no such place; here it is checked that the place stands in a chapter and
that a cell behind it asserts something. With warnings as errors, the build refuses the rest.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

ROW = re.compile(r"^\*\*(\d+)\.\*\* .*?\[Shown\]\(#claim-(\d+)\)", re.MULTILINE)
PAGE = "book/claims"
COUNT = 25

logger = logging.getLogger(__name__)


def rows(text: str) -> dict[int, int]:
    """The number of each row of the page, and the number that its link names."""
    return {int(number): int(target) for number, target in ROW.findall(text)}


def shown(path: Path) -> Iterator[tuple[int, bool]]:
    """Claims that a notebook settles: a place, and then a tagged cell that asserts something."""
    places: set[int] = set()
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "markdown":
            places |= {int(n) for n in re.findall(r"^\(claim-(\d+)\)=$", cell.source, re.M)}
            continue
        for tag in cell.metadata.get("tags", []):
            if match := re.fullmatch(r"claim-(\d+)", tag):
                number = int(match[1])
                yield number, number in places and re.search(r"^\s*assert ", cell.source, re.M)


def faults(text: str, notebooks: list[Path]) -> list[str]:
    """What is missing between the page of claims and the cells of the chapters."""
    table = rows(text)
    found = [item for path in notebooks for item in shown(path)]
    wrong = [f"claim {n} links to claim-{target}" for n, target in table.items() if n != target]
    for number in range(1, COUNT + 1):
        cells = [holds for n, holds in found if n == number]
        if number not in table:
            wrong.append(f"claim {number} has no row with a link")
        if len(cells) != 1:
            wrong.append(f"claim {number} is shown by {len(cells)} cells instead of one")
        elif not cells[0]:
            wrong.append(f"claim {number}: no place before its cell, or no assertion in it")
    return wrong


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Warn of every fault, once all pages are read."""
    if PAGE not in env.found_docs:
        return
    notebooks = [Path(env.doc2path(name)) for name in sorted(env.found_docs)]
    notebooks = [path for path in notebooks if path.suffix == ".ipynb"]
    text = Path(env.doc2path(PAGE)).read_text(encoding="utf-8")
    for fault in faults(text, notebooks):
        logger.warning(fault, location=PAGE, type="claims")


def setup(app: Sphinx) -> dict[str, bool]:
    """Check when everything was read."""
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
