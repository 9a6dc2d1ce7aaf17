"""Print the built book: each page as a PDF, and all of them as one. ``make pdf``.

A page prints as the browser prints it, pictures in the place of living ones. What a reader of
paper cannot open, the answers to the predictions and the boxes of the exercises, is collected
at the end of its chapter.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any, cast

import yaml
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import Link
from pypdf.generic import ArrayObject, DictionaryObject, Fit, RectangleObject

from tools import HTML, ROOT
from tools.site import Visit, visiting

OUT = ROOT / "_build/pdf"
WHOLE = "living-attention-book.pdf"

PAPER: dict[str, Any] = {
    "format": "A4",
    "scale": 0.95,
    "margin": {"top": "18mm", "bottom": "20mm", "left": "17mm", "right": "17mm"},
    "display_header_footer": True,
    "header_template": "<span></span>",
    "tagged": True,
}
FOOT = """<div style="font: 8px sans-serif; color: #555; width: 100%; margin: 0 17mm;
display: flex; justify-content: space-between"><span>{title}</span><span class="pageNumber">
</span></div>"""
ARRANGE = (ROOT / "tools/pdf.js").read_text(encoding="utf-8")
CONTENTS = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Contents</title><style>
body {{ font: 14px/1.5 serif; max-width: 44rem }} h1 {{ font: bold 30px sans-serif }}
h2 {{ font: bold 16px sans-serif; margin: 1.6em 0 0.3em }}
p {{ display: flex; justify-content: space-between; margin: 0.15em 0 }}</style>
<h1>{title}</h1>{body}</html>"""


def parts() -> list[tuple[str, list[str]]]:
    """Captions and page names in the order of the book; pages below a page are left out."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    found = [("", [toc["root"]])]
    for part in toc["parts"]:
        names = [entry["file"] for entry in part["chapters"] if "sections" not in entry]
        found.append((part["caption"], names))
    return found


def print_page(visit: Visit, name: str) -> tuple[str, bytes]:
    """Title and PDF of one built page."""
    page = visit(f"{name}.html")
    page.evaluate(ARRANGE)
    page.evaluate("document.fonts.ready.then(() => undefined)")
    title = page.locator("article h1").first.evaluate("(h) => h.firstChild.textContent.trim()")
    pdf = page.pdf(**PAPER, outline=True, footer_template=FOOT.format(title=escape(title)))
    return title, pdf


def links(page: DictionaryObject) -> Iterator[tuple[int, DictionaryObject, str]]:
    """The annotations of a page that lead to an address, with their places in its list."""
    for place, reference in reversed(list(enumerate(page.get("/Annots", [])))):
        annotation = reference.get_object()
        address = annotation.get("/A", {}).get("/URI")
        if address:
            yield place, annotation, str(address)


def settle_links(writer: PdfWriter, local: str, starts: dict[str, int]) -> None:
    """Links to other pages of the book lead into the PDF, or nowhere; others stay."""
    for number, page in enumerate(writer.pages):
        for place, annotation, address in list(links(page)):
            if not address.startswith(local):
                continue
            del cast(ArrayObject, page["/Annots"])[place]
            target = starts.get(address.removeprefix(local).split("#")[0].removesuffix(".html"))
            if target is not None:
                box = RectangleObject(cast(ArrayObject, annotation["/Rect"]))
                link = Link(rect=box, target_page_index=target, fit=Fit.fit())
                writer.add_annotation(number, link)


def contents(visit: Visit, lines: list[tuple[str, str, int]], title: str) -> bytes:
    """The page that lists captions, titles and page numbers."""
    body, last = "", ""
    for caption, name, number in lines:
        if caption != last:
            body += f"<h2>{escape(caption)}</h2>"
            last = caption
        body += f"<p><span>{escape(name)}</span><span>{number}</span></p>"
    page = visit.context().new_page()
    page.set_content(CONTENTS.format(title=escape(title), body=body))
    return page.pdf(format="A4", margin=PAPER["margin"])


def write(writer: PdfWriter, path: Path, title: str) -> None:
    """Save a PDF with its title; the file appears whole or not at all."""
    writer.add_metadata({"/Title": title, "/Author": "The mini_attn authors"})
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    with unfinished.open("wb") as file:
        writer.write(file)
    unfinished.replace(path)
    print(f"[pdf] {path}: {len(writer.pages)} pages, {path.stat().st_size / 1e6:.1f} MB")


def make(out: Path, wanted: list[tuple[str, list[str]]]) -> None:
    """Write a PDF for each page, and the whole of them."""
    book = "The Living Attention Book"
    printed: list[tuple[str, str, str, bytes]] = []
    with visiting() as visit:
        local = f"{visit.address}/"
        for caption, names in wanted:
            for name in names:
                title, pdf = print_page(visit, name)
                printed.append((caption, name, title, pdf))
                single = PdfWriter(clone_from=io.BytesIO(pdf))
                settle_links(single, local, {})
                write(single, out / f"{Path(name).name}.pdf", title)
        lengths = [len(PdfReader(io.BytesIO(pdf)).pages) for *_, pdf in printed]
        # One page of contents stands in front.
        first = [1 + sum(lengths[:n]) for n in range(len(lengths))]
        listed = [(c, t, at + 1) for (c, _, t, _), at in zip(printed, first, strict=True)]
        whole = PdfWriter()
        whole.append(io.BytesIO(contents(visit, listed, book)), outline_item="Contents")
        for _, _, title, pdf in printed:
            whole.append(io.BytesIO(pdf), outline_item=title)
        starts = {name: at for (_, name, _, _), at in zip(printed, first, strict=True)}
        settle_links(whole, local, starts)
        write(whole, out / WHOLE, book)


if __name__ == "__main__":
    if not (HTML / "index.html").exists():
        sys.exit("[pdf] there is no built book; run `make book` first")
    make(OUT, parts())
