"""The built book's pages as trees of tags, for the tests that read them."""

from __future__ import annotations

from functools import cache

from bs4 import BeautifulSoup

from tools import HTML


@cache
def built_page(name: str) -> BeautifulSoup:
    """A built page; who asks for it again gets the same tree, so it stays as it is."""
    return BeautifulSoup((HTML / name).read_text(encoding="utf-8"), "html.parser")
