"""A SCORM package in a course: what the platform is told, and what comes back from it.

The course is a page with an API object by the data model of SCORM 1.2 (``scorm_lms.html``), which
notes every call out of turn and every value of a wrong type. Each test ends with none of these.
"""

from __future__ import annotations

import inspect
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Frame, Page, expect

from classroom.adapters.scorm import scorm_package
from mini_attn.exercises import exercise
from mini_attn.widgets.questions import QUESTIONS, question
from tests.site import COLD, assert_fits, serious_findings, unfold, watched
from tools import HTML
from tools.site import Visit, visiting

pytestmark = pytest.mark.browser

LMS = Path(__file__).with_name("scorm_lms.html")
START = "start/book/start.html"
PREDICTIONS = [key.split("/")[1] for key in QUESTIONS if key.startswith("start/")]
PENCIL = exercise("half_temperature")
POINTS = len(PREDICTIONS) + PENCIL.points


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """A course with two packages, served."""
    folder = tmp_path_factory.mktemp("course")
    shutil.copy(LMS, folder / "lms.html")
    for page in ("start", "kv-cache"):
        with zipfile.ZipFile(io.BytesIO(scorm_package(page, HTML))) as archive:
            archive.extractall(folder / page)
    with visiting(folder) as visits:
        yield visits


@pytest.fixture
def visit(visits: Visit) -> Iterator[Visit]:
    yield from watched(visits)


def inside(course: Page) -> Frame:
    """The chapter's page, once it is there."""
    expect(
        course.frame_locator("iframe").frame_locator("#page").locator(".scorm-said")
    ).not_to_be_empty()
    return next(frame for frame in course.frames if "/book/" in frame.url)


def launched(
    course: Page, kept: dict[str, str] | None = None, page: str = START, **options: Any
) -> Frame:
    """The chapter in its course, with what the platform keeps of a visit before."""
    course.evaluate(
        "([page, kept, options]) => launch(page, kept, options)", [page, kept or {}, options]
    )
    return inside(course)


def told(course: Page) -> dict[str, str]:
    """What the platform keeps; nothing that it was told is out of its model."""
    assert course.evaluate("course.faults") == []
    return course.evaluate("course.kept")


def predict(frame: Frame, name: str, text: str) -> None:
    """Answer a prediction of the chapter."""
    text_of = question(f"start/{name}").text.replace("`", "")[:20]
    unfold(frame)
    box = frame.get_by_role("group", name=re.compile(re.escape(text_of)))
    box.get_by_label("Your answer").fill(text)
    box.get_by_role("button", name="Check").click()


def solve_pencil(frame: Frame, text: str) -> None:
    box = frame.get_by_role("group", name=PENCIL.title, exact=True)
    box.get_by_label("Your answer").fill(text)
    box.get_by_role("button", name="Check").click()


RIGHT = repr(import_module(f"solutions.{PENCIL.id}").REFERENCE)


def test_what_is_solved_is_told_at_once_and_the_visit_ends_in_order(visit: Visit) -> None:
    course = visit("lms.html")
    frame = launched(course)
    assert told(course)["cmi.core.lesson_status"] == "incomplete"
    assert told(course)["cmi.core.score.raw"] == "0"
    said = frame.locator(".scorm-said")
    expect(said).to_have_text(f"Your course is told what you solve here: 0 of {POINTS} points.")
    solve_pencil(frame, RIGHT)
    expect(said).to_contain_text(f"{PENCIL.points} of {POINTS} points")
    kept = told(course)  # without an end of the visit
    assert float(kept["cmi.core.score.raw"]) == round(100 * PENCIL.points / POINTS, 1)
    assert (kept["cmi.core.score.min"], kept["cmi.core.score.max"]) == ("0", "100")
    record = json.loads(kept["cmi.suspend_data"])["chapters"]["start"]
    assert record["exercises"][PENCIL.id] == {"state": "solved", "points": PENCIL.points}
    before = course.evaluate("course.calls.length")
    solve_pencil(frame, RIGHT)  # nothing new is nothing to tell
    assert course.evaluate("course.calls.length") == before
    course.evaluate("leave()")
    calls = course.evaluate("course.calls")
    assert calls[0] == ["LMSInitialize", ""]
    assert calls[-1] == ["LMSFinish", ""]
    assert [name for name, *_ in calls].count("LMSFinish") == 1
    assert calls[-2] == ["LMSCommit", ""]
    assert re.fullmatch(
        r"\d{4}:\d\d:\d\d\.\d\d", dict(c[1:] for c in calls if len(c) > 2)["cmi.core.session_time"]
    )
    assert told(course)["cmi.core.entry"] == "resume"


def test_everything_solved_is_completed(visit: Visit) -> None:
    course = visit("lms.html")
    frame = launched(course)
    for name in PREDICTIONS:
        predict(frame, name, repr(question(f"start/{name}").answer))
        assert told(course)["cmi.core.lesson_status"] == "incomplete"
    solve_pencil(frame, RIGHT)
    kept = told(course)
    assert (kept["cmi.core.lesson_status"], kept["cmi.core.score.raw"]) == ("completed", "100")
    course.evaluate("leave()")
    launched(course, told(course))
    assert told(course)["cmi.core.lesson_status"] == "completed"


def test_a_platform_that_counts_a_chapter_as_passed_is_believed(visit: Visit) -> None:
    course = visit("lms.html")
    launched(course, {"cmi.core.lesson_status": "passed", "cmi.core.entry": "resume"})
    assert told(course)["cmi.core.lesson_status"] == "completed"


def test_it_comes_back_in_another_browser(visit: Visit) -> None:
    course = visit("lms.html")
    frame = launched(course)
    solve_pencil(frame, RIGHT)
    predict(frame, PREDICTIONS[0], "7")
    course.evaluate("leave()")
    kept = told(course)
    course = visit("lms.html")  # with a storage of its own
    assert course.evaluate("localStorage.length") == 0
    frame = launched(course, kept)
    box = frame.get_by_role("group", name=PENCIL.title, exact=True)
    expect(box.get_by_role("status")).to_contain_text("Solved")
    assert box.get_by_label("Your answer").input_value() == RIGHT
    expect(
        frame.locator(".living[data-widget=prediction]").first.get_by_label("Your answer")
    ).to_have_value("7")
    assert told(course)["cmi.suspend_data"] == kept["cmi.suspend_data"]


def test_who_sits_there_next_finds_nothing(visit: Visit) -> None:
    """At the same browser, and the platform knows nothing of the second student yet."""
    course = visit("lms.html")
    solve_pencil(launched(course), RIGHT)
    course.evaluate("leave()")
    first = told(course)
    frame = launched(course, {"cmi.core.student_id": "s2"})
    box = frame.get_by_role("group", name=PENCIL.title, exact=True)
    expect(box.locator(".predict-feedback")).to_be_empty()
    assert told(course)["cmi.core.score.raw"] == "0"
    course.evaluate("leave()")
    frame = launched(course, first)  # and the first one comes back
    expect(
        frame.get_by_role("group", name=PENCIL.title, exact=True).get_by_role("status")
    ).to_contain_text("Solved")


def test_a_new_attempt_begins_anew(visit: Visit) -> None:
    course = visit("lms.html")
    solve_pencil(launched(course), RIGHT)
    course.evaluate("leave()")
    launched(course)
    assert told(course)["cmi.core.score.raw"] == "0"


@pytest.mark.exhaustive
def test_code_that_is_too_long_for_the_platform_stays_in_the_browser(visit: Visit) -> None:
    course = visit("lms.html")
    page = "kv-cache/book/kv-cache.html"
    frame = launched(course, page=page)
    long, short = "é" * 4000, "def f(q):\n    return q"
    keep = """([key, code]) => {
      localStorage.setItem(key, JSON.stringify({code}));
      document.dispatchEvent(new Event("living:progress")); }"""
    frame.evaluate(keep, ["living:answer:kv-cache/cached_step", long])
    frame.evaluate(keep, ["living:answer:kv-cache/chunk_mask", short])
    data = told(course)["cmi.suspend_data"]
    assert json.loads(data)["chapters"]["kv-cache"]["answers"] == {"chunk_mask": {"code": short}}
    course.evaluate("leave()")
    read = "(key) => JSON.parse(localStorage.getItem(key) ?? 'null')?.code ?? null"
    kept = told(course)
    frame = launched(course, kept, page)
    assert frame.evaluate(read, "living:answer:kv-cache/cached_step") == long
    assert frame.evaluate(read, "living:answer:kv-cache/chunk_mask") == short
    frame = launched(course, {**kept, "cmi.core.student_id": "s2"}, page)
    assert frame.evaluate(read, "living:answer:kv-cache/cached_step") is None
    assert frame.evaluate(read, "living:answer:kv-cache/chunk_mask") == short


def test_a_look_back_changes_nothing(visit: Visit) -> None:
    course = visit("lms.html")
    solve_pencil(launched(course), RIGHT)
    course.evaluate("leave()")
    kept = told(course)
    frame = launched(course, {**kept, "cmi.core.lesson_mode": "review"})
    expect(
        frame.get_by_role("group", name=PENCIL.title, exact=True).get_by_role("status")
    ).to_contain_text("Solved")
    predict(frame, PREDICTIONS[0], "7")
    course.evaluate("leave()")
    assert told(course) == {**kept, "cmi.core.lesson_mode": "review"}
    names = [name for name, *_ in course.evaluate("course.calls")]
    assert "LMSSetValue" not in names
    assert names[-1] == "LMSFinish"


def test_what_the_platform_kept_is_not_believed(visit: Visit) -> None:
    course = visit("lms.html")
    for data in ("<b>old</b>", "[]", '{"format":"living-attention-progress","version":9}'):
        launched(course, {"cmi.suspend_data": data, "cmi.core.entry": "resume"})
        assert told(course)["cmi.core.score.raw"] == "0"
    forged = {"format": "living-attention-progress", "version": 1, "chapters": {
        "start": {"exercises": {"<img src=x>": {"state": "solved", "points": 2}}}}}  # fmt: skip
    launched(course, {"cmi.suspend_data": json.dumps(forged), "cmi.core.entry": "resume"})
    assert told(course)["cmi.core.score.raw"] == "0"


def test_in_a_window_of_its_own_it_finds_the_course_that_opened_it(visit: Visit) -> None:
    course = visit("lms.html")
    course.evaluate("begin({})")
    with course.expect_popup() as opened:
        course.evaluate(f"void window.open('{START}')")
    page = opened.value
    expect(page.locator(".scorm-said")).to_contain_text("Your course is told")
    solve_pencil(page.main_frame, RIGHT)
    assert float(told(course)["cmi.core.score.raw"]) > 0
    page.close(run_before_unload=True)
    course.wait_for_function("course.state === 'after'")
    assert told(course)["cmi.core.entry"] == "resume"


@pytest.mark.parametrize("options", [{"broken": True}, None])
def test_without_a_course_or_with_a_broken_one_the_page_works(
    visit: Visit, options: dict[str, bool] | None
) -> None:
    course = visit("lms.html" if options else START)
    frame = launched(course, **options) if options else course.main_frame
    expect(frame.locator(".scorm-said")).to_contain_text("No course was found around this page")
    solve_pencil(frame, RIGHT)
    expect(
        frame.get_by_role("group", name=PENCIL.title, exact=True).get_by_role("status")
    ).to_contain_text("Solved")
    if options:
        assert course.evaluate("course.calls") == [["LMSInitialize", ""]]


@pytest.mark.exhaustive
def test_nothing_leads_out_of_the_page_but_in_a_new_window(visit: Visit) -> None:
    for page in (START, "kv-cache/book/kv-cache.html"):
        opened = visit.look(page)
        links = opened.evaluate(
            "[...document.links].map((a) => [a.getAttribute('href'), a.target])"
        )
        assert len(links) > 10
        for href, target in links:
            assert href.startswith("#") or target == "_blank", href
        assert opened.evaluate("[...document.querySelectorAll('form[action]')].length") == 0
        assert opened.locator(".bd-sidebar-primary, .prev-next-footer, .search-button").count() == 0
        assert opened.locator(".run-here, .run-exercise, .run-download").count() == 0
        for width in (1300, 360):
            opened.set_viewport_size({"width": width, "height": 900})
            assert_fits(opened)
        assert serious_findings(opened) == []


@pytest.mark.exhaustive
@pytest.mark.lite
def test_with_python_in_the_page_code_counts(visit: Visit) -> None:
    with zipfile.ZipFile(io.BytesIO(scorm_package("kv-cache", HTML, python=True))) as archive:
        archive.extractall(visit.folder / "alive")
    course = visit("lms.html")
    frame = launched(course, page="alive/book/kv-cache.html")
    source = inspect.getsource(import_module("solutions.chunk_mask").REFERENCE)
    place = frame.locator(".here").filter(has=frame.locator("[id='here-chunk_mask-keys']"))
    place.get_by_role("button", name="Do it here").click()
    place.get_by_role("textbox").focus(timeout=COLD)
    course.keyboard.press("ControlOrMeta+a")
    course.keyboard.insert_text(source)
    place.get_by_role("button", name="Check").click()
    points = exercise("chunk_mask").points
    expect(frame.locator(".scorm-said")).to_contain_text(f": {points} of ", timeout=COLD)
    record = json.loads(told(course)["cmi.suspend_data"])["chapters"]["kv-cache"]
    assert record["exercises"]["chunk_mask"] == {"state": "solved", "points": points}
    assert record["answers"]["chunk_mask"]["code"].strip() == source.strip()
