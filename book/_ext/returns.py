"""What returns: the place on the first page for predictions and claims that are due again.

The place is empty and hidden. The script in it looks at what the browser has kept, before the
page is painted, and only where something is due it shows its rows and asks for a second script.
The questions of a chapter lie beside the pages as a script too, as a page from a folder may load no
data; one comes when a row of that chapter is opened.
"""

from __future__ import annotations

import json
import re
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from chapter_facts import ROOT
from claims import PAGE as CLAIMS
from claims import STANCES
from claims import outline as outline_of_claims
from covers import raw
from docutils import nodes
from outline import outline
from pages import digest_of
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import mini_attn.widgets
from mini_attn.widgets.questions import AGAIN, QUESTIONS

STATIC = Path(mini_attn.widgets.__file__).parent / "static"
EARLY, SCRIPT = "living.early.js", "living.returns.js"
FOLDER = "returns"  # of the questions, among the static files
CLAIM = re.compile(r"^\{\.(\w+)\}\n\*\*(\d+)\.\*\* (“.*?) \*\*", re.MULTILINE)
PLACE = """<div class="returns" role="region" aria-labelledby="returns-head" hidden
data-titles="{titles}" data-script="_static/{script}?v={script_digest}"
data-questions="_static/{folder}/{{page}}.js?v={digest}"></div>
<script>{early}</script>"""


@cache
def pages() -> list[dict[str, Any]]:
    """All pages with predictions, and that of the claims, as the readers' progress has them."""
    said = (ROOT / f"{CLAIMS}.md").read_text(encoding="utf-8")
    return [*outline(ROOT), outline_of_claims(said)]


def claims() -> dict[str, dict[str, str]]:
    """Return what each claim says, and what holds, by its name."""
    said = (ROOT / f"{CLAIMS}.md").read_text(encoding="utf-8")
    return {
        f"claim-{number}": {"text": text.replace("*", ""), "holds": STANCES[stance]}
        for stance, number, text in CLAIM.findall(said)
    }


def questions(page: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The questions of a page: as the page has them, then with other numbers, and where they are.

    Raises
    ------
    ValueError
        If a claim's row has no words that could be asked for.
    """
    said = claims() if page["page"] == Path(CLAIMS).name else {}
    found: dict[str, dict[str, Any]] = {}
    for number, name in enumerate(page["predictions"], 1):
        found[name] = {"link": f"book/{page['page']}.html#predict-{number}-text"}
        key = f"{page['page']}/{name}"
        if key in QUESTIONS:
            drawn = [QUESTIONS[key], *AGAIN.get(key, ())]
            found[name]["drawn"] = [question.data() for question in drawn]
        elif name in said:
            found[name]["claim"] = said[name]
        else:
            raise ValueError(f"{key} is answered on its page, and nothing says what it asks")
    return found


@cache
def scripts() -> dict[str, str]:
    """The script with the questions of each page, by its name."""
    found = {}
    for page in pages():
        data = json.dumps(questions(page), ensure_ascii=False)
        found[page["page"]] = f"livingReturned({json.dumps(page['page'])},{data});\n"
    return found


class Returns(SphinxDirective):
    """The place for what is due, with the script that looks."""

    def run(self) -> list[nodes.Node]:
        """Write the place; it is made again when a question, a claim or a script changes."""
        code = (STATIC / EARLY).read_text(encoding="utf-8").strip()
        for path in (STATIC / EARLY, STATIC / SCRIPT, ROOT / f"{CLAIMS}.md",
                     *ROOT.glob("mini_attn/widgets/questions/*.py")):  # fmt: skip
            self.env.note_dependency(str(path))
        titles = {page["page"]: page["title"] for page in pages()}
        place = PLACE.format(
            titles=escape(json.dumps(titles, ensure_ascii=False)), script=SCRIPT, folder=FOLDER,
            script_digest=digest_of((STATIC / SCRIPT).read_bytes()), early=code,
            digest=digest_of("".join(scripts().values()).encode()),
        )  # fmt: skip
        return [raw(place)]


def write_scripts(app: Sphinx, exception: Exception | None) -> None:
    """Put the scripts beside the pages."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    (static / SCRIPT).write_bytes((STATIC / SCRIPT).read_bytes())
    folder = static / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for name, script in scripts().items():
        (folder / f"{name}.js").write_text(script, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("returns", Returns)
    app.connect("build-finished", write_scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
