"""The trained model's row: how soon its first word is there, and how fast each change follows."""

from __future__ import annotations

import statistics
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator

from benchmarks.page import FRAME, percentile
from mini_attn.stories import decode, sample_rows
from tools.site import Visit, visiting

LENGTHS = (37, 100, 250)  # words of the text; 256 are the most

# Twice from the press of the button until the text has another word.
NEXT_WORDS = """async (box) => {
  const input = box.querySelector('textarea');
  const [button] = [...box.querySelectorAll('button')].filter((b) => b.textContent === 'Next word');
  const next = () => new Promise((resolve) => {
    const before = input.value;
    const start = performance.now();
    const look = () => input.value === before ? requestAnimationFrame(look)
      : resolve(performance.now() - start);
    button.click();
    look();
  });
  return [await next(), await next()];
}"""

# Every kind of change, a few times each: script time, and time until the next frame.
CHANGES = (
    "async (box) => {"
    + FRAME
    + """
  const found = {};
  const timed = async (name, act) => {
    await frame();
    const start = performance.now();
    act();
    const script = performance.now() - start;
    await frame();
    (found[name] ??= []).push([script, performance.now() - start]);
  };
  const moved = (input, value) => () => {
    input.value = value;
    input.dispatchEvent(new Event('input', {bubbles: true}));
  };
  const button = (name) => [...box.querySelectorAll('button')].find((b) => b.textContent === name);
  const press = (part) => part.dispatchEvent(new MouseEvent('click', {bubbles: true}));
  const heads = [...box.querySelectorAll('input[type=checkbox]')].slice(0, 8);
  for (let round = 0; round < 2; round++) {
    for (const head of heads) {
      await timed('head off', () => head.click());
      await timed('head on again', () => head.click());
    }
    const [temperature, topP] = box.querySelectorAll('input[type=range]');
    for (const value of [0.3, 0.8, 1.4, 2]) await timed('temperature', moved(temperature, value));
    for (const value of [0.2, 0.5, 0.9, 1]) await timed('top-p', moved(topP, value));
    for (let i = 0; i < 4; i++) {
      await timed('next word', () => button('Next word').click());
      await timed('take back', () => button('Take back').click());
    }
    const words = (n) => [...box.querySelectorAll('svg [data-id^="t-"]')].at(n);
    const others = () => [...box.querySelectorAll('svg [data-id^="h-"]')];
    for (const n of [3, 8, 15, -1]) await timed('another word', () => press(words(n)));
    for (let h = 0; h < others().length; h++) await timed('another head', () => press(others()[h]));
  }
  return found;
}"""
)


def opened(visit: Visit) -> Locator:
    """The picture on a fresh page, its script there and its weights not yet."""
    box = visit("book/model.html").locator(".living[data-widget=inside_model]")
    box.locator("textarea").wait_for()
    return box


def changes(box: Locator, words: int) -> dict[str, dict[str, float]]:
    """The slowest twentieth of every kind of change of a text of so many words."""
    row = sample_rows(1, LENGTHS[-1] + 1, seed=3, kind="stories")[0]
    box.locator("textarea").fill(decode(row[1 : words + 1]))
    box.page.wait_for_timeout(500)
    found = {}
    for name, times in box.evaluate(CHANGES).items():
        script, paint = zip(*times, strict=True)
        found[name] = {
            "times": float(len(times)),
            "script_p95_ms": percentile(list(script), 0.95),
            "paint_p95_ms": percentile(list(paint), 0.95),
        }
    return found


def measure(html: Path) -> dict[str, Any]:
    """The first word and every change, over http."""
    with visiting(html) as visit:
        # The first word comes out of the pass that the page brings; for the second weights come.
        pairs = [opened(visit).evaluate(NEXT_WORDS) for _ in range(5)]
        box = opened(visit)
        box.evaluate(NEXT_WORDS)
        by_length = {str(words): changes(box, words) for words in LENGTHS}
        visit.close()
    firsts, seconds = zip(*pairs, strict=True)
    slowest = [kind for kinds in by_length.values() for kind in kinds.values()]
    return {
        "sizes": f"texts of {', '.join(map(str, LENGTHS))} words",
        "first_word_ms": statistics.median(firsts),
        "second_word_ms": statistics.median(seconds),
        "script_p95_ms": max(kind["script_p95_ms"] for kind in slowest),
        "paint_p95_ms": max(kind["paint_p95_ms"] for kind in slowest),
        "by_length": by_length,
        "goals": {"script_p95_ms": ["<=", 50]},
    }
