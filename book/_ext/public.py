"""Where the book is public: its address and its repository, said once in ``pyproject.toml``.

Both may be missing. Then the book points nowhere, and everything else works.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SITE, REPOSITORY = "Homepage", "Repository"  # labels in [project.urls]
GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+)")


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


def read_public(root: Path = ROOT) -> Public:
    """Return the addresses that a checkout's ``pyproject.toml`` gives."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    urls = project.get("urls", {})
    return Public(*(urls.get(label, "").rstrip("/") for label in (SITE, REPOSITORY)))
