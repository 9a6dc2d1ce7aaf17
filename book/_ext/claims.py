"""No claim without a cell that shows it, and no verdict before the reader has decided.

Each row of ``book/claims.md`` links to ``#claim-N``. The link is resolved by the parser, which
warns where there is no such place; here it is checked that the place stands in a chapter and
that a cell behind it asserts something. With warnings as errors, the build refuses the rest.

A claim is a card: the quotation, three buttons and one that shows, and the verdict, hidden like
what a prediction covers until one is pressed. What one says is kept as the answer of a prediction.
The stance of the book is the class of the claim's paragraph, ``{.disagree}`` or ``{.depends}``.
Paper and a browser without JavaScript show all of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
from covers import raw, refill
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

ROW = re.compile(
    r"^\{\.(\w+)\}\n\*\*(\d+)\.\*\* “.*?\*\*.*?\[Shown\]\(#claim-(\d+)\)", re.MULTILINE
)
PAGE = "book/claims"
COUNT = 57
SAYS = {"agree": "Agree", "it depends": "It depends", "disagree": "Disagree"}
STANCES = {"disagree": "disagree", "depends": "it depends"}  # a paragraph's class, what is right
# Read in the head, so that a page is laid out with what was said before.
SCRIPT = Path(__file__).with_name("templates") / "claims.js"
SWITCH = """<div class="run-guess claims-switch"><label>
<input type="checkbox" role="switch" checked>
Guess first</label> <span class="run-note">verdicts and results stay covered until you have
answered; on every page</span></div>"""
ASK = """<div class="claim-ask" role="group" aria-label="What do you say to claim {number}?">
{buttons}
<button type="button" class="claim-show" aria-expanded="false" aria-controls="verdict-{number}"
aria-label="Show me: the verdict on claim {number}">Show me</button></div>
<div class="covered" data-covered-by="claims/claim-{number}">
<p class="claim-said" role="status"></p>
<script>livingClaims.see(document.currentScript.closest(".claim"))</script>
<div class="covered-body" id="verdict-{number}">"""
BUTTON = '<button type="button" data-say="{say}" aria-pressed="false">{word}</button>'

logger = logging.getLogger(__name__)


def rows(text: str) -> dict[int, int]:
    """The number of each row of the page, and the number that its link names."""
    return {int(number): int(target) for _, number, target in ROW.findall(text)}


def outline(text: str) -> dict[str, Any]:
    """The page as the readers' progress knows it: claims are answered like predictions."""
    title = text.split("\n", 1)[0].removeprefix("# ")
    names = [f"claim-{number}" for number in rows(text)]
    return {"page": Path(PAGE).name, "title": title, "predictions": names, "exercises": []}


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
    """List the mismatches between the page of claims and the chapters' cells."""
    table = rows(text)
    found = [item for path in notebooks for item in shown(path)]
    wrong = [f"claim {n} links to claim-{target}" for n, target in table.items() if n != target]
    if list(table) != sorted(table):
        wrong.append("claims are not numbered in the order of the page")
    wrong += [
        f"claim {number} has the stance {stance!r}, expected one of {', '.join(STANCES)}"
        for stance, number, _ in ROW.findall(text)
        if stance not in STANCES
    ]
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


def card(row: nodes.paragraph) -> list[nodes.Node]:
    """A claim's paragraph as a card: what is said, what one says to it, and the verdict."""
    (stance,) = (STANCES[name] for name in row["classes"] if name in STANCES)
    parts = list(row.children)
    first, second = [n for n, part in enumerate(parts) if isinstance(part, nodes.strong)][:2]
    number = int(parts[first].astext().rstrip("."))
    said, verdict = parts[:second], parts[second:]
    buttons = "\n".join(BUTTON.format(say=say, word=word) for say, word in SAYS.items())
    return [
        raw(f'<div class="claim" data-claim="claims/claim-{number}" data-holds="{stance}">'),
        # The progress at the end of the page leads there, as it leads to a prediction.
        nodes.paragraph("", "", *said, classes=["claim-text"], ids=[f"predict-{number}-text"]),
        raw(ASK.format(number=number, buttons=buttons)),
        nodes.paragraph("", "", *verdict),
        raw("</div></div></div>"),
    ]


def cards(app: Sphinx, doctree: nodes.document) -> None:
    """Make a card of each claim, and put the switch of the covers before the first."""
    if app.env.docname != PAGE:
        return
    first = True
    for room in list(doctree.findall(nodes.section)):
        parts: list[nodes.Node] = []
        for node in room.children:
            if first and isinstance(node, nodes.section):
                parts.append(raw(SWITCH))
                first = False
            is_row = isinstance(node, nodes.paragraph) and set(node["classes"]) & set(STANCES)
            parts += card(node) if is_row else [node]
        refill(room, parts)


def add_script(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """The script and the look of the cards, in the head of their page."""
    if pagename == PAGE:
        script = f"<script>{SCRIPT.read_text(encoding='utf-8')}</script>\n"
        context["metatags"] = context.get("metatags", "") + script
        app.add_css_file("claims.css")


def setup(app: Sphinx) -> dict[str, bool]:
    """Make the cards when a page is read, and check when all are."""
    app.connect("doctree-read", cards, priority=600)
    app.connect("html-page-context", add_script)
    app.connect("env-check-consistency", check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
