"""Read where each term of the glossary is introduced, and find where it's used too early."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chapter_facts import Chapter, before
from terms import EVERYDAY, pattern

# Most uses of these are the everyday word, not the term.
COMMON = EVERYDAY | {
    "batch", "block", "cache", "context", "head", "layer", "prompt", "rank", "traffic", "weights",
}  # fmt: skip
NO_PROSE = re.compile(
    r"```.*?```|:::\{.*?^:::|\$\$.*?\$\$|\$[^$\n]+\$|`[^`\n]+`|^\|.*?$", re.DOTALL | re.MULTILINE
)
SENTENCE = re.compile(r"(?<=[.?!:])\s+(?=[A-Z*\[<])|\n\n")
NEEDS = ("You need", "It helps")


def open_sentences(chapter: Chapter) -> Iterator[str]:
    """Yield the sentences that stand open, without formulas, code and tables."""
    for fold, cell, text in chapter.parts():
        if text.startswith("## References"):
            return
        if fold < 0 and cell.cell_type == "markdown":
            for sentence in SENTENCE.split(NO_PROSE.sub(" ", text)):
                if not sentence.startswith(NEEDS):
                    yield sentence


def too_early(
    chapters: dict[str, Chapter], places: dict[str, set[str]]
) -> Iterator[tuple[str, str, str]]:
    """Yield chapter, term and sentence where a term comes before the chapter that introduces it.

    A sentence with a link may name what comes later, and then the chapter may use it. A reader of a
    route has read what the chapter builds on and no more, so only these chapters count as read, and
    those that it says help.
    """
    for stem, chapter in chapters.items():
        helping = {stem for helps in chapter.helps for stem in before(chapters, helps)}
        read = {*before(chapters, stem), *helping}
        later = {
            term: pattern([term])
            for term, place in places.items()
            if not place & read and term not in COMMON
        }
        for sentence in open_sentences(chapter):
            for term in [term for term, forms in later.items() if forms.search(sentence)]:
                if "](" in sentence:
                    del later[term]  # this sentence says where to look
                else:
                    yield stem, term, " ".join(sentence.split())
