"""The picture that opens a chapter: with its main control it stands on the first screen."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from mini_attn.widgets.base import STATIC
from tests.sampling import sampled
from tests.scripts import script
from tests.site import watched
from tests.widgets.test_widgets_browser import FRAME, WIDGETS
from tools.site import Visit, visiting

pytestmark = pytest.mark.browser

LIVING = script("book/_ext/living.py")
OPENING = [LIVING.opening(chapter)[1] for chapter in LIVING.read_chapters().values()]
ROOM = 560  # pixels below the head, the title and the question, on both screens
SCREENS = [(1440, 800, 688), (390, 844, 358)]  # window, and the book's column in it
# The settings of the one fold everywhere; the other has a single control.
FOLDED = [name for name in OPENING if name not in {"inside_model", "softmax_choice"}]

HEIGHT = """() => {
  const place = (style) => document.querySelector(style).getBoundingClientRect();
  const controls = [...document.querySelectorAll(".living-controls :is(input, button, select)")];
  const seen = controls.filter((one) => one.checkVisibility());
  return {
    whole: place(".living-first svg").bottom - place(".living-app").top,
    picture: place(".living-first svg").height,
    controls: seen.length,
    below: Math.max(...seen.map((one) => one.getBoundingClientRect().bottom))
      - place(".living-first svg").top,
  };
}"""


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    folder: Path = tmp_path_factory.mktemp("first")
    for name in ("living.page.js", "living.trained.js", "living.css"):
        (folder / name).write_bytes((STATIC / name).read_bytes())
    for name in OPENING:
        for window, _, column in SCREENS:
            page = FRAME.format(theme="light", body=WIDGETS[name]()._html())
            style = f"<style>body{{margin:0}}main{{width:{column}px;margin:0 auto}}</style>"
            (folder / f"{name}-{window}.html").write_text(style.join(page.split("</head>", 1)))
    with visiting(folder) as visits:
        yield visits


@pytest.fixture
def open_page(visits: Visit) -> Iterator[Visit]:
    yield from watched(visits)


def screen(open_page: Visit, name: str, window: int, height: int) -> Page:
    page = open_page.look(f"{name}-{window}.html", width=window)
    page.set_viewport_size({"width": window, "height": height})
    page.wait_for_function("document.querySelector('.living-first svg')")
    return page


@pytest.mark.parametrize("name", sampled(OPENING, lambda _: "an opening", 6))
def test_control_and_picture_stand_on_one_screen(open_page: Visit, name: str) -> None:
    """Wide, every control is there; on a phone, the same after one press."""
    counts = []
    for window, height, _ in SCREENS:
        page = screen(open_page, name, window, height)
        found = page.evaluate(HEIGHT)
        assert found["whole"] <= ROOM, f"{window} x {height}: {found}"
        assert found["picture"] >= 200, "nothing is reached by leaving the picture out"
        assert found["controls"] >= 1
        assert found["below"] <= 0, "the control stands over its picture"
        if name in FOLDED:
            counts.append(unfolded(page, window == 390))
    if name in FOLDED:
        assert counts[0] == counts[1] >= 1


def unfolded(page: Page, phone: bool) -> int:
    """How many controls are seen, after one press where some fold."""
    button = page.get_by_role("button", name="Settings")
    seen = page.locator(".living-controls [data-control]:visible")
    assert phone or not button.is_visible()
    if button.is_visible():
        expect(button).to_have_attribute("aria-expanded", "false")
        folded = seen.count()
        button.press("Enter")
        expect(button).to_have_attribute("aria-expanded", "true")
        assert seen.count() > folded
    return seen.count()


def test_the_second_part_opens_on_a_phone(open_page: Visit) -> None:
    page = screen(open_page, "decode_stepper", 390, 844)
    second = page.locator(".living-second")
    assert second.locator("svg").count() == 0  # nobody sees it, nobody draws it
    second.locator("summary").click()
    expect(second.locator("svg")).to_be_visible()
    expect(second.locator("summary")).to_have_text("Weights and running totals")
    page.get_by_role("button", name="Step").click()
    expect(second.get_by_text("Added up to step 1")).to_be_visible()
    page = screen(open_page, "decode_stepper", 1440, 800)
    expect(page.locator(".living-second svg")).to_be_visible()
