"""What browsers, search engines and screen readers expect of any page, in all that are built.

Landmarks, contrast, names of controls and reflow are asked in a browser: ``test_browser.py``. This
reads the files: a title and a description of their own, a language, headings in order, pictures
that have words and room, links with words.
"""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from bs4 import BeautifulSoup, Tag

from tests.pages import built_page
from tools.pages import MOVED, names

pytestmark = pytest.mark.site

MADE = ("404.html", "search.html", "genindex.html", "py-modindex.html", MOVED)
PAGES = [*names(), *MADE]
SHORTEST, LONGEST = 50, 200  # characters of a description
GIVEN = ("aria-label", "aria-labelledby", "title")


def has_words(element: Tag) -> bool:
    """Whether something says where a link leads: its text, its name, or a picture's words."""
    if element.get_text(strip=True) or any(element.get(name) for name in GIVEN):
        return True
    return any(picture.get("alt") for picture in element.select("img"))


def skipped(page: BeautifulSoup) -> list[str]:
    """Headings more than one level below the one before."""
    headings = page.select("h1, h2, h3, h4, h5, h6")
    return [
        f"{now.name} {now.get_text(strip=True)[:40]}"
        for before, now in pairwise(headings)
        if int(now.name[1]) > int(before.name[1]) + 1
    ]


def roomless(page: BeautifulSoup) -> list[str]:
    """Pictures that a page doesn't know the size of before they have come."""
    return [
        str(picture)[:120]
        for picture in page.select("main img:not(.toggler)")  # Sphinx hides that one
        if not (picture.get("width") and picture.get("height"))
        and "aspect-ratio" not in picture.get("style", "")
    ]


def faults(page: BeautifulSoup) -> list[str]:
    """What is missing on a page, in words."""
    found = []
    title = page.title.get_text(strip=True) if page.title else ""
    described = [tag.get("content", "") for tag in page.select("meta[name=description]")]
    if not title:
        found.append("no title")
    if len(described) != 1 or not SHORTEST <= len(described[0]) <= LONGEST:
        found.append(f"descriptions {described}")
    if not page.html or not page.html.get("lang"):
        found.append("no language")
    if not page.select("meta[name=viewport][content*='width=device-width']"):
        found.append("no viewport")
    if len(page.select("h1")) != 1:
        found.append(f"{len(page.select('h1'))} headings of the first level")
    found += [f"a level skipped before {heading}" for heading in skipped(page)]
    found += [f"no alt: {img}" for img in page.select("img") if not img.has_attr("alt")]
    found += [f"no size: {img}" for img in roomless(page)]
    found += [f"no words: {link}" for link in page.select("a[href]") if not has_words(link)]
    return found


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_what_any_page_has(name: str) -> None:
    assert faults(built_page(name)) == []


def test_no_two_pages_look_alike_in_a_list_of_results() -> None:
    """Each has a title and a description of its own."""
    for element in ("title", "meta[name=description]"):
        found: dict[str, str] = {}
        for name in PAGES:
            tag = built_page(name).select_one(element)
            words = tag.get_text() or tag.get("content")
            assert words not in found, (name, found.get(words))
            found[words] = name


def test_the_checks_see_what_they_look_for() -> None:
    page = BeautifulSoup(
        "<html><head><title> </title><meta name='description' content='Short.' /></head><body>"
        "<main><h1>A</h1><h3>B</h3><h1>C</h1><img src='a.png' /><a href='#x'><img alt='' /></a>"
        "</main></body></html>",
        "html.parser",
    )
    found = "\n".join(faults(page))
    for words in ("no title", "descriptions ['Short.']", "no language", "no viewport",
                  "2 headings", "skipped before h3 B", "no alt: <img", "no size: <img",
                  "no words: <a"):  # fmt: skip
        assert words in found, words
    whole = re.sub(r"\s+", " ", "Nothing is wrong with this description, and it is long enough.")
    good = BeautifulSoup(
        f"<html lang='en'><head><title>A</title><meta name='description' content='{whole}' />"
        "<meta name='viewport' content='width=device-width' /></head><body><main><h1>A</h1>"
        "<h2>B</h2><h3>C</h3><h2>D</h2><img alt='' width='1' height='1' />"
        "<a href='#x' aria-label='x'></a></main></body></html>",
        "html.parser",
    )
    assert faults(good) == []
