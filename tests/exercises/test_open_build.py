"""A build for people who learn alone: one chapter of the book, built with open solutions."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import Locator, Page, expect

from classroom.sheets.leaks import flat, telling_line
from mini_attn.exercises import exercise
from mini_attn.exercises.spec import of_chapter
from tests.exercises.test_exercises_book import plain
from tests.exercises.test_on_page_browser import opened, write
from tests.site import COLD, THEMES, WIDTHS, assert_fits, change, serious_findings, watched
from tools import HTML, ROOT
from tools.site import Visit, visiting

pytestmark = [pytest.mark.site, pytest.mark.slow, pytest.mark.browser, pytest.mark.lite]

STEM = "mqa-gqa"  # has assessed exercises of each kind
CHAPTER = f"book/{STEM}.html"
ASSESSED = [i for i in of_chapter(STEM) if exercise(i).assessed]
CONTENTS = {
    "format": "jb-book",
    "root": "index",
    "parts": [
        {"caption": "The road", "chapters": [{"file": f"book/{STEM}"}]},
        {"caption": "Back matter", "chapters": [
            {"file": f"book/{name}"} for name in ("about", "glossary", "references")]},
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a copy with these contents; what was executed for the book is taken from there."""
    copy = tmp_path_factory.mktemp("open")
    shutil.copytree(ROOT / "book", copy / "book", ignore=shutil.ignore_patterns("_lite"))
    for name in ("_config.yml", "index.md"):
        shutil.copy(ROOT / name, copy)
    for name in ("mini_attn", "solutions", "pyproject.toml"):
        (copy / name).symlink_to(ROOT / name)
    (copy / "_toc.yml").write_text(yaml.safe_dump(CONTENTS), encoding="utf-8")
    cache = ROOT / "_build/.jupyter_cache"
    assert cache.is_dir(), "run `make book` first"
    shutil.copytree(cache, copy / "_build/.jupyter_cache")
    place = {"SOLUTIONS": "open", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [Path(sys.executable).with_name("jupyter-book"), "build", ".", "-q"],
        cwd=copy, env={**os.environ, **place}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    (copy / "_build/html/lite").symlink_to(HTML / "lite")  # Python for its page
    return copy / "_build/html"


@pytest.fixture(scope="module")
def visits(folder: Path) -> Iterator[Visit]:
    """Visits of this copy."""
    with visiting(folder) as visits:
        yield visits


@pytest.fixture
def visit(visits: Visit) -> Iterator[Visit]:
    yield from watched(visits)


def help_to(page: Page, exercise_id: str) -> Locator:
    """The boxes below an exercise, opened by keyboard as far as they go."""
    boxes = page.locator(f".exercise-boxes:has(#model-{exercise_id})")
    for title in ("Help", "Hint 2: the steps", "Common errors"):
        boxes.locator("summary", has_text=title).press("Enter")
    return boxes


def solution(page: Page, exercise_id: str) -> Locator:
    """The last step."""
    return page.locator(f"#model-{exercise_id}")


def test_solutions_stand_in_the_chapter_s_page_and_nowhere_else(folder: Path) -> None:
    assert {exercise(i).kind for i in ASSESSED} == {"bug", "open", "pencil", "write"}
    files = [p for p in folder.rglob("*") if p.is_file() and "lite" not in p.parts]
    texts = {p: p.read_text("utf-8", errors="ignore") for p in files}
    page = flat(plain(texts[folder / CHAPTER]))
    for key in ASSESSED:
        line = flat(telling_line(key))
        assert line in page
        for path, text in texts.items():
            if path != folder / CHAPTER:
                assert line not in flat(text), path
                assert line not in flat(unescape(text)), path
    assert list(folder.glob("notebooks/*.ipynb"))
    assert not (folder / "_sources").exists()


def answer(page: Page, number: str) -> None:
    """Answer the pencil exercise by keyboard."""
    box = page.get_by_role("group", name=exercise("tiled_heads").title, exact=True)
    box.get_by_label("Your answer").fill(number)
    page.keyboard.press("Enter")


@pytest.mark.parametrize("protocol", ["http", "file"])
def test_a_number_s_solution_opens_after_three_tries(visit: Visit, protocol: str) -> None:
    page = visit(CHAPTER, protocol=protocol)
    boxes, model = help_to(page, "tiled_heads"), solution(page, "tiled_heads")
    note = boxes.get_by_role("status")
    expect(note).to_have_text("A solution opens here after 3 different tries. So far: none.")
    for typed in ("1", "2", "2", "many", "1 "):  # again, or no number: no try
        answer(page, typed)
        expect(model).to_be_hidden()
    expect(note).to_contain_text("So far: 2 tries.")
    page.reload()
    help_to(page, "tiled_heads")
    expect(note).to_contain_text("So far: 2 tries.")
    answer(page, "3")
    expect(note).to_be_hidden()
    model.locator("summary").press("Enter")
    expect(model.locator("pre")).to_contain_text("head // 4 == head % 8")
    expect(model.locator("pre")).to_contain_text("# Head h should read h // 4")

    page.locator(".kept summary").press("Enter")  # who begins anew begins with none
    page.get_by_role("button", name="Reset chapter").click()
    page.get_by_role("button", name="Forget").click()
    expect(model).to_be_hidden()
    answer(page, str(4))  # solved: nothing is kept back
    expect(model).to_be_visible()


@pytest.mark.exhaustive
def test_a_function_s_solution_opens_after_three_tries(visit: Visit) -> None:
    page = visit(CHAPTER)
    key = "expand_heads"
    boxes, model = help_to(page, key), solution(page, key)
    note = boxes.get_by_role("status")
    box = opened(page, key)
    page.keyboard.press("ControlOrMeta+Enter")  # the starter, as it was given: no try
    expect(box.get_by_role("status")).to_contain_text("Not attempted", timeout=COLD)
    expect(note).to_contain_text("So far: none.")
    head = exercise(key).starter.split("    return")[0]
    for number, made in ((0, "1 try"), (0, "1 try"), (1, "2 tries"), (2, "")):
        write(page, box, f"{head}    return k + {number}\n")
        page.keyboard.press("ControlOrMeta+Enter")
        expect(box.get_by_role("status")).to_contain_text("Not yet", timeout=COLD)
        if made:
            expect(note).to_contain_text(f"So far: {made}.")
            expect(model).to_be_hidden()
    model.locator("summary").press("Enter")
    expect(model.locator("pre")).to_contain_text("np.repeat(k, n_heads // k.shape[1], axis=1)")
    expect(model.locator("pre")).to_contain_text("# Query heads that share")


def test_a_model_answer_opens_once_something_was_written(visit: Visit) -> None:
    page = visit(CHAPTER)
    help_to(page, "shared_queries")
    model = solution(page, "shared_queries")
    box = page.get_by_role("group", name=exercise("shared_queries").title, exact=True)
    expect(model).to_be_hidden()
    expect(box.locator(".words-show")).to_be_hidden()  # practice can be asked for; this can't
    box.get_by_label("Your answer").fill("Share what you keep.")
    model.locator("summary").press("Enter")
    expect(model).to_contain_text("A query is made, meets the keys, and is gone.")


def test_where_nothing_counts_tries_it_is_a_step_like_others(visit: Visit) -> None:
    """Without scripts; and from a folder, where no browser runs Python."""
    page = visit.look(CHAPTER, java_script_enabled=False)
    for key in ASSESSED:
        help_to(page, key)
        solution(page, key).locator("summary").press("Enter")
        expect(solution(page, key).locator("pre, div").first).to_be_visible()
    page = visit.look(CHAPTER, protocol="file")
    help_to(page, "expand_heads")
    expect(solution(page, "expand_heads")).to_be_visible()


@pytest.mark.exhaustive
def test_it_is_read_by_everyone(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    for key in ("tiled_heads", "expand_heads"):
        help_to(page, key)
    for number in "123":
        answer(page, number)
    solution(page, "tiled_heads").locator("summary").press("Enter")
    for theme, width in zip(THEMES, WIDTHS, strict=True):
        change(page, theme, width)
        assert_fits(page)
        assert serious_findings(page, colours=theme == "dark") == []
