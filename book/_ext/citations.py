"""Publications as a text names them, for the copies in which no extension sets citations."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pybtex.database import parse_file


def citations(path: Path) -> Callable[[str], str]:
    """Return each bibliography key as readers see it, for example Shazeer (2019)."""
    library = parse_file(str(path))

    def cite(key: str) -> str:
        entry = library.entries[key]
        names = [" ".join(person.last_names) for person in entry.persons["author"]]
        who = names[0] if len(names) == 1 else f"{names[0]} et al."
        return f"{who.replace('{', '').replace('}', '')} ({entry.fields['year']})"

    return cite
