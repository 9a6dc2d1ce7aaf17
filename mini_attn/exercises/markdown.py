"""Plain Markdown for notebooks that are handed out, of the Markdown of the book's pages.

Jupyter shows MyST's fences and roles as text. In the copies for download and for the browser, and
on a sheet of exercises, they become quotes, closed boxes and words.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from mini_attn.errors import ConfigError

__all__ = ["plain_markdown"]

FENCE = re.compile(r"^:::+\{(\S+?)\}[ ]*(.*?)\n(.*?)^:::+[ ]*$\n?", re.MULTILINE | re.DOTALL)
OPTION = re.compile(r"\A(?::[\w-]+:.*\n)+")
ROLE = re.compile(r"\{([\w:-]+)\}`([^`]+)`")
LABEL = re.compile(r"^(\$\$)[ ]*\([\w-]+\)[ ]*$", re.MULTILINE)
PAGE = re.compile(r"\[([^\]]+)\]\((?:\.\./)?[\w-]+\.(?:md|ipynb)(?:#[\w-]*)?\)")
TARGET = re.compile(r"^\([\w-]+\)=\n", re.MULTILINE)


def _fence(found: re.Match[str]) -> str:
    """A box as a quote, or closed with its title."""
    kind, title, body = found.groups()
    body = OPTION.sub("", body).strip("\n")
    if kind == "dropdown":
        return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>\n"
    heading = title if title and kind == "admonition" else kind.capitalize()
    lines = [f"**{heading}**", "", *body.split("\n")]
    return "".join(f"> {line}".rstrip() + "\n" for line in lines)


def _no_citation(key: str) -> str:
    raise ConfigError(f"the text cites {key!r}, and no bibliography was given: pass cite")


def plain_markdown(text: str, cite: Callable[[str], str] = _no_citation) -> str:
    """One Markdown cell without MyST's own markup.

    Parameters
    ----------
    text : str
        A cell as it stands in a chapter.
    cite : callable (key) -> str
        A publication as the text names it, for example "Shazeer (2019)". Without it a text that
        cites is refused.

    Returns
    -------
    str
        The same text with quotes, closed boxes and words; links to pages are in italics, as the
        pages are not next to the copy.

    Raises
    ------
    ConfigError
        If the text cites and there is no ``cite``.

    Examples
    --------
    >>> plain_markdown("As in {eq}`eq-softmax`, see [Heads](multihead.ipynb).")
    'As in the formula above, see *Heads*.'
    """

    def role(found: re.Match[str]) -> str:
        kind, words = found.groups()
        if kind.startswith("cite"):
            return ", ".join(cite(key.strip()) for key in words.split(","))
        if kind in ("eq", "numref"):
            return "the formula above" if kind == "eq" else "the figure"
        return re.sub(r"\s*<[^>]*>$", "", words)

    text = LABEL.sub(r"\1", TARGET.sub("", FENCE.sub(_fence, text)))
    return PAGE.sub(r"*\1*", ROLE.sub(role, text))
