"""Add to every page its scripts and links, and write the files beside the pages.

* pages with a living picture: the one bundle and its style sheet, once; no widget state;
* pages with a trained decoder: its bundle; the decoders' weights lie beside it, each a script;
* pages with an exercise for a number or for words: the script that takes the answer;
* the page that measures its own tab, and the one that reads a model's file: their bundles, right
  behind the places that they fill;
* chapters: the links to run them in the browser, to download them, and to other sites;
* chapters and the page of claims: a place for the reader's progress; with its script, as on the
  first page, whose cards tell it, and on the page with the table of all;
* pages with exercises or cells: the script that offers Python; its other parts come at first use;
* all: storage that is sure to be the book's;
* beside them: a page for dead links, one where the first page was, the notebooks to download.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from functools import cache
from html import escape
from itertools import chain, repeat
from pathlib import Path
from typing import Any

from chapter_facts import by_part
from claims import PAGE as CLAIMS
from claims import outline as claims
from handed_out import is_notebook, run_links
from opening import RUN_LINKS
from outline import as_script, outline
from public import FIRST, Public
from sphinx.application import Sphinx

import mini_attn.widgets
from mini_attn.stories.family import on_pages
from mini_attn.widgets.model_data import model_script

WIDGET_STATE = "application/vnd.jupyter.widget-"
LIVING = re.compile(r'<div class="living" data-widget="(\w+)".*?</figure></div>', re.DOTALL)
MOUNT = "<script>livingMount()</script>"
# Chromium gives a page from a folder that asks for its storage before the browser has noted that
# the page is there a storage of its own, silently: it finds nothing, and what it keeps is lost
# with the tab ("for now, we'll just fail to bind", dom_storage_context_wrapper.cc). On a busy
# machine that was one page in fifty. Cookies, of which a folder has none, are asked for over a
# connection that is answered only after that note, and the page waits for the answer. The first
# script of the theme asks for the storage, so this comes before it.
# What needs a script, or a server, has its room from the first paint on: nothing moves later.
NOTED = """<script>if (location.protocol === "file:") document.cookie;
else document.documentElement.classList.add("served");
document.documentElement.classList.add("scripted");</script>
"""
# Light or dark as the system is, before the first paint, unless the reader has chosen. Without
# JavaScript the page is light, which the theme knows only where no "auto" is in its markup.
MODE = """(function (root) {
  if (localStorage.getItem("mode")) return;
  localStorage.setItem("mode", "auto");
  root.dataset.mode = "auto";
  root.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
})(document.documentElement);"""
# The theme would mark the words of a search on whatever page is opened next, also inside living
# pictures, and offers to hide them where the search box is not. Results show them; pages do not.
SEARCHED = """try { localStorage.removeItem("sphinx_highlight_terms"); } catch (refused) {}"""
# A font that comes after the first paint moves lines, and formulas more: a page is shown in its
# own, or after a second in what the system has. Asked for behind the style, as the text would be.
LETTERS = """(function (root) {
  function show() { root.classList.remove("unlettered"); }
  root.classList.add("unlettered");
  setTimeout(show, 1000);
  Promise.all(%s.map(function (font) { return document.fonts.load(font); })).then(show, show);
})(document.documentElement);"""
TEXT_FONTS = ['1em "Source Serif 4"', 'italic 1em "Source Serif 4"', '1em "Source Sans 3"']
MATH_FONTS = ["1em KaTeX_Main", "italic 1em KaTeX_Math"]
YOUR_MODEL, YOUR_MACHINE, CLINIC = "living.model.js", "living.machine.js", "living.clinic.js"
BUNDLE = ("living.page.js", "living.css", "living.pencil.js", YOUR_MODEL, YOUR_MACHINE, CLINIC)
PROGRESS, HANDIN = "living.progress.js", "living.handin.js"  # the second when one hands in
TRAINED = "living.trained.js"
READERS = "benchmarks/results/readers"
HANDED_IN = re.compile(rf'<code class="[^"]*"><span class="pre">{READERS}</span></code>')
MEASURED = re.compile(r'<div class="your-machine".*?</div>')
ALL_PROGRESS = "about.html"  # the table of all chapters
PYTHON = "living.python.js"
LATER = {"worker": "living.worker.js", "editor": "living.editor.js"}  # when Python is asked for
TEMPLATES = Path(__file__).with_name("templates")


def readers_linked(body: str, public: Public) -> str:
    """Link the folder that takes what readers measured, where the book is public."""
    folder = escape(public.folder(READERS))
    return HANDED_IN.sub(lambda said: f'<a href="{folder}">{said[0]}</a>', body) if folder else body


def copy_bundle(app: Sphinx) -> None:
    """Put the widgets' bundle among the static files, before pages ask for its checksum."""
    static = Path(app.confdir, "mini_attn/widgets/static")
    target = Path(app.outdir, "_static")
    target.mkdir(parents=True, exist_ok=True)
    for name in BUNDLE:
        if (static / name).exists():
            shutil.copyfile(static / name, target / name)
    said = Path(app.confdir, f"{CLAIMS}.md").read_text(encoding="utf-8")
    app.env.living_chapters = [*outline(Path(app.confdir)), claims(said)]
    script = (static / PROGRESS).read_text(encoding="utf-8")
    later = {"handin": with_digest(static / HANDIN, target / HANDIN)}
    facts = f"{as_script(app.env.living_chapters)}globalThis.livingLater={json.dumps(later)};\n"
    (target / PROGRESS).write_text(facts + script, encoding="utf-8")
    names = {part: with_digest(static / name, target / name) for part, name in LATER.items()}
    script = (static / PYTHON).read_text(encoding="utf-8")
    addresses = f"globalThis.livingPython={json.dumps(names)};\n"
    (target / PYTHON).write_text(addresses + script, encoding="utf-8")
    versions = f"globalThis.livingVersions={json.dumps(write_models(target / 'models'))};\n"
    script = (static / TRAINED).read_text(encoding="utf-8")
    (target / TRAINED).write_text(versions + script, encoding="utf-8")


def digest_of(content: bytes) -> str:
    """Return the digest that an address ends with, so that browsers drop older files."""
    return hashlib.sha256(content).hexdigest()[:8]


def with_digest(source: Path, target: Path) -> str:
    """Copy a script; gives its name as an address beside the script that asks for it."""
    shutil.copyfile(source, target)
    return f"{target.name}?v={digest_of(target.read_bytes())}"


def write_models(folder: Path) -> dict[str, str]:
    """Write each trained decoder as the script that a page asks for; gives their digests."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    versions = {}
    for name in on_pages():
        script = model_script(name).encode()
        (folder / f"{name}.js").write_bytes(script)
        versions[name] = digest_of(script)
    return versions


def script_of(app: Sphinx, context: dict[str, Any], name: str, how: str = "") -> str:
    """The element of a bundle's script, with a digest so that no old bundle is kept."""
    path = f"_static/{name}"
    digest = digest_of(Path(app.outdir, path).read_bytes())
    return f'<script {how}src="{context["pathto"](path, resource=True)}?v={digest}"></script>'


@cache
def decoders() -> frozenset[str]:
    """The pictures that have a trained decoder: those that its bundle mounts."""
    source = Path(mini_attn.widgets.__file__).parent / "js/trained.js"
    return frozenset(re.findall(r'"\./(\w+)/index\.js"', source.read_text(encoding="utf-8")))


def scripts_of_head(context: dict[str, Any], waits: bool) -> list[Any]:
    """The theme's scripts without widget state; those of files wait until the page is read.

    They have nothing to do before, and the first widget need not wait for them. Those that a
    script in the page asks do not wait: the options, and on the search page all.
    """
    kept = []
    for script in context.get("script_files", []):
        attributes = getattr(script, "attributes", {})
        if attributes.get("type", "").startswith(WIDGET_STATE):
            continue
        name = str(getattr(script, "filename", None) or "")
        if waits and name and "documentation_options" not in name and "async" not in attributes:
            attributes = {**attributes, "defer": "defer"}
            script = type(script)(name, priority=script.priority, **attributes)
        kept.append(script)
    return kept


def progress_place(app: Sphinx, pagename: str, body: str) -> str:
    """Return the place for the reader's progress, empty until the script fills it."""
    page = Path(pagename).name
    if page not in {chapter["page"] for chapter in app.env.living_chapters}:
        return body
    place = f'<div class="kept" data-progress="{page}" data-book="{ALL_PROGRESS}" hidden></div>'
    return body + place


def finish_page(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Complete one page."""
    body = context.get("body", "")
    # docutils gives the entries of a list a role that is not allowed in one
    body = body.replace('role="doc-biblioentry"', 'role="listitem"')
    body = body.replace(' class="tex2jax_ignore mathjax_ignore"', "")
    if is_notebook(app, pagename):
        links = run_links(app, pagename, context["pathto"]("", resource=True) or "./")
        # A chapter has a place for them; other notebooks have them under the title.
        place, found = (RUN_LINKS, "") if RUN_LINKS in body else ("</h1>", "</h1>\n")
        body = body.replace(place, found + links, 1)
        here = re.search(r'href="([^"]*/lite/[^"]*)"', links)
        body = re.sub(r'href="notebook:(\w+)"', rf'href="{here[1]}#exercise=\1"', body)
    body = progress_place(app, pagename, body)
    # Right behind the first widget and read there: that widget is alive before the rest of a
    # long page is even parsed. The others are as they are parsed: none grows before one's eyes.
    trained = chain([script_of(app, context, TRAINED)], repeat(""))
    scripts = chain([script_of(app, context, BUNDLE[0])], repeat(MOUNT))
    body, living = LIVING.subn(
        lambda box: box[0] + next(scripts) + (next(trained) if box[1] in decoders() else ""), body
    )
    if 'id="own-model"' in body:
        end = "</noscript></div>"
        body = body.replace(end, end + script_of(app, context, YOUR_MODEL), 1)
        app.add_css_file("living.css")
    kept = 'data-progress="' in body or 'class="chapter-card"' in body
    if '<div class="pencil"' in body or '<div class="in-words"' in body:
        body += script_of(app, context, BUNDLE[2], "async ")
    here = 'class="here"' in body or 'id="page-cells"' in body
    measures = 'class="your-machine"' in body
    if measures:
        version = f'<div data-book="{app.config.stamp["version"]}" '
        script = script_of(app, context, YOUR_MACHINE)
        body = readers_linked(body, Public(**app.config.public))
        body = MEASURED.sub(lambda box: version + box[0][5:] + script, body)
        app.add_css_file("machine.css")
    if living or kept or here or measures or 'class="drawn' in body or 'class="role-' in body:
        app.add_css_file("living.css")
    if here:
        app.add_css_file("python.css")
        body += script_of(app, context, PYTHON, "async ")
    if 'class="home-onward"' in body:
        app.add_css_file("home.css")
    if kept:
        app.add_css_file("progress.css")
        # Not deferred: the page's other pictures would wait for it.
        body += script_of(app, context, PROGRESS, "async ")
    fonts = TEXT_FONTS + MATH_FONTS * ('class="katex"' in body)
    app.add_js_file(None, body=LETTERS % json.dumps(fonts), priority=100)
    # After the additions, which go to the list that this replaces.
    context["script_files"] = scripts_of_head(context, waits=pagename != "search")
    context["body"] = body
    context["metatags"] = NOTED + context.get("metatags", "")


def write_neighbours(app: Sphinx, exception: Exception | None) -> None:
    """Write the page for dead links and the one for old links to the first."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    facts = {
        "title": app.config.html_title,
        "parts": by_part(),
        "canonical": Public(**app.config.public).page(FIRST),
    }
    for source, name in (("lost.html", "404.html"), ("moved.html", f"book/{FIRST}.html")):
        text = (TEMPLATES / source).read_text(encoding="utf-8")
        page = app.builder.templates.render_string(text, facts)
        (out / name).write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the page's additions; they come after the theme's own."""
    # What the chapters print must not depend on what whoever builds the book has solved.
    os.environ["MINI_ATTN_PROGRESS"] = "off"
    app.add_js_file(None, body=MODE, priority=100)
    app.add_js_file(None, body=SEARCHED, priority=100)
    app.connect("builder-inited", copy_bundle)
    app.connect("html-page-context", finish_page, priority=900)
    app.connect("build-finished", write_neighbours)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
