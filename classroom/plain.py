"""Plain Markdown for the notebooks that are handed out.

Jupyter shows MyST's fences and roles as text. In the copies for download and for the browser
they become quotes, closed boxes and words; code cells stay as they are.
"""

from __future__ import annotations

import re
from pathlib import Path

from pybtex.database import BibliographyData, parse_file

__all__ = ["plain", "read_library"]

FENCE = re.compile(r"^:::+\{(\S+?)\}[ ]*(.*?)\n(.*?)^:::+[ ]*$\n?", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"\A(?::[\w-]+:.*\n)+")
ROLE = re.compile(r"\{([\w:-]+)\}`([^`]+)`")
LABEL = re.compile(r"^(\$\$)[ ]*\([\w-]+\)[ ]*$", re.MULTILINE)
PAGE = re.compile(r"\[([^\]]+)\]\([\w-]+\.(?:md|ipynb)(?:#[\w-]*)?\)")
TARGET = re.compile(r"^\([\w-]+\)=\n", re.MULTILINE)


def short(entry_key: str, library: BibliographyData) -> str:
    """A publication as the text names it, for example Shazeer (2019)."""
    entry = library.entries[entry_key.strip()]
    names = [" ".join(person.last_names) for person in entry.persons["author"]]
    who = names[0] if len(names) == 1 else f"{names[0]} et al."
    return f"{who.replace('{', '').replace('}', '')} ({entry.fields['year']})"


def plain(text: str, library: BibliographyData) -> str:
    """One Markdown cell without MyST's own markup."""

    def fence(found: re.Match[str]) -> str:
        kind, title, body = found.groups()
        body = OPTION.sub("", body).strip("\n")
        if kind == "dropdown":
            return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>\n"
        heading = title if title and kind == "admonition" else kind.capitalize()
        lines = [f"**{heading}**", "", *body.split("\n")]
        return "".join(f"> {line}".rstrip() + "\n" for line in lines)

    def role(found: re.Match[str]) -> str:
        kind, words = found.groups()
        if kind.startswith("cite"):
            return ", ".join(short(key, library) for key in words.split(","))
        if kind in ("eq", "numref"):
            return "the formula above" if kind == "eq" else "the figure"
        return re.sub(r"\s*<[^>]*>$", "", words)

    text = LABEL.sub(r"\1", TARGET.sub("", FENCE.sub(fence, text)))
    return PAGE.sub(r"*\1*", ROLE.sub(role, text))  # the pages are not beside the copy


def read_library(path: Path) -> BibliographyData:
    """The bibliography of the book."""
    return parse_file(str(path))
