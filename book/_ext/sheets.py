"""Sheets to print: a card for each chapter, and a poster of what makes the bytes of a cache.

A card is the chapter's own summary, read from its notebook: what to remember on one side of the
fold, the formulas on the other. The poster is the product of the four factors with the numbers of
one model, and under each factor a sentence and a formula from the summaries of its chapters.
"""

from __future__ import annotations

from html import escape
from typing import Any

from chapter_facts import FACTORS, Chapter, by_part, read_chapters
from covers import raw
from docutils import nodes
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from mini_attn.cost import cache_bytes, cache_bytes_per_token
from mini_attn.models import MODELS

SUMMARY = "## Summary\n"
CARD = '<article class="sheet-card" id="card-{stem}"><div class="sheet-sides">'
SIDE = """<div class="sheet-side" role="group" aria-label="{what}"><p class="sheet-head">
<b>{number}. {title}</b> <span>{part}</span></p>"""
# What a chapter's summary says of its factor: how the sentence begins, and the row of the formula.
GIVES = {
    "sliding-window": ("A ring of", "bytes"),
    "fewer-keys": ("A static pattern", "H2O"),
    "shared-layers": ("Layers that read", "bytes held by a text, without windows"),
    "mqa-gqa": ("Sharing cuts", "cache bytes per token"),
    "mla": ("Each token leaves", "bytes per token"),
    "bits": ("Keys are quantized", "effective bits"),
}
WORKED, CONTEXT, DTYPE_BYTES = "llama-3-8b", 8192, 2
POSTER = """<div class="poster"><p class="poster-title">The bytes of a KV cache</p>
<p class="poster-lead">A product of four factors: to make the cache smaller, shrink one. The numbers
are those of {model} with {context:,} tokens of one sequence, in bfloat16.</p>
<div class="poster-product">"""
FACTOR = """<div class="poster-factor" role="group" aria-label="{words}">
<p class="poster-name">{words}</p><p class="poster-number">{number:,}</p>
<p class="poster-unit">{unit}</p>"""
RESULT = """<div class="poster-factor poster-result" role="group" aria-label="Bits per sequence">
<p class="poster-name">bits per sequence</p><p class="poster-number">{gigabits:.2f} billion</p>
<p class="poster-unit">/ 8 = bytes</p><p class="poster-bytes">{gigabytes:.2f} GB</p>
<p>for each sequence: a batch has a cache for every one.</p></div></div>
<p class="poster-line">{line}</p>"""
LINE = """{layers:,} layers × {entries:,} entries × {values:,} values × {bits} bits / 8 =
{gigabytes:.2f} GB"""
LEGEND = r"""$L$ layers · $H$ query heads, $H_{kv}$ key/value heads of size $d_k$ · $d_c$ size of a
latent, $d_\text{rope}$ of its rotated key · $W$ window · $w_{hij}$ weight that query $i$ of head
$h$ gives key $j$ · $b$ bits of a code, $s$ bits of each scale or zero point, $g$ values that share
them"""
PART = "<span><b>{part}</b> {chapters}</span>"


def summary(chapter: Chapter) -> tuple[str, str]:
    """Return the sentences and the table of formulas that end a chapter.

    Raises
    ------
    ValueError
        If the chapter has no such cell, or if it has something else in it.
    """
    found = [str(c.source) for c in chapter.cells if c.source.startswith(SUMMARY)]
    parts = found[0].removeprefix(SUMMARY).strip().split("\n\n") if found else []
    if [part[:1] for part in parts] != ["-", "|"]:
        raise ValueError(f"{chapter.stem} needs a summary: a list, then a table, and nothing else")
    return parts[0], parts[1]


def given(chapter: Chapter) -> str:
    """Return the sentence and the formula that the poster shows of a chapter, as Markdown.

    Raises
    ------
    ValueError
        If nobody chose them, or if the chapter's summary no longer has them.
    """
    begins, name = GIVES.get(chapter.stem, ("", ""))
    points, table = (part.split("\n") for part in summary(chapter))
    sentences = [one for one in points if begins and one.startswith(f"- {begins}")]
    formulas = [row.removeprefix(f"| {name} | ") for row in table if row.startswith(f"| {name} | ")]
    if not sentences or not formulas:
        raise ValueError(f"{chapter.stem} shrinks a factor: choose what the poster gives of it")
    formula = formulas[0].removesuffix("|").strip()
    title = f"**{chapter.number}. [{chapter.title}]({chapter.stem}.ipynb)**"
    return f"{title}\n\n{sentences[0].removeprefix('- ')}\n\n{name}: {formula}"


def worked() -> dict[str, tuple[int, str]]:
    """Return each factor's number for one real model, and where it comes from."""
    model = MODELS[WORKED]
    heads = model.n_kv_heads
    values = cache_bytes_per_token(model, dtype_bytes=DTYPE_BYTES) // model.n_layers // DTYPE_BYTES
    return {
        "layers": (model.n_layers, "layers, and all of them keep"),
        "entries": (CONTEXT, "tokens, and all of them stay"),
        "values": (values, f"{heads} keys and {heads} values of {model.head_dim}"),
        "bits": (8 * DTYPE_BYTES, "as bfloat16 has"),
    }


def result() -> str:
    """Return the product of the factors, with the line that works it out."""
    size = cache_bytes(MODELS[WORKED], batch=1, context=CONTEXT, dtype_bytes=DTYPE_BYTES)
    numbers = {key: number for key, (number, _) in worked().items()}
    line = LINE.format(gigabytes=size / 1e9, **numbers)
    return RESULT.format(gigabits=8 * size / 1e9, gigabytes=size / 1e9, line=line)


def contents() -> str:
    """Return all chapters, part by part."""
    return " ".join(
        PART.format(part=escape(part), chapters=" · ".join(
            f"{c.number} {escape(c.title)}" for c in chapters))
        for part, chapters in by_part().items()
    )  # fmt: skip


class Sheet(SphinxDirective):
    """The cards, or the poster."""

    def parsed(self, text: str, source: str) -> list[nodes.Node]:
        """Markdown as the page's own text."""
        box = nodes.container()
        self.state.nested_parse(StringList(text.split("\n"), source), 0, box)
        return list(box.children)

    def card(self, chapter: Chapter) -> list[nodes.Node]:
        """One chapter's card: two sides, each with the title, as each is read alone."""
        title = escape(chapter.title)
        link = f'<a href="{chapter.stem}.html">{title}</a>'
        sides = (("What to remember", link, chapter.part), ("Formulas", title, "Formulas"))
        found: list[nodes.Node] = [raw(CARD.format(stem=chapter.stem))]
        for (what, name, part), text in zip(sides, summary(chapter), strict=True):
            head = SIDE.format(what=what, number=chapter.number, title=name, part=escape(part))
            found += [raw(head), *self.parsed(text, str(chapter.path)), raw("</div>")]
        return [*found, raw("</div></article>")]

    def poster(self, chapters: dict[str, Chapter]) -> list[nodes.Node]:
        """The product with its numbers, under each factor its chapters, and what letters mean."""
        model = MODELS[WORKED].title
        found: list[nodes.Node] = [raw(POSTER.format(model=model, context=CONTEXT))]
        for key, (number, unit) in worked().items():
            found.append(raw(FACTOR.format(words=escape(FACTORS[key]), number=number, unit=unit)))
            for chapter in chapters.values():
                if chapter.factor == key:
                    found += self.parsed(given(chapter), str(chapter.path))
            found.append(raw("</div>"))
        legend = [raw('<div class="poster-legend">'), *self.parsed(LEGEND, __file__)]
        return [*found, raw(result()), *legend, raw(f"<p>{contents()}</p></div></div>")]

    def run(self) -> list[nodes.Node]:
        """Draw the sheet; it is made again when a chapter changes."""
        chapters = read_chapters()
        for chapter in chapters.values():
            self.env.note_dependency(str(chapter.path))
        try:
            if self.name == "poster":
                return self.poster(chapters)
            cards = [node for chapter in chapters.values() for node in self.card(chapter)]
        except ValueError as error:
            raise self.error(str(error)) from error
        return [raw('<div class="cards">'), *cards, raw("</div>")]


def add_style(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: Any
) -> None:
    """Give the two pages their look; each has a paper of its own, so the poster's is apart."""
    body = context.get("body", "")
    for name in ("cards", "poster"):
        if f'<div class="{name}">' in body:
            app.add_css_file("sheets.css")
    if '<div class="poster">' in body:
        app.add_css_file("poster.css")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("cards", Sheet)
    app.add_directive("poster", Sheet)
    app.connect("html-page-context", add_style)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
