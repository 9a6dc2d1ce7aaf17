"""Cards and the poster: what the chapters say, on paper of either size."""

from __future__ import annotations

import io
import math
import re
from itertools import product
from types import SimpleNamespace

import pytest
from pypdf import PdfReader

from tests.pages import built_page
from tests.sampling import sampled
from tests.scripts import script
from tests.site import THEMES, assert_fits, change, serious_findings
from tools.site import Visit

SHEETS = script("book/_ext/sheets.py")
CHAPTERS = SHEETS.read_chapters()
PAPERS = ("A4", "Letter")


def test_there_is_a_card_for_each_chapter_with_its_own_summary() -> None:
    cards = built_page("book/cards.html").select(".sheet-card")
    assert [card["id"] for card in cards] == [f"card-{stem}" for stem in CHAPTERS]
    for card, chapter in zip(cards, CHAPTERS.values(), strict=True):
        own = built_page(f"book/{chapter.stem}.html").select_one("section#summary")
        for kind in ("li", "td"):
            told = [part.text for part in own.select(kind)]
            assert [part.text for part in card.select(kind)] == told, chapter.stem


@pytest.mark.parametrize(
    "source", ["", "## Summary\n\n- One.", "## Summary\n\n- One.\n\n| a |\n\nMore."]
)
def test_a_chapter_without_a_whole_summary_is_refused(source: str) -> None:
    chapter = SimpleNamespace(stem="toy", cells=[SimpleNamespace(source=source)])
    with pytest.raises(ValueError, match="toy needs a summary"):
        SHEETS.summary(chapter)


def test_the_poster_has_each_factor_with_what_its_chapters_say() -> None:
    poster = built_page("book/poster.html").select_one(".poster")
    strips = built_page("index.html").select_one(".factor-map").select("li")
    *factors, result = poster.select(".poster-factor")
    assert "poster-result" in result["class"]
    for factor, strip in zip(factors, strips, strict=True):
        assert factor.select_one(".poster-name").text == strip.b.text
        linked = [a["href"] for a in factor.select("a")]
        assert [f"book/{href}" for href in linked] == [a["href"] for a in strip.select("a")]
        for stem in (href.removesuffix(".html") for href in linked):
            said = built_page(f"book/{stem}.html").select_one("section#summary")
            begins, row = SHEETS.GIVES[stem]
            sentence = next(li.text for li in said.select("li") if li.text.startswith(begins))
            formula = next(tr for tr in said.select("tr") if tr.td and tr.td.text.strip() == row)
            assert sentence.strip() in factor.text
            assert formula.select(".math")[0].text in factor.text
    for chapter in CHAPTERS.values():
        assert f"{chapter.number} {chapter.title}" in poster.text


def test_the_numbers_of_the_poster_make_its_product() -> None:
    poster = built_page("book/poster.html").select_one(".poster")
    *factors, bits = [one.text for one in poster.select(".poster-number")]
    product = math.prod(int(one.replace(",", "")) for one in factors)
    assert bits == f"{product / 1e9:.2f} billion"
    assert poster.select_one(".poster-bytes").text == f"{product / 8e9:.2f} GB"
    line = poster.select_one(".poster-line").text
    assert [int(one.replace(",", "")) for one in re.findall(r"[\d,]+(?= [a-z])", line)] == [
        int(one.replace(",", "")) for one in factors
    ]
    assert line.endswith(f"/ 8 =\n{product / 8e9:.2f} GB")


def test_a_chapter_of_a_factor_without_a_choice_for_the_poster_is_refused() -> None:
    text = "## Summary\n\n- One.\n\n| a |"
    chapter = SimpleNamespace(stem="toy", cells=[SimpleNamespace(source=text)])
    with pytest.raises(ValueError, match="choose what the poster gives"):
        SHEETS.given(chapter)


@pytest.mark.browser
@pytest.mark.parametrize("paper", sampled(PAPERS, lambda _: "paper"))
def test_cards_print_several_to_a_sheet_and_none_is_cut(visit: Visit, paper: str) -> None:
    page = visit.look("book/cards.html")
    pdf = PdfReader(io.BytesIO(page.pdf(format=paper)))
    texts = [sheet.extract_text() for sheet in pdf.pages]
    assert len(texts) <= len(CHAPTERS) / 3 + 1
    assert "Print this page" not in texts[0]
    for chapter in CHAPTERS.values():
        head = f"{chapter.number}. {chapter.title}"
        assert [text.count(head) for text in texts if head in text] == [2], "one for each side"


@pytest.mark.browser
@pytest.mark.parametrize("paper", PAPERS)
def test_the_poster_is_one_landscape_sheet(visit: Visit, paper: str) -> None:
    page = visit.look("book/poster.html")
    pdf = PdfReader(io.BytesIO(page.pdf(format=paper, landscape=True)))
    assert len(pdf.pages) == 1
    text = " ".join(pdf.pages[0].extract_text().split())  # a title may go over two lines
    assert "It prints on one" not in text
    assert all(chapter.title in text for chapter in CHAPTERS.values())


@pytest.mark.browser
@pytest.mark.parametrize(
    ("name", "theme"), sampled(product(["cards", "poster"], THEMES), lambda so: so[0])
)
def test_they_fit_and_axe_finds_nothing(visit: Visit, name: str, theme: str) -> None:
    page = visit.look(f"book/{name}.html")
    for width in (1300, 390):
        change(page, theme, width)
        assert_fits(page)
    assert serious_findings(page) == []


@pytest.mark.browser
def test_a_card_has_a_line_to_cut_along_on_each_side_and_room_within(visit: Visit) -> None:
    page = visit.look("book/cards.html")
    page.emulate_media(media="print")
    for side in ("Top", "Right", "Bottom", "Left"):
        style = f"getComputedStyle(document.querySelectorAll('.sheet-card')[7]).border{side}Style"
        assert page.evaluate(style) == "dashed"
    text = page.locator("#card-mla .sheet-side").first
    padding = text.evaluate("one => parseFloat(getComputedStyle(one).paddingLeft)")
    assert padding >= 15, "a printer without margins leaves the text whole"


@pytest.mark.browser
def test_dark_pages_print_on_white_paper(visit: Visit) -> None:
    page = visit("book/cards.html", theme="dark")
    page.emulate_media(media="print")
    colour = "getComputedStyle(document.querySelector('.sheet-card li')).color"
    red = int(page.evaluate(colour).split("(")[1].split(",")[0])
    assert red < 80
