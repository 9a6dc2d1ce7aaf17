"""Figures that belong to their page: in the page's markup, its face, and its light or dark.

A vector figure that a cell has drawn is put into the page itself. Its colors, those of
`mini_attn.notebook.PALETTE`, become the custom properties of the same names (living.css), so that
it follows the page's switch and prints light. One with pixels or with colors of its own keeps
them, on a light card. Where its words would become smaller than `LEAST` it scrolls.

The code of a cell tagged ``hide-input`` is folded; it runs like any other.
"""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from covers import raw
from docutils import nodes
from myst_nb.sphinx_ import HideCodeCellNode
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator

from mini_attn.notebook import PALETTE

LEAST = 9.0  # height of the smallest words, in pixels of the screen
PIXELS = 4 / 3  # of a point: figures are drawn in points
XLINK = "{http://www.w3.org/1999/xlink}"
COLOUR = re.compile(r"#[0-9a-f]{6}\b")
FRACTION = re.compile(r"-?\d+\.\d+")
REFERENCE = re.compile(r"(?:url\(|href=\")#([^)\"]+)")
ROUNDED = {"d", "x", "y", "x1", "x2", "y1", "y2", "width", "height", "transform", "viewBox"}
NAMES = {colour: name for name, colour in PALETTE.items()}


def grey(colour: str) -> bool:
    """Return whether a color is nearly gray."""
    parts = [int(colour[i : i + 2], 16) for i in (1, 3, 5)]
    return max(parts) - min(parts) <= 8


def property_of(colour: str) -> str | None:
    """The custom property of a color; a grey one gets the nearest of the neutral ones."""
    if colour not in NAMES and grey(colour):
        neutral = ("ink", "muted", "line-strong", "line", "surface")
        tone = int(colour[1:3], 16)
        colour = min((PALETTE[n] for n in neutral), key=lambda c: abs(int(c[1:3], 16) - tone))
    return f"var(--living-{NAMES[colour]},{colour})" if colour in NAMES else None


def recoloured(style: str) -> str:
    """A style with custom properties for colors and without its own face."""
    parts = [part.strip().split(": ", 1) for part in style.split(";") if part.strip()]
    kept = [f"{name}:{value}" for name, value in parts if name != "font-family"]
    return COLOUR.sub(lambda found: property_of(found[0]) or found[0], ";".join(kept))


def short(number: re.Match[str]) -> str:
    """A coordinate with two digits behind the point at most."""
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


class Drawing:
    """A figure of matplotlib as markup for a page.

    Parameters
    ----------
    svg : str
        The file's text.
    prefix : str
        Makes its ids unique on the page.
    label : str
        Its alternative text.
    """

    def __init__(self, svg: str, prefix: str, label: str) -> None:
        self.root = ElementTree.fromstring(svg)
        self.prefix, self.label = prefix, label
        self.used = set(REFERENCE.findall(svg))
        colours = set(COLOUR.findall(svg))
        self.follows = "<image" not in svg and all(map(property_of, colours))
        _, _, self.width, self.height = map(float, self.root.attrib["viewBox"].split())
        sizes = [float(size) for size in re.findall(r"font-size: ([\d.]+)px", svg)]
        self.least = self.width * LEAST / min(sizes) if sizes else 0.0

    def markup(self) -> str:
        """The box with the figure."""
        size = f"width:{self.width * PIXELS:.0f}px;min-width:{self.least:.0f}px"
        inside = "".join(self.part(child) for child in self.root)
        card = "" if self.follows else " drawn-card"
        return (
            f'<div class="drawn{card}"><svg role="img" aria-label="{escape(self.label)}" '
            f'viewBox="0 0 {self.width:g} {self.height:g}" '
            f'width="{self.width * PIXELS:.0f}" height="{self.height * PIXELS:.0f}" '
            f'style="{size}">{inside}</svg></div>'
        )

    def part(self, element: ElementTree.Element) -> str:
        """An element and what is in it; the card, the file's facts and empty groups go."""
        tag = element.tag.split("}")[-1]
        if tag in ("metadata", "style") or element.get("id") == "patch_1":
            return ""
        inside = "".join(self.part(child) for child in element)
        given = "".join(self.attributes(element))
        if tag in ("g", "defs") and (not inside or (tag == "g" and not given)):
            return inside
        text = "" if tag in ("g", "defs") else escape((element.text or "").strip(), quote=False)
        return f"<{tag}{given}>{text}{inside}</{tag}>"

    def attributes(self, element: ElementTree.Element) -> list[str]:
        """The attributes of an element that a page needs."""
        found = []
        for key, value in element.attrib.items():
            name = key.removeprefix(XLINK)
            if name == "id":
                if value not in self.used:
                    continue
                value = f"{self.prefix}{value}"
            elif name == "href":
                value = f"#{self.prefix}{value[1:]}" if value.startswith("#") else value
            elif name == "style" and self.follows:
                value = recoloured(value)
            elif name == "transform" and value.startswith("rotate(-0 "):
                continue
            elif name in ROUNDED:
                value = FRACTION.sub(short, " ".join(value.split()))
            value = value.replace("url(#", f"url(#{self.prefix}")
            found.append(f' {name}="{escape(value)}"')
        return found


def put_in(app: Sphinx, doctree: nodes.document) -> None:
    """Put a page's vector figures into it, before they are counted among its files."""
    if app.builder.format != "html" or app.builder.name == "epub":
        return  # a reader of e-books may know no custom properties
    found = [
        image
        for image in doctree.findall(nodes.image)
        if "jupyter_execute" in image["uri"] and image["uri"].endswith(".svg")
    ]
    for number, image in enumerate(found, 1):
        svg = Path(app.srcdir, image["uri"].lstrip("/")).read_text(encoding="utf-8")
        drawing = Drawing(svg, f"drawn-{number}-", image.get("alt", ""))
        image.replace_self(raw(drawing.markup()))


def open_fold(translator: HTML5Translator, node: HideCodeCellNode) -> None:
    """Folded code, with the words that open and close it."""
    show, hide = (escape(node[f"prompt_{word}"]) for word in ("show", "hide"))
    translator.body.append(
        '<details class="cell-fold"><summary>'
        f'<span class="fold-closed">{show}</span><span class="fold-open">{hide}</span></summary>\n'
    )


def close_fold(translator: HTML5Translator, node: HideCodeCellNode) -> None:
    """The end of folded code."""
    translator.body.append("</details>\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx, before its collector of images."""
    app.add_node(HideCodeCellNode, override=True, html=(open_fold, close_fold))
    app.connect("doctree-read", put_in, priority=400)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
