// The stepper's picture: one line per token, then the running totals. Pure: numbers in, SVG out.
import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { line } from "d3-shape";
import { decimal, escape, whole } from "./core/text.js";

const WORDS = { new: "computed", again: "again", kept: "kept", later: "" };

const text = (x, y, words, kind, anchor = "start") =>
  `<text x="${round(x)}" y="${round(y)}" class="step-${kind}" text-anchor="${anchor}">${escape(words)}</text>`;
const round = (value) => Math.round(value * 10) / 10;
const box = (x, y, w, h, kind, more = "") =>
  `<rect x="${round(x)}" y="${round(y)}" width="${round(w)}" height="${round(h)}" rx="2" class="${kind}"${more}/>`;

// Where everything goes. Narrow screens get smaller cells, never smaller text.
function layout(width) {
  const wide = width >= 640;
  const cell = wide ? 20 : 8;
  const weight = wide ? 34 : 12.5;
  const gap = wide ? 16 : 9;
  const start = wide ? 142 : 86;
  const panel = 4 * cell;
  const x = { q: start, k: start + panel + gap, v: start + 2 * (panel + gap), w: start + 3 * (panel + gap) };
  return { wide, width, cell, weight, panel, x, top: 52, row: wide ? 30 : 32 };
}

function header(result, at) {
  const { x, panel, weight } = at;
  const names = at.wide
    ? { q: "query", k: "key", v: "value", w: `weights of head ${result.head}` }
    : { q: "q", k: "k", v: "v", w: "weights" };
  const middle = { q: x.q + panel / 2, k: x.k + panel / 2, v: x.v + panel / 2, w: x.w + 4 * weight };
  const columns = result.rows.map(({ token }, j) =>
    at.wide ? text(x.w + (j + 0.5) * weight, 40, token, "quiet", "middle") : "",
  );
  return Object.keys(names).map((key) => text(middle[key], 18, names[key], "head", "middle")).join("") + columns.join("");
}

// Four numbers as shades: the colour is the sign, the strength the size.
function vector(values, x, y, at, kind, uid) {
  const height = at.row - 8;
  if (kind === "later") return box(x, y, at.panel, height, "step-box-later");
  const cells = values.map((value, i) =>
    value === 0 ? "" : box(x + i * at.cell, y, at.cell, height, `step-cell step-${value > 0 ? "plus" : "minus"}`,
      ` fill-opacity="${round(Math.min(1, 0.12 + Math.abs(value) / 3.2) * (kind === "kept" ? 0.45 : 0.9) * 10) / 10}"`),
  );
  const over = kind === "again" ? box(x, y, at.panel, height, "step-box-again", ` fill="url(#${uid}-hatch)"`) : box(x, y, at.panel, height, `step-box-${kind}`);
  return cells.join("") + over;
}

function arithmetic(result, i, j) {
  const { q, scores, weights, token } = result.rows[i];
  const terms = result.rows[j].k.map((key, n) => `${decimal(q[n])}·${decimal(key)}`).join(" + ");
  return `“${token}” looks at “${result.rows[j].token}”: ${terms} = ${decimal(scores[j] / result.scale)}; × ${decimal(result.scale, 1)} = ${decimal(scores[j])}; softmax over ${i + 1}: ${decimal(weights[j])}`;
}

// One row of weights, computed in this step: a cell per key that is visible.
function weightRow(result, i, y, at, uid) {
  const { kind, weights } = result.rows[i];
  if (kind === "kept" || kind === "later") return "";
  const height = at.row - 8;
  return weights
    .map((weight, j) => {
      const x = at.x.w + j * at.weight;
      const label = escape(arithmetic(result, i, j));
      const number = at.wide && weight >= 0.01
        ? `<text x="${round(x + at.weight / 2)}" y="${y + 15.5}" text-anchor="middle" class="step-number" style="font-size:12px;pointer-events:none${weight > 0.55 ? ";fill:var(--living-surface,#fff)" : ""}">${weight > 0.995 ? "1" : decimal(weight).slice(1)}</text>`
        : "";
      const focus = kind === "new" ? ` tabindex="0" role="img" aria-label="${label}" data-id="w${i}-${j}"` : "";
      return `${box(x + 1, y, at.weight - 2, height, "step-cell step-plus", ` fill-opacity="${Math.round(weight * 90) / 100}"`)}${
        box(x + 1, y, at.weight - 2, height, kind === "again" ? "step-box-again" : "step-box-new",
          ` data-tip="${label}"${focus} pointer-events="all"${kind === "again" ? ` fill="url(#${uid}-hatch)"` : ""}`)}${number}`;
    })
    .join("");
}

function tokenRow(result, i, at, uid) {
  const { token, kind } = result.rows[i];
  const y = at.top + i * at.row;
  const base = y + 16;
  const newest = i === result.there - 1;
  const q = kind === "kept" ? text(at.x.q + at.panel / 2, base, at.wide ? "not needed" : "", "quiet", "middle") : vector(result.rows[i].q, at.x.q, y, at, kind, uid);
  const word = at.wide ? WORDS[kind] : WORDS[kind].slice(0, 4).replace("comp", "new").replace("agai", "again");
  return (
    text(0, base, token, kind === "later" ? "later" : newest ? "newest" : "token") +
    text(at.wide ? 132 : 80, base, word, `word-${kind}`, "end") +
    q + vector(result.rows[i].k, at.x.k, y, at, kind, uid) + vector(result.rows[i].v, at.x.v, y, at, kind, uid) +
    weightRow(result, i, y, at, uid)
  );
}

function chart(result, key, title, x0, y0, width, height, at) {
  const steps = result.history.plain;
  const x = scaleLinear([0, steps.length - 1], [x0 + (at.wide ? 56 : 60), x0 + width - 12]);
  const y = scaleLinear([0, max(steps, ({ total }) => total[key])], [y0 + height, y0 + 26]).nice(4);
  const ticks = y.ticks(4).filter((tick) => tick > 0);
  const grid = ticks.map((tick) => `<line x1="${x0 + 50}" x2="${x0 + width}" y1="${round(y(tick))}" y2="${round(y(tick))}" class="step-grid"/>${text(x0 + 44, y(tick) + 4, whole(tick), "quiet", "end")}`);
  const curve = line((_, i) => round(x(i)), ({ total }) => round(y(total[key])));
  const curves = ["plain", "cached"].map((way) => {
    const at = result.history[way][result.step].total[key];
    return `<path d="${curve(result.history[way])}" class="step-curve step-curve-${way}"/><circle cx="${round(x(result.step))}" cy="${round(y(at))}" r="5" class="step-dot-${way}"/>`;
  });
  const labels = steps.map(({ step }) => text(x(step), y0 + height + 16, step ? String(step) : "prefill", "quiet", "middle"));
  return (
    text(x0, y0 + 8, title, "head") + grid.join("") +
    `<line x1="${x0 + 50}" x2="${x0 + width}" y1="${y0 + height}" y2="${y0 + height}" class="step-axis"/>` +
    `<line x1="${round(x(result.step))}" x2="${round(x(result.step))}" y1="${y0 + 22}" y2="${y0 + height}" class="step-now"/>` +
    curves.join("") + labels.join("")
  );
}

function totals(result, x, y, at) {
  const entry = (dy, way, name) => {
    const { passes, flops } = result.total[way];
    const words = `${name}: ${whole(passes)} ${at.wide ? "token passes" : "passes"}, ${whole(flops)} FLOPs`;
    return `<line x1="${x}" x2="${x + 26}" y1="${y + dy - 4}" y2="${y + dy - 4}" class="step-curve step-curve-${way}"/>${text(x + 34, y + dy, words, "token")}`;
  };
  return entry(0, "plain", at.wide ? "without a cache" : "without") + entry(22, "cached", at.wide ? "with a cache" : "with");
}

export function draw(result, { width = 720, uid = "stepper" } = {}) {
  const at = layout(width);
  const bottom = at.top + result.rows.length * at.row + 14;
  const half = at.wide ? (width - 36) / 2 : width;
  const height = at.wide ? 140 : 120;
  const second = at.wide ? { x: half + 36, y: bottom + 8 } : { x: 0, y: bottom + height + 46 };
  const end = second.y + height + 44;
  const hatch = `<pattern id="${uid}-hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" x2="0" y1="0" y2="6" class="step-hatch"/></pattern>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" class="step-picture" viewBox="0 0 ${width} ${round(end + 30)}" width="${width}" height="${round(end + 30)}" role="group" aria-label="Rows computed and kept, and the running totals"><defs>${hatch}</defs>${
    header(result, at)}${result.rows.map((_, i) => tokenRow(result, i, at, uid)).join("")}${
    chart(result, "passes", "token passes so far", 0, bottom + 8, half, height, at)}${
    chart(result, "flops", "FLOPs so far", second.x, second.y, half, height, at)}${
    totals(result, 0, end, at)}</svg>`;
}
