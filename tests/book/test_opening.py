"""A chapter opens with its question and its picture; what else comes first is folded below."""

from __future__ import annotations

import re
import sys
from types import SimpleNamespace

import nbformat
import pytest
from playwright.sync_api import Page, expect

from tests.pages import built_page
from tests.scripts import script
from tests.site import change
from tools import ROOT

STEMS = [chapter["page"] for chapter in script("book/_ext/outline.py").outline(ROOT)]
CHAPTERS = script("book/_ext/living.py").read_chapters()
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
        (11, 102, "140 minutes: 27 for the open text, 11 for the folded sections and 102"),
        (0, 40, "67 minutes: 27 for the open text and 40 for the exercises."),
        (0, 0, "27 minutes: 27 for the open text."),
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


@pytest.mark.parametrize("stem", STEMS)
def test_a_chapter_marks_the_factor_that_it_shrinks(stem: str) -> None:
    """Below the first picture, once, and no other factor is marked."""
    facts = sys.modules["chapter_facts"]
    factor = CHAPTERS[stem].factor
    strips = built_page(f"book/{stem}.html").select("article .factor-map")
    assert len(strips) == bool(factor)
    for strip in strips:
        marked = [item.b.get_text() for item in strip.select("li[aria-current]")]
        assert marked == [facts.FACTORS[factor]]
        assert strip.find_previous(class_="living")
        assert strip.find_next("details", class_="about-page")


def test_each_factor_has_its_chapters() -> None:
    factors = set(sys.modules["chapter_facts"].FACTORS)
    assert {chapter.factor for chapter in CHAPTERS.values()} - {None} == factors


def test_a_factor_that_there_is_not_is_refused() -> None:
    chapter = type(CHAPTERS["mla"])("mla", "", 0)
    chapter.__dict__["notebook"] = nbformat.v4.new_notebook(
        metadata={"mini_attn": {"factor": "heads"}}
    )
    with pytest.raises(ValueError, match="shrinks 'heads'; expected one of layers, entries"):
        _ = chapter.factor
