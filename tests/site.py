"""What the browser tests ask of a page that is open: no complaint, no other host, no barrier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from playwright.sync_api import Frame, Locator, Page, expect

from tools.bundle import packages
from tools.site import Visit

Room = TypeVar("Room", Page, Frame)
THEMES = ("light", "dark")
WIDTHS = (1300, 360)
COLD = 240_000  # milliseconds that Python may take to come on a busy machine
expect.set_options(timeout=30_000)  # and a page to answer; the 5 s that are usual were too few


def assert_fits(page: Page) -> None:
    """Nothing is wider than the window."""
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


SHIFT = """(milliseconds) => new Promise((resolve) => {
  let sum = 0;
  new PerformanceObserver((list) => { for (const shift of list.getEntries()) sum += shift.value; })
    .observe({type: "layout-shift", buffered: true});
  setTimeout(() => resolve(sum), milliseconds);
})"""


def layout_shift(page: Page, milliseconds: int = 100) -> float:
    """How far a page has moved since it was opened, and does in the next moments."""
    return float(page.evaluate(SHIFT, milliseconds))


def unfold(page: Room) -> Room:
    """Open what a chapter folds: its goals, set-up and links to run it, and longer arguments."""
    boxes = "document.querySelectorAll('.about-page, .deeper')"
    page.evaluate(f"{boxes}.forEach((box) => {{ box.open = true; }})")
    return page


def open_settings(box: Locator) -> None:
    """Show the controls that fold, where some do."""
    button = box.get_by_role("button", name="Settings")
    if button.is_visible() and button.get_attribute("aria-expanded") == "false":
        button.click()


def watched(visits: Visit) -> Iterator[Visit]:
    """One test's visits; at the end nothing was raised and no other host was asked."""
    yield visits
    visits.close()
    found = (visits.errors[:], visits.outside[:])
    visits.errors.clear()
    visits.outside.clear()
    assert found == ([], [])


# Contrast is what takes axe its time, and it follows from a word's own look and what is painted
# behind it: one of each kind is measured. In a picture, where things lie on each other, each word
# is, but for a chapter's pictures: they have pages of their own in the widgets' tests.
COLOURS = ["color-contrast", "link-in-text-block"]
AXE = """async ([covered, runOnly, sparing]) => {
  // What waits for a guess is looked at as well, and its lid only where it is asked for.
  const root = document.documentElement, waits = root.classList.contains("guess-first");
  if (!covered && waits) {
    root.classList.remove("guess-first");
    // What is wider than the page gets its focus once it is laid out.
    for (let frame = 0; frame < 3; frame += 1) await new Promise(requestAnimationFrame);
  }
  const article = document.querySelector("article"), numbers = new Map(), grounds = new WeakMap();
  // What an element is painted on, as a number: its own and its ancestors' paint.
  const ground = (node) => {
    if (!node) return 0;
    if (!grounds.has(node)) {
      const { backgroundColor, backgroundImage, opacity, position, filter, mixBlendMode }
        = getComputedStyle(node);
      const own = [backgroundColor, backgroundImage, opacity, position, filter, mixBlendMode];
      const below = ground(node.parentElement), key = [below, ...own].join("|");
      const plain = own.join("|") === "rgba(0, 0, 0, 0)|none|1|static|none|normal";
      if (!plain && !numbers.has(key)) numbers.set(key, numbers.size + 1);
      grounds.set(node, plain ? below : numbers.get(key));
    }
    return grounds.get(node);
  };
  const look = (node) => {
    const { color, fill, fontSize, fontWeight, visibility, display, textShadow }
      = getComputedStyle(node);
    return [ground(node), node.tagName, node.getAttribute("class"), color, fill, fontSize,
      fontWeight, visibility, display, textShadow, node.checkVisibility()].join("|");
  };
  const seen = new Set();
  const alike = `:not(svg, svg *)${sparing ? ", .living svg *" : ""}`;
  for (const node of article.querySelectorAll(alike)) {
    const kind = look(node);
    node.toggleAttribute("data-twin", seen.has(kind));
    seen.add(kind);
  }
  axe.configure({rules: [{id: "color-contrast", selector: ":not([data-twin])"}]});
  // Preloading would ask for imported styles at addresses that do not exist.
  const options = {preload: false, resultTypes: ["violations"], ...runOnly && {runOnly}};
  const {violations} = await axe.run(article, options);
  root.classList.toggle("guess-first", waits);
  return violations;
}"""


# How a page looks in a theme once nothing moves any more.
SETTLED = """async (theme) => {
  // At least two frames; more on a machine that's slow to run the page's own script.
  const late = () => document.documentElement.dataset.theme !== theme;
  for (let n = 0; n < 2 || (late() && n < 300); n += 1) await new Promise(requestAnimationFrame);
  for (const one of document.getAnimations()) if (one instanceof CSSTransition) one.finish();
  return !late();
}"""


def change(page: Page, theme: str, width: int) -> None:
    """Let an open page be light or dark and so wide, as one that was opened so."""
    page.set_viewport_size({"width": width, "height": 900})
    page.emulate_media(color_scheme=theme)  # type: ignore[arg-type]
    assert page.evaluate(SETTLED, theme)


def serious_findings(
    page: Page, *, covered: bool = False, colours: bool = False, sparing: bool = False
) -> list[str]:
    """Axe's serious and critical findings in the article, with the fonts it is set in.

    In another theme of a page that was looked at the ``colours`` are all that is left to find.
    A ``sparing`` look takes one word of each kind from living pictures too.
    """
    page.evaluate("document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
    page.evaluate((packages() / "axe-core/axe.min.js").read_text())
    return [
        f"{item['id']}: {item['help']} {[node['html'][:150] for node in item['nodes']]}"
        for item in page.evaluate(AXE, [covered, COLOURS if colours else None, sparing])
        if item["impact"] in ("serious", "critical")
    ]
