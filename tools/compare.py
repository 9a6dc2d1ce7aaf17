"""List what an edit of a page took away or brought: numbers, links, citations, labels.

``python -m tools.compare REVISION [PAGE …]`` compares the pages of the book with a revision. An
edit of the prose may move these; it should neither lose nor invent one by accident.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from tools import ROOT

KINDS = {
    "labels": r"^\(([\w-]+)\)=$|\$\$ \((eq-[\w-]+)\)",
    "citations": r"\{cite(?::\w+)?\}`([^`]+)`",
    "links": r"\]\(([^)\s]+)\)|href=\"([^\"]+)\"",
    "numbers": r"(?<![\w.,])(\d+(?:,\d{3})*(?:\.\d+)?)(?!\w|[.,]\d)",
}


def text_of(source: str, suffix: str) -> str:
    """Return a page's prose: its Markdown cells, or all of a Markdown file."""
    if suffix == ".md":
        return source
    cells = json.loads(source)["cells"]
    return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")


def found(text: str) -> dict[str, Counter[str]]:
    """Count what each kind has in a text; links and equations' numbers are no numbers of it."""
    kinds = {}
    for kind, pattern in KINDS.items():
        hits = re.findall(pattern, text, re.MULTILINE)
        kinds[kind] = Counter("".join(hit) if isinstance(hit, tuple) else str(hit) for hit in hits)
        if kind == "links":
            text = re.sub(pattern, "]", text)
    return kinds


def differences(before: str, after: str) -> dict[str, tuple[list[str], list[str]]]:
    """Return what is gone and what is new, by kind; kinds without a difference are left out."""
    old, new = found(before), found(after)
    pairs = {kind: (sorted(old[kind] - new[kind]), sorted(new[kind] - old[kind])) for kind in KINDS}
    return {kind: pair for kind, pair in pairs.items() if any(pair)}


def main(revision: str, *stems: str) -> None:
    """Print the differences of some pages, or of all."""
    paths = sorted([*ROOT.glob("index.md"), *ROOT.glob("book/*.ipynb"), *ROOT.glob("book/*.md")])
    for path in (p for p in paths if not stems or p.stem in stems):
        name = path.relative_to(ROOT).as_posix()
        shown = subprocess.run(
            ["git", "show", f"{revision}:{name}"], cwd=ROOT, capture_output=True, encoding="utf-8"
        )
        if shown.returncode:
            print(f"{name}: not in {revision}")
            continue
        before = text_of(shown.stdout, path.suffix)
        after = text_of(path.read_text(encoding="utf-8"), path.suffix)
        for kind, (gone, new) in differences(before, after).items():
            print(f"{name} {kind}: gone {', '.join(gone) or '–'}; new {', '.join(new) or '–'}")


if __name__ == "__main__":
    main(sys.argv[1], *(Path(name).stem for name in sys.argv[2:]))
