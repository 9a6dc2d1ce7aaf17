"""Every page of the built book in a real Chromium, with every outside host blocked.

Over http and from a folder (``file://``), light and dark, 1300 and 360 pixels wide. The book
must be built first; ``make test`` does that. What the widgets do in detail is tested in
``test_widgets_browser.py``; here it is that they do it on the page. What other files ask of each
page is asked here too, as a page's load takes longer than the questions.
"""

from __future__ import annotations

import itertools
import re
from collections import Counter
from pathlib import Path

import nbformat
import pytest
from playwright.sync_api import Page, Route, expect

from mini_attn.exercises.spec import exercise, exercise_ids
from tests.book.test_accessible import assert_usable_at_four_hundred_percent
from tests.book.test_covers import assert_covers_are_in_one_piece
from tests.book.test_figures_browser import DRAWN, assert_words_of_figures_are_readable
from tests.book.test_opening import STEMS as OPENING
from tests.book.test_opening import assert_first_screen_holds_question_and_picture
from tests.exercises.test_open_browser import assert_questions_have_a_place_and_practice_a_model
from tests.sampling import sampled
from tests.scripts import script
from tests.site import (
    THEMES,
    WIDTHS,
    assert_fits,
    change,
    layout_shift,
    open_settings,
    serious_findings,
    unfold,
)
from tools import ROOT
from tools.pages import names
from tools.site import Visit

pytestmark = pytest.mark.browser
read_chapters = script("book/_ext/living.py").read_chapters

PAGES = names()
STEMS = sorted(path.stem for path in (ROOT / "book").glob("*.ipynb"))
ROAD = [c.stem for c in read_chapters().values() if c.part == "The road"]


def kind_of(name: str) -> str:
    """Pages that are made alike, of which a few stand for all in a sample."""
    stem = Path(name).stem
    if stem.startswith("api-"):
        return "api"
    if stem in OPENING:
        return "a chapter of the road" if stem in ROAD else "another chapter"
    return "another page"  # those that compute have tests of their own


SAMPLE = sampled(PAGES, kind_of)
CHAPTERS = [name for name in PAGES if Path(name).stem in STEMS]
CHAPTER = "book/kv-cache.html"
STILL = 0.02  # layout shift of a page that opens
STEPPER = ".living[data-widget=decode_stepper]"
CALCULATOR = ".living[data-widget=cache_calculator]"


def test_no_page_was_missed() -> None:
    stems = {Path(name).stem for name in PAGES}
    assert {"index", "notation", "glossary", "references", *STEMS} <= stems


def living_cells(name: str) -> Counter[str]:
    """How many pictures and predictions a chapter's notebook has."""
    notebook = nbformat.read(ROOT / "book" / f"{Path(name).stem}.ipynb", as_version=4)
    tags = [tag for cell in notebook.cells for tag in cell.metadata.get("tags", [])]
    return Counter(tag for tag in tags if tag in ("widget", "prediction", "living-plot"))


def assert_all_widgets_are_alive(page: Page, name: str) -> None:
    """Every picture and prediction of a chapter's notebook is there, and none as a picture."""
    cells = living_cells(name)
    assert page.locator(".living[data-widget]").count() == cells.total()
    assert page.locator(".living[data-widget=prediction]").count() == cells["prediction"]
    expect(page.locator(".living.living-on")).to_have_count(cells.total())
    assert page.locator(".living-picture:visible").count() == 0


def assert_exercises_have_boxes_that_open(page: Page, name: str) -> None:
    """Hints for every exercise of the chapter, and the solution of those that are practice."""
    own = [item for item in map(exercise, exercise_ids()) if item.page == Path(name).stem]
    boxes = page.locator(".exercise-boxes")
    assert boxes.count() == len(own)
    practice = [item for item in own if not item.assessed]
    in_words = [item for item in practice if item.kind == "open"]
    assert page.get_by_text("Solution (it passed").count() == len(practice) - len(in_words)
    assert boxes.get_by_text("Compare with a model answer").count() == len(in_words)
    for number in range(boxes.count()):
        boxes.nth(number).locator("summary").first.click()
        assert boxes.nth(number).locator("p").first.is_visible()


# A page is loaded once over each protocol, and asked all that looks at it and keeps nothing.
@pytest.mark.parametrize("name", SAMPLE)
def test_page_over_http(visit: Visit, name: str) -> None:
    page = visit.look(name)
    assert layout_shift(page) < STILL
    if Path(name).stem in OPENING:
        assert_first_screen_holds_question_and_picture(page, "wide")
        change(page, "light", WIDTHS[0])
    assert_fits(unfold(page))
    assert serious_findings(page, sparing=True) == [], "light"
    change(page, "dark", WIDTHS[0])
    assert_fits(page)
    assert serious_findings(page, colours=True, sparing=True) == [], "dark"
    if name in CHAPTERS:
        assert_all_widgets_are_alive(page, name)
        assert_covers_are_in_one_piece(page, Path(name).stem)
        assert_questions_have_a_place_and_practice_a_model(page, Path(name).stem)
        assert_exercises_have_boxes_that_open(page, name)


@pytest.mark.parametrize(
    ("name", "width"), [(CHAPTER, WIDTHS[0]), ("book/sliding-window.html", WIDTHS[1])]
)
def test_a_picture_that_is_painted_before_its_script_does_not_move(
    visit: Visit, name: str, width: int
) -> None:
    """A browser may paint between the first picture's markup and its script: here it does."""
    page = visit("book/notation.html", width=width)
    waiting: list[Route] = []
    page.route("**/living.page.js*", lambda route: waiting.append(route))
    page.goto(visit.url(name, "http"), wait_until="commit")
    page.wait_for_function("performance.getEntriesByName('first-contentful-paint').length")
    assert page.locator(".living-picture").first.is_visible()
    waiting[0].continue_()
    expect(page.locator(".living").first).to_have_class(re.compile("living-on"))
    page.wait_for_load_state()
    assert layout_shift(page) < STILL / 4


@pytest.mark.parametrize(
    ("theme", "width"),
    [
        pytest.param(*so, marks=() if so == (THEMES[1], WIDTHS[1]) else pytest.mark.exhaustive)
        for so in itertools.product(THEMES, WIDTHS)
    ],
)
def test_a_page_that_opens_so_fits_and_has_no_barrier(visit: Visit, theme: str, width: int) -> None:
    page = visit.look(CHAPTER, theme=theme, width=width)
    assert_fits(page)
    assert serious_findings(page) == []


@pytest.mark.exhaustive
def test_a_barrier_is_found_among_what_looks_alike(visit: Visit) -> None:
    """One of each look is measured: a leaf, or what stands around it, that differs is another."""
    page = visit.look("book/api-cost.html")
    paint = "(node) => { node.style.color = '#ddd'; node.style.background = '#eee'; }"
    assert serious_findings(page) == []
    page.locator("article .highlight span.n").last.evaluate(paint)
    page.locator("article p.rubric").last.evaluate(paint)
    (found,) = serious_findings(page)
    assert found.startswith("color-contrast")
    assert found.count("color: rgb(221, 221, 221)") == 2
    assert serious_findings(page, colours=True) == [found]


@pytest.mark.parametrize("name", SAMPLE)
def test_page_from_a_folder(visit: Visit, name: str) -> None:
    page = visit.look(name, protocol="file", width=WIDTHS[1])
    assert layout_shift(page) < STILL
    assert page.locator("article h1").is_visible()
    if name in CHAPTERS:
        assert_all_widgets_are_alive(page, name)
    if Path(name).stem in OPENING:
        assert_first_screen_holds_question_and_picture(page, "phone")
    assert_usable_at_four_hundred_percent(page)
    change(page, "light", WIDTHS[1])
    assert_fits(unfold(page))
    if Path(name).stem in DRAWN:
        assert_words_of_figures_are_readable(page)


@pytest.mark.parametrize(
    ("name", "protocol"),
    [
        (STEPPER, "file"),
        pytest.param(STEPPER, "http", marks=pytest.mark.exhaustive),
        pytest.param(CALCULATOR, "http", marks=pytest.mark.exhaustive),
        pytest.param(CALCULATOR, "file", marks=pytest.mark.exhaustive),
    ],
)
def test_each_control_of_the_page_answers_to_the_keyboard(
    visit: Visit, name: str, protocol: str
) -> None:
    page = unfold(visit.look(CHAPTER, protocol=protocol, width=360))
    box = page.locator(name)
    controls = box.locator("[data-key]:visible, .living-choice input")
    assert controls.count() >= 4
    for number in range(controls.count()):
        box.get_by_role("button", name="Reset").click()
        open_settings(box)
        control = controls.nth(number)
        if control.evaluate("e => e.type === 'radio' && e.checked"):
            continue
        before = box.locator(".living-result").inner_html()
        control.focus()
        kind = control.evaluate("e => e.type")
        page.keyboard.press({"range": "ArrowRight", "radio": " "}.get(kind, "ArrowUp"))
        if box.locator(".living-result").inner_html() == before:
            page.keyboard.press("ArrowDown" if kind != "range" else "ArrowLeft")
        after = box.locator(".living-result").inner_html()
        assert after != before, control.evaluate("e => e.outerHTML")


def test_a_prediction_names_the_slip_and_then_the_reason(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    box = page.locator(".living[data-widget=prediction]").first
    box.get_by_label("Your answer").fill("100")
    page.keyboard.press("Enter")
    expect(box.locator(".predict-feedback")).to_contain_text("Not yet")
    box.get_by_label("Your answer").fill("5,050")
    box.get_by_role("button", name="Check").click()
    expect(box.locator(".predict-feedback")).to_contain_text("Right")


def test_link_to_a_state_opens_it(visit: Visit) -> None:
    page = visit.look(f"{CHAPTER}#decode_stepper:step=4&cached=false")
    expect(page.locator(f"{STEPPER} [data-grip=step]")).to_have_attribute("aria-valuenow", "4")
    expect(page.locator(STEPPER).get_by_role("radio", name="off")).to_be_checked()


MALFORMED = [
    "step=99", "step=-1", "step=1.5", "step=NaN", "step=", "unknown=1", "__proto__=1",
    "cached=perhaps", "step=<img src=x onerror=alert(1)>",
    "step=%3Cscript%3Ealert(1)%3C/script%3E", "%E0%A4%A", "step=" + "9" * 5000,
]  # fmt: skip


def test_malformed_links_run_nothing_and_change_nothing(visit: Visit) -> None:
    """The page is opened with one, and the others are followed on it, each after a good one."""
    page = visit.look(f"{CHAPTER}#decode_stepper:{MALFORMED[0]}")
    box = page.locator(STEPPER)
    step, note = box.locator("[data-grip=step]"), box.locator(".living-note")
    expect(note).to_be_visible()
    expect(step).to_have_attribute("aria-valuenow", "0")
    for state in MALFORMED:
        page.evaluate("location.hash = '#decode_stepper:step=3'")
        expect(step).to_have_attribute("aria-valuenow", "3")
        expect(note).to_be_hidden()
        page.evaluate("(hash) => { location.hash = hash; }", f"#decode_stepper:{state}")
        expect(note).to_be_visible()
        expect(step).to_have_attribute("aria-valuenow", "3")
        assert page.locator(f"{STEPPER} img, {STEPPER} .living-live script").count() == 0, state


def test_printing_shows_the_pictures(visit: Visit) -> None:
    page = unfold(visit.look(CHAPTER))  # the calculator is in a fold
    page.emulate_media(media="print")
    for name in (STEPPER, CALCULATOR):
        assert page.locator(f"{name} .living-picture svg").is_visible()
        assert not page.locator(f"{name} .living-live").is_visible()
    assert len(page.pdf()) > 100_000


def test_without_javascript_pictures_and_answers_are_there(visit: Visit) -> None:
    page = visit.look(CHAPTER, java_script_enabled=False)
    fold = page.locator("details.deeper", has=page.locator(CALCULATOR))
    fold.locator("> summary").click()
    for name in (STEPPER, CALCULATOR):
        assert page.locator(f"{name} .living-picture svg").is_visible()
    answer = page.locator(".living[data-widget=prediction] details").first
    assert not answer.locator("p").first.is_visible()
    answer.locator("summary").click()
    assert answer.locator("p").first.is_visible()


@pytest.mark.soak
@pytest.mark.parametrize("name", CHAPTERS)
def test_each_exercise_and_prediction_by_keyboard_alone(visit: Visit, name: str) -> None:
    page = visit.look(name, width=360)
    # A model answer opens once something is written: test_open_browser.py.
    for summary in page.locator(".exercise-more:not([id^=model-]) > summary").all():
        summary.focus()
        page.keyboard.press("Enter")
        assert summary.evaluate("e => e.parentElement.open"), summary.inner_text()
    answered = ".predict:not(.predict-fallback, .in-words, .in-words *)"
    for question in page.locator(answered).all():
        question.get_by_label("Your answer").focus()
        page.keyboard.type("123456789")
        page.keyboard.press("Enter")
        expect(question.get_by_role("status")).not_to_be_empty()
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "BUTTON"
        page.keyboard.press("Enter")
        expect(question.get_by_role("status")).not_to_be_empty()


def test_search_finds_a_page_from_a_folder(visit: Visit) -> None:
    page = visit.look("search.html?q=prefill", protocol="file")
    expect(page.locator("#search-results")).to_contain_text("KV caching", timeout=15_000)


@pytest.mark.exhaustive
def test_no_page_is_marked_with_the_words_of_a_search(visit: Visit) -> None:
    """Neither the page that was found nor the one that is opened next."""
    page = visit("search.html?q=prefill")
    result = page.locator("#search-results li a").first
    expect(result).to_be_visible(timeout=15_000)
    assert page.evaluate("localStorage.getItem('sphinx_highlight_terms')") == "prefill"
    result.click()
    page.wait_for_url("**/book/**")
    for _ in range(2):
        expect(page.locator("article h1")).to_be_visible()
        page.wait_for_timeout(300)
        expect(page.get_by_text("Hide Search Matches")).to_have_count(0)
        expect(page.locator("span.highlighted")).to_have_count(0)
        page.goto(visit.url("book/kv-cache.html", "http"))


@pytest.mark.parametrize("protocol", ["http", "file"])
def test_an_old_link_to_the_first_page_keeps_its_state(visit: Visit, protocol: str) -> None:
    page = visit("book/index.html#home_model:l0h1=false&l0h2=false", protocol=protocol)
    page.wait_for_url("**/index.html#home_model:l0h1=false&l0h2=false")
    assert "/book/" not in page.url
    switch = page.locator(".living[data-widget=home_model]").get_by_role("switch", name="L0H1")
    expect(switch).not_to_be_checked()


def test_the_search_leads_to_the_first_page(visit: Visit) -> None:
    page = visit("search.html?q=living+attention+book")
    found = page.locator("#search-results li a[href='index.html']")
    expect(found.first).to_be_visible(timeout=15_000)


def test_front_page_leads_to_the_book(visit: Visit) -> None:
    page = visit.look("index.html", protocol="file")
    page.locator(".chapter-card").first.click()
    page.wait_for_url(lambda url: Path(url).stem in STEMS)
    assert page.locator("article h1").is_visible()


def test_axe_sees_a_fault(visit: Visit) -> None:
    """The accessibility check can fail: an input without a label is found."""
    page = visit.look("book/notation.html")
    page.evaluate("document.querySelector('article').innerHTML += '<input type=range>'")
    assert any(finding.startswith("label") for finding in serious_findings(page))


def test_outside_requests_are_seen(visits: Visit) -> None:
    """The request check can fail: a picture from elsewhere is recorded and blocked."""
    page = visits.look("book/notation.html")
    failed = page.evaluate("""() => new Promise((failed, loaded) => {
      Object.assign(new Image(), {onerror: failed, onload: loaded, src: 'http://192.0.2.1/a.png'});
    }).then(() => "blocked")""")
    assert failed == "blocked"
    assert visits.outside == ["http://192.0.2.1/a.png"]
    visits.outside.clear()
    visits.close()
    (error,) = visits.errors
    assert "PROXY" in error
    visits.errors.clear()


def test_dialogs_are_seen(visits: Visit) -> None:
    """A dialog is answered, and counts as an error."""
    assert visits.look("book/notation.html").evaluate("confirm('go on?')") is False
    assert visits.errors == ["a dialog: go on?"]
    visits.errors.clear()


def test_a_look_finds_nothing_of_the_look_before(visit: Visit) -> None:
    """Neither stored nor in the page, nor how the window was."""
    state = """() => [localStorage.mine, sessionStorage.mine, window.mine, innerWidth,
      ...["print", "(prefers-color-scheme: dark)"].map((name) => matchMedia(name).matches)]"""
    for protocol in ("http", "file"):
        page = visit.look(CHAPTER, protocol=protocol, theme="dark", width=500)
        page.emulate_media(media="print")
        page.evaluate("window.mine = localStorage.mine = sessionStorage.mine = 1")
        assert page.evaluate(state)[-2:] == [True, True]
        page = visit.look(f"{CHAPTER}#on-the-same-page", protocol=protocol)
        assert page.evaluate(state) == [None, None, None, 1300, False, False]
