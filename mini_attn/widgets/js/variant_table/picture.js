// The comparison's picture: a line for each variant, a column of bars for each question. Pure:
// numbers in, SVG out, in CSS pixels of the width that it is given.
import { scaleLinear } from "d3-scale";
import { END, box, hatching, stroke, svg, targets, text } from "../core/svg.js";
import { METRICS, kindOf, shown } from "./words.js";

const WIDE = 640; // below this the columns stand one under the other
const LABEL = 120;

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
  const [line, top, tall] = at.wide ? [14, 20, 12] : [11, 15, 8];
  const bar = box(x, y + top, Math.max(1.5, size(value)), tall, `vary-bar-${style}`, tooLarge ? ` fill="url(#${at.uid}-over)"` : "");
  const number = `vary-number vary-number-${style}`;
  const said = at.wide ? text(x + 5, y + line, words, number) : text(x + 5, y + line, kindOf(row), "vary-name") + text(x + w - 8, y + line, words, number, END);
  return said + bar
    + target(at, `${metric.key}-${i}`, x - 4, y - (at.wide ? 0 : 2), w - 2, at.line - 6 + (at.wide ? 0 : 4), `${row.short}, ${metric.title}: ${shown(metric.key, value)}`);
}

function names(result, x, y, at) {
  return result.rows.map(({ short }, i) => text(x, y + i * at.line + 24, short, "vary-name")).join("");
}

function block(result, metric, x, y, w, at) {
  const lines = result.rows.map((_, i) => cell(result, metric, i, x, y + 44 + i * at.line, w, at));
  return lines.join("") + stroke(x, y + 40, x, y + 38 + result.rows.length * at.line, "vary-axis");
}

const heading = (metric, x, y) => text(x, y + 14, metric.title, "vary-head") + text(x, y + 31, metric.more, "vary-quiet");

export function draw(result, { width = 720, uid = "variant_table", live = false, label = "The variants of attention, compared at one shape" } = {}) {
  const wide = width >= WIDE;
  const at = { live, uid, wide, line: wide ? 46 : 27, entry: "cache-0" };
  const column = wide ? (width - LABEL) / METRICS.length : width / 2;
  const tall = 44 + result.rows.length * at.line;
  const parts = METRICS.map((metric, n) => {
    // Narrow, two columns of two, the last under the first, and every bar with its variant's name.
    const [x, y] = wide ? [LABEL + n * column, 0] : [(n % 2) * column, Math.floor(n / 2) * tall];
    return heading(metric, x, y) + block(result, metric, x, y, column - 8, at);
  });
  const over = hatching(`${uid}-over`, "vary-hatch");
  return svg("vary", width, wide ? tall : 2 * tall, { live, label }, over + (wide ? names(result, 0, 44, at) : "") + parts.join(""));
}
