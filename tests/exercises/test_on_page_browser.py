"""Exercises done on the built pages, with Python in a worker: what a reader sees of it."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from mini_attn.exercises import exercise, progress_format
from mini_attn.exercises.spec import Exercise, checked_ids
from tests.site import COLD, THEMES, WIDTHS, assert_fits, change, serious_findings
from tools import HTML
from tools.site import Visit, serve

pytestmark = [pytest.mark.browser, pytest.mark.lite]

PYODIDE = HTML / "lite/static/pyodide"
CHAPTER, ID = "book/kv-cache.html", "chunk_mask"
TASKS = [item for item in map(exercise, checked_ids()) if item.kind != "pencil"]
# A function, a bug to find and a trained decoder's weights stand for the others, which make soak
# does: their answers are checked by the same checker in every run, without a page.
OFTEN = ("kv-cache", "model")
CHAPTERS = [
    pytest.param(name, marks=() if name in OFTEN else pytest.mark.soak)
    for name in sorted({task.page for task in TASKS})
]


def place(page: Page, exercise_id: str = ID) -> Locator:
    """Where an exercise is done."""
    return page.locator(".here").filter(has=page.locator(f"[id='here-{exercise_id}-keys']"))


def opened(page: Page, exercise_id: str = ID) -> Locator:
    """The same, opened by keyboard: the editor has the focus then."""
    box = place(page, exercise_id)
    box.get_by_role("button", name="Do it here").focus()
    page.keyboard.press("Enter")
    expect(box.get_by_role("textbox")).to_be_focused(timeout=COLD)
    return box


@pytest.fixture(scope="module")
def started(visits: Visit) -> Iterator[Page]:
    """A chapter with an editor open and, after its first use, Python running."""
    page = visits.stay(CHAPTER)
    opened(page)
    yield page
    page.context.close()


@pytest.fixture
def page(started: Page, visit: Visit) -> Page:
    """The same for each test: as wide and light as at first, with the starter in the editor."""
    change(started, THEMES[0], WIDTHS[0])
    place(started).get_by_role("button", name="Reset").click()
    return started


def write(page: Page, box: Locator, code: str) -> None:
    """Replace what stands in the editor."""
    box.get_by_role("textbox").focus()
    page.keyboard.press("ControlOrMeta+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(code)


def text_of(box: Locator) -> str:
    """What stands in the editor."""
    lines: list[str] = box.locator(".cm-line").evaluate_all("all => all.map(e => e.textContent)")
    return "\n".join(lines)


def solution(task: Exercise) -> str:
    """The reference under the name that is checked, as a reader might type it."""
    module = importlib.import_module(f"solutions.{task.id}")
    source = inspect.getsource(module).split('"""\n', 1)[1].split("\nREFERENCE", 1)[0].strip()
    name = module.REFERENCE.__name__
    return source if name == task.name else f"{source}\n\n\n{task.name} = {name}"


# ---------------------------------------------------------------- done where they stand


def test_those_done_in_every_run_are_of_each_kind() -> None:
    often = [task for task in TASKS if task.page in OFTEN]
    assert {task.kind for task in often} == {task.kind for task in TASKS} == {"write", "bug"}
    banks = [importlib.import_module(f"mini_attn.exercises.bank.{task.id}") for task in often]
    assert any("exercises.trained import" in inspect.getsource(bank) for bank in banks)


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_exercise_of_a_chapter_is_done_by_keyboard(visit: Visit, name: str) -> None:
    page = visit.look(f"book/{name}.html")
    tasks = [task for task in TASKS if task.page == name]
    assert page.locator(".here").count() == len(tasks)
    for task in tasks:
        box = opened(page, task.id)
        write(page, box, solution(task))
        page.keyboard.press("ControlOrMeta+Enter")
        status = box.get_by_role("status")
        expect(status).to_have_text(f"Solved, {task.points} of {task.points} points.", timeout=COLD)
        assert box.locator("[data-state=passed]").count() == 11
    done = page.locator(".kept-sum")
    expect(done).to_contain_text(f" {len(tasks)} of ")
    expect(done).to_contain_text("exercises done")
    kept = page.evaluate("Object.entries(localStorage).filter(([k]) => k.includes(':exercise:'))")
    states = {key.split("/")[1]: json.loads(text) for key, text in kept}
    assert states == {task.id: {"state": "solved", "points": task.points} for task in tasks}


def test_a_wrong_answer_is_told_what_is_missing(page: Page) -> None:
    box = place(page)
    box.get_by_role("textbox").focus()
    page.keyboard.press("ControlOrMeta+Enter")  # the starter, which keeps its fault for itself
    failed = box.locator("[data-state=failed]")
    expect(failed).to_contain_text("This is the starter as it was given", timeout=COLD)
    expect(box).not_to_contain_text("top left")
    write(page, box, exercise(ID).starter.replace("    return", "    touched = 1\n    return"))
    box.get_by_role("button", name="Check").click()
    expect(failed).to_contain_text("by hand")
    expect(failed).to_contain_text("top left")
    expect(box.get_by_role("status")).to_contain_text("Not yet, 0 of 4 points.")
    assert box.locator("[data-state=not-reached]").count() == 3
    write(page, box, "def chunk_mask(q_positions):\n    return 1\n")
    box.get_by_role("button", name="Check").click()
    expect(failed).to_contain_text("It should take q_positions, kv_positions")
    write(page, box, "x = 1")  # the earlier definition is not this one's
    box.get_by_role("button", name="Check").click()
    expect(failed).to_contain_text("Define chunk_mask")


def test_run_shows_output_value_error_and_figure(page: Page) -> None:
    box = place(page)
    output = box.locator(".here-output")
    write(page, box, "print('<b>hello</b>')\nnp.arange(3)")
    page.keyboard.press("Shift+Enter")
    expect(output.locator("[data-kind=stdout]")).to_have_text("<b>hello</b>\n", timeout=COLD)
    expect(output.locator("[data-kind=value]")).to_have_text("array([0, 1, 2])")
    write(page, box, "import warnings\nwarnings.warn('take care')")
    page.keyboard.press("Shift+Enter")
    expect(output.locator("[data-kind=stderr]")).to_contain_text("UserWarning: take care")
    write(page, box, "def f(x):\n    return x @ np.ones(2)\n\n\nf(np.ones(3))")
    page.keyboard.press("Shift+Enter")
    error = output.locator("[data-kind=error]")
    expect(error).to_contain_text(
        "line 5\n    f(np.ones(3))\nline 2, in f\n    return x @ np.ones(2)\n"
    )
    expect(error).to_contain_text("ValueError: matmul")
    write(page, box, "x = 1\ndef f(:\n    pass")
    page.keyboard.press("Shift+Enter")
    expect(error).to_have_text(
        re.compile(r"^line 2\n    def f\(:\n +\^\nSyntaxError: invalid syntax$")
    )
    write(page, box, "import matplotlib.pyplot as plt\nplt.plot([1, 3, 2])\nplt.show()")
    page.keyboard.press("Shift+Enter")
    picture = output.get_by_role("img", name="Figure 1 that this cell draws")
    expect(picture).to_be_visible(timeout=COLD)
    assert picture.evaluate("async (e) => (await e.decode(), e.naturalWidth)") > 100
    expect(output).to_contain_text("Loaded matplotlib in ")
    assert output.locator("[data-kind=stderr]").count() == 0
    write(page, box, "import torch")
    page.keyboard.press("Shift+Enter")
    expect(error).to_contain_text("there is no torch in the page's Python")


# ---------------------------------------------------------------- what goes wrong


def usable(page: Page) -> None:
    """The page still answers at once."""
    page.evaluate("""() => new Promise((done, late) => {
      const began = performance.now();
      setTimeout(() => performance.now() - began < 1000 ? done() : late("the page hung"), 50);
    })""")


def test_an_endless_loop_is_stopped_and_python_begins_anew(page: Page) -> None:
    box = place(page)
    code = "left = 5\nwhile True:\n    pass"
    write(page, box, "left = 5")
    page.keyboard.press("Shift+Enter")
    expect(box.get_by_role("status")).to_have_text("Done.", timeout=COLD)
    write(page, box, code)
    page.keyboard.press("Shift+Enter")
    stop = box.get_by_role("button", name="Stop")
    expect(stop).to_be_visible()
    usable(page)
    stop.focus()
    page.keyboard.press("Enter")
    expect(box.get_by_role("status")).to_contain_text("What Python held is gone")
    expect(box.get_by_role("button", name="Check")).to_be_focused()
    assert text_of(box) == code
    write(page, box, "left")
    box.get_by_role("button", name="Run").click()
    expect(box.locator("[data-kind=error]")).to_contain_text("NameError", timeout=COLD)


def test_a_loop_inside_an_answer_ends_by_itself(page: Page) -> None:
    box = place(page)
    write(page, box, "def chunk_mask(q_positions, kv_positions):\n    while True:\n        pass\n")
    page.keyboard.press("ControlOrMeta+Enter")
    expect(box.locator("[data-state=failed]")).to_contain_text("a loop never stops", timeout=COLD)


@pytest.mark.exhaustive
def test_floods_and_large_arrays_leave_the_page_usable(page: Page) -> None:
    box = place(page)
    output = box.locator(".here-output")
    write(page, box, "for i in range(300_000):\n    print(i)")
    page.keyboard.press("Shift+Enter")
    expect(output).to_contain_text("more characters were printed", timeout=COLD)
    assert len(output.locator("[data-kind=stdout]").inner_text()) <= 20_000
    usable(page)
    for code, words in (
        ("np.ones(2**27).nbytes", "1073741824"),
        ("all = [np.ones(2**27) for _ in range(4)]", "MemoryError"),
    ):
        write(page, box, code)
        page.keyboard.press("Shift+Enter")
        expect(output).to_contain_text(words, timeout=COLD)
        usable(page)
    write(page, box, "'still here'")
    page.keyboard.press("Shift+Enter")
    expect(output).to_contain_text("'still here'", timeout=COLD)


# ---------------------------------------------------------------- what is kept


@pytest.mark.exhaustive
def test_code_is_kept_and_reset_goes_back(visit: Visit, tmp_path: Path) -> None:
    page = visit.look(CHAPTER)
    starter = exercise(ID).starter
    box = opened(page)
    assert text_of(box) == starter
    write(page, box, "mine = '</script>'")
    page.reload()
    expect(place(page)).to_contain_text("Your code is kept in this browser.")
    box = opened(page)
    assert text_of(box) == "mine = '</script>'"
    page.locator(".kept summary").click()
    with page.expect_download() as download:
        page.locator(".kept").get_by_role("button", name="Export").click()
    download.value.save_as(tmp_path / "export.json")
    found = progress_format.parse((tmp_path / "export.json").read_bytes())
    assert found["kv-cache"]["answers"] == {ID: {"code": "mine = '</script>'"}}
    expect(page.locator(".kept-said")).to_contain_text("the code of 1 answer")

    box.get_by_role("button", name="Reset").click()
    assert text_of(box) == starter
    assert page.evaluate("Object.keys(localStorage).filter(k => k.includes('answer'))") == []
    page.keyboard.press("ControlOrMeta+z")
    assert text_of(box) == "mine = '</script>'"
    page.wait_for_function("Object.keys(localStorage).some(k => k.includes('answer'))")

    page.locator(".kept").get_by_role("button", name="Reset chapter").click()
    page.locator(".kept").get_by_role("button", name="Forget").click()
    assert text_of(box) == starter
    page.locator(".kept input[type=file]").set_input_files(tmp_path / "export.json")
    expect(page.locator(".kept-said")).to_contain_text("Imported: the code of 1 answer")
    assert text_of(box) == "mine = '</script>'"


@pytest.mark.exhaustive
def test_another_window_follows(visit: Visit) -> None:
    page = visit(CHAPTER)
    other = page.context.new_page()
    other.goto(page.url)
    there = opened(other)
    box = opened(page)
    write(page, box, "mine = 1")
    expect(there.locator(".cm-line")).to_have_text(["mine = 1"])


# ---------------------------------------------------------------- how it is there


def test_nothing_is_loaded_before_it_is_asked_for(visit: Visit) -> None:
    page = visit("book/notation.html")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{visit.address}/{CHAPTER}", wait_until="networkidle")
    assert any("living.python.js" in url for url in asked)
    late = ("living.editor", "living.worker", "/lite/")
    assert not [url for url in asked if any(name in url for name in late)]
    opened(page)
    assert any("living.editor.js" in url for url in asked)


def test_the_editor_is_left_by_keyboard(page: Page) -> None:
    box = place(page)
    write(page, box, "")
    page.keyboard.press("Tab")
    page.keyboard.insert_text("x")
    assert text_of(box) == "    x"
    page.keyboard.press("Escape")
    page.keyboard.press("Tab")
    expect(box.get_by_role("button", name="Check")).to_be_focused()
    page.keyboard.press("Shift+Tab")
    expect(box.get_by_role("textbox", name="Your code for")).to_be_focused()
    page.keyboard.press("Tab")
    assert text_of(box) == "    x   "  # to the next column of four


def test_every_key_reaches_the_editor(page: Page) -> None:
    """Pressed one by one, as no shortcut of the page sees what is inserted whole."""
    box, keys = place(page), "8 // 2 ? s ] } ) : ; , . ! % & * + - = < > @ # $ ^ | ~ _"
    write(page, box, "")
    page.wait_for_timeout(600)  # a reader thinks; what's left is kept, and it's nothing
    assert text_of(box) == ""
    page.keyboard.type(keys)
    assert text_of(box) == keys
    expect(box.get_by_role("textbox", name="Your code for")).to_be_focused()


def test_it_fits_and_has_no_barrier(page: Page) -> None:
    box = place(page)
    write(page, box, "# a comment\ndef f(x):\n    return 'text', 1.5, None\nprint('out')\n1 / 0")
    page.keyboard.press("ControlOrMeta+Enter")
    expect(box.locator("[data-state=failed]")).to_contain_text("ZeroDivisionError", timeout=COLD)
    for theme, width in zip(THEMES, WIDTHS, strict=True):
        change(page, theme, width)
        assert serious_findings(page, sparing=True) == [], (theme, width)
        assert_fits(page)
        for button in box.get_by_role("button").all():
            assert button.bounding_box()["height"] >= 44  # type: ignore[index]


def test_from_a_folder_one_line_says_why_not(visit: Visit) -> None:
    page = visit.look(CHAPTER, protocol="file")
    expect(page.get_by_text("browsers start none from a disk or a USB stick")).to_have_count(1)
    link = page.locator(".here").get_by_role("link", name="The notebook")
    assert Path(link.evaluate("a => new URL(a.href).pathname")).exists()
    assert page.get_by_role("button", name="Do it here").count() == 0
    assert page.locator(".exercise-cell:visible").count() == 3  # a pencil one needs no Python


def test_without_javascript_nothing_changes(visit: Visit) -> None:
    page = visit.look(CHAPTER, java_script_enabled=False)
    assert page.locator(".here:visible").count() == 0
    assert page.locator(".exercise-cell:visible").count() == 5


def test_a_copy_without_python_says_so(visits: Visit, tmp_path: Path) -> None:
    """As where the book was built and no source of Pyodide could be reached."""
    for folder in ("_static", "_images", "book"):
        (tmp_path / folder).symlink_to(HTML / folder)
    with serve(tmp_path) as address:
        visit = Visit(visits.browser, address, tmp_path)
        box = opened(visit(CHAPTER))
        expect(box.get_by_role("status")).to_contain_text("this copy of the book has none")
        box.get_by_role("button", name="Check").click()
        expect(box.get_by_role("status")).to_contain_text("this copy of the book has none")
        visit.close()
        assert visit.outside == []
        assert all("/lite/" in error for error in visit.errors), visit.errors
