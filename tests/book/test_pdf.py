"""The printed book: what ``make pdf`` writes, for one chapter and a page beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
from pypdf import PdfReader

from tools import pdf

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pdf")
    pdf.make(out, [("Decoding", ["book/kv-cache"]), ("Back matter", ["book/notation"])])
    return out


def text_of(path: Path) -> str:
    return "\n".join(page.extract_text() for page in PdfReader(path).pages)


@pytest.mark.exhaustive
def test_chapter_has_its_pictures_and_answers(folder: Path) -> None:
    """Living pictures are drawn, closed answers stand at the end, controls are gone."""
    reader = PdfReader(folder / "kv-cache.pdf")
    text = text_of(folder / "kv-cache.pdf")
    assert 10 < len(reader.pages) < 40
    assert "weights of head 1" in text  # words of the stepper's picture
    assert text.index("Answers to the predictions") > text.index("Summary")
    assert "5,050 token passes" in text
    assert "Hints and solutions of the exercises" in text
    assert "Copy link" not in text
    assert reader.metadata
    assert reader.metadata.title == "KV caching"


@pytest.mark.exhaustive
def test_whole_has_contents_an_outline_and_no_address_of_this_machine(folder: Path) -> None:
    reader = PdfReader(folder / "living-attention-book.pdf")
    singles = [PdfReader(folder / f"{name}.pdf") for name in ("kv-cache", "notation")]
    assert len(reader.pages) == 1 + sum(len(one.pages) for one in singles)
    contents = reader.pages[0].extract_text()
    assert str(1 + len(singles[0].pages) + 1) in contents.split()  # where Notation begins
    titles = [item.title for item in reader.outline if not isinstance(item, list)]
    assert titles == ["Contents", "KV caching", "Notation"]
    for path in folder.glob("*.pdf"):
        assert b"127.0.0.1" not in path.read_bytes()
        for page in PdfReader(path).pages:
            for reference in page.get("/Annots", []):
                address = reference.get_object().get("/A", {}).get("/URI", "")
                assert "127.0.0.1" not in address


@pytest.mark.exhaustive
def test_links_between_pages_lead_into_the_book(folder: Path) -> None:
    reader = PdfReader(folder / "living-attention-book.pdf")
    notation = len(PdfReader(folder / "kv-cache.pdf").pages) + 1
    targets = set()
    for page in reader.pages:
        for reference in page.get("/Annots", []):
            target = reference.get_object().get("/Dest")
            if isinstance(target, list):
                number = target[0] if isinstance(target[0], int) else None
                targets.add(
                    number if number is not None else reader.get_page_number(target[0].get_object())
                )
    assert notation in targets


def test_nothing_is_printed_without_a_book(tmp_path: Path) -> None:
    """A page that does not exist ends the run; no unfinished file is left."""
    with pytest.raises(Exception, match=r".+"):
        pdf.make(tmp_path, [("", ["book/no-such-page"])])
    assert list(tmp_path.iterdir()) == []
