"""The notebook that a page makes of a reader's answers is one that can be graded."""

from __future__ import annotations

import ast
import json
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import nbformat
import pytest
from playwright.sync_api import Page, expect

from classroom.grading.grade import grade_folder
from classroom.results import Result
from classroom.sheets.sheet import chosen
from classroom.submissions.collect import read
from mini_attn.exercises import exercise, exercise_ids
from mini_attn.exercises.checker import judge_answer
from tests import javascript
from tests.classroom.test_judge import reference
from tests.exercises.test_on_page_browser import opened, write
from tests.scripts import script
from tests.site import THEMES, WIDTHS, assert_fits, change, serious_findings
from tools import ROOT
from tools.site import Visit

SOURCES = ("progress/handin.js",)
Answers = dict[str, str]


@cache
def outline() -> list[dict[str, Any]]:
    """What the pages' script knows of the book."""
    return script("book/_ext/outline.py").outline(ROOT)


def made(name: str, answers: Answers) -> dict[str, Any]:
    """What the page makes of a record with these answers."""
    record: dict[str, Any] = {}
    for key, code in answers.items():
        record.setdefault(exercise(key).page, {"answers": {}})["answers"][key] = {"code": code}
    body = "return living.notebookOf(input.name, input.outline, input.record);"
    data = {"name": name, "outline": outline(), "record": record}
    return javascript.run(body, data, sources=SOURCES)


def typed(key: str) -> str:
    """What a reader who has solved an exercise left on its page."""
    task = exercise(key)
    if task.kind == "open":
        return f"## My answer\n\nIt depends on **{key}**."
    if task.kind == "pencil":
        return f"{import_module(f'solutions.{key}').REFERENCE!r}"
    return reference(key)


# ---------------------------------------------------------------- without a browser


def test_every_answer_of_the_book_arrives(tmp_path: Path) -> None:
    """Functions word for word, numbers as the page read them, words as they were written."""
    answers = {key: typed(key) for key in exercise_ids()}
    result = made("Ada Lovelace", answers)
    assert result["answers"] == len(answers)
    notebook = nbformat.reads(result["text"], as_version=4)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if (tag := cell.metadata.get("exercise", {})).get("role") == "starter":
            in_words = exercise(tag["id"]).kind == "open"
            assert cell.cell_type == ("markdown" if in_words else "code")
    (tmp_path / f"{result['name']}.ipynb").write_text(result["text"], encoding="utf-8")
    (ada,) = read(tmp_path)
    assert (ada.student, ada.written_name) == ("Ada Lovelace", "Ada Lovelace")
    assert ada.problems == []
    assert ada.cells.keys() == answers.keys()
    for key, code in answers.items():
        if exercise(key).kind == "pencil":
            (cell,) = ada.cells[key]
            value = ast.literal_eval(cell.split("=", 1)[1].split("#")[0].strip())
            assert judge_answer(key, value).state == "solved", (key, cell)
        else:
            assert ada.cells[key] == [code]


@pytest.mark.parametrize(
    ("code", "cell"),
    [("30 sequences", "answer = 30  # typed: 30 sequences"),
     ("1,024", "answer = 1024  # typed: 1,024"), ("3/8", "answer = 0.375  # typed: 3/8"),
     ("-2.5e3", "answer = -2500  # typed: -2.5e3"), ("answer = 2 * 15", "answer = 2 * 15"),
     ("a lot\nof", 'answer = "a lot of"')],
)  # fmt: skip
def test_a_typed_number_becomes_python(code: str, cell: str) -> None:
    notebook = json.loads(made("ada", {"cache_budget": code})["text"])
    assert notebook["cells"][-2]["source"] == cell
    assert notebook["cells"][-2]["metadata"] == {
        "exercise": {"id": "cache_budget", "role": "starter"}
    }


@pytest.mark.parametrize(
    ("name", "kept"),
    [("  Ada   Lovelace ", "Ada Lovelace"), ("Bo O’Neil-Øst", "Bo O’Neil-Øst"), ("李 雷", "李 雷"),
     ("../../etc/passwd", "etc passwd"), (".hidden", "hidden"),
     ("a\\b:c*d?e\"f<g>h|i", "a b c d e f g h i"),
     ("x" * 99, "x" * 60), ("<b>Ada</b>", "b Ada b"), ("ada\u202egpj", "ada gpj"), ("Jr.", "Jr"),
     ("=cmd|' /C calc'!A0", "cmd ' C calc' A0"), ("", ""), (" ./ ", ""), ("\U0001f600", "")],
)  # fmt: skip
def test_a_name_becomes_that_of_a_file(name: str, kept: str, tmp_path: Path) -> None:
    result = made(name, {"cache_budget": "30"})
    if not kept:
        assert result == {"error": "Type your name first, as your teacher knows it."}
        return
    assert result["name"] == kept
    (tmp_path / f"{kept}.ipynb").write_text(result["text"], encoding="utf-8")
    assert [one.student for one in read(tmp_path)] == [kept]


def test_without_an_answer_there_is_nothing_to_hand_in() -> None:
    assert "There is no answer to hand in yet" in made("ada", {})["error"]


# ---------------------------------------------------------------- on the page


SHEET = chosen(exercises="cache_budget chunk_mask cache_more half_temperature", name="week1")[0]


def downloaded(page: Page, name: str, folder: Path) -> Path:
    """Type a name and press Enter; gives the file that came."""
    field = page.get_by_label("To hand in: your name")
    field.fill(name)
    with page.expect_download() as download:
        field.press("Enter")
    folder.mkdir(exist_ok=True)
    target = folder / download.value.suggested_filename
    download.value.save_as(target)
    return target


def pencil(page: Page, key: str, number: str) -> None:
    """Answer a pencil exercise."""
    box = page.get_by_role("group", name=exercise(key).title, exact=True)
    box.get_by_label("Your answer").fill(number)
    box.get_by_role("button", name="Check").click()


def points(result: Result) -> dict[str, tuple[str, float]]:
    """State and points of each answer."""
    return {answer.id: (answer.state, answer.points) for answer in result.answers}


@pytest.mark.lite
def test_typed_downloaded_graded(visits: Visit, visit: Visit, tmp_path: Path) -> None:
    """Written on the page, without running anything there; graded as any notebook."""
    page = visit("book/kv-cache.html")
    pencil(page, "cache_budget", "30 sequences")
    write(page, opened(page, "chunk_mask"), reference("chunk_mask"))
    words = page.get_by_role("group", name=exercise("cache_more").title, exact=True)
    words.get_by_label("Your answer").fill("Keep what is read again.")
    page.locator(".kept summary").press("Enter")
    file = downloaded(page, "Ada Lovelace", tmp_path / "in")
    assert file.name == "Ada Lovelace.ipynb"
    said = page.locator(".kept-said")
    expect(said).to_have_text("Ada Lovelace.ipynb holds 3 answers: hand in this file as it is.")
    (ada,) = grade_folder(tmp_path / "in", tmp_path / "out", sheet=SHEET, jobs=1)
    assert (ada.student, ada.problems) == ("Ada Lovelace", [])
    assert points(ada) == {
        "cache_budget": ("solved", 2), "chunk_mask": ("solved", 4),
        "cache_more": ("to mark", 0), "half_temperature": ("not handed in", 0),
    }  # fmt: skip
    assert "Keep what is read again." in (tmp_path / "out/to-mark.html").read_text("utf-8")


@pytest.mark.browser
@pytest.mark.parametrize("protocol", ["http", "file"])
def test_of_a_chapter_and_of_the_whole_book(visit: Visit, tmp_path: Path, protocol: str) -> None:
    page = visit("book/start.html", protocol=protocol)
    pencil(page, "half_temperature", "2/15")
    page.goto(page.url.replace("start.html", "kv-cache.html"))
    pencil(page, "cache_budget", "31")
    page.locator(".kept summary").press("Enter")
    one = downloaded(page, "bo", tmp_path / "chapter")
    assert read(one.parent)[0].cells.keys() == {"cache_budget"}
    page.goto(page.url.replace("kv-cache.html", "about.html"))
    both = downloaded(page, "bo", tmp_path / "book")
    (bo,) = grade_folder(both.parent, tmp_path / "out", sheet=SHEET, jobs=1)
    assert points(bo)["half_temperature"] == ("solved", 2)
    assert points(bo)["cache_budget"] == ("not yet", 0)


@pytest.mark.browser
def test_what_cannot_be_handed_in_is_said(visit: Visit) -> None:
    page = visit("book/kv-cache.html")
    page.locator(".kept summary").press("Enter")
    said, button = page.locator(".kept-said"), page.get_by_text("Download as notebook")
    button.click()
    expect(said).to_have_text("Type your name first, as your teacher knows it.")
    page.get_by_label("To hand in: your name").fill("ada")
    button.click()
    expect(said).to_contain_text("There is no answer to hand in yet")
    solved = json.dumps({"state": "solved", "points": 4})
    page.evaluate(f"localStorage.setItem('living:exercise:kv-cache/chunk_mask', '{solved}')")
    pencil(page, "cache_budget", "30")
    with page.expect_download():
        button.click()
    expect(said).to_contain_text("1 exercise solved in a notebook can't be in it")
    page.goto(page.url.replace("kv-cache.html", "claims.html"))  # predictions alone
    page.locator(".kept summary").press("Enter")
    expect(page.get_by_role("button", name="Export")).to_be_visible()
    expect(page.get_by_text("Download as notebook")).to_have_count(0)


@pytest.mark.browser
@pytest.mark.exhaustive
def test_it_is_made_when_it_is_wanted_and_read_by_everyone(visit: Visit) -> None:
    page = visit("book/kv-cache.html")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    pencil(page, "cache_budget", "30")
    page.locator(".kept summary").press("Enter")
    assert not [url for url in asked if "living.handin" in url]
    page.get_by_label("To hand in: your name").fill("ada")
    with page.expect_download():
        page.get_by_text("Download as notebook").click()
    assert len([url for url in asked if "living.handin" in url]) == 1
    for theme, width in zip(THEMES, WIDTHS, strict=True):
        change(page, theme, width)
        assert_fits(page)
        assert serious_findings(page, colours=theme == "dark") == []
