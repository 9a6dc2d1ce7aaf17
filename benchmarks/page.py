"""The page's rows: how soon a widget is there, how fast it follows, what the page weighs."""

from __future__ import annotations

import gzip
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import nbformat
from playwright.sync_api import Page

from tools.site import Visit, visiting

FIRST = "performance.getEntriesByName('living:first')[0].startTime"

# Each move of a slider: script time until the handlers are done, and time until the next frame.
SWEEP = """async (input) => {
  const script = [], paint = [];
  const values = [];
  for (let v = +input.min; v <= +input.max; v += +input.step || 1) values.push(v);
  const frame = () => new Promise(done => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = done;
    channel.port2.postMessage(0);
  }));
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


def measure(html: Path) -> dict[str, Any]:
    """First widget, slider moves, weight and outside requests of every chapter, over http."""
    first: dict[str, float] = {}
    heavy: dict[str, float] = {}
    moves: dict[str, dict[str, list[float]]] = {}
    with visiting(html) as visit:
        for stem in sorted(path.stem for path in (html / "book").glob("*.html")):
            page = visit(f"book/{stem}.html")
            if not page.locator(".living[data-widget]").count():
                continue
            heavy[stem] = weight(page, html, visit.address) / 1e3
            moves |= sliders(page)
            first[stem] = min(visit(f"book/{stem}.html").evaluate(FIRST) for _ in range(3))
        outside = len(visit.outside)
        visit.close()
    count = sum(len(own["script"]) for own in moves.values())
    by_picture = {
        kind: {name: percentile(own[kind], 0.95) for name, own in moves.items()}
        for kind in ("script", "paint")
    }
    return {
        "sizes": f"{len(heavy)} chapters, {len(moves)} pictures with sliders, {count} moves",
        "first_widget_usable_ms": max(first.values()),
        "script_p95_ms": max(by_picture["script"].values()),
        "next_paint_p95_ms": max(by_picture["paint"].values()),
        "gzip_kB": max(heavy.values()),
        "outside_requests": outside,
        "by_chapter_first_widget_ms": first,
        "by_chapter_gzip_kB": heavy,
        "by_picture_script_p95_ms": by_picture["script"],
        "by_picture_next_paint_p95_ms": by_picture["paint"],
        "goals": {
            "first_widget_usable_ms": ["<=", 500],
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
