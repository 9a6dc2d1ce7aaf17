"""Hand out the chapters as notebooks, and offer them on every chapter's page.

``notebooks/`` beside the pages holds each chapter in plain Markdown, the package's wheel as a
release has it, and one zip of them all. The first code cell of each copy finds the package or
installs it. One zip of all keeps the site small: a wheel in each of twenty would make it four
times as large. It's a link and nothing more, so it works from a folder too.

``{notebooks}`` is the zip's link on a page of text, ``{install}`` what installs the package.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # classroom/, to build the wheel

import nbformat
from citations import citations
from docutils import nodes
from first_cell import first_cell
from public import ROOT, Public, read_public
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from classroom.packed import packed
from classroom.sheets.wheel import build_wheel
from mini_attn import __version__
from mini_attn.exercises.markdown import plain_markdown

FOLDER = "notebooks"
NAME = f"mini_attn-notebooks-{__version__}"  # of the zip, and of the folder in it
WHEEL = f"mini_attn-{__version__}-py3-none-any.whl"
BRANCH = "gh-pages"  # where the publish workflow puts the built site
TEMPLATE = Path(__file__).with_name("templates") / "run.html"
README = """\
Start Jupyter in this folder and open a notebook: pip install jupyterlab, then jupyter lab.
Its first cell installs mini_attn from the wheel here (Python 3.11 or newer; PyTorch is optional).

The code is under the MIT license. The text is under CC BY 4.0, by the mini_attn authors.
"""


def notebook_name(pagename: str) -> str:
    """Return the file name of a chapter's notebook, which changes with each release."""
    return f"{Path(pagename).name}-{__version__}.ipynb"


def is_notebook(app: Sphinx, pagename: str) -> bool:
    """Return whether a page comes from a notebook."""
    return pagename in app.env.found_docs and app.env.doc2path(pagename).endswith(".ipynb")


def folder_address(public: Public) -> str:
    """Return the public address of the folder with notebooks and wheel, or ""."""
    return public.site and f"{public.site}/{FOLDER}"


def hosts(public: Public, pagename: str) -> dict[str, str]:
    """Return the addresses at which other sites run a chapter, by the sites' names.

    Colab and Kaggle take the copy that's published and install the package from the book's site.
    Binder builds the repository.
    """
    found = {}
    if public.github and public.site:
        copy = f"{FOLDER}/{notebook_name(pagename)}"
        raw = f"https://raw.githubusercontent.com/{public.github}/{BRANCH}/{copy}"
        colab = "https://colab.research.google.com/github"
        found["Colab"] = f"{colab}/{public.github}/blob/{BRANCH}/{copy}"
        found["Kaggle"] = f"https://kaggle.com/kernels/welcome?src={raw}"
    if public.github:
        place = f"lab/tree/book/{Path(pagename).name}.ipynb"
        found["Binder"] = f"https://mybinder.org/v2/gh/{public.github}/main?urlpath={place}"
    return found


def run_links(app: Sphinx, pagename: str, root: str) -> str:
    """Return the list under *About this page*; ``root`` leads to the site's first folder."""
    facts = {
        "root": root, "megabytes": app.config.lite_megabytes, "folder": FOLDER,
        "notebook": notebook_name(pagename), "archive": f"{NAME}.zip",
        "hosts": hosts(read_public(), pagename),
    }  # fmt: skip
    return app.builder.templates.render_string(TEMPLATE.read_text(encoding="utf-8"), facts)


class Notebooks(SphinxDirective):
    """The link to all notebooks and the package."""

    def run(self) -> list[nodes.Node]:
        """Return it as HTML: a printed page has no use for it."""
        up = "../" * self.env.docname.count("/")
        link = f'<a class="run-download" href="{up}{FOLDER}/{NAME}.zip" download>{NAME}.zip</a>'
        return [nodes.raw("", f"<p>{link}</p>", format="html")]


class Install(SphinxDirective):
    """What installs the package: from the book's site, or else from the unpacked zip."""

    def run(self) -> list[nodes.Node]:
        """Return the command."""
        self.env.note_dependency(str(ROOT / "pyproject.toml"))
        site = folder_address(read_public())
        what = f"mini_attn[widgets] @ {site}/{WHEEL}" if site else f"./{WHEEL}[widgets]"
        text = f'pip install "{what}" matplotlib'
        return [nodes.literal_block(text, text, language="bash")]


def copy_of(path: Path, stamp: dict[str, str], site: str, cite: Any) -> str:
    """Return a chapter as it's handed out: stamped, in plain Markdown, with a first cell."""
    notebook = nbformat.read(path, as_version=4)
    notebook.metadata["mini_attn"] = dict(stamp)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = plain_markdown(cell.source, cite)
    first = next(i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code")
    notebook.cells.insert(first, first_cell(stamp["version"], site))
    return nbformat.writes(notebook) + "\n"


def write_notebooks(app: Sphinx, exception: Exception | None) -> None:
    """Write the folder anew."""
    if exception or app.builder.format != "html":
        return
    folder, stamp = Path(app.outdir, FOLDER), dict(app.config.stamp)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    cite = citations(Path(app.confdir, "book/references.bib"))
    site = folder_address(read_public())
    texts = {
        notebook_name(name): copy_of(Path(app.env.doc2path(name)), stamp, site, cite)
        for name in sorted(app.env.found_docs)
        if is_notebook(app, name)
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "stamp.json").write_text(json.dumps(stamp) + "\n", encoding="utf-8")
    files = {name: text.encode() for name, text in {**texts, "README.txt": README}.items()}
    files[WHEEL] = build_wheel(folder).read_bytes()
    (folder / f"{NAME}.zip").write_bytes(packed((f"{NAME}/{n}", files[n]) for n in sorted(files)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives, and write when the pages are done."""
    app.add_config_value("lite_megabytes", 40, "html", int)
    app.add_directive("notebooks", Notebooks)
    app.add_directive("install", Install)
    app.connect("build-finished", write_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
