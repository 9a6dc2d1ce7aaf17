"""Where the book is public: its address and its repository, said once in ``pyproject.toml``.

Both may be missing. Then the book points nowhere, and everything else works.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, urlencode, urlsplit

ROOT = Path(__file__).resolve().parents[2]
FIRST = "index"  # the first page, which is what a host shows for the folder
SITE, REPOSITORY = "Homepage", "Repository"  # labels in [project.urls]
GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)")
BRANCH = "main"  # of the sources
FORM = "page.yml"  # in .github/ISSUE_TEMPLATE


@dataclass(frozen=True)
class Public:
    """The book's public addresses.

    Parameters
    ----------
    site : str
        Address of the folder that holds the first page, without a slash at its end, or "".
    repository : str
        Address of the repository, without a slash at its end, or "".
    """

    site: str = ""
    repository: str = ""

    @property
    def github(self) -> str:
        """Owner and name of the repository where GitHub hosts it, otherwise ""."""
        found = GITHUB.fullmatch(self.repository)
        return found[1] if found else ""

    @property
    def own_host(self) -> str:
        """The site's host where the whole host is the site's and isn't GitHub's, otherwise ""."""
        parts = urlsplit(self.site)
        host = parts.hostname or ""
        return "" if parts.path or host.endswith(".github.io") else host

    def page(self, name: str) -> str:
        """Return a page's address, or "" where the book has none."""
        if not self.site:
            return ""
        return f"{self.site}/" if name == FIRST else f"{self.site}/{name}.html"

    def folder(self, path: str) -> str:
        """Return where GitHub shows a folder, elsewhere the whole repository, or ""."""
        return f"{self.repository}/tree/{BRANCH}/{quote(path)}" if self.github else self.repository

    def edit(self, source: str) -> str:
        """Return where GitHub edits a file, or ""."""
        return f"{self.repository}/edit/{BRANCH}/{quote(source)}" if self.github else ""

    def report(self, title: str, where: str) -> str:
        """Return where GitHub takes an error of a page, with its form's first lines, or ""."""
        asked = urlencode({"template": FORM, "title": f"{title}: ", "page": where}, quote_via=quote)
        return f"{self.repository}/issues/new?{asked}" if self.github else ""


def address(label: str, given: str) -> str:
    """Check an address and take the slash from its end.

    Raises
    ------
    ValueError
        If it doesn't begin with https:// or http://, or has a question mark, a hash or a space.
    """
    if given and not re.fullmatch(r"https?://[^\s?#\"'<>]+", given):
        raise ValueError(
            f"pyproject.toml: [project.urls] {label} is {given!r}; expected an address such as "
            "https://example.org/attention, or no such line"
        )
    return given.rstrip("/")


def read_public(root: Path = ROOT) -> Public:
    """Return the addresses that a checkout's ``pyproject.toml`` gives.

    Raises
    ------
    ValueError
        If one of them is no address.
    """
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    urls = project.get("urls", {})
    site, repository = (address(label, urls.get(label, "")) for label in (SITE, REPOSITORY))
    return Public(site, repository.removesuffix(".git"))
