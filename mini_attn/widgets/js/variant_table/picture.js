// The comparison's picture: a line for each variant, a column of bars for each question. Pure:
// numbers in, SVG out, in CSS pixels of the width that it is given.
import { scaleLinear } from "d3-scale";
import { box, hatching, stroke, svg, targets, text } from "../core/svg.js";
import { METRICS, shown } from "./words.js";

const WIDE = 640; // below this the columns stand one under the other
const LINE = 46;
const LABEL = { wide: 120, narrow: 112 };

const target = targets("vary");

// One number: written out, with its bar below; the best of its column has a mark and a frame.
function cell(result, metric, i, x, y, w, at) {
  const row = result.rows[i];
  const value = row[metric.key];
  const most = Math.max(...result.rows.map((other) => other[metric.key]));
  const size = scaleLinear([0, most || 1], [0, w - 8]);
  const best = value === result.best[metric.key];
  const tooLarge = metric.key !== "fit" && metric.key !== "flops" && !row.fits;
  const style = tooLarge ? "over" : best ? "best" : "plain";
  const words = `${best && !tooLarge ? "✓ " : tooLarge ? "✗ " : ""}${shown(metric.key, value)}`;
  const bar = box(x, y + 20, Math.max(1.5, size(value)), 12, `vary-bar-${style}`, tooLarge ? ` fill="url(#${at.uid}-over)"` : "");
  return text(x + 5, y + 14, words, `vary-number vary-number-${style}`) + bar
    + target(at, `${metric.key}-${i}`, x - 4, y, w - 2, LINE - 6, `${row.short}, ${metric.title}: ${shown(metric.key, value)}`);
}

function names(result, x, y) {
  return result.rows.map(({ short }, i) => text(x, y + i * LINE + 24, short, "vary-name")).join("");
}

function block(result, metric, x, y, w, at) {
  const lines = result.rows.map((_, i) => cell(result, metric, i, x, y + 44 + i * LINE, w, at));
  return lines.join("") + stroke(x, y + 40, x, y + 38 + result.rows.length * LINE, "vary-axis");
}

const heading = (metric, x, y) => text(x, y + 14, metric.title, "vary-head") + text(x, y + 31, metric.more, "vary-quiet");

export function draw(result, { width = 720, uid = "variant_table", live = false, label = "The variants of attention, compared at one shape" } = {}) {
  const at = { live, uid, entry: "cache-0" };
  const wide = width >= WIDE;
  const start = wide ? LABEL.wide : LABEL.narrow;
  const column = wide ? (width - start) / METRICS.length : width - start;
  const tall = 44 + result.rows.length * LINE;
  const parts = METRICS.map((metric, n) => {
    const [x, y] = wide ? [start + n * column, 0] : [start, n * (tall + 14)];
    return heading(metric, wide ? x : 0, y) + (wide ? "" : names(result, 0, y + 44)) + block(result, metric, x, y, column - 8, at);
  });
  const height = wide ? tall : METRICS.length * (tall + 14);
  const over = hatching(`${uid}-over`, "vary-hatch");
  return svg("vary", width, height, { live, label }, over + (wide ? names(result, 0, 44) : "") + parts.join(""));
}
