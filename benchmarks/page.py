"""The page's rows: how soon a widget is there, how fast it follows, what the page weighs."""

from __future__ import annotations

import gzip
import json
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
from playwright.sync_api import Page

from tools.pages import names
from tools.site import Visit, visiting

FIRST = "performance.getEntriesByName('living:first')[0].startTime"

WIDTHS = (1300, 360)

# What a page has painted by now: its largest piece, and how far things have moved.
OPENED = """(milliseconds) => new Promise((resolve) => {
  const found = {largest_paint_ms: 0, shift: 0};
  const watch = (type, note) => new PerformanceObserver((list) => {
    for (const entry of list.getEntries()) note(entry);
  }).observe({type, buffered: true});
  watch('largest-contentful-paint', (entry) => { found.largest_paint_ms = entry.startTime; });
  watch('layout-shift', (entry) => { found.shift += entry.value; });
  setTimeout(() => resolve(found), milliseconds);
})"""

# Until the next frame has been drawn.
FRAME = """const frame = () => new Promise((done) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }));"""

# Each move of a slider: script time until the handlers are done, and time until the next frame.
SWEEP = (
    "async (input) => {"
    + FRAME
    + """
  const script = [], paint = [];
  const values = [];
  for (let v = +input.min; v <= +input.max; v += +input.step || 1) values.push(v);
  const few = values.filter((_, i) => i % Math.ceil(values.length / 40) === 0);
  for (let round = 0; round < 3; round++) for (const value of few) {
    await frame();
    const start = performance.now();
    input.value = value;
    input.dispatchEvent(new Event('input', {bubbles: true}));
    script.push(performance.now() - start);
    await frame();
    paint.push(performance.now() - start);
  }
  return {script, paint};
}"""
)


def percentile(values: list[float], share: float) -> float:
    """The value that this share of the values does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def weight(page: Page, folder: Path, address: str) -> int:
    """Gzipped bytes of everything the open page has loaded."""
    urls = page.evaluate("performance.getEntriesByType('resource').map(entry => entry.name)")
    names = {urlsplit(url).path for url in [page.url, *urls] if url.startswith(address)}
    return sum(packed(folder / name.lstrip("/")) for name in names)


def packed(path: Path) -> int:
    """Bytes over the wire: fonts and pictures are packed already."""
    data = path.read_bytes()
    return len(data) if path.suffix in (".woff2", ".png") else len(gzip.compress(data, 6))


def sliders(page: Page) -> dict[str, dict[str, list[float]]]:
    """Times of every move of every slider on the open page, by the picture's name."""
    found: dict[str, dict[str, list[float]]] = {}
    for box in page.locator(".living[data-widget]").all():
        own: dict[str, list[float]] = {"script": [], "paint": []}
        for slider in box.locator("input[type=range]:visible:not(:disabled)").all():
            for kind, values in slider.evaluate(SWEEP).items():
                own[kind] += values
        if own["script"]:
            found[str(box.get_attribute("data-widget"))] = own
    return found


def opening(visit: Visit, name: str, rounds: int = 3) -> dict[str, dict[str, float]]:
    """Largest paint (median) and shift (largest) of one page at both widths."""
    found = {}
    for width in WIDTHS:
        opened = []
        for _ in range(rounds):
            page = visit(name, width=width)
            opened.append(page.evaluate(OPENED, 300))
        found[str(width)] = {
            "largest_paint_ms": statistics.median(one["largest_paint_ms"] for one in opened),
            "shift": max(one["shift"] for one in opened),
        }
    return found


def alive(visit: Visit, name: str, width: int) -> dict[str, dict[str, float]]:
    """The slowest twentieth of the moves of every picture on one page, by the picture's name."""
    moves = sliders(visit(name, width=width))
    return {
        name: {kind: percentile(own[kind], 0.95) for kind in ("script", "paint")}
        | {"moves": len(own["script"])}
        for name, own in moves.items()
    }


def of_page(visit: Visit, html: Path, name: str) -> dict[str, Any]:
    """Everything of one page; what only a chapter has is left out of the others."""
    page = visit(name)
    row: dict[str, Any] = {"gzip_kB": weight(page, html, visit.address) / 1e3}
    if page.locator(".living[data-widget]").count():
        row["first_widget_ms"] = min(visit(name).evaluate(FIRST) for _ in range(3))
        row["pictures"] = {str(width): alive(visit, name, width) for width in WIDTHS}
    return row | {"opening": opening(visit, name)}


def measure(html: Path) -> dict[str, Any]:
    """Measure each page over http: how it opens, its weight, how its pictures follow a slider."""
    with visiting(html) as visit:
        pages = {Path(name).stem: of_page(visit, html, name) for name in names(html)}
        outside = len(visit.outside)
        visit.close()
    widgets = [row["first_widget_ms"] for row in pages.values() if "first_widget_ms" in row]
    opened = [at for row in pages.values() for at in row["opening"].values()]
    moved = [
        own
        for row in pages.values()
        for pictures in row.get("pictures", {}).values()
        for own in pictures.values()
    ]
    return {
        "sizes": f"{len(pages)} pages, {len(moved) // 2} pictures with sliders, two widths, "
        f"{sum(own['moves'] for own in moved):.0f} moves",
        "first_widget_usable_ms": max(widgets),
        "largest_paint_ms": max(at["largest_paint_ms"] for at in opened),
        "shift": max(at["shift"] for at in opened),
        "script_p95_ms": max(own["script"] for own in moved),
        "next_paint_p95_ms": max(own["paint"] for own in moved),
        "gzip_kB": max(row["gzip_kB"] for row in pages.values()),
        "outside_requests": outside,
        "by_page": pages,
        "goals": {
            "first_widget_usable_ms": ["<=", 500],
            "shift": ["<=", 0.02],
            "script_p95_ms": ["<=", 8],
            "next_paint_p95_ms": ["<=", 33],
            "gzip_kB": ["<=", 900],
            "outside_requests": ["<=", 0],
        },
    }


FIRST_CELL = {
    "numpy": "import numpy as np\nprint(np.zeros(4).sum())",
    "mini_attn": "import numpy as np\nimport mini_attn.numpy as ma\nprint(ma.softmax(np.zeros(4)))",
}
RUN_FIRST = """() => {
  const panel = globalThis.jupyterapp?.shell.currentWidget;
  if (!panel?.sessionContext || !panel.content?.widgets?.length) return false;
  panel.sessionContext.ready.then(() => jupyterapp.commands.execute("notebook:run-cell"));
  return true;
}"""


def with_bench_notebooks(html: Path, folder: Path) -> None:
    """A copy of the site's notebook app that also holds one small notebook per first cell."""
    shutil.copytree(html / "lite", folder / "lite")
    listing = folder / "lite/api/contents/all.json"
    contents = json.loads(listing.read_text(encoding="utf-8"))
    model = contents["content"][0]
    for name, source in FIRST_CELL.items():
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source)])
        notebook.metadata["kernelspec"] = {"name": "python", "display_name": "Python"}
        target = folder / f"lite/files/bench-{name}.ipynb"
        nbformat.write(notebook, target)
        contents["content"].append({**model, "name": target.name, "path": target.name})
    listing.write_text(json.dumps(contents), encoding="utf-8")


def cold_seconds(visit: Visit, name: str) -> float:
    """From opening the notebook in a fresh profile to the first printed line."""
    start = time.perf_counter()
    page = visit(f"lite/lab/index.html?path=bench-{name}.ipynb")
    page.wait_for_function(RUN_FIRST, timeout=60_000, polling=100)
    page.wait_for_selector(".jp-OutputArea-output", timeout=120_000)
    return time.perf_counter() - start


def measure_lite(html: Path, rounds: int = 3) -> dict[str, Any]:
    """Cold start of the browser notebook, beside one whose first cell imports NumPy alone."""
    seconds: dict[str, list[float]] = {name: [] for name in FIRST_CELL}
    outside = 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with_bench_notebooks(html, folder)
        for _ in range(rounds):
            for cell in FIRST_CELL:
                # A browser of its own each time: nothing is cached, compiled or kept.
                with visiting(folder) as visit:
                    seconds[cell].append(cold_seconds(visit, cell))
                    outside += len(visit.outside)
                    visit.close()
    best = {cell: min(values) for cell, values in seconds.items()}
    return {
        "sizes": f"cold browser, {rounds} rounds, minimum",
        "seconds_to_mini_attn": best["mini_attn"],
        "seconds_to_numpy": best["numpy"],
        "ratio": best["mini_attn"] / best["numpy"],
        "outside_requests": outside,
        "goals": {"seconds_to_mini_attn": ["<=", 12], "ratio": ["<=", 1.1]},
    }
