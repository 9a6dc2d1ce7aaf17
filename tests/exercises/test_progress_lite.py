"""Progress in the browser's Python: it outlives the page with its kernel, and travels."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page

from mini_attn.exercises import progress_format, progress_transfer
from tests.site import unfold
from tools.site import Visit, visiting

pytestmark = pytest.mark.lite

# Nothing is awaited inside the page: a kernel that waits for a file needs its one thread.
ASK = """(code) => {
  const panel = jupyterapp.shell.currentWidget;
  window.said = undefined;
  panel.sessionContext.ready.then(() => {
    let text = "";
    const future = panel.sessionContext.session.kernel.requestExecute({code});
    future.onIOPub = ({content}) => { text += content.text ?? content.evalue ?? ""; };
    future.done.then(() => { window.said = text; });
  });
}"""


@pytest.fixture
def visit() -> Iterator[Visit]:
    """Opens pages of the built book in a fresh Chromium."""
    with visiting() as visits:
        yield visits
        assert visits.outside == []


def opened(visit: Visit, page: Page) -> None:
    """Open a chapter's notebook by the link that stands on its page."""
    page.goto(f"{visit.address}/book/kv-cache.html")
    unfold(page).click("a.run-here")
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)


def ask(page: Page, code: str) -> str:
    """Run Python in the notebook's kernel; gives what it prints."""
    page.evaluate(ASK, code)
    page.wait_for_function("window.said !== undefined", timeout=120_000)
    return page.evaluate("window.said").strip()


IMPORTS = (
    "from mini_attn.exercises import check, progress, export_progress, import_progress, "
    "reset_progress\n"
)


@pytest.mark.exhaustive
def test_progress_outlives_the_page(visit: Visit) -> None:
    page = visit("404.html")
    opened(visit, page)
    said = ask(page, IMPORTS + "check('cache_budget', ...); check('cache_budget', 30)\nprogress()")
    assert "kv-cache\n  How many fit?  2 of 2  solved" in said
    assert said.endswith("2 of 2 points (/drive/mini-attn-progress.json)")

    # Longer, then shorter: the file is written over, and never cut.
    said = ask(
        page, "check('half_temperature', 7); progress(); reset_progress('start'); progress()"
    )
    assert "2 of 4 points" in said
    assert said.endswith("2 of 2 points (/drive/mini-attn-progress.json)")

    page.reload()
    page.wait_for_selector(".jp-Notebook .jp-CodeCell", timeout=60_000)
    assert "1 exercise (1 solved) of an earlier visit" in ask(page, IMPORTS + "progress()")
    said = ask(page, f"export_progress(); print(open('{progress_transfer.NAME}').read())")
    found = progress_format.parse(said[said.index("{") :].encode())
    assert found["kv-cache"]["exercises"]["cache_budget"] == {"state": "solved", "points": 2}

    found["start"] = {"exercises": {"half_temperature": {"state": "done", "points": 0}}}
    text = json.dumps(progress_format.as_text(found))
    write = f"open('page.json', 'w').write({text})\nimport_progress('page.json')\nprogress()"
    assert "start: 1 exercise (0 solved)" in ask(page, write)
