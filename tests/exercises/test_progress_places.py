"""One progress in three places: the page, the browser notebook, and a file for Jupyter."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from mini_attn.exercises import exercise, progress_format, progress_transfer
from tests.exercises.test_progress_lite import ASK, IMPORTS
from tools import ROOT
from tools.site import Visit, visiting

pytestmark = pytest.mark.lite

CHAPTER = "book/kv-cache.html"
FILE = "mini-attn-progress.json"
SOON = 20_000  # milliseconds that news may take on a busy machine
Record = dict[str, Any]


@pytest.fixture
def visit() -> Iterator[Visit]:
    with visiting() as visits:
        yield visits
        # JupyterLab asks for an icon at the root of the site, which is not the book's.
        errors = [error for error in visits.errors if "favicon.ico" not in error]
        assert (visits.outside, errors) == ([], [])


def notebook(page: Page, exercise_id: str) -> Page:
    """Press an exercise's link; gives the tab that opens, once its notebook is there."""
    with page.context.expect_page() as opened:
        page.locator(f".run-exercise[href$='#exercise={exercise_id}']").click()
    tab = opened.value
    tab.wait_for_selector(".jp-Notebook .jp-CodeCell >> visible=true", timeout=90_000)
    return tab


def ask(tab: Page, code: str) -> str:
    """Run Python in the notebook's kernel; gives what it prints."""
    tab.evaluate(ASK, IMPORTS + code)
    tab.wait_for_function("window.said !== undefined", timeout=120_000)
    return tab.evaluate("window.said").strip()


def there(tab: Page) -> Record:
    """What the notebook's file holds."""
    text = tab.evaluate(
        f"""jupyterapp.serviceManager.contents.get("{FILE}", {{content: true}})
          .then((file) => file.content && JSON.stringify(file.content), () => "")"""
    )
    return progress_format.parse(text.encode()) if text else {}


KINDS = {"prediction": "predictions", "exercise": "exercises", "answer": "answers"}


def here(page: Page) -> Record:
    """What the page keeps."""
    record: Record = {}
    for key, text in page.evaluate("Object.entries(localStorage)"):
        own, _, rest = key.partition(":")
        kind, _, path = rest.partition(":")
        if own == "living" and kind in KINDS:
            chapter, name = path.split("/")
            record.setdefault(chapter, {}).setdefault(KINDS[kind], {})[name] = json.loads(text)
    return record


def states(record: Record) -> dict[str, str]:
    """How far each exercise is."""
    return {
        name: entry["state"]
        for kinds in record.values()
        for name, entry in kinds.get("exercises", {}).items()
    }


def agree(page: Page, tab: Page, wanted: dict[str, str]) -> None:
    """Both places come to hold this."""
    for _ in range(SOON // 250):
        if states(here(page)) == states(there(tab)) == wanted:
            return
        page.wait_for_timeout(250)
    assert (states(here(page)), states(there(tab))) == (wanted, wanted)


def pencil(page: Page, number: str) -> None:
    """Answer the page's pencil exercise."""
    box = page.get_by_role("group", name="How many fit?", exact=True)
    box.get_by_label("Your answer").fill(number)
    box.get_by_role("button", name="Check").click()


def in_jupyter(folder: Path, code: str) -> str:
    """Run Python on the machine, with a progress file of its own; gives what it prints."""
    place = {"MINI_ATTN_PROGRESS": str(folder / "progress.json"), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", IMPORTS + code],
        cwd=folder,
        env={**os.environ, **place},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.exhaustive
def test_page_notebook_and_file_agree_after_each_way(visit: Visit, tmp_path: Path) -> None:
    page = visit(CHAPTER)
    pencil(page, "30")
    tab = notebook(page, "chunk_mask")
    agree(page, tab, {"cache_budget": "solved"})  # page → notebook, when it opens

    ask(tab, "check('layer_flops', 1); check('half_temperature', 2 / 15)")
    solved = {"cache_budget": "solved", "layer_flops": "tried", "half_temperature": "solved"}
    agree(page, tab, solved)  # notebook → page, while both are open
    page.goto(f"{visit.address}/book/start.html")
    half = page.get_by_role("group", name="Half the temperature", exact=True)
    expect(half.get_by_role("status")).to_contain_text("Solved, 2 of 2 points.")

    # Notebook → file → Jupyter, and back by the page's Import.
    text = ask(tab, f"export_progress(); print(open('{progress_transfer.NAME}').read())")
    carried = tmp_path / progress_transfer.NAME
    carried.write_text(text[text.index("{") :], encoding="utf-8")
    said = in_jupyter(
        tmp_path, "import_progress(); check('busy_rows', 320); check('square_half', 1)"
    )
    assert "3 exercises (2 solved)" in said
    in_jupyter(tmp_path, "export_progress()")
    found = states(progress_format.parse(carried.read_bytes()))
    assert found.items() >= solved.items()
    assert found.keys() - solved.keys() == {"busy_rows", "square_half"}
    page.locator(".kept summary").press("Enter")
    page.locator(".kept input[type=file]").set_input_files(carried)
    agree(page, tab, found)

    # Forgotten on the page, forgotten in the notebook; and the other way round.
    page.get_by_role("button", name="Reset chapter").click()
    page.get_by_role("button", name="Forget").click()
    del found["half_temperature"]
    agree(page, tab, found)
    ask(tab, "reset_progress('kv-cache')")
    del found["cache_budget"]
    agree(page, tab, found)

    # With the notebook closed, each goes on alone; the next visit brings them together.
    tab.close()
    page.goto(f"{visit.address}/{CHAPTER}")
    expect(page.get_by_label("Your answer").last).to_be_visible()
    pencil(page, "31")
    tab = notebook(page, "cache_budget")
    agree(page, tab, {**found, "cache_budget": "tried"})


@pytest.mark.exhaustive
def test_a_link_opens_the_notebook_at_its_exercise(visit: Visit) -> None:
    page = visit(CHAPTER)
    active = """() => {
      const { content } = jupyterapp.shell.currentWidget, cell = content.activeCell;
      const [box, frame] = [cell.node, content.node].map((node) => node.getBoundingClientRect());
      const seen = box.top >= frame.top && box.top < frame.bottom;
      return cell.model.getMetadata("exercise")?.id + (seen ? " seen" : "");
    }"""
    tab = notebook(page, "code_attention")
    tab.wait_for_function(f"({active})() === 'code_attention seen'", timeout=SOON)
    tab.evaluate("window.same = true")
    page.locator(".run-exercise[href$='#exercise=chunk_mask']").click()
    tab.wait_for_function(f"({active})() === 'chunk_mask seen'", timeout=SOON)
    assert tab.evaluate("window.same")  # not opened again: what its kernel holds is there
    assert len(page.context.pages) == 2


SOURCE = """(id) => {
  for (const panel of jupyterapp.shell.widgets("main"))
    for (const cell of panel.content.model?.cells ?? []) {
      const tag = cell.getMetadata("exercise");
      if (tag?.id === id && tag.role === "starter") return cell.sharedModel.getSource();
    }
}"""
WRITE = f"""([id, text]) => {{
  const source = {SOURCE};
  for (const panel of jupyterapp.shell.widgets("main"))
    for (const cell of panel.content.model.cells)
      if (cell.sharedModel.getSource() === source(id)) cell.sharedModel.setSource(text);
}}"""


def keep_answer(page: Page, key: str, code: str) -> None:
    """Leave an answer as the page's own place for it does."""
    page.evaluate(
        """([key, code]) => {
          localStorage.setItem(`living:answer:${key}`, JSON.stringify({code}));
          document.dispatchEvent(new Event("living:progress"));
        }""",
        [key, code],
    )


def test_what_was_written_on_the_page_stands_in_the_notebook(visit: Visit) -> None:
    page = visit(CHAPTER)
    first, second = (
        "def chunk_mask(q, kv):\n    return 1\n",
        "def chunk_mask(q, kv):\n    return 2\n",
    )
    keep_answer(page, "kv-cache/chunk_mask", first)
    keep_answer(page, "kv-cache/cache_budget", "1,030")
    keep_answer(page, "kv-cache/cache_more", "Keep what is read *again*.")
    tab = notebook(page, "chunk_mask")

    def stands(key: str, text: str) -> None:
        tab.wait_for_function(f"([id, text]) => ({SOURCE})(id) === text", arg=[key, text],
                              timeout=SOON)  # fmt: skip

    stands("chunk_mask", first)
    stands("cache_budget", "answer = 1030")
    stands("cache_more", "Keep what is read *again*.")
    assert tab.evaluate(SOURCE, "cached_step") == exercise("cached_step").starter
    keep_answer(page, "kv-cache/chunk_mask", second)  # while both are open
    stands("chunk_mask", second)

    # What the learner writes in the notebook stays, whatever the page says later; also when the
    # notebook is opened again.
    own = "def chunk_mask(q, kv):\n    return 'mine'\n"
    tab.evaluate(WRITE, ["chunk_mask", own])
    keep_answer(page, "kv-cache/chunk_mask", first)
    keep_answer(page, "kv-cache/cache_budget", "30 sequences")  # no plain number: left as it was
    keep_answer(page, "kv-cache/cache_more", "Keep both.")
    stands("cache_more", "Keep both.")
    assert tab.evaluate(SOURCE, "chunk_mask") == own
    assert tab.evaluate(SOURCE, "cache_budget") == "answer = 1030"
    tab.evaluate("jupyterapp.shell.currentWidget.context.save()")
    tab.close()
    tab = notebook(page, "chunk_mask")
    stands("cache_more", "Keep both.")
    assert tab.evaluate(SOURCE, "chunk_mask") == own
