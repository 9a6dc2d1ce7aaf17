"""A reader's progress on the built pages: kept, shown, exported, imported, forgotten."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mini_attn import widgets
from mini_attn.exercises import (
    exercise,
    exercise_ids,
    import_progress,
    progress_format,
    progress_store,
    progress_transfer,
)
from mini_attn.widgets.questions import QUESTIONS
from tests.exercises.test_progress import SAMPLE, TEXTS
from tests.scripts import script
from tests.site import THEMES, WIDTHS, assert_fits, change, serious_findings
from tools import HTML
from tools.site import Visit

pytestmark = pytest.mark.browser

CHAPTER, ALL = "book/kv-cache.html", "book/about.html"
FILE = progress_transfer.NAME
CLAIMS = script("book/_ext/claims.py")  # answered like predictions


def box(page: Page) -> Locator:
    """The reader's progress on this page."""
    return page.locator(".kept")


def opened(page: Page) -> Locator:
    """The same, opened."""
    box(page).locator("summary").press("Enter")
    expect(box(page).get_by_role("button", name="Export")).to_be_visible()  # made just now
    return box(page)


def answer(page: Page, number: int, text: str) -> Locator:
    """Answer a prediction; gives what it says."""
    question = page.locator(".living[data-widget=prediction]").nth(number)
    question.get_by_label("Your answer").fill(text)
    question.get_by_role("button", name="Check").click()
    return question.get_by_role("status")


def stored(page: Page) -> dict[str, str]:
    """What the browser keeps of the book."""
    return page.evaluate("""Object.fromEntries(
      Object.entries(localStorage).filter(([key]) => key.startsWith("living:")))""")


def keep(page: Page, key: str, value: object) -> None:
    """Put something into the browser's storage, as a text."""
    text = value if isinstance(value, str) else json.dumps(value)
    page.evaluate("([key, text]) => localStorage.setItem(`living:${key}`, text)", [key, text])


def give(page: Page, name: str, content: str) -> Locator:
    """Import a file; gives what is said then."""
    file = {"name": name, "mimeType": "application/json", "buffer": content.encode()}
    box(page).locator("input[type=file]").set_input_files(file)  # type: ignore[arg-type]
    said = box(page).get_by_role("status")
    expect(said).not_to_be_empty()
    return said


def exported(page: Page, folder: Path) -> Path:
    """Press Export; gives the file that came."""
    with page.expect_download() as download:
        box(page).get_by_role("button", name="Export").click()
    assert download.value.suggested_filename == FILE
    target = folder / FILE
    download.value.save_as(target)
    return target


@pytest.mark.parametrize("protocol", ["http", "file"])
def test_answers_and_ticks_survive_a_reload(visit: Visit, protocol: str) -> None:
    page = visit(CHAPTER, protocol=protocol)
    words = box(page).locator(".kept-sum")
    expect(words).to_have_text("0 of 8 predictions right, 0 of 5 exercises done")
    answer(page, 0, "5050")
    answer(page, 1, "7")
    expect(words).to_have_text("1 of 8 predictions right, 0 of 5 exercises done")
    opened(page).get_by_role("checkbox", name="2. The mask of a chunk").check()
    answer(page, 0, "100")  # another try: what was solved stays solved

    page.reload()
    expect(words).to_have_text("1 of 8 predictions right, 1 of 5 exercises done")
    assert page.get_by_label("Your answer").first.input_value() == "100"
    marks = opened(page).locator(".kept-marks a")
    labels = [mark.get_attribute("aria-label") for mark in marks.all()]
    assert labels[:3] == [
        "Prediction 1: right",
        "Prediction 2: not yet right",
        "Prediction 3: open",
    ]
    expect(box(page).get_by_role("checkbox").nth(1)).to_be_checked()
    marks.nth(1).click()
    expect(page.locator("#predict-2-text")).to_be_in_viewport()

    page.goto(page.url.split("#")[0].replace(CHAPTER, ALL))
    row = box(page).get_by_role("row", name="KV caching")
    expect(row).to_contain_text("1 of 8 2 answered")
    expect(row).to_contain_text("1 of 5")


def test_a_table_lists_the_whole_book(visit: Visit) -> None:
    """Its sums are the bank's and the questions', so nothing was typed or missed."""
    page = visit(ALL)
    sums = box(page).locator("tfoot td")
    expect(box(page)).to_contain_text("Nothing yet")
    expect(sums).to_have_count(0)
    keep(page, "exercise:start/half_temperature", {"state": "done", "points": 0})
    page.reload()
    expect(sums.first).to_have_text(f"0 of {len(QUESTIONS) + CLAIMS.COUNT}")
    expect(sums.last).to_have_text(f"1 of {len(exercise_ids())}")
    for link in box(page).locator("tbody a").all():
        assert page.request.get(link.evaluate("a => a.href")).ok
    page.goto(page.url.replace(ALL, "book/start.html"))
    tasks = opened(page).locator(".kept-tasks li")
    own = {item.title for item in map(exercise, exercise_ids()) if item.page == "start"}
    assert {text.split(". ", 1)[1].split("\n")[0] for text in tasks.all_inner_texts()} == own


def test_the_build_knows_no_progress_of_the_builder() -> None:
    """No chapter shows the points of the session that built it."""
    pages = {exercise(exercise_id).page for exercise_id in exercise_ids()}
    for page in pages:
        text = (HTML / f"book/{page}.html").read_text(encoding="utf-8")
        assert "points in this session" not in text, page


def test_nothing_is_built_before_it_is_wanted(visit: Visit) -> None:
    page = visit(CHAPTER)
    expect(box(page).locator(".kept-sum")).not_to_be_empty()
    assert box(page).locator(".kept-body").inner_html() == ""
    script = page.locator("script[src*='living.progress.js']")
    assert script.evaluate("s => s.async")  # nothing waits for it
    assert page.evaluate("performance.getEntriesByName('living:first')[0].startTime") < (
        page.evaluate("performance.getEntriesByType('navigation')[0].domContentLoadedEventStart")
    )
    opened(page)
    expect(box(page).get_by_role("button", name="Export")).to_be_visible()


def test_a_reset_asks_once_more(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    said = answer(page, 0, "5050")
    keep(page, "exercise:start/half_temperature", {"state": "done", "points": 0})
    opened(page).get_by_role("button", name="Reset chapter").press("Enter")
    expect(box(page).get_by_text("Forget 1 prediction (1 right) of this chapter?")).to_be_visible()
    before = stored(page)
    expect(box(page).get_by_role("button", name="Cancel")).to_be_focused()
    page.keyboard.press("Enter")
    assert stored(page) == before
    box(page).get_by_role("button", name="Reset chapter").press("Enter")
    box(page).get_by_role("button", name="Forget").press("Enter")
    assert list(stored(page)) == ["living:exercise:start/half_temperature"]
    expect(said).to_be_hidden()
    assert page.get_by_label("Your answer").first.input_value() == ""
    expect(box(page).get_by_role("status")).to_have_text("Forgotten: 1 prediction (1 right).")
    page.goto(page.url.replace(CHAPTER, ALL))
    box(page).get_by_role("button", name="Reset all").click()
    box(page).get_by_role("button", name="Forget").click()
    assert stored(page) == {}
    box(page).get_by_role("button", name="Reset all").click()
    expect(box(page).get_by_role("status")).to_have_text("There is nothing to forget.")


@pytest.mark.parametrize("protocol", ["http", "file"])
def test_what_the_page_exports_python_imports_and_back(
    visit: Visit, protocol: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = visit(CHAPTER, protocol=protocol)
    day = page.evaluate("new Date().toLocaleDateString('sv')")  # 2026-11-28
    answer(page, 0, "5,050")
    answer(page, 1, "many")  # unreadable: no answer
    opened(page).get_by_role("checkbox").first.check()
    file = exported(page, tmp_path)
    monkeypatch.setenv("MINI_ATTN_PROGRESS", str(tmp_path / "state.json"))
    import_progress(file)
    assert progress_store.load() == {
        "kv-cache": {
            "predictions": {"passes": {"attempt": "5,050", "verdict": "right", "shown": False}},
            "exercises": {"cached_step": {"state": "done", "points": 0}},
            "returns": {"passes": {"day": day, "rung": 0}},
        }
    }
    progress_store.remember(exercise("cached_step"), None)
    progress_store.remember(exercise("chunk_mask"), "shape")
    page = visit(ALL, protocol=protocol)
    said = give(page, FILE, progress_format.as_text(progress_store.load()))
    expect(said).to_have_text(
        "Imported: 1 prediction (1 right) and 2 exercises (1 done). "
        "What you had solved stays solved."
    )
    expect(box(page).get_by_role("row", name="KV caching")).to_contain_text("1 of 5")
    expect(box(page)).to_contain_text("Checked in Python: 4 of")
    assert progress_format.parse(exported(page, tmp_path).read_bytes()) == progress_store.load()
    page.goto(page.url.replace(ALL, CHAPTER))
    tasks = opened(page).locator(".kept-tasks li")
    expect(tasks.first).to_contain_text("solved in Python, 4 points")
    expect(tasks.nth(1)).to_contain_text("tried in Python, missing: shape")
    assert page.get_by_label("Your answer").first.input_value() == "5,050"


def test_an_import_keeps_what_was_solved(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    answer(page, 0, "5050")
    opened(page).get_by_role("checkbox").nth(2).check()
    worse = json.loads(progress_format.as_text(SAMPLE))
    found = worse["chapters"]["kv-cache"]
    found["predictions"]["passes"] = {"attempt": "1", "verdict": "wrong", "shown": True}
    found["predictions"]["copies"] = {"attempt": "3", "verdict": "right", "shown": False}
    found["exercises"] = {"cache_budget": {"state": "tried", "points": 0}}
    worse["chapters"]["no-such-chapter"] = {"exercises": {"x": {"state": "done", "points": 0}}}
    said = give(page, "worse.json", json.dumps(worse))
    expect(said).to_contain_text("1 entry left out that this book does not have.")
    assert page.get_by_label("Your answer").first.input_value() == "5050"
    expect(box(page).get_by_role("checkbox").nth(2)).to_be_checked()
    # The page judges an answer itself, whatever the file says of it.
    expect(box(page).locator(".kept-sum")).to_have_text(
        "1 of 8 predictions right, 1 of 5 exercises done"
    )


def test_files_that_do_not_fit_change_nothing(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    answer(page, 0, "5050")
    opened(page)
    before = stored(page)
    for name in ("null", "a hostile chapter", "a hostile attempt", "a prototype", "huge", "deep"):
        said = give(page, f"{name}.json", TEXTS[name])
        expect(said).to_contain_text("Nothing was changed: ")
        assert len(said.inner_text()) < 300
        assert stored(page) == before, name
        box(page).get_by_role("button", name="Reset").click()  # clears what was said
        box(page).get_by_role("button", name="Cancel").click()
    assert box(page).locator("img, script, b b").count() == 0


def test_hostile_storage_is_not_shown(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    evil = "<img src=x onerror=window.bad=1>"
    for text in (evil, "{", "[]", "5", json.dumps({"state": evil, "points": 1, "missing": evil}),
                 json.dumps({"state": "tried", "points": 0, "missing": evil})):  # fmt: skip
        keep(page, "exercise:kv-cache/cached_step", text)
        keep(page, "prediction:kv-cache/passes", text)
        page.reload()
        opened(page)
        expect(box(page).locator(".kept-sum")).to_have_text(
            "0 of 8 predictions right, 0 of 5 exercises done"
        )
        assert box(page).locator("img").count() == 0
        assert page.evaluate("window.bad") is None


ASKED = """globalThis.asked = [];
for (const [owner, name] of [[Document.prototype, "cookie"], [window, "localStorage"]]) {
  const own = Object.getOwnPropertyDescriptor(owner, name);
  const get = function () { asked.push(name); return own.get.call(this); };
  Object.defineProperty(owner, name, {...own, get});
}"""


@pytest.mark.parametrize(("protocol", "first"), [("http", "localStorage"), ("file", "cookie")])
def test_a_page_asks_for_its_storage_when_the_browser_knows_it(
    visit: Visit, protocol: str, first: str
) -> None:
    """From a folder it may be too early, and what is kept is lost; after that answer it is not."""
    page = visit(ALL, protocol=protocol)
    page.add_init_script(ASKED)
    base = page.url.removesuffix(ALL)
    for name in (ALL, CHAPTER, "book/api-cost.html", "search.html", "genindex.html"):
        page.goto(base + name)
        asked = page.evaluate("asked")
        assert "localStorage" in asked, name
        assert asked[0] == first, name


NO_STORAGE = """for (const name of ["getItem", "setItem", "removeItem"]) {
  const real = Storage.prototype[name];
  Storage.prototype[name] = function (key, ...rest) {
    if (key.startsWith("living:")) throw new DOMException("denied", "SecurityError");
    return real.call(this, key, ...rest);
  };
}"""


def test_without_storage_it_says_so_and_goes_on(visit: Visit, tmp_path: Path) -> None:
    """As in a private window; the theme's own scripts, which cannot do without, keep theirs."""
    page = visit("book/notation.html")
    page.add_init_script(NO_STORAGE)
    page.goto(f"{visit.address}/{CHAPTER}")
    said = answer(page, 0, "5050")
    expect(said).to_contain_text("Right.")
    opened(page)
    expect(box(page).get_by_role("status")).to_contain_text("This browser keeps nothing")
    box(page).get_by_role("checkbox").first.check()
    expect(box(page).locator(".kept-sum")).to_have_text(
        "1 of 8 predictions right, 1 of 5 exercises done"
    )
    found = progress_format.parse(exported(page, tmp_path).read_bytes())
    assert found["kv-cache"]["exercises"] == {"cached_step": {"state": "done", "points": 0}}


@pytest.mark.exhaustive
def test_another_window_follows(visit: Visit) -> None:
    page = visit(CHAPTER)
    other = page.context.new_page()
    other.goto(page.url)
    other.get_by_label("Your answer").nth(1).fill("a draft")
    answer(page, 0, "5050")
    expect(box(other).locator(".kept-sum")).to_contain_text("1 of 8 predictions right")
    expect(other.get_by_label("Your answer").first).to_have_value("5050")
    assert other.get_by_label("Your answer").nth(1).input_value() == "a draft"


IN_A_NOTEBOOK = """async ([source, asked, attempt]) => {
  const blob = new Blob([source], {type: "text/javascript"});
  const { default: widget } = await import(URL.createObjectURL(blob));
  const state = {_widget: "prediction", question: asked.key, _question: asked, attempt};
  const model = {get: key => state[key], set: (key, value) => { state[key] = value; },
                 on() {}, off() {}, save_changes: () => { state.saved = true; }};
  const el = document.createElement("div");
  document.querySelector("article").append(el);
  widget.render({model, el});
  return {...state, shown: el.querySelector("input").value};
}"""


def test_a_notebook_of_the_same_host_knows_the_answer(visit: Visit) -> None:
    """The browser's notebooks share the page's storage; what a cell has written goes first."""
    page = visit.look(CHAPTER)
    answer(page, 0, "5050")
    source = (Path(widgets.__file__).parent / "static/living.jupyter.js").read_text("utf-8")
    found = page.evaluate(IN_A_NOTEBOOK, [source, asdict(QUESTIONS["kv-cache/passes"]), ""])
    assert (found["shown"], found["attempt"], found["saved"]) == ("5050", "5050", True)
    before = stored(page)
    found = page.evaluate(IN_A_NOTEBOOK, [source, asdict(QUESTIONS["kv-cache/passes"]), "7"])
    assert (found["shown"], found["attempt"]) == ("7", "7")
    found = page.evaluate(IN_A_NOTEBOOK, [source, asdict(QUESTIONS["kv-cache/larger"]), ""])
    assert (found["shown"], found["attempt"]) == ("", "")
    assert stored(page) == before


def test_it_can_be_used_by_keyboard(visit: Visit) -> None:
    page = visit.look(CHAPTER, width=360)
    opened(page)  # with a key
    for _ in range(9):  # eight predictions, then the first exercise
        page.keyboard.press("Tab")
    page.keyboard.press(" ")
    first = box(page).get_by_role("checkbox").first
    expect(first).to_be_checked()
    expect(first).to_be_focused()


@pytest.mark.parametrize("name", [pytest.param(CHAPTER, marks=pytest.mark.exhaustive), ALL])
def test_it_is_accessible_and_fits(visit: Visit, name: str) -> None:
    page = visit.look(name)
    keep(page, "exercise:kv-cache/cached_step", {"state": "solved", "points": 4})
    page.reload()
    if name == CHAPTER:
        answer(page, 0, "5050")
        answer(page, 1, "7")
        opened(page).get_by_role("checkbox").first.check()
    box(page).get_by_role("button", name="Reset").click()
    for theme, width in zip(THEMES, WIDTHS, strict=True):
        change(page, theme, width)
        assert serious_findings(page) == [], width
        assert_fits(page)
        targets = box(page).locator("button:visible, summary, .kept-marks a")
        assert min(target.bounding_box()["height"] for target in targets.all()) >= 43.9


def test_paper_and_pages_without_scripts_do_not_show_it(visit: Visit) -> None:
    for name in (CHAPTER, ALL):
        page = visit.look(name)
        expect(box(page)).to_be_visible()
        page.emulate_media(media="print")
        expect(box(page)).to_be_hidden()
        page = visit.look(name, java_script_enabled=False)
        expect(box(page)).to_be_hidden()
