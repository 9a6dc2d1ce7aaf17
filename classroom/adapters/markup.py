"""XML and zips that are the same bytes for the same content."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable, Mapping, Sequence
from xml.etree import ElementTree as ET

from classroom.sheets.typeset import html
from mini_attn.errors import ConfigError
from mini_attn.widgets.questions import inline

__all__ = ["MARK", "body", "child", "criteria", "document", "elements", "packed"]

MARK = "written by make export"  # stands in each file, so that only such files are replaced

# What XML 1.0 has no way to write, not even escaped.
UNWRITABLE = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def body(text: str, formula: Callable[[str, bool], str], *, is_markdown: bool = True) -> str:
    """A text as XHTML; its formulas in the form that a platform sets."""
    return str(html(text, formula)).strip() if is_markdown else f"<p>{inline(text)}</p>"


def criteria(rubric: Sequence[tuple[str, int]]) -> str:
    """A rubric as XHTML: what each criterion is worth, and what earns it."""
    rows = (f"<li><b>{points}</b> {inline(says)}</li>" for says, points in rubric)
    return f"<ol>{''.join(rows)}</ol>"


def elements(xhtml: str, namespace: str) -> list[ET.Element]:
    """The elements of a piece of XHTML, in a namespace; what has one of its own keeps it."""
    return list(ET.fromstring(f'<all xmlns="{namespace}">{xhtml}</all>'))


def child(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    """Append an element, with a text and attributes."""
    made = ET.SubElement(parent, tag, attributes)
    made.text = text
    return made


def document(root: ET.Element) -> bytes:
    """An element as an XML file.

    Raises
    ------
    ConfigError
        If a text holds a character that no XML file can hold.
    """
    written = ET.tostring(root, encoding="unicode")
    if found := UNWRITABLE.search(written):
        around = written[max(0, found.start() - 20) : found.start()]
        raise ConfigError(f"XML has no character {found[0]!r}, which stands behind {around!r}")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<!-- {MARK} -->\n{written}\n'.encode()


def packed(files: Mapping[str, bytes]) -> bytes:
    """Files as a zip: sorted, and without the time at which it was made."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(files):
            archive.writestr(zipfile.ZipInfo(name), files[name], zipfile.ZIP_DEFLATED)
        archive.comment = MARK.encode()
    return content.getvalue()
