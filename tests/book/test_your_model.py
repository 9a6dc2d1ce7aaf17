"""The page *Your model* in the built book: its place, and its script there and nowhere else."""

from __future__ import annotations

import re

import pytest

from tools import HTML

pytestmark = pytest.mark.site
PAGE = HTML / "book/your-model.html"


def test_the_page_has_a_place_of_its_own_with_the_script_behind_it() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert "<h1>Your model" in text
    assert text.count('id="own-model"') == 1
    assert re.search(
        r'</noscript></div>\s*<script src="[^"]*living\.model\.js\?v=\w+"></script>', text
    )
    assert "living.page.js" not in text


def test_no_other_page_loads_it() -> None:
    pages = [page for page in HTML.glob("book/*.html") if page != PAGE]
    assert len(pages) > 30
    assert [page.name for page in pages if "living.model" in page.read_text("utf-8")] == []


@pytest.mark.parametrize("page", ["index", "kv-cache", "mqa-gqa", "choosing", "decoding-roofline"])
def test_those_whom_it_helps_link_it(page: str) -> None:
    path = HTML / ("index.html" if page == "index" else f"book/{page}.html")
    assert re.search(r'href="(book/)?your-model.html"', path.read_text(encoding="utf-8"))
