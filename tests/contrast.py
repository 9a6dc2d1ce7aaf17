"""The contrast of the text in living pictures, which axe leaves out."""

from __future__ import annotations

from playwright.sync_api import Page

# What lies behind the middle of a text is what is drawn before it, blended; a text with a broad
# outline has that behind it. Bars that still move lie behind texts that they soon leave, so that
# what ends is awaited.
FAINT = r"""async () => {
  const ends = ({ playState, effect }) => playState === "running"
    && Number.isFinite(effect.getComputedTiming().endTime);
  await Promise.allSettled(document.getAnimations().filter(ends).map((one) => one.finished));
  const parse = (text) => {
    const numbers = (text.match(/[\d.]+(?:e-?\d+)?/g) ?? []).map(Number);
    if (!numbers.length) return null;
    const scale = text.startsWith("color(") ? 255 : 1;
    return [...numbers.slice(0, 3).map((one) => one * scale), numbers[3] ?? 1];
  };
  const over = (top, alpha, ground) => ground.map((one, i) => top[i] * alpha + one * (1 - alpha));
  const light = (rgb) => rgb.map((one) => one / 255)
    .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
    .reduce((sum, one, i) => sum + [0.2126, 0.7152, 0.0722][i] * one, 0);
  const ratio = (a, b) => {
    const [dark, bright] = [light(a), light(b)].sort((one, other) => one - other);
    return (bright + 0.05) / (dark + 0.05);
  };
  const clear = (one, svg) => {
    let alpha = 1;
    for (let at = one; at !== svg; at = at.parentElement) alpha *= getComputedStyle(at).opacity;
    return alpha;
  };
  const found = [];
  for (const svg of document.querySelectorAll(".living-live .living-output svg")) {
    const ground = parse(getComputedStyle(svg.closest(".living-app")).backgroundColor).slice(0, 3);
    const shapes = [...svg.querySelectorAll("rect, path, circle, polygon, ellipse")];
    for (const text of svg.querySelectorAll("text")) {
      if (!text.textContent.trim() || !text.getBoundingClientRect().width) continue;
      const box = text.getBBox();
      const middle = new DOMPoint(box.x + box.width / 2, box.y + box.height / 2)
        .matrixTransform(text.getScreenCTM());
      let behind = ground;
      for (const shape of shapes) {
        if (!(shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING)) break;
        const style = getComputedStyle(shape);
        const fill = /none|url/.test(style.fill) ? null : parse(style.fill);
        const alpha = fill && fill[3] * Number(style.fillOpacity) * clear(shape, svg);
        if (!alpha) continue;
        const at = middle.matrixTransform(shape.getScreenCTM().inverse());
        if (shape.isPointInFill(at)) behind = over(fill, alpha, behind);
      }
      const style = getComputedStyle(text);
      const halo = style.stroke === "none" ? null : parse(style.stroke);
      if (halo && parseFloat(style.strokeWidth) >= 2) behind = over(halo, halo[3], behind);
      const fill = parse(style.fill);
      const seen = over(fill, fill[3] * Number(style.fillOpacity) * clear(text, svg), behind);
      const got = ratio(seen, behind);
      if (got < 4.495) found.push(`${text.textContent}: ${got.toFixed(2)}`);
    }
  }
  return found;
}"""


def faint_text(page: Page) -> list[str]:
    """Words of the page's living pictures whose contrast is below 4.5."""
    found: list[str] = page.evaluate(FAINT)
    return found
