"""The page's rows: how soon a widget is there, how fast it follows, what the page weighs."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Page, sync_playwright

from tests.chromium import ARGUMENTS, find
from tests.site import Visit, serve

CHAPTER = "book/kv-cache.html"

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


def measure(html: Path) -> dict[str, Any]:
    """First widget, slider moves, weight and outside requests of the chapter, over http."""
    with sync_playwright() as play, serve(html) as address:
        browser = play.chromium.launch(executable_path=find(), args=ARGUMENTS)
        visit = Visit(browser, address, html)
        first = []
        for _ in range(5):
            page = visit(CHAPTER)
            first.append(page.evaluate("performance.getEntriesByName('living:first')[0].startTime"))
        moves: dict[str, list[float]] = {"script": [], "paint": []}
        for slider in page.locator(".living input[type=range]").all():
            times = slider.evaluate(SWEEP)
            for kind, values in times.items():
                moves[kind] += values
        row = {
            "sizes": f"{CHAPTER}, {len(moves['script'])} slider moves",
            "first_widget_usable_ms": min(first),
            "script_p95_ms": percentile(moves["script"], 0.95),
            "next_paint_p95_ms": percentile(moves["paint"], 0.95),
            "gzip_kB": weight(page, html, address) / 1e3,
            "outside_requests": len(visit.outside),
            "budget": "500 ms; 8 ms / 33 ms; 900 kB; 0",
        }
        visit.close()
        browser.close()
    return row


def lite_url(html: Path) -> str:
    """The address, relative to the site, that the chapter's own link leads to."""
    source = (html / CHAPTER).read_text(encoding="utf-8")
    link = re.search(r'href="\.\./(lite/[^"]+)"', source)
    if link is None:
        raise SystemExit(f"bench: {CHAPTER} has no link to its browser notebook")
    return link[1]
