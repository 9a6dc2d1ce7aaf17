"""No term comes before the chapter that introduces it, whichever route a reader takes."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.book.test_book import glossary_terms
from tests.scripts import script
from tools import ROOT

PLACES = script("book/_ext/term_places.py")
TERMS = script("book/_ext/terms.py")
CHAPTERS = script("book/_ext/living.py").read_chapters()
GLOSSARY = (ROOT / "book/glossary.md").read_text(encoding="utf-8")


def test_each_term_of_the_glossary_says_where_it_is_introduced() -> None:
    places = TERMS.introduced(GLOSSARY)
    assert set(places) == glossary_terms()
    assert all(stems and stems <= set(CHAPTERS) for stems in places.values())


def test_a_chapter_has_the_words_of_the_term_that_it_introduces() -> None:
    """In some form: a block is preempted, and the glossary has preemption."""
    for term, stems in TERMS.introduced(GLOSSARY).items():
        for stem in stems:
            prose = "\n".join(c.source for c in CHAPTERS[stem].cells).lower()
            assert all(word[:5].lower() in prose for word in term.split()), (term, stem)


def test_no_open_section_uses_a_term_that_comes_later() -> None:
    assert list(PLACES.too_early(CHAPTERS, TERMS.introduced(GLOSSARY))) == []


def chapter(text: str, *needs: str) -> Any:
    """A chapter of one open cell."""
    cell = SimpleNamespace(cell_type="markdown", source=text)
    return SimpleNamespace(parts=lambda: [(-1, cell, text)], needs=needs, helps=())


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("A tile is small. Tiles move.", ["A tile is small.", "Tiles move."]),
        ("A [tile](second.ipynb) comes later. `tile` and $tile$ are names.", []),
        ("You need a tile.", []),
        ("Reptiles, a textile.", []),
    ],
)
def test_a_term_that_comes_too_early_is_found(text: str, found: list[str]) -> None:
    book = {"first": chapter(text), "second": chapter("A tile.", "first")}
    hits = list(PLACES.too_early(book, {"tile": {"second"}}))
    assert hits == [("first", "tile", sentence) for sentence in found]
    assert list(PLACES.too_early(book, {"tile": {"first", "second"}})) == []
