"""Zip files with the same bytes whenever and wherever they are made."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Iterable

__all__ = ["packed"]

# Of the zip format: an archive must not know when or on which system it was made.
FIRST_DAY, UNIX = (1980, 1, 1, 0, 0, 0), 3


def packed(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip of files, by their names in it, in this order."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files:
            entry = zipfile.ZipInfo(name, FIRST_DAY)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, UNIX
            entry.external_attr = (stat.S_IFREG | 0o644) << 16
            archive.writestr(entry, data)
    return content.getvalue()
