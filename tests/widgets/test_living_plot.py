"""A living plot: what it refuses, what it carries, and how it moves, is read and is printed."""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from mini_attn.errors import ConfigError, ShapeError, WidgetStateError
from mini_attn.widgets import LivingPlot
from mini_attn.widgets.living_plot import MOST_POINTS
from mini_attn.widgets.panels import Bars, Curves, Grid
from mini_attn.widgets.plot_axes import limits, ticks, written
from mini_attn.widgets.plot_checks import ROLES
from tests.javascript import built, run
from tests.site import THEMES, WIDTHS, serious_findings, watched
from tools.site import Visit, visiting

X = [1, 2, 4, 8]
SVG = "{http://www.w3.org/2000/svg}"


def powers() -> LivingPlot:
    """Two curves on logarithmic axes, one of which a slider changes, beside dots and lines."""
    panel = Curves(
        X, {"same": X, "power": lambda p: np.array(X, float) ** p},
        dashed=["same"], dots={"end": ([8], lambda p: [8.0**p])}, log="xy",
        xlabel="x", ylabel="x to the p", across={"ten": 10}, upright={"p": lambda p: p},
    )  # fmt: skip
    steps = (1, 2, 3, 4, 5, 6)
    return LivingPlot("powers", panel, steps=steps, control="p", say=lambda p: f"Now p is {p}.")


def shares() -> LivingPlot:
    """Bars and a grid, for two buttons."""
    cells = Grid("ab", "xyz", lambda s: np.arange(6).reshape(2, 3) * s, words={0: "nothing"})
    roles = {"two": "cache"}
    bars = Bars(["one", "two"], lambda s: [s, 100 - s], title="Shares", unit="%", roles=roles)
    return LivingPlot(
        "shares", bars, cells, steps={"few": 10, "many": 90}, control="how many",
        say=["Few.", "Many <b>&</b>."], step=1,
    )  # fmt: skip


# ---------------------------------------------------------------- what it refuses


def curves(**options: Any) -> Curves:
    return Curves(**{"x": X, "series": {"a": X}, **options})


REFUSED: list[tuple[Callable[[], Any], type[Exception], str]] = [
    (lambda: curves(series={"a": [1, 2]}), ShapeError, r"'a' needs the shape \(4,\), got \(2,\)"),
    (lambda: curves(series={"a": [1, 2, np.nan, 3]}), ConfigError, "'a' holds nan; a gap"),
    (lambda: curves(series={"a": [1, np.inf, 2, 3]}, gaps=True), ConfigError, "'a' holds inf"),
    (lambda: curves(series={"a": [1, 2, 0, 3]}, log="y"), ConfigError, "'a' is on a logarithmic"),
    (lambda: curves(x=[0, 1, 2, 3], log="x"), ConfigError, "'x' is on a logarithmic axis and"),
    (lambda: curves(x=[1, 1, 2, 3]), ConfigError, "two ascending numbers"),
    (lambda: curves(roles={"b": "key"}), ConfigError, "roles names 'b'; there are a"),
    (lambda: curves(roles={"a": "blue"}), ConfigError, "role of 'a' is one of query.*not 'blue'"),
    (lambda: curves(dashed=["b"]), ConfigError, "dashed names 'b'"),
    (lambda: curves(dots={"a": ([1], [2])}), ConfigError, "a label stands twice in a, a"),
    (lambda: curves(dots={"d": ([1], [2, 3])}), ShapeError, "'d' needs the shape"),
    (lambda: curves(across={"line": [1, 2]}), ShapeError, "'line' needs the shape"),
    (lambda: curves(log="z"), ConfigError, "log is"),
    (lambda: Bars(["a", "a"], [1, 2]), ConfigError, "names of bars differ"),
    (lambda: Bars(["a", "b"], [1, 2, 3]), ShapeError, "'values' needs the shape"),
    (lambda: Bars(["a", "b"], [1, np.nan]), ConfigError, "'values' holds nan"),
    (lambda: Grid("ab", "cd", np.ones((2, 3))), ShapeError, r"\(2, 2\), got \(2, 3\)"),
    (lambda: Grid("ab", "cd", np.ones((2, 2)), role="red"), ConfigError, "not 'red'"),
    (lambda: curves(x=range(MOST_POINTS), series={"a": range(MOST_POINTS)}), ConfigError, "8,000"),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_bad_data_is_refused_at_once(number: int) -> None:
    make, kind, words = REFUSED[number]
    with pytest.raises(kind, match=words):
        LivingPlot("bad", make(), say="Nothing.")


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"name": "A plot"}, ConfigError, "small letters"),
        ({"steps": (1, 2)}, ConfigError, "control="),
        ({"steps": (1, 1), "control": "n"}, ConfigError, "same words: 1, 1"),
        ({"steps": range(41), "control": "n"}, ConfigError, "at most 40 steps, not 41"),
        ({"say": ""}, ConfigError, "a sentence is empty"),
        ({"say": ["a", "b"]}, ShapeError, "2 sentences for 1 steps"),
        ({"step": 1}, WidgetStateError, "from 0 to 0, got 1"),
        ({"reader": 4}, WidgetStateError, "from -1 to 3, got 4"),
        ({"reader": "a"}, WidgetStateError, "reader is a whole number"),
        ({"colour": "red"}, WidgetStateError, "not colour"),
    ],
)
def test_bad_figures_are_refused_at_once(
    options: dict[str, Any], kind: type[Exception], words: str
) -> None:
    given = {"name": "plot", "say": "So.", **options}
    with pytest.raises(kind, match=words):
        LivingPlot(given.pop("name"), curves(), **given)


def test_no_panel_is_no_plot() -> None:
    with pytest.raises(ConfigError, match="1 to 3 panels, not 0"):
        LivingPlot("none", say="Nothing.")


def test_a_cell_can_set_the_step_and_not_beyond_it() -> None:
    plot = powers()
    plot.step = 5
    for key, value in (("step", 6), ("reader", 4), ("step", -1)):
        with pytest.raises(WidgetStateError):
            setattr(plot, key, value)
    assert plot.state == {"step": 5, "reader": -1}


# ---------------------------------------------------------------- what it carries


def test_numbers_are_those_of_the_cell_rounded() -> None:
    (panel,) = powers()._figure["panels"]
    same, power = panel["series"]
    assert same["y"] == [X]  # once: no step changes it
    np.testing.assert_allclose(power["y"], [np.power(X, float(p)) for p in range(1, 7)], rtol=5e-4)
    assert panel["dots"][0]["y"][1] == [64]
    assert [line["at"] for line in panel["lines"]] == [[10], [1, 2, 3, 4, 5, 6]]
    assert panel["ylim"][0] < 1
    assert panel["ylim"][1] > 8**6
    third = Curves(X, {"a": [1 / 3] * 4}).spec([None])
    assert third["series"][0]["y"] == [[0.3333] * 4]


def test_gaps_are_no_numbers() -> None:
    spec = Curves(X, {"a": [1, np.nan, 2, np.nan]}, gaps=True).spec([None])
    assert spec["series"][0]["y"] == [[1, None, 2, None]]
    assert Bars("ab", [0, 10], log="y").spec([None])["y"] == [[None, 10]]
    assert "NaN" not in json.dumps(spec)


def test_ends_and_ticks_of_axes() -> None:
    low, high = limits([np.array([3.0, 9.0])], log=False, zero=True)
    assert low == 0
    assert 9 < high < 10
    assert ticks(0, 1, log=False) == [0, 0.2, 0.4, 0.6, 0.8, 1]
    assert ticks(1, 1e6, log=True) == [1, 10, 100, 1000, 1e4, 1e5, 1e6]
    assert ticks(2, 60, log=True) == [2, 5, 10, 20, 50]
    told = [written(v) for v in (0, 0.25, -3, 1024, 2e6, 1e-5, 3e9)]
    assert told == ["0", "0.25", "−3", "1,024", "2M", "10⁻⁵", "3G"]


def test_the_printed_picture_is_well_formed_and_says_the_step() -> None:
    for plot, words in ((powers(), "p: 1. Now p is 1."), (shares(), "how many: many. Many")):
        page = plot._html()
        root = ET.fromstring(re.search(r"<svg.*</svg>", page, re.DOTALL)[0])  # type: ignore[index]
        assert words in page
        assert not re.search(r"nan|None", ET.tostring(root, "unicode"))
        assert len(list(root.iter(f"{SVG}text"))) > 6
        for rect in root.iter(f"{SVG}rect"):
            assert float(rect.get("width", 0)) > 0
    assert "Many &lt;b&gt;&amp;&lt;/b&gt;." in page
    assert page.count("</script>") == 2


def test_every_role_has_a_colour() -> None:
    style = (built() / "living.css").read_text("utf-8")
    assert all(re.search(rf"\.plot-{role}\{{--plot:", style) for role in ROLES)


# ---------------------------------------------------------------- its JavaScript


def test_a_step_moves_by_way_of_what_lies_between() -> None:
    """Half-way is the mean, on a logarithmic axis the geometric one; a gap stays one."""
    body = """
      const at = (step) => living.compute(input, step);
      return [0, 0.5, 1].map((t) => living.blend(input, at(0), at(2), t)[0]);"""
    got = run(body, powers()._figure, sources=["living_plot/compute.js"])
    start, half, end = (np.array(one["series"][1]) for one in got)
    np.testing.assert_allclose(half, np.sqrt(start * end), rtol=1e-4)
    np.testing.assert_allclose(end, np.power(X, 3.0))
    assert [one["lines"][1] for one in got] == pytest.approx([1, np.sqrt(3), 3])


def test_values_are_read_and_tabled_in_every_kind_of_panel() -> None:
    body = """
      const [figure, step, points] = input;
      const shown = living.compute(figure, step);
      return [living.reading(figure, shown, points), living.tables(figure, shown, step)];"""
    sources = ["living_plot/compute.js", "living_plot/words.js"]
    said, (table,) = run(body, [powers()._figure, 1, [2]], sources=sources)
    assert said == "X 4: same 4 · power 16"
    assert table["rows"][2] == ["4", "4", "16"]
    assert table["caption"] == "x to the p, p 2"
    said, tables = run(body, [shares()._figure, 1, [1, -1]], sources=sources)
    assert said == "Two: Shares: 10 %"
    assert tables[0]["rows"] == [["one", "90"], ["two", "10"]]
    assert tables[1]["rows"][0] == ["a", "nothing", "90", "180"]


@pytest.mark.parametrize(
    ("value", "words"),
    [(None, "–"), (0, "0"), (0.12345, "0.123"), (-2.5, "−2.5"), (98765.4, "98,765"),
     (2e-5, "2.0·10⁻⁵"), (12.0, "12")],
)  # fmt: skip
def test_numbers_have_three_digits(value: float | None, words: str) -> None:
    assert run("return living.number(input);", value, sources=["living_plot/words.js"]) == words


# ---------------------------------------------------------------- in a browser


FRAME = """<!doctype html><html lang="en" data-theme="{theme}"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width"><title>Plots</title>
<link rel="icon" href="data:,"><link rel="stylesheet" href="living.css">
<script src="living.page.js" defer></script>
<style>html[data-theme=dark] body {{ background: #14181d }}</style></head>
<body><main><article>{body}</article></main></body></html>"""
NOTEBOOK = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Notebook</title>
<link rel="icon" href="data:,"><div id="cell"></div><script type="module">
import widget from "./living.jupyter.js";
const values = {"_widget": "living_plot", "step": 0, "reader": -1, "_figure": FIGURE};
const listeners = [];
window.model = {
  get: (key) => values[key],
  set(key, value) {
    values[key] = value;
    for (const [event, callback] of listeners) if (event === `change:${key}`) callback({}, value);
  },
  on: (event, callback) => listeners.push([event, callback]),
  off(event, callback) {
    listeners.splice(listeners.findIndex(([e, c]) => e === event && c === callback), 1);
  },
  save_changes() {},
};
window.count = () => listeners.length;
window.cleanUp = widget.render({ model, el: document.getElementById("cell") });
</script></html>"""


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Visit]:
    """Both plots on a page, and one in a notebook's front end."""
    place = tmp_path_factory.mktemp("plots")
    for name in ("living.page.js", "living.jupyter.js", "living.css"):
        shutil.copy(built() / name, place / name)
    boxes = powers()._html() + shares()._html()
    for theme in THEMES:
        (place / f"{theme}.html").write_text(FRAME.format(theme=theme, body=boxes), "utf-8")
    figure = json.dumps(powers()._figure)
    (place / "notebook.html").write_text(NOTEBOOK.replace("FIGURE", figure), "utf-8")
    with visiting(place) as found:
        yield found


@pytest.fixture
def open_page(visits: Visit) -> Iterator[Visit]:
    yield from watched(visits)


CUT = """[...document.querySelectorAll(".living-output svg")].flatMap((svg) => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll("text")].filter((text) => {
    const place = text.getBoundingClientRect();
    return place.left < frame.left - 1 || place.right > frame.right + 1;
  }).map((text) => text.textContent);
})"""


def box(page: Page, number: int) -> Locator:
    return page.locator(".living[data-widget=living_plot]").nth(number)


def curve(plot: Locator) -> Locator:
    """The curve that changes."""
    return plot.locator(".living-output path.plot-line").last


def path(plot: Locator) -> str:
    """Its way."""
    return str(curve(plot).get_attribute("d"))


@pytest.mark.browser
@pytest.mark.parametrize("theme", THEMES)
def test_plots_fit_and_have_no_barrier(open_page: Visit, theme: str) -> None:
    for protocol in ("http", "file"):
        for width in WIDTHS:
            page = open_page.look(f"{theme}.html", protocol=protocol, theme=theme, width=width)
            assert box(page, 0).locator(".living-output svg").is_visible()
            assert not box(page, 0).locator(".living-picture").is_visible()
            over = page.evaluate("document.documentElement.scrollWidth - innerWidth")
            assert over <= 0, f"{over} px too wide at {width}"
            if protocol == "http":
                assert serious_findings(page, colours=theme == "dark") == []
            assert page.evaluate(CUT) == [], f"{width} pixels"


@pytest.mark.browser
def test_a_slider_moves_the_curves_and_the_sentence(open_page: Visit) -> None:
    page = open_page("light.html")
    plot = box(page, 0)
    before = path(plot)
    plot.get_by_role("slider", name="p", exact=True).press("ArrowRight")
    expect(plot.locator(".plot-say")).to_have_text("Now p is 2.")
    expect(curve(plot)).not_to_have_attribute("d", before)
    plot.get_by_role("slider", name="p", exact=True).press("ArrowLeft")
    expect(plot.locator(".plot-say")).to_have_text("Now p is 1.")
    expect(curve(plot)).to_have_attribute("d", before)  # where it came from, exactly
    again = box(page, 1)
    again.get_by_role("radio", name="few").check(force=True)
    expect(again.locator(".plot-say")).to_have_text("Few.")


@pytest.mark.browser
def test_who_wants_no_motion_sees_none(open_page: Visit) -> None:
    page = open_page("light.html")
    page.emulate_media(reduced_motion="reduce")
    plot = box(page, 0)
    before = path(plot)
    moved = plot.get_by_role("slider", name="p", exact=True).evaluate(
        """(slider) => {
          slider.value = 3;
          slider.dispatchEvent(new Event("input", {bubbles: true}));
          const output = slider.closest(".living").querySelector(".living-output");
          return [...output.querySelectorAll("path.plot-line")].at(-1).getAttribute("d");
        }"""
    )
    assert moved != before
    page.wait_for_timeout(300)
    assert path(plot) == moved


@pytest.mark.browser
def test_values_are_read_by_pointer_and_keyboard(open_page: Visit) -> None:
    page = open_page("light.html")
    plot = box(page, 0)
    surface = plot.get_by_role("slider", name="Read values")
    surface.focus()
    page.keyboard.press("End")
    expect(plot.locator(".plot-reading")).to_have_text("X 8: same 8 · power 8")
    page.keyboard.press("ArrowLeft")
    expect(plot.locator(".plot-reading")).to_contain_text("X 4:")
    assert surface.get_attribute("aria-valuetext") == "X 4: same 4 · power 4"
    assert surface.get_attribute("aria-valuenow") == "2"
    surface.hover(position={"x": 60, "y": 100})
    expect(plot.locator(".plot-reading")).to_contain_text("X 1:")
    surface.click(position={"x": 400, "y": 100})
    expect(plot.locator(".plot-reading")).not_to_contain_text("X 1:")
    plot.get_by_text("The picture as a table").click()
    expect(plot.locator("table tbody tr")).to_have_count(len(X))


@pytest.mark.browser
def test_what_the_steps_move_is_dragged(open_page: Visit) -> None:
    """An upright line sets the step, the reader's line beside it stays, and follows on its own."""
    page = open_page("light.html")
    plot = box(page, 0)
    slider = plot.get_by_role("slider", name="p", exact=True)
    way = plot.locator(".plot-way")
    assert way.count() == 1, "the dots move upwards only, and the line across stays"
    way.scroll_into_view_if_needed()
    place = way.bounding_box()
    assert place
    x, y = place["x"] + 12, place["y"] + 60
    page.mouse.move(x, y)
    page.mouse.down()
    read = plot.locator(".plot-reading").inner_text()
    page.mouse.move(x + 300, y, steps=4)
    expect(slider).not_to_have_value("0")
    expect(slider).not_to_have_value("5")
    page.mouse.move(x + 2000, y, steps=4)
    expect(slider).to_have_value("5")
    expect(plot.locator(".living-say")).to_have_text("Now p is 6.")
    expect(plot.locator(".plot-reading")).to_have_text(read)
    page.mouse.up()
    slider.press("ArrowLeft")  # the same by its control
    after = way.bounding_box()
    assert after
    assert after["x"] > place["x"]
    surface = plot.get_by_role("slider", name="Read values").bounding_box()
    assert surface
    page.mouse.move(surface["x"] + 60, y)
    page.mouse.down()
    page.mouse.move(surface["x"] + surface["width"] - 40, surface["y"] - 60, steps=4)
    page.mouse.up()
    expect(plot.locator(".plot-reading")).to_contain_text("X 8:")


@pytest.mark.browser
@pytest.mark.parametrize("protocol", ["http", pytest.param("file", marks=pytest.mark.exhaustive)])
def test_a_link_opens_one_plot_at_a_step(open_page: Visit, protocol: str) -> None:
    page = open_page.look("light.html#plot-powers:step=3&reader=2", protocol=protocol)
    plot = box(page, 0)
    expect(plot.locator(".plot-say")).to_have_text("Now p is 4.")
    expect(plot.locator(".plot-reading")).to_have_text("X 4: same 4 · power 256")
    expect(box(page, 1).locator(".plot-say")).to_have_text("Many <b>&</b>.")
    page.evaluate("location.hash = '#plot-shares:step=0'")
    expect(box(page, 1).locator(".plot-say")).to_have_text("Few.")
    for bad in ("step=9", "step=x", "__proto__=1", "reader=99"):
        page.evaluate("(bad) => { location.hash = `#plot-powers:${bad}`; }", bad)
        expect(plot.locator(".living-note")).to_be_visible()
        expect(plot.locator(".plot-say")).to_have_text("Now p is 4.")
        page.evaluate("location.hash = '#plot-powers:step=3'")
        expect(plot.locator(".living-note")).to_be_hidden()


@pytest.mark.browser
def test_print_and_no_javascript_show_the_picture(open_page: Visit) -> None:
    page = open_page.look("light.html")
    page.emulate_media(media="print")
    assert box(page, 0).locator(".living-picture svg").is_visible()
    assert not box(page, 0).locator(".living-live").is_visible()
    page = open_page.look("light.html", java_script_enabled=False)
    assert box(page, 1).locator(".living-picture svg").is_visible()


@pytest.mark.browser
def test_a_notebook_and_its_kernel_share_the_state(open_page: Visit) -> None:
    page = open_page("notebook.html")
    plot = page.locator("#cell")
    page.evaluate("model.set('step', 2)")
    expect(plot.locator(".plot-say")).to_have_text("Now p is 3.")
    plot.get_by_role("slider", name="p", exact=True).press("ArrowRight")
    assert page.evaluate("model.get('step')") == 3
    page.evaluate("model.set('step', 99)")
    expect(plot.locator(".living-note")).to_contain_text("step is 0 to 5, not 99")
    page.evaluate("cleanUp()")
    assert page.evaluate("count()") == 0
