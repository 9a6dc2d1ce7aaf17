"""A chapter opens with its question and its picture; what else comes first is folded below."""

from __future__ import annotations

import re
from types import SimpleNamespace

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.pages import built_page
from tests.scripts import script
from tests.site import change
from tools import ROOT

STEMS = [chapter["page"] for chapter in script("book/_ext/outline.py").outline(ROOT)]
SCREENS = {"wide": (1440, 800), "phone": (390, 844)}
SEEN = """() => {
  const box = (part) => document.querySelector(part).getBoundingClientRect();
  const drawn = [...document.querySelectorAll(".living")[0].querySelectorAll("svg")]
    .map((svg) => svg.getBoundingClientRect()).filter((one) => one.height > 60);
  return {question: box(".question").top, guess: box(".guess").bottom,
          top: Math.min(...drawn.map((one) => one.top)),
          bottom: Math.min(...drawn.map((one) => one.bottom)), left: scrollX};
}"""


@pytest.mark.parametrize("stem", STEMS)
def test_a_notebook_begins_with_a_question_and_a_guess(stem: str) -> None:
    cells = nbformat.read(ROOT / f"book/{stem}.ipynb", 4).cells
    title, question, guess = cells[0].source.split("\n\n")
    assert re.fullmatch(r"# .+", title)
    assert re.fullmatch(r"\*\*.+\?\*\*", question)
    assert guess.startswith("**Predict, then move:** ")
    assert len(cells[0].source.split()) <= 75
    kinds = [cell.metadata.get("tags", [""])[0] for cell in cells[1:] if cell.cell_type == "code"]
    opening = kinds[: kinds.index("widget")]
    assert opening == ["import"] * len(opening)


@pytest.mark.parametrize(
    ("deeper", "tasks", "told"),
    [
        (11, 102, "140 minutes: 27 for what stands open, 11 for what is folded and 102 for the"),
        (0, 40, "67 minutes: 27 for what stands open and 40 for the exercises."),
        (0, 0, "27 minutes: 27 for what stands open."),
    ],
)
def test_the_minutes_of_a_chapter_are_all_in_their_sum(deeper: int, tasks: int, told: str) -> None:
    chapter = SimpleNamespace(visit=27, deeper=deeper, working=tasks)
    assert told in script("book/_ext/opening.py").summed(chapter)


@pytest.mark.parametrize("stem", STEMS)
def test_a_page_folds_what_is_not_its_question(stem: str) -> None:
    """Goals, needs, set-up and the links to run it: in one closed box, before the first section."""
    article = built_page(f"book/{stem}.html").select_one("article > section")
    about = article.find("details", class_="about-page", recursive=False)
    assert not about.has_attr("open")
    told = r"(\d+) min to read · (\d+) min to predict and try( · \d+ min deeper)? ·\s(\d+) min of"
    minutes = re.search(told, about.summary.get_text()).groups(default="0")
    numbers = [int(re.search(r"\d+", part)[0]) for part in minutes]
    assert f"about {sum(numbers)} minutes: " in about.select_one(".about-minutes").get_text()
    imports = article.select("div.tag_import")
    assert imports
    assert all(about in cell.parents for cell in imports)
    assert len(about.select(".run-links")) == len(article.select(".run-links")) == 1
    assert about.find(string=re.compile("After this page you can"))
    assert about.find(string=re.compile("^(You need|It helps)"))
    first = article.find("section")
    order = [article.select_one(".question"), article.select_one(".guess"),
             article.select_one(".living"), about, first]  # fmt: skip
    places = list(article.descendants)
    assert sorted(map(places.index, order)) == list(map(places.index, order))


def assert_first_screen_holds_question_and_picture(page: Page, screen: str) -> None:
    """All of the question and the guess, and the picture to its end, with nothing scrolled.

    Each chapter is asked so in ``test_browser.py``.
    """
    width, height = SCREENS[screen]
    change(page, "light", width)
    page.set_viewport_size({"width": width, "height": height})
    expect(page.locator(".living.living-on").first).to_be_visible()
    seen = page.evaluate(SEEN)
    assert seen["question"] >= 0
    assert seen["guess"] <= height
    assert seen["bottom"] <= height, seen
