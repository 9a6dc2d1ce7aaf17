"""The help below an exercise, and the few kinds of box that a chapter has."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import expect

from mini_attn.exercises.spec import exercise, exercise_ids
from tests.scripts import script
from tests.site import unfold
from tools.site import Visit


@pytest.mark.parametrize("name", exercise_ids())
def test_hints_and_errors_show_code_as_code(name: str) -> None:
    prose = script("book/_ext/exercises.py").prose
    task = exercise(name)
    for text in (*task.hints, *task.common_errors):
        html = prose(text)
        assert "`" not in html
        assert html.count("<code>") == html.count("</code>") == text.count("`") / 2


def test_what_stands_in_code_is_escaped() -> None:
    prose = script("book/_ext/exercises.py").prose
    assert prose("a < b, `c < d`") == "a &lt; b, <code>c &lt; d</code>"


@pytest.mark.parametrize("name", ["cached_step", "chunk_mask", "learned_factor"])
def test_help_opens_step_by_step_and_ends_with_what_may_be_shown(name: str) -> None:
    """Each step lies in the one before it, so that none is seen before that is open."""
    task = exercise(name)
    place = BeautifulSoup(script("book/_ext/exercises.py").more(task), "html.parser")
    (step,), titles = place.div.find_all("details", recursive=False), []
    while step:
        titles.append(step.summary.get_text())
        step, *more = [*step.find_all("details", recursive=False), None]
        assert more in ([], [None])
    last = "Compare with a model answer" if task.kind == "open" else "Solution (it passed the check"
    assert titles[:3] == ["Help", "Hint 2: the steps", "Common errors"]
    assert len(titles) == (3 if task.assessed else 4)
    assert task.assessed or titles[3].startswith(last)
    assert place.details.find("p").get_text() == "Hint 1: the idea"
    assert bool(place.find(id=f"model-{name}")) == (task.kind == "open" and not task.assessed)


# What is seen of the article as a box: it has a ground of its own, or an edge on the left or on two
# sides. A kind is what it looks like. A picture is one box, whatever is in it.
KINDS = """() => {
  const clear = (colour) => colour === "transparent" || /, 0\\)$/.test(colour);
  const ground = (box) => {
    for (let over = box.parentElement; over; over = over.parentElement) {
      const { backgroundColor } = getComputedStyle(over);
      if (!clear(backgroundColor)) return backgroundColor;
    }
  };
  const small = "button, input, select, textarea, option, img, table, table *, svg, svg *, code, a,"
    + " label, .katex *, hr";
  const kinds = {};
  for (const box of document.querySelectorAll("article *")) {
    const picture = box.parentElement.closest(".living-app");
    if (box.matches(small) || (picture && !picture.matches(".predict"))) continue;
    const { width, height } = box.getBoundingClientRect();
    const seen = { visibilityProperty: true, opacityProperty: true };
    if (width < 40 || height < 16 || !box.checkVisibility(seen)) continue;
    const look = getComputedStyle(box);
    const edge = (side) => {
      const parts = ["Width", "Style", "Color"].map((part) => look[`border${side}${part}`]);
      const [size, style, colour] = parts;
      return parseFloat(size) >= 1 && style !== "none" && !clear(colour) && parts.join(" ");
    };
    const fill = !clear(look.backgroundColor) && look.backgroundColor !== ground(box);
    if (!fill && !edge("Left") && !(edge("Top") && edge("Bottom"))) continue;
    const { backgroundColor, borderTopLeftRadius } = look;
    const kind = [fill && backgroundColor, edge("Left"), edge("Top"), borderTopLeftRadius];
    (kinds[kind.join(" | ")] ??= []).push(box.className);
  }
  return kinds;
}"""


@pytest.mark.browser
@pytest.mark.parametrize("stem", ["kv-cache", "attention", "bits", "model"])
def test_a_chapter_has_few_kinds_of_box(visit: Visit, stem: str) -> None:
    """Code, what asks, what folds and a picture, with all folds open."""
    page = unfold(visit.look(f"book/{stem}.html"))
    kinds = page.evaluate(KINDS)
    assert 4 <= len(kinds) <= 8, kinds
    page.evaluate("""document.querySelector("article p").style.background = "rgb(1, 2, 3)" """)
    assert len(page.evaluate(KINDS)) == len(kinds) + 1  # it can count


@pytest.mark.browser
def test_help_is_one_closed_box_and_no_check_stands_above(visit: Visit) -> None:
    page = visit.look("book/kv-cache.html")
    assert page.get_by_text("not attempted").count() == 0
    assert page.get_by_text("check(").count() == 0
    help_ = page.locator(".exercise-boxes").first
    assert [s.is_visible() for s in help_.locator("summary").all()] == [True, False, False, False]
    for number, title in enumerate(("Help", "Hint 2", "Common errors", "Solution")):
        summary = help_.locator("summary").nth(number)
        expect(summary).to_contain_text(title)
        summary.press("Enter")
        assert help_.locator("summary:visible").count() == min(number + 2, 4)
    expect(help_.locator("pre")).to_be_visible()
