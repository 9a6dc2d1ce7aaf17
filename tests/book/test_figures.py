"""The one palette, and figures as markup of their page."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure

from mini_attn.errors import ConfigError
from mini_attn.notebook import PALETTE, UNDER_WORDS, draw_map, short_weight, use_book_style
from tests.scripts import script
from tools import ROOT

JS = ROOT / "mini_attn/widgets/js"
ROLES = ("query", "key", "value", "weight", "output", "cache", "new", "dropped")
SHEET = (JS / "core/living.css").read_text(encoding="utf-8")
BOOK = (ROOT / "book/assets/book.css").read_text(encoding="utf-8")

figures: Any = script("book/_ext/figures.py")


def properties(selector: str, sheet: str = SHEET) -> dict[str, str]:
    """Colors that a rule gives to custom properties."""
    rule = sheet.partition(selector)[2].partition("}")[0]
    return dict(re.findall(r"--(?:living|pst-color)-([\w-]+): (#[0-9a-f]{6});", rule))


LIGHT, DARK = properties(".living,\nhtml[data-theme] {"), properties("body.vscode-dark .living {")


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG defines it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colors."""
    dim, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dim + 0.05)


def mixed(colour: str, ground: str, share: float) -> str:
    """A color laid over a ground."""
    pairs = [(int(colour[i : i + 2], 16), int(ground[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def test_python_and_css_have_one_palette() -> None:
    assert {name: LIGHT[name] for name in PALETTE} == PALETTE
    assert tuple(PALETTE)[: len(ROLES)] == ROLES
    assert set(DARK) == set(LIGHT)
    assert len({LIGHT[role] for role in ROLES}) == len({DARK[role] for role in ROLES}) == 8
    for name, colour in ((n, c) for n, c in PALETTE.items() if n in ROLES):
        assert f'.role-{name}, .katex [style*="color:{colour}"] ' in SHEET


def test_what_a_picture_falls_back_to_is_the_palette() -> None:
    """A picture that stands alone has the colors of light paper."""
    sheets = "".join(path.read_text("utf-8") for path in JS.glob("*/style.css"))
    used = set(re.findall(r"(?:fill|stroke): var\(--living-([\w-]+), (#[0-9a-f]{6})\)", sheets))
    assert {"query", "key", "value", "weight", "cache", "new"} <= {name for name, _ in used}
    assert used == {(name, LIGHT[name]) for name, _ in used}


@pytest.mark.parametrize(("theme", "colours"), [("light", LIGHT), ("dark", DARK)])
def test_colours_stand_out_from_their_ground(theme: str, colours: dict[str, str]) -> None:
    page = properties(f'html[data-theme="{theme}"] {{', BOOK)
    assert page["background"] == colours["surface"]
    for ground in (colours["surface"], colours["raised"]):
        for name in (*ROLES, "ink", "muted"):
            assert contrast(colours[name], ground) >= 4.5, (name, ground)
        for name in ("blue", "orange", "green", "alarm"):
            assert contrast(colours[name], ground) >= 3, (name, ground)
    assert contrast(colours["line-strong"], colours["surface"]) >= 3
    for role in (*ROLES, "muted"):
        square = mixed(colours[role], colours["surface"], UNDER_WORDS)
        assert contrast(colours["ink"], square) >= 4.5, f"words on a square of {role}"


def drawn(draw: Callable[[Any], object], **options: Any) -> str:
    """The file of a figure in the book's style."""
    with mpl.rc_context():
        use_book_style()
        figure = Figure(**options)
        draw(figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg")
    return file.getvalue()


def line(ax: Any) -> None:
    """Two lines, hatched bars and words."""
    ax.plot([0, 1], [0, 1], label="one")
    ax.plot([0, 1], [1, 0], label="two & more", color="#555555")
    ax.bar([0, 1], [1, 2], facecolor="none", edgecolor=PALETTE["key"], hatch="////")
    ax.legend()


def elements(markup: str) -> list[ElementTree.Element]:
    """All elements of a piece of markup."""
    return list(ElementTree.fromstring(markup).iter())


def test_a_figure_takes_the_colours_of_its_page() -> None:
    markup = figures.Drawing(drawn(line), "drawn-3-", 'a "label" & more').markup()
    box, svg, *inside = elements(markup)
    assert box.get("class") == "drawn"
    assert (svg.get("role"), svg.get("aria-label")) == ("img", 'a "label" & more')
    assert "two & more" in [one.text for one in inside]
    assert {one.tag for one in inside}.isdisjoint({"style", "metadata", "image"})
    assert re.sub(r"var\(--living-[\w-]+,#[0-9a-f]{6}\)", "", markup).count("#") == len(
        re.findall(r"(?:href=\"|url\()#drawn-3-", markup)
    )
    for role in ("query", "key", "muted", "ink"):
        assert f"var(--living-{role},{PALETTE[role]})" in markup
    assert "font-family" not in markup
    ids = [one.get("id") for one in inside if one.get("id")]
    used = set(re.findall(r"(?:href=\"|url\()#([^)\"]+)", markup))
    assert len(ids) == len(set(ids))
    assert set(ids) == used
    assert all(name and name.startswith("drawn-3-") for name in ids)


@pytest.mark.parametrize(
    "draw",
    [
        lambda ax: ax.plot([0, 1], [0, 1], color="#ff00ff"),
        lambda ax: ax.imshow(np.eye(3), cmap="gray"),
    ],
    ids=["a color of its own", "pixels"],
)
def test_a_figure_that_cannot_follow_keeps_its_card(draw: Callable[[Any], object]) -> None:
    markup = figures.Drawing(drawn(draw), "f-", "x").markup()
    assert markup.startswith('<div class="drawn drawn-card"><svg ')
    assert "var(" not in markup


def test_the_least_width_keeps_words_readable() -> None:
    svg = drawn(lambda ax: ax.text(0, 0, "small", fontsize=8), figsize=(5, 3))
    assert figures.Drawing(svg, "f-", "x").least == pytest.approx(5 * 72 * 9 / 8)
    assert figures.Drawing(drawn(line), "f-", "x").least < 328  # a column on a phone


def test_a_map_is_squares_and_words() -> None:
    values = np.array([[1.0, 0.27, np.nan], [0.0, -0.5, 0.5]])
    svg = drawn(lambda ax: draw_map(ax, values, words=short_weight))
    words = [one.text for one in ElementTree.fromstring(svg).iter() if one.tag.endswith("text")]
    assert [word for word in words if word in ("1", ".27", "0", "-.50", "-0.50", ".50")] == [
        *("1", ".27", "0", "-0.50", ".50")
    ]
    strengths = re.findall(r"fill: (#\w+); fill-opacity: ([\d.]+)", svg)
    found = sorted((colour, round(float(strength), 2)) for colour, strength in strengths)
    weight = PALETTE["weight"]
    assert found == [(weight, 0.13), (weight, 0.25), (weight, 0.5), (PALETTE["output"], 0.25)]
    assert "<image" not in svg


@pytest.mark.parametrize(
    ("values", "options", "words"),
    [
        (np.ones(3), {}, "rows, columns"),
        (np.array([[2.0]]), {}, "from -1 to 1"),
        (np.array([[0.5]]), {"largest": 0.4}, "to 0.4"),
        (np.eye(2), {"role": "blue"}, "'blue'"),
        (np.eye(2), {"minus": "red"}, "'red'"),
    ],
)
def test_a_map_refuses(values: np.ndarray, options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        drawn(lambda ax: draw_map(ax, values, **options))
