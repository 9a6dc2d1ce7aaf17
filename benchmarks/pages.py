"""Measure the chapters of a built book as a reader meets them, at two sizes of window.

``python -m benchmarks.pages _build/html [--only flash bits] [--counts | --timing] [--out FILE]``
counts what stands on each page, presses every phrase that sets a picture, takes hold of every part
of the central picture, and times it. Without ``--counts`` or ``--timing`` it does both. What it
asks of a page is in ``pages_counts.js`` and ``pages_pictures.js``.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import statistics
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from benchmarks.machine import describe
from benchmarks.page import percentile
from tools import HTML, ROOT
from tools.site import Visit, visiting

SIZES = {"1300": (1300, 800), "390": (390, 844)}  # a laptop's window, and a phone's
KEYS = 30  # presses of an arrow key in a sweep
ROUNDS = 3  # openings whose median is the time of the first picture
SCRIPTS = ("pages_counts.js", "pages_pictures.js")

Facts = dict[str, Any]
Part = Callable[[Visit, str, str], Facts]
Column = tuple[str, str, Callable[[Facts], float | None]]  # head, how it's summed, what it shows


def chapters() -> list[str]:
    """The chapters in the book's order, without its back matter."""
    toc = (ROOT / "_toc.yml").read_text(encoding="utf-8").partition("- caption: Back matter")[0]
    return re.findall(r"- file: book/([\w-]+)", toc)


def opened(visit: Visit, name: str, size: str, *, still: bool = False) -> Page:
    """A page in a profile of its own; a small window belongs to a screen that is touched."""
    visit.close()
    width, height = SIZES[size]
    context = visit.context(
        viewport={"width": width, "height": height},
        color_scheme="light",
        has_touch=width < 600,
        reduced_motion="reduce" if still else "no-preference",
    )
    folder = Path(__file__).parent
    context.add_init_script("".join((folder / name).read_text("utf-8") for name in SCRIPTS))
    page = context.new_page()
    page.goto(visit.url(name, "http"), wait_until="load")
    return page


def ask(page: Page, call: str) -> Any:
    """The answer of one of the scripts' functions."""
    return page.evaluate(f"pageFacts.{call}")


def motion(page: Page) -> Facts | None:
    """Watch what moves after the central picture's first step, or a change of its first control."""
    found: Facts | None = None
    for turn in range(2):  # a control at its end goes the other way
        watched = ask(page, "watchMotion()")
        if watched is None:
            break
        page.keyboard.press(watched["keys"][min(turn, len(watched["keys"]) - 1)])
        found = {"control": watched["control"], **ask(page, "moved()")}
        if found["frames"]:
            break
    return found


def counted(visit: Visit, name: str, size: str) -> Facts:
    """Count what doesn't depend on how fast the machine is."""
    before = len(visit.outside)
    page = opened(visit, name, size)
    found: Facts = {"shift": ask(page, "shifts()"), **ask(page, "counts()"), "motion": motion(page)}
    page = opened(visit, name, size, still=True)
    found["phrases"] = ask(page, "phrases()")
    found["handling"] = ask(page, "handling()")
    return found | {"outside": visit.outside[before:]}


def arrows(steps: int, at: int) -> Iterable[str]:
    """Keys that sweep a slider to its end and back."""
    by = 1
    for _ in range(KEYS):
        if not 0 <= at + by <= steps:
            by = -by
        at += by
        yield "ArrowRight" if by > 0 else "ArrowLeft"


def timed(visit: Visit, name: str, size: str) -> Facts:
    """Time the first picture, and how it follows its first slider."""
    first = []
    for _ in range(ROUNDS):
        page = opened(visit, name, size)
        first.append(ask(page, "firstPicture()"))
    found: Facts = {"first_ms": statistics.median(first)}
    slider = ask(page, "watchPaint()")
    if slider is None:
        return found
    for key in arrows(**slider):
        page.keyboard.press(key)
        ask(page, "paintOver()")
    moved = ask(page, "paintFound()")
    return found | {
        "next_paint_p95_ms": percentile(moved["next"], 0.95),
        "script_p95_ms": percentile(moved["script"], 0.95) if moved["script"] else None,
        "script_max_ms": max(moved["script"], default=None),
        "longest_task_ms": moved["longest_task"],
        "moves": len(moved["script"]),
    }


def field(*keys: str, times: float = 1) -> Callable[[Facts], float | None]:
    """Return what lies behind these keys, or None; of a list its length."""

    def value(facts: Facts) -> float | None:
        found: Any = facts
        for key in keys:
            found = (found or {}).get(key)
        return len(found) if isinstance(found, list) else found and times * found

    return value


def pressed(what: str) -> Callable[[Facts], float | None]:
    """Count the phrases of a page that have led to this."""
    return lambda facts: sum(row[what] for row in facts["phrases"])


def kinds(what: str) -> Callable[[Facts], float | None]:
    """Count the kinds of part that can be handled so: ``q-0`` and ``q-1`` are of one kind."""
    return lambda facts: len({re.sub(r"[-\d]+$", "", part) for part in facts["handling"][what]})


COUNTS: list[Column] = [
    ("controls", "total", field("controls")),
    ("controls, unfolded", "total", field("controls_unfolded")),
    ("box styles", "mean", field("box_styles")),
    ("box classes", "mean", field("box_classes")),
    ("block styles", "mean", field("block_styles")),
    ("block classes", "mean", field("block_classes")),
    ("boxes/screen", "mean", field("boxes_per_screen")),
    ("prose %", "mean", field("prose_share", times=100)),
    ("chars/line", "mean", field("line_characters")),
    ("font sizes", "mean", field("font_sizes")),
    *((f"cut {kind}", "total", field("clipped", kind, "clipped"))
      for kind in ("code", "output", "equation", "table", "figure", "picture")),
    ("phrases", "total", field("phrases")),
    ("docked", "total", pressed("dock")),
    ("sentence seen", "total", pressed("say")),
    ("change seen", "total", pressed("changed")),
    ("picture seen", "total", pressed("whole")),
    ("drags", "total", field("handling", "drag")),
    ("kinds dragged", "total", kinds("drag")),
    ("presses", "total", field("handling", "press")),
    ("kinds pressed", "total", kinds("press")),
    ("animations", "total", field("motion", "animations")),
    ("frames changed", "mean", field("motion", "frames")),
    ("drawings/frame", "most", field("motion", "drawings_per_frame")),
    ("shift load", "most", field("shift", "load")),
    ("shift scroll", "most", field("shift", "scrolling")),
    ("other hosts", "total", field("outside")),
]  # fmt: skip
TIMES: list[Column] = [
    ("first picture ms", "most", field("first_ms")),
    ("next paint p95 ms", "most", field("next_paint_p95_ms")),
    ("script p95 ms", "most", field("script_p95_ms")),
    ("script most ms", "most", field("script_max_ms")),
    ("longest task ms", "most", field("longest_task_ms")),
]
SUMS: dict[str, Callable[[list[float]], float]] = {
    "mean": statistics.fmean,
    "total": sum,
    "most": max,
}


def shown(value: float | None) -> str:
    """A figure as the table has it."""
    if value is None:
        return "–"
    return (
        str(value)
        if isinstance(value, int)
        else f"{value:.4f}"
        if 0 < value < 0.1
        else f"{value:.1f}"
    )


def summed(pages: dict[str, Facts], columns: list[Column]) -> dict[str, dict[str, float | None]]:
    """Mean, total and largest of every column; a total only of what can be added."""
    sums: dict[str, dict[str, float | None]] = {name: {} for name in SUMS}
    for head, kind, show in columns:
        values = [value for facts in pages.values() if (value := show(facts)) is not None]
        for name, combine in SUMS.items():
            useful = values and (name != "total" or kind == "total")
            sums[name][head] = combine(values) if useful else None
    return sums


def table(pages: dict[str, Facts], columns: list[Column], size: str) -> str:
    """A line for each chapter, and the names of the columns above."""
    rows = {stem: {head: show(facts) for head, _, show in columns} for stem, facts in pages.items()}
    rows |= summed(pages, columns)
    width, height = SIZES[size]
    lines = [f"{width} x {height}"] + [f"{i + 1} {head}" for i, (head, _, _) in enumerate(columns)]
    grid = [["", *(str(i + 1) for i in range(len(columns)))]]
    grid += [[stem, *(shown(row[head]) for head, _, _ in columns)] for stem, row in rows.items()]
    wide = [max(len(line[i]) for line in grid) for i in range(len(grid[0]))]
    text = [
        line[0].ljust(wide[0])
        + "".join(cell.rjust(n + 2) for cell, n in zip(line[1:], wide[1:], strict=True))
        for line in grid
    ]
    return "\n".join([" · ".join(lines), *text])


def measure(html: Path, stems: list[str], parts: Sequence[Part]) -> Facts:
    """The facts of each chapter at both sizes."""
    found: Facts = {size: {} for size in SIZES}
    with visiting(html) as visit:
        for stem in stems:
            for size in SIZES:
                print(f"[pages] {stem} at {size}", file=sys.stderr, flush=True)
                facts: Facts = {}
                for part in parts:
                    facts |= part(visit, f"book/{stem}.html", size)
                found[size][stem] = facts
        visit.close()
        found["errors"] = visit.errors
    return found


def main(arguments: list[str] | None = None) -> None:
    """Measure, print the table, and keep the raw figures where ``--out`` says."""
    parser = argparse.ArgumentParser(description="Measure the pages of a built book.")
    parser.add_argument("html", type=Path, nargs="?", default=HTML)
    parser.add_argument("--only", nargs="+", metavar="chapter", default=chapters())
    parser.add_argument("--out", type=Path)
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--counts", action="store_true", help="only what any machine finds alike")
    kind.add_argument("--timing", action="store_true", help="only what needs a quiet machine")
    given = parser.parse_args(arguments)
    parts: list[Part] = [
        part for part, off in ((counted, given.timing), (timed, given.counts)) if not off
    ]
    columns = [*(COUNTS if counted in parts else []), *(TIMES if timed in parts else [])]
    pages = measure(given.html, given.only, parts)
    for size in SIZES:
        print(table(pages[size], columns, size), end="\n\n")
    for error in pages["errors"]:
        print(f"error: {error}")
    if given.out:
        command = shlex.join(["python", "-m", "benchmarks.pages", *(arguments or sys.argv[1:])])
        sums = {size: summed(pages[size], columns) for size in SIZES}
        record = {**describe(), "command": command, "sums": sums, "pages": pages}
        given.out.write_text(
            json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
