"""The measuring of pages runs on the book, and its figures follow faults that are planted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks import pages
from tools import HTML
from tools.site import Visit, visiting

pytestmark = pytest.mark.browser

# A column with a picture far below a phrase that sets it: the phrase brings it, as the book's do.
PAGE = """<!doctype html><style>
  body {{ margin: 0; font: 16px/1.5 monospace; }} article {{ width: 700px; }}
  .living-dock {{ position: fixed; bottom: 0; left: 0; width: 100%; max-height: 50vh; }}
  .living-dock {{ overflow: auto; }}
  pre {{ overflow: auto; }} {style}
</style><body><article><section>
<h1>A page</h1>
<p>{words} <a class="sets" href="#thing:x=3">a phrase</a></p>
<button>One</button> <button hidden>Not seen</button>
<details><summary>Two</summary><input></details>
<div class="note">A box</div> <pre>{code}</pre>
<div style="height: 3000px"></div>
<div class="living" data-widget="thing"><div class="living-live">
  <div class="living-output"><div class="living-first"></div><p class="living-say"></p></div>
  <button data-do="step">Step</button><input type="range" data-key="x" min="0" max="9" value="1">
</div></div></section></article><script>
const box = document.querySelector(".living"), live = box.firstElementChild;
const [first, say, field] = [".living-first", ".living-say", "input"]
  .map((part) => live.querySelector(part));
const draw = (x) => {{
  field.value = x;
  first.innerHTML = `<svg width="300" height="200"><rect width="300" height="200" fill="#eee"/>
    <rect data-id="a" x="${{20 * x}}" y="150" width="20" height="20"/></svg>`;
  say.textContent = "It is at " + x;
}};
let held = null;
first.addEventListener("pointerdown", ({{ target, clientX }}) => {{
  held = {drags} && target.dataset.id ? clientX - 20 * field.value : null;
}});
first.addEventListener("pointermove", ({{ clientX }}) => {{
  if (held !== null) draw(Math.round((clientX - held) / 20));
}});
first.addEventListener("pointerup", () => {{ held = null; }});
live.querySelector("button").addEventListener("click", () => {{
  draw(+field.value + 1);
  for (let i = 0; i < {again}; i++) draw(field.value);
  first.firstChild.lastElementChild.animate([{{ opacity: 0 }}, {{}}], 300);
}});
field.addEventListener("input", () => draw(field.value));
addEventListener("click", (event) => {{
  const link = event.target.closest("a.sets");
  if (!link) return;
  event.preventDefault();
  if (!document.querySelector(".living-dock")) {{
    const dock = Object.assign(document.createElement("aside"), {{ className: "living-dock" }});
    document.body.append(dock);
    dock.append(live);
  }}
  draw(+(link.hash.split("x=")[1] ?? 1));
}});
addEventListener("keydown", ({{ key }}) => {{
  if (key !== "Escape") return;
  box.append(live);
  document.querySelector(".living-dock")?.remove();
}});
draw(1);
performance.mark("living:first");
</script>"""
SOUND = {"style": "", "words": "word " * 60, "code": "short", "drags": "true", "again": "0"}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[tuple[Path, Visit]]:
    """A folder for one small page, and visits of it."""
    with visiting(tmp_path) as visit:
        yield tmp_path / "page.html", visit
        visit.close()


def measured(small: tuple[Path, Visit], size: str = "1300", **faults: str) -> pages.Facts:
    """What is counted on the small page with some faults."""
    path, visit = small
    path.write_text(PAGE.format(**(SOUND | faults)), encoding="utf-8")
    return pages.counted(visit, path.name, size)


def test_a_small_page_is_counted(small: tuple[Path, Visit]) -> None:
    facts = measured(small)
    assert (facts["controls"], facts["controls_unfolded"]) == (4, 5)
    assert facts["block_classes"] == []
    assert 31 not in facts["font_sizes"]
    assert 60 <= facts["line_characters"] <= 75  # 700 px of letters that are 9.6 px wide
    assert not any(kind["clipped"] for kind in facts["clipped"].values())
    [phrase] = facts["phrases"]
    assert [phrase[key] for key in ("dock", "say", "changed", "whole", "changes")] == [True] * 4 + [
        1
    ]
    assert facts["handling"] == {"parts": 1, "drag": ["a"], "press": []}
    assert facts["motion"]["animations"] == 1
    assert facts["motion"]["drawings_per_frame"] == 1
    assert facts["outside"] == []
    assert facts["shift"]["load"] < 0.01


def test_planted_faults_are_seen(small: tuple[Path, Visit]) -> None:
    facts = measured(
        small,
        style=".note { border: 1px solid red; } .living-first { margin-top: 60vh; }"
        "h1 { font-size: 31px; }",
        code="wide" * 100,
        drags="false",
        again="2",
    )
    assert facts["block_classes"] == ["note"]
    assert 31 in facts["font_sizes"]
    assert facts["clipped"]["code"] == {"all": 1, "clipped": 1}
    [phrase] = facts["phrases"]
    assert [phrase[key] for key in ("dock", "say", "changed", "whole")] == [
        True,
        False,
        False,
        False,
    ]
    assert facts["handling"]["drag"] == []
    assert facts["motion"]["drawings_per_frame"] == 3


def test_a_sentence_below_the_fold_is_told_from_a_picture_in_sight(
    small: tuple[Path, Visit],
) -> None:
    [phrase] = measured(small, "390", style=".living-say { margin-top: 50vh; }")["phrases"]
    assert (phrase["say"], phrase["changed"], phrase["whole"]) == (False, True, True)


def test_a_slider_is_swept_and_timed(small: tuple[Path, Visit]) -> None:
    path, visit = small
    path.write_text(PAGE.format(**SOUND), encoding="utf-8")
    facts = pages.timed(visit, path.name, "1300")
    assert facts["moves"] == pages.KEYS
    assert 0 < facts["script_p95_ms"] <= facts["next_paint_p95_ms"]
    assert facts["first_ms"] > 0


def test_arrows_turn_at_the_ends() -> None:
    keys = list(pages.arrows(steps=2, at=2))
    assert keys[:5] == ["ArrowLeft"] * 2 + ["ArrowRight"] * 2 + ["ArrowLeft"]
    assert len(keys) == pages.KEYS


@pytest.mark.exhaustive
def test_the_book_is_measured_into_a_table_and_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert pages.chapters()[0] == "start"
    out = tmp_path / "pages.json"
    pages.main([str(HTML), "--only", "rope", "--counts", "--out", str(out)])
    printed = capsys.readouterr().out
    assert printed.count("\nrope ") == 2
    assert "error:" not in printed
    record = json.loads(out.read_text(encoding="utf-8"))
    assert record["command"].endswith(f"--only rope --counts --out {out}")
    assert {"machine", "versions", "date", "sums"} <= set(record)
    for size in pages.SIZES:
        facts = record["pages"][size]["rope"]
        assert facts["controls"] > 10
        assert facts["phrases"]
        assert facts["handling"]["parts"]
        assert 0 < facts["prose_share"] < 1
