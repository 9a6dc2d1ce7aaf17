// The stepper's picture: a line per token with its rows as small bars, the weights of the step, and
// the running totals. Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { range } from "d3-array";
import { scaleLinear } from "d3-scale";
import { keyed } from "../core/motion.js";
import { MIDDLE, box, field, hatching, inParts, panel, round, signedBar, stroke, surface, targets, text } from "../core/svg.js";
import { STRIP, strip } from "../core/strip.js";
import { decimal, shortWeight } from "../core/text.js";
import { charts } from "./charts.js";
import schema from "./schema.json" with { type: "json" };
import { KINDS } from "./words.js";

export const PROMPT = 4; // tokens that go through in the prefill
const WIDE = 600; // below this the weights go under the rows

// Where everything goes: what this step computes, what the cache holds, the weights and outputs.
// Narrow screens get another arrangement, never smaller text.
function layout(width, count) {
  const wide = width >= WIDE;
  const [start, gap, aisle, row] = wide ? [50, 8, 26, 30] : [46, 5, 16, 28];
  const rest = width - start - 3 * gap - aisle - (wide ? aisle + 2 * gap + 4 : 8);
  const cell = Math.min(36, Math.floor(wide ? (rest * 0.46) / count : (width - start) / count));
  const bar = Math.min(20, Math.floor(wide ? (rest - count * cell) / 24 : rest / 20));
  const panel = 4 * bar;
  const next = panel + gap;
  const x = { q: start, k: start + next, v: start + 2 * next, kept: 2 * next + aisle }; // from new to kept
  const straight = cell >= 34; // room for the tokens' names above the columns
  const top = STRIP + (straight || !wide ? 44 : 58);
  const bottom = top + count * row;
  const end = x.v + x.kept + panel; // of the cache
  x.w = wide ? end + aisle : start;
  x.out = x.w + count * cell + gap;
  const weights = wide ? top : 66; // where the weights' first line begins: narrow, in the second part
  return { wide, width, row, tall: row - 4, cell, bar, panel, straight, x, end, top, bottom, weights };
}

const target = targets("step");

// Four numbers as bars, up for plus and down for minus; the frame says how they came to be. New ones
// come out of their token, and so do all of them where they are computed again in each step.
function vector(result, name, i, y, at) {
  const { kind, token, [name]: values } = result.rows[i];
  const kept = result.cached && (name === "k" || name === "v");
  const x = at.x[name] + (kind === "kept" && kept ? at.x.kept : 0);
  const label = `${name} of ${token}, ${values ? KINDS[kind] : "not needed"}`;
  const hit = target(at, `${name}-${i}`, x, y, at.panel, at.tall, label);
  if (!values) return (kind === "kept" ? box(x, y, at.panel, at.tall, "step-box-none") + hit : "");
  const middle = y + at.tall / 2;
  const bars = values.map((value, n) => {
    const height = Math.max(1.5, at.size[name](Math.abs(value)));
    return value === 0 ? "" : signedBar(value, x + n * at.bar + 1.5, middle, at.bar - 3, height, `step-bar-${kind}`);
  });
  const zero = stroke(x + 2, middle, x + at.panel - 2, middle, "step-zero");
  const key = `${name}-${i}`;
  const again = `${key}-${result.step}`;
  const from = kind === "kept" ? again : name === "out" ? undefined : `t-${i}`;
  return keyed(at, kind === "again" ? again : key, frame(x, y, at.panel, kind, at) + zero + bars.join(""), { from }) + hit;
}

// Where the keys and values of a token are kept, empty until the step after its own.
const slots = ({ rows, cached }, i, y, at) => (cached && rows[i].kind === "kept" ? "" : ["k", "v"].map((name) =>
  box(at.x[name] + at.x.kept, y, at.panel, at.tall, "step-box-later")).join(""));

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
  const name = (x, w, words, y = at.top - 9, style = "step-quiet") => text(x + w / 2, y, words, style, MIDDLE);
  const over = at.weights - (at.wide ? 9 : 8);
  const columns = result.rows.map(({ token, kind }, j) => {
    const x = at.x.w + (j + 0.5) * at.cell;
    const quiet = kind === "later" ? "step-later" : "step-column";
    return at.straight ? text(x, over, token, quiet, MIDDLE)
      : text(x - 2, over, token, quiet, ` transform="rotate(-38 ${round(x - 2)} ${round(over)})"`);
  });
  const title = at.wide
    ? name(at.x.w, result.rows.length * at.cell, `weights of head ${result.head}`, STRIP + 14, "step-head")
    : text(0, at.weights - 46, `Weights of head ${result.head}: rows attend to columns`, "step-head");
  const names = Object.entries({ q: "query", k: "key", v: "value", ...(at.wide && { out: "output" }) });
  const kept = at.x.k + at.x.kept;
  return {
    vectors: name(at.x.q, at.x.v + at.panel - at.x.q, "computed now", STRIP + 14, "step-head")
      + name(kept, at.end - kept, result.cached ? "in the cache" : "no cache", STRIP + 14, "step-head")
      + box(kept - 6, STRIP, at.end - kept + 12, at.bottom - STRIP + 4, `step-cache${result.cached ? "" : "-off"}`)
      + names.map(([key, words]) => name(at.x[key], at.panel, words)).join("")
      + name(kept, at.panel, "key") + name(at.x.v + at.x.kept, at.panel, "value"),
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
    vectors: name(y) + slots(result, i, y, at) + parts.join(""),
    weights: at.wide ? "" : name(below),
    cells: weightRow(result, i, below, at),
  };
}

function sameOutput({ difference, rows, there }, y, at) {
  const size = difference === 0 ? "0" : difference.toExponential(0);
  const wide = `✓ Output for “${rows[there - 1].token}” with and without a cache: largest difference ${size}`;
  return text(0, y, at.wide ? wide : `✓ Same output either way, difference ${size}`, "step-same")
    + target(at, "same", 0, y - 17, Math.min(at.width, at.wide ? 7 * wide.length : 300), 24, `the output with and without a cache: largest difference ${size}`);
}

// The text; in its frame is what goes through the layer in this step.
function reading({ rows, step, there, counts }, at) {
  const tokens = rows.map(({ token }) => token);
  const words = step ? `step ${step} of ${schema.step.max}` : "prefill";
  return strip("step", at, tokens, { first: counts.kept, newest: there - 1, key: "step", entry: schema.step, now: step, label: "Step", words });
}

export function draw(result, { width = 720, uid = "decode_stepper", live = false, touch = false, part, label = "Rows computed and kept, and the running totals" } = {}) {
  const place = layout(width, result.rows.length);
  const scale = (most) => scaleLinear([0, most], [0, place.tall / 2 - 2]);
  const size = Object.fromEntries(Object.entries(result.extent).map(([name, most]) => [name, scale(most)]));
  const newest = result.there - 1;
  const at = { ...place, size, uid, live, touch, entry: part === "second" ? `w-${newest}-${newest}` : "now" };
  const parts = [headings(result, at), ...range(result.rows.length).map((i) => lineOf(result, i, at))];
  const [vectors, words, cells] = ["vectors", "weights", "cells"].map((name) => parts.map((one) => one[name] ?? "").join(""));
  const count = result.rows.length;
  const weights = panel("weights", words + field(at, surface(at, at.x.w, at.weights, count * at.cell, count * at.row) + cells));
  const first = () => {
    const key = text(0, at.bottom + 24, result.counts.again ? "Hatched: computed again" : "Bars: the four values of a row, up if positive", "step-quiet");
    const inside = panel("rows", reading(result, at) + vectors) + (at.wide ? weights : "") + key + sameOutput(result, at.bottom + 46, at);
    return { inside, bottom: at.bottom + 54 };
  };
  const second = () => {
    const from = at.wide ? 14 : at.weights + parts.length * at.row + 8;
    const totals = charts(result, from, at);
    return { inside: (at.wide ? "" : weights) + panel("totals", totals.inside), bottom: totals.bottom };
  };
  return inParts("step", width, { live, label }, { part, first, second, defs: hatching(`${uid}-hatch`, "step-hatch") });
}
