"""Cards and the poster: what the chapters say, on paper of either size."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from pypdf import PdfReader

from tests.pages import built_page
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


def test_the_poster_has_each_factor_with_its_chapters() -> None:
    poster = built_page("book/poster.html").select_one(".poster")
    strips = built_page("book/index.html").select_one(".factor-map")
    for factor, strip in zip(poster.select(".poster-factor"), strips.select("li"), strict=True):
        assert factor.select_one(".poster-name").text == strip.b.text
        assert [a["href"] for a in factor.select("a")] == [a["href"] for a in strip.select("a")]
    assert len(poster.select(".poster-parts li")) == len(CHAPTERS)


@pytest.mark.browser
@pytest.mark.parametrize("paper", PAPERS)
def test_cards_print_several_to_a_sheet_and_none_is_cut(visit: Visit, paper: str) -> None:
    page = visit.look("book/cards.html")
    pdf = PdfReader(io.BytesIO(page.pdf(format=paper)))
    texts = [sheet.extract_text() for sheet in pdf.pages]
    assert len(texts) <= len(CHAPTERS) / 3 + 1
    assert "Print this page" not in texts[0]
    for chapter in CHAPTERS.values():
        head = f"{chapter.number}. {chapter.title}"
        assert sum(head in text for text in texts) == 1, head


@pytest.mark.browser
@pytest.mark.parametrize("paper", PAPERS)
def test_the_poster_is_one_landscape_sheet(visit: Visit, paper: str) -> None:
    page = visit.look("book/poster.html")
    pdf = PdfReader(io.BytesIO(page.pdf(format=paper, landscape=True)))
    assert len(pdf.pages) == 1
    text = pdf.pages[0].extract_text()
    assert "It prints on one" not in text
    assert all(chapter.title in text for chapter in CHAPTERS.values())


@pytest.mark.browser
@pytest.mark.parametrize("name", ["cards", "poster"])
@pytest.mark.parametrize("theme", THEMES)
def test_they_fit_and_axe_finds_nothing(visit: Visit, name: str, theme: str) -> None:
    page = visit.look(f"book/{name}.html")
    for width in (1300, 390):
        change(page, theme, width)
        assert_fits(page)
    assert serious_findings(page) == []


@pytest.mark.browser
def test_dark_pages_print_on_white_paper(visit: Visit) -> None:
    page = visit("book/cards.html", theme="dark")
    page.emulate_media(media="print")
    colour = "getComputedStyle(document.querySelector('.sheet-card li')).color"
    red = int(page.evaluate(colour).split("(")[1].split(",")[0])
    assert red < 80
