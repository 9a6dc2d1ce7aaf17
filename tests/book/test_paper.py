"""The paper is short, cites what its bibliography has, and invents nobody."""

from __future__ import annotations

import re

import yaml
from pybtex.database import parse_file

from tools import ROOT

TEXT = (ROOT / "paper/paper.md").read_text(encoding="utf-8")
_, HEAD, BODY = TEXT.split("---\n", 2)
BIB = parse_file(str(ROOT / "paper/paper.bib")).entries
BOOK = parse_file(str(ROOT / "book/references.bib")).entries


def test_it_is_as_long_as_the_journal_wants() -> None:
    """Up to 1,000 words, with the headings that it asks for."""
    assert len(BODY.split()) <= 1000
    headings = re.findall(r"^# (.+)$", BODY, re.M)
    assert {"Summary", "Statement of need", "Content", "Story of the project"} <= set(headings)


def test_every_citation_is_listed_and_every_entry_cited() -> None:
    assert set(re.findall(r"@([a-z]+\d{4}\w*)", BODY)) == set(BIB)


def test_entries_that_the_book_has_say_the_same() -> None:
    shared = BIB.keys() & BOOK.keys()
    assert len(shared) >= 5
    for key in shared:
        assert BIB[key].persons == BOOK[key].persons
        for field in ("title", "eprint", "booktitle", "doi"):
            assert BIB[key].fields.get(field) == BOOK[key].fields.get(field), (key, field)


def test_each_entry_can_be_found() -> None:
    for key, entry in BIB.items():
        assert {"doi", "eprint"} & entry.fields.keys(), key


def test_authors_are_people_or_open() -> None:
    head = yaml.safe_load(HEAD)
    assert head["bibliography"] == "paper.bib"
    assert head["affiliations"]
    for author in head["authors"]:
        assert author["name"].startswith("To be filled in") or author["orcid"]


def test_the_checklist_names_sections_that_the_paper_has() -> None:
    table = (ROOT / "paper/checklist.md").read_text(encoding="utf-8")
    headings = re.findall(r"^# (.+)$", BODY, re.M)
    named = re.findall(r"(?<!\*)\*([A-Z][^*|]+)\*(?!\*)", table)
    assert named
    assert set(named) <= set(headings)
