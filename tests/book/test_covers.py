"""What answers a prediction is covered until the reader has guessed, and never lost."""

from __future__ import annotations

import ast
import re
from collections import Counter

import nbformat
import pytest
from playwright.sync_api import Locator, Page, expect

from mini_attn.widgets.questions import QUESTIONS
from tests.javascript import run
from tests.scripts import script
from tests.site import (
    THEMES,
    WIDTHS,
    assert_fits,
    change,
    layout_shift,
    serious_findings,
    unfold,
)
from tools import HTML, ROOT
from tools.site import Visit

COVERS = script("book/_ext/covers.py")
MOVED = 0.02  # layout shift of a reload; answers that are restored may add 0.002
BOOK = {path.stem: nbformat.read(path, 4).cells for path in sorted(ROOT.glob("book/*.ipynb"))}
CHAPTER = "book/matmul.html"
# These numbers stand in a picture for another reason, most of them on an axis.
SEEN = {"attention/spread", "mqa-gqa/intensity", "flash/bytes", "position/bucket"}


def tags(cell: nbformat.NotebookNode) -> list[str]:
    """A cell's tags."""
    return list(cell.metadata.get("tags", []))


def asked(cells: list[nbformat.NotebookNode]) -> dict[str, nbformat.NotebookNode]:
    """A chapter's predictions and their cells."""
    cells = [cell for cell in cells if "prediction" in tags(cell)]
    return {re.findall(r'"([\w/-]+)"', cell.source)[0]: cell for cell in cells}


def test_each_prediction_is_followed_by_a_cover_or_said_to_need_none() -> None:
    found: Counter[str] = Counter()
    for stem, cells in BOOK.items():
        covered = {key for keys in COVERS.covers_of(cells).values() for key in keys.split()}
        for key, cell in asked(cells).items():
            found[key] += 1
            assert (key in covered) != ("no-result" in tags(cell)), (stem, key)
        assert covered <= set(asked(cells)), stem
    assert found == dict.fromkeys(QUESTIONS, 1)


def test_what_asserts_an_answer_right_behind_the_question_is_covered() -> None:
    """The first code cell behind a prediction does not name its number, unless it is covered."""
    for stem, cells in BOOK.items():
        for key, cell in asked(cells).items():
            answer = QUESTIONS[key].answer
            if not isinstance(answer, int) or answer < 100:
                continue
            number = re.compile(rf"(?<![\d.,_]){'[_,]?'.join(str(answer))}(?![\d_])")
            for after in cells[cells.index(cell) + 1 :][:4]:
                if "prediction" not in tags(after) and key not in COVERS.waits_for(after).split():
                    assert not number.search(after.source), (stem, key, after.source)


def cell(source: str, *tags: str, kind: str = "code") -> nbformat.NotebookNode:
    """A cell for the tests of what is refused."""
    made = nbformat.v4.new_code_cell if kind == "code" else nbformat.v4.new_markdown_cell
    return made(source, metadata={"tags": list(tags)})


def test_covers_that_cannot_work_are_refused() -> None:
    question = cell('Prediction("a/b")', "prediction")
    good = [question, cell("print(1)", "covered-by:a/b"), cell("So.", "covered-by:a/b", kind="md")]
    assert COVERS.covers_of(good) == {1: "a/b", 2: "a/b"}
    for bad in (
        [good[1], question],  # before it was asked
        [question, cell("1", "covered-by:a/c")],
        [question, cell("Rotor()", "widget", "covered-by:a/b")],
        [question, cell("So.\n\n## Next", "covered-by:a/b", kind="md")],
    ):
        with pytest.raises(ValueError, match=r"cell [01] is covered"):
            COVERS.covers_of(bad)


def test_a_line_names_what_a_cover_waits_for_by_its_question() -> None:
    line = COVERS.note(["matmul/square", "attention/score"])
    assert re.findall('<a href="#ask-([^"]*)" data-asks="([^"]*)">(.*?)</a>', line) == [
        ("square", "matmul/square", "How many FLOPs does the product do per byte moved?"),
        ("score", "attention/score", "What is the score of this pair, after the scale?"),
    ]
    assert all(COVERS.title(item.text).endswith("?") for item in QUESTIONS.values())


SHOWN = r"""
const text = ([name, given]) => {
  const {schema, settle, compute, draw, describe} = living.registry[name];
  const state = {...living.defaults(schema), ...given};
  const result = compute(settle ? settle(state) : state);
  const markup = draw(result, {width: 720, uid: name, label: ""});
  return `${describe(result)} ${markup.replace(/<style.*?<\/style>|<[^>]*>/gs, " ")}`;
};
return input.map(text);
"""


def pictures(cells: list[nbformat.NotebookNode]) -> list[tuple[str, dict[str, object]]]:
    """The living pictures of a chapter and the states that they are opened in."""
    found = []
    for source in (cell.source for cell in cells if "widget" in tags(cell)):
        call = ast.parse(source).body[0].value
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", call.func.id).lower()
        found.append((name, {k.arg: ast.literal_eval(k.value) for k in call.keywords}))
    return found


def test_no_picture_opens_on_the_answer_of_a_prediction() -> None:
    """Of those of its chapter; small numbers are everywhere and say nothing."""
    for cells in BOOK.values():
        texts = " ".join(run(SHOWN, pictures(cells)))
        for key in asked(cells):
            answer = QUESTIONS[key].answer
            told = f"{answer:,}" if isinstance(answer, int) else f"{answer:.3g}"
            if len(told) > 1 and answer > 10 and key not in SEEN:
                assert not re.search(rf"(?<![\d.,]){re.escape(told)}(?![\d]|[.,]\d)", texts), key


def cover(page: Page, key: str) -> Locator:
    """The first part that waits for a prediction."""
    return page.locator(f".covered[data-covered-by~='{key}']").first


def answer(page: Page, number: int, text: str) -> None:
    """Answer a prediction of the page."""
    question = page.locator(".living[data-widget=prediction]").nth(number)
    question.get_by_label("Your answer").fill(text)
    page.keyboard.press("Enter")


def is_covered(box: Locator) -> bool:
    """Whether what it covers is not there; a line that says so, and it, at once are a fault."""
    line, body = box.locator(":scope > .covered-note"), box.locator(":scope > .covered-body")
    shown = body.is_visible()
    assert line.count() == 0 or line.is_visible() != shown
    return not shown


def assert_covers_are_in_one_piece(page: Page, stem: str) -> None:
    """A chapter's covers are those of its notebook, each behind its question, and all closed.

    Each chapter is asked so in ``test_browser.py``, unfolded.
    """
    boxes = page.locator(".covered").all()
    assert bool(boxes) == bool(COVERS.covers_of(BOOK[stem]))
    assert all(is_covered(box) for box in boxes)
    assert page.locator(".covered :is(h1, h2, h3, .covered)").count() == 0
    for key in {key for keys in COVERS.covers_of(BOOK[stem]).values() for key in keys.split()}:
        number = list(asked(BOOK[stem])).index(key)
        question = page.locator(".living[data-widget=prediction]").nth(number)
        after = "([a, b]) => Boolean(a.compareDocumentPosition(b) & 4)"
        assert page.locator(f"#ask-{key.split('/')[1]}").count() == 1
        pair = [question.element_handle(), cover(page, key).element_handle()]
        assert page.evaluate(after, pair), key
    cells = page.locator(".covered .cell").count()
    code = [
        BOOK[stem][n] for n in COVERS.covers_of(BOOK[stem]) if BOOK[stem][n].cell_type == "code"
    ]
    assert cells == len([cell for cell in code if "remove-cell" not in cell.metadata.tags])


@pytest.mark.browser
@pytest.mark.parametrize("protocol", ["http", pytest.param("file", marks=pytest.mark.exhaustive)])
def test_a_guess_uncovers_and_is_remembered(visit: Visit, protocol: str) -> None:
    page = visit(CHAPTER, protocol=protocol)
    one, both = cover(page, "matmul/flops"), cover(page, "matmul/square")
    answer(page, 0, "nothing that could be read")
    assert is_covered(one)
    answer(page, 0, "7")  # a wrong guess is a guess
    expect(one.locator(".covered-body")).to_be_visible()
    assert not is_covered(one)
    keys = list(asked(BOOK["matmul"]))
    answer(page, keys.index("matmul/square"), "171")
    assert is_covered(both)  # it waits for two
    answer(page, keys.index("matmul/one-row"), "1/2")
    expect(both.locator(".covered-body")).to_be_visible()
    page.reload()
    unfold(page)
    assert not is_covered(one)
    assert not is_covered(both)
    assert is_covered(cover(page, "matmul/ridge"))
    answer(page, 0, "and this is no number")  # what was answered stays so
    assert not is_covered(one)
    page.reload()
    assert not is_covered(one)
    page.locator(".predict").get_by_role("button", name="Start again").first.click()
    assert is_covered(one)


@pytest.mark.browser
def test_the_card_shows_by_keyboard_what_it_covers_and_covers_it_again(visit: Visit) -> None:
    page = visit.look(CHAPTER, width=360)
    box = cover(page, "matmul/order")
    card = page.locator(".living[data-widget=prediction]").nth(1)
    button = card.get_by_role("button", name="Show me without guessing")
    button.focus()
    top = card.bounding_box()["y"]
    page.keyboard.press("Enter")
    expect(card.get_by_role("status")).to_contain_text("The answer is")
    expect(card.get_by_role("status")).to_be_focused()
    expect(box.locator(".covered-body")).to_be_visible()
    assert card.bounding_box()["y"] == pytest.approx(top, abs=1)  # nothing has jumped
    end = card.bounding_box()["y"] + card.bounding_box()["height"]
    assert box.locator(".covered-body").bounding_box()["y"] - end < 60  # right below the card
    page.reload()
    expect(box.locator(".covered-body")).to_be_visible()
    card.get_by_role("button", name="Start again").press("Enter")
    assert is_covered(box)


@pytest.mark.browser
def test_nothing_stands_where_a_result_follows_its_question(visit: Visit) -> None:
    """And where it lies elsewhere, or waits for two, one line does, which loses the answered."""
    page = visit(CHAPTER)
    assert cover(page, "matmul/flops").bounding_box()["height"] == 0
    both = cover(page, "matmul/square").locator(".covered-note")
    expect(both).to_have_text(
        "Hidden until you’ve answered How many FLOPs does the product do per byte moved?"
        "How many FLOPs does it do per byte?"  # " and " between them is the style sheet's
    )
    assert both.get_by_role("button").count() == 0
    answer(page, list(asked(BOOK["matmul"])).index("matmul/square"), "171")
    assert [link.is_visible() for link in both.get_by_role("link").all()] == [True]
    expect(both.get_by_role("link")).to_have_text("How many FLOPs does it do per byte?")


@pytest.mark.browser
def test_its_link_leads_to_the_field_for_the_answer(visit: Visit) -> None:
    page = visit("book/kv-cache.html")
    line = page.locator(".covered-note:visible").first
    for _ in range(2):  # the second time the address does not change
        line.scroll_into_view_if_needed()
        line.get_by_role("link").press("Enter")
        field = page.locator("#ask-passes + .cell").get_by_label("Your answer")
        expect(field).to_be_focused()
        expect(field).to_be_in_viewport()
        page.evaluate("document.activeElement.blur()")
    page.keyboard.press("Home")
    page.go_back()
    assert page.url.endswith("kv-cache.html")


@pytest.mark.browser
def test_one_switch_uncovers_the_book_and_is_remembered(visit: Visit) -> None:
    page = unfold(visit(CHAPTER))
    switch = page.locator(".run-guess").get_by_role("switch", name="Guess first")
    expect(switch).to_be_checked()
    switch.focus()
    page.keyboard.press(" ")
    assert not any(is_covered(box) for box in page.locator(".covered").all())
    other = page.context.new_page()
    other.goto(page.url.replace("matmul", "rope"))
    unfold(other)
    assert not any(is_covered(box) for box in other.locator(".covered").all())
    other.get_by_role("switch", name="Guess first").check()
    expect(switch).to_be_checked()  # the first page hears of it
    assert all(is_covered(box) for box in page.locator(".covered").all())
    switch.uncheck()
    page.reload()
    unfold(page)
    expect(switch).not_to_be_checked()
    assert not any(is_covered(box) for box in page.locator(".covered").all())


@pytest.mark.browser
def test_paper_and_a_page_without_javascript_show_everything(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    page.emulate_media(media="print")
    boxes = unfold(page).locator(".covered")  # as it opens for a printer
    assert boxes.count() > 4
    assert not any(is_covered(box) for box in boxes.all())
    for protocol in ("http", "file"):
        plain = visit.look(CHAPTER, protocol=protocol, java_script_enabled=False)
        stand_open = plain.locator(".covered:not(.deeper:not([open]) *)")
        assert stand_open.count() > 2
        assert not any(is_covered(box) for box in stand_open.all())
        assert not plain.get_by_text("Guess first").is_visible()


@pytest.mark.browser
def test_without_storage_a_page_still_covers_and_uncovers(visit: Visit) -> None:
    page = visit("book/notation.html")
    page.context.add_init_script("""for (const room of ["localStorage", "sessionStorage"])
      Object.defineProperty(window, room, {get() { throw new DOMException("blocked"); }});""")
    page.goto(page.url.replace("notation", "matmul"))
    box = cover(page, "matmul/flops")
    assert is_covered(box)
    page.get_by_role("button", name="Show me without guessing").first.click()
    expect(box.locator(".covered-body")).to_be_visible()
    answer(page, 1, "8")
    expect(cover(page, "matmul/order").locator(".covered-body")).to_be_visible()
    unfold(page).get_by_role("switch", name="Guess first").uncheck()
    assert not any(is_covered(box) for box in page.locator(".covered").all())
    own = ("blocked", "theme mode")  # the theme's scripts complain of it
    visit.errors[:] = [error for error in visit.errors if not any(word in error for word in own)]


@pytest.mark.browser
def test_a_link_into_a_covered_part_shows_it(visit: Visit) -> None:
    page = visit.look("book/multihead.html#claim-4")
    target = page.locator("#claim-4")
    expect(target).to_be_in_viewport()
    assert is_covered(cover(unfold(page), "multihead/bias"))


@pytest.mark.browser
def test_covers_are_accessible_and_fit(visit: Visit) -> None:
    page = visit.look(CHAPTER)
    for theme, width in zip(THEMES, WIDTHS, strict=True):
        change(page, theme, width)
        assert_fits(page)
        assert serious_findings(page, covered=True) == []


PLACE = (
    "(box) => scrollTo({top: box.getBoundingClientRect().top + scrollY - 200, behavior: 'instant'})"
)


def shift_of_reload(page: Page, number: int) -> float:
    """How far a page moves that is loaded again where a prediction is read."""
    page.locator(".living[data-widget=prediction]").nth(number).evaluate(PLACE)
    place = page.evaluate("scrollY")
    page.reload()
    moved = layout_shift(page, milliseconds=500)
    assert page.evaluate("scrollY") == pytest.approx(place, abs=30)
    return moved


@pytest.mark.browser
@pytest.mark.parametrize(
    ("protocol", "fonts", "width"),
    [
        ("http", False, WIDTHS[0]),
        ("file", True, WIDTHS[1]),
        pytest.param("http", True, WIDTHS[0], marks=pytest.mark.exhaustive),
        pytest.param("http", True, WIDTHS[1], marks=pytest.mark.exhaustive),
        pytest.param("http", False, WIDTHS[1], marks=pytest.mark.exhaustive),
        pytest.param("file", True, WIDTHS[0], marks=pytest.mark.exhaustive),
    ],
)
def test_covers_are_there_from_the_first_paint(
    visit: Visit, protocol: str, fonts: bool, width: int
) -> None:
    """What was guessed before is open when the page is laid out, and the rest is covered."""
    page = visit(CHAPTER, protocol=protocol, width=width)
    if not fonts:
        page.route("**/*.woff2", lambda route: route.abort())
        page.reload()
    before = shift_of_reload(page, 2)
    assert before <= MOVED
    for number in range(3):
        answer(page, number, "512")
    for number in (0, 2):
        assert shift_of_reload(page, number) <= before + MOVED
        question = page.locator(".living[data-widget=prediction]").nth(number)
        expect(question.locator(".predict-feedback")).to_be_visible()
    assert not is_covered(cover(page, "matmul/flops"))
    assert is_covered(cover(unfold(page), "matmul/ridge"))
    if not fonts:
        assert all("woff2" in error for error in visit.errors), visit.errors
        visit.errors.clear()


@pytest.mark.browser
def test_a_page_without_covers_does_not_move_either(visit: Visit) -> None:
    page = visit(CHAPTER)
    page.locator(".about-page > summary").click()
    page.get_by_role("switch", name="Guess first").uncheck()
    page.locator(".about-page > summary").click()  # a page begins with its folds closed
    for number in range(3):
        answer(page, number, "512")
    assert shift_of_reload(page, 2) <= MOVED


@pytest.mark.site
def test_the_built_book_has_the_script_once_where_something_is_covered() -> None:
    for stem, cells in BOOK.items():
        text = (HTML / f"book/{stem}.html").read_text(encoding="utf-8")
        assert text.count("var livingCovers") == bool(COVERS.covers_of(cells)), stem
