// The stepper's picture: a line per token with its rows as small bars, the weights of the step, and
// the running totals. Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { range } from "d3-array";
import { scaleLinear } from "d3-scale";
import { END, MIDDLE, box, field, hatching, inLines, inParts, round, signedBar, stroke, surface, targets, text } from "../core/svg.js";
import { decimal, shortWeight } from "../core/text.js";
import { charts } from "./charts.js";
import { KINDS } from "./words.js";

const SHORT = { new: "new", again: "again", kept: "kept", later: "" };
const LEGEND = [["new", "computed now"], ["kept", "kept: read from the cache"], ["again", "computed again"], ["later", "not there yet"]];
const WIDE = 600; // below this the weights go under the rows

// Where everything goes. Narrow screens get another arrangement, never smaller text.
function layout(width, count) {
  const wide = width >= WIDE;
  const [start, gap, row] = wide ? [100, 14, 30] : [92, 9, 28];
  const rest = width - start - (wide ? 4 : 2) * gap;
  const cell = Math.min(36, Math.floor(wide ? (rest * 0.5) / count : (width - start) / count));
  const bar = Math.floor(wide ? (rest - count * cell) / 16 : rest / 12);
  const panel = 4 * bar;
  const x = { q: start, k: start + panel + gap, v: start + 2 * (panel + gap) };
  const straight = cell >= 34; // room for the tokens' names above the columns
  const top = wide ? (straight ? 50 : 66) : 28;
  const bottom = top + count * row;
  x.w = wide ? start + 3 * (panel + gap) : start;
  x.out = x.w + count * cell + gap;
  const weights = wide ? top : 66; // where the weights' first line begins: narrow, in the second part
  return { wide, width, row, tall: row - 4, cell, bar, panel, straight, x, top, weights, below: bottom + 8 };
}

const target = targets("step");

// Four numbers as bars, up for plus and down for minus; the frame says how they came to be.
function vector(result, name, i, y, at) {
  const { kind, token, [name]: values } = result.rows[i];
  const x = at.x[name];
  const label = `${name} of ${token}, ${values ? KINDS[kind] : "not needed"}`;
  const hit = target(at, `${name}-${i}`, x, y, at.panel, at.tall, label);
  if (!values) return box(x, y, at.panel, at.tall, kind === "later" ? "step-box-later" : "step-box-none") + hit;
  const middle = y + at.tall / 2;
  const bars = values.map((value, n) => {
    const height = Math.max(1.5, at.size[name](Math.abs(value)));
    return value === 0 ? "" : signedBar(value, x + n * at.bar + 1.5, middle, at.bar - 3, height, `step-bar-${kind}`);
  });
  const zero = stroke(x + 2, middle, x + at.panel - 2, middle, "step-zero");
  return frame(x, y, at.panel, kind, at) + zero + bars.join("") + hit;
}

function frame(x, y, w, kind, at) {
  const over = kind === "again" ? box(x, y, w, at.tall, "step-hatched", ` fill="url(#${at.uid}-hatch)"`) : "";
  return box(x, y, w, at.tall, `step-box-${kind}`) + over;
}

// One line of the weight matrix: a cell for each key, empty where the step computes nothing.
function weightRow(result, i, y, at) {
  const { kind, weights, token } = result.rows[i];
  return result.rows.map((other, j) => {
    const [x, w] = [at.x.w + j * at.cell + 1, at.cell - 2];
    const says = weights ? (j > i ? "masked" : `weight ${decimal(weights[j])}`) : kind === "later" ? "not there yet" : "not needed";
    const hit = target(at, `w-${i}-${j}`, x, y, w, at.tall, `${token} attends to ${other.token}: ${says}`);
    if (j > i) return (weights ? text(x + w / 2, y + at.tall / 2 + 4, "·", "step-quiet", MIDDLE) : "") + hit;
    if (!weights) return box(x, y, w, at.tall, kind === "later" ? "step-box-later" : "step-box-none") + hit;
    // Pale under dark numbers, or nearly full under light ones: nothing between is legible.
    const strong = weights[j] > 0.5 && kind === "new";
    const shade = box(x, y, w, at.tall, `step-bar-${kind}`, ` fill-opacity="${strong ? 0.92 : Math.round(weights[j] * 50) / 100}"`);
    const shown = text(x + w / 2, y + at.tall / 2 + 4, shortWeight(weights[j]), strong ? "step-number-strong" : kind === "new" ? "step-number" : "step-number-again", MIDDLE);
    return shade + frame(x, y, w, kind, at) + shown + hit;
  }).join("");
}

function headings(result, at) {
  const name = (x, w, words, y = at.top - (at.wide ? 10 : 14)) => text(x + w / 2, y, words, "step-head", MIDDLE);
  const count = result.rows.length;
  const over = at.weights - (at.wide ? 10 : 8);
  const columns = result.rows.map(({ token, kind }, j) => {
    const x = at.x.w + (j + 0.5) * at.cell;
    const quiet = kind === "later" ? "step-later" : "step-column";
    return at.straight ? text(x, over, token, quiet, MIDDLE)
      : text(x - 2, over, token, quiet, ` transform="rotate(-38 ${round(x - 2)} ${round(over)})"`);
  });
  const title = at.wide
    ? name(at.x.w, count * at.cell, `weights of head ${result.head}`, at.straight ? 16 : 14)
    : text(0, at.weights - 46, `Weights of head ${result.head}: rows attend to columns`, "step-head");
  const names = at.wide ? { q: "query", k: "key", v: "value", out: "output" } : { q: "query", k: "key", v: "value" };
  return {
    vectors: Object.entries(names).map(([key, words]) => name(at.x[key], at.panel, words)).join(""),
    weights: title + columns.join(""),
  };
}

function lineOf(result, i, at) {
  const { token, kind } = result.rows[i];
  const style = kind === "later" ? "step-later" : i === result.there - 1 ? "step-newest" : "step-token";
  const y = at.top + i * at.row;
  const below = at.weights + i * at.row;
  const name = (from) => text(0, from + at.tall / 2 + 4.5, token, style);
  const parts = ["q", "k", "v", ...(at.wide ? ["out"] : [])].map((part) => vector(result, part, i, y, at));
  return {
    vectors: name(y) + text(at.x.q - 10, y + at.tall / 2 + 4.5, SHORT[kind], `step-word-${kind}`, END) + parts.join(""),
    weights: at.wide ? "" : name(below),
    cells: weightRow(result, i, below, at),
  };
}

// Frames with their words, and how to read the bars.
function legend(y, at) {
  const key = inLines(LEGEND, y, { width: at.width, lead: 34, gap: 16, line: 24 }, (kind, words, x, line) =>
    frame(x + 1, line, 24, kind, { ...at, tall: 14 }) + text(x + 33, line + 11.5, words, "step-quiet"));
  const words = at.wide ? "the four values of a row, up if positive, down if negative" : "four values of a row, up if positive";
  return { inside: key.inside + text(0, key.bottom + 30, `Bars: ${words}.`, "step-quiet"), bottom: key.bottom + 34 };
}

function sameOutput({ difference, rows, there }, y, at) {
  const size = difference === 0 ? "0" : difference.toExponential(0);
  const wide = `✓ Output for “${rows[there - 1].token}” with and without a cache: largest difference ${size}`;
  return text(0, y, at.wide ? wide : `✓ Same output either way, difference ${size}`, "step-same");
}

export function draw(result, { width = 720, uid = "decode_stepper", live = false, part, label = "Rows computed and kept, and the running totals" } = {}) {
  const place = layout(width, result.rows.length);
  const scale = (most) => scaleLinear([0, most], [0, place.tall / 2 - 2]);
  const size = Object.fromEntries(Object.entries(result.extent).map(([name, most]) => [name, scale(most)]));
  const newest = result.there - 1;
  const at = { ...place, size, uid, live, entry: place.wide ? `w-${newest}-${newest}` : `q-${newest}` };
  const parts = [headings(result, at), ...range(result.rows.length).map((i) => lineOf(result, i, at))];
  const [vectors, words, cells] = ["vectors", "weights", "cells"].map((name) => parts.map((one) => one[name] ?? "").join(""));
  const count = result.rows.length;
  const weights = words + field(at, surface(at, at.x.w, at.weights, count * at.cell, count * at.row) + cells);
  const first = () => {
    const key = legend(at.below + 4, at);
    const same = key.bottom + 22;
    const inside = vectors + (at.wide ? weights : "") + key.inside + sameOutput(result, same, at);
    return { inside, bottom: same + 8 };
  };
  const second = () => {
    const from = at.wide ? 14 : at.weights + parts.length * at.row + 8;
    const totals = charts(result, from, at);
    return { inside: (at.wide ? "" : weights) + totals.inside, bottom: totals.bottom };
  };
  return inParts("step", width, { live, label }, { part, first, second, defs: hatching(`${uid}-hatch`, "step-hatch") });
}
