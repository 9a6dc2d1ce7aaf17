// The picture of a figure: what stands still, what moves with the step, and the reader's line. Pure:
// numbers in, SVG out, in CSS pixels of the given width. plot_picture.py draws the same for print.
import { END, MIDDLE, inLines, round, stroke, text } from "../core/svg.js";
import { escape } from "../core/text.js";
import { matching, nearest, pointsOf } from "./compute.js";
import { number } from "./words.js";

const LETTER = 7.6; // a generous average of the labels' letters
const BESIDE = 560; // from here on panels stand side by side
const TALL = { one: 250, phone: 210 };

// From numbers to pixels; what lies beyond an end stays near it.
function scale([first, last], low, high, log) {
  const bend = log ? Math.log : Number;
  const [a, b] = [bend(first), bend(last)];
  return (value) => (log && value <= 0 ? low : low + Math.min(1.05, Math.max(-0.05, (bend(value) - a) / (b - a))) * (high - low));
}

const look = (series) => `plot-${series.look} plot-${series.role}`;

const longest = (words) => Math.max(0, ...words.map((word) => word.length));
// What has a label of its own, and how it is drawn: several curves, or the lines across bars.
function named({ kind, series, lines: across }) {
  if (kind === "bars") return across.map(({ label }) => [label, "plot-mark"]);
  const curves = (series ?? []).filter(({ label }) => label);
  return curves.length > 1 ? curves.map((one) => [one.label, look(one)]) : [];
}

// Where a panel is drawn; labels stand beside the curves where there is room, else above them.
function place(panel, left, width, top, tall) {
  const labels = named(panel);
  const room = 22 + LETTER * longest(labels.map(([label]) => label));
  const beside = labels.length > 0 && room < 0.36 * width;
  const keys = labels.length && !beside
    ? inLines(labels.map(([label, style]) => [style, label]), top + 34, { width: width - 8, lead: 24, gap: 12, line: 18, letter: LETTER }, (style, words, x, y) =>
      stroke(left + x, y - 4, left + x + 18, y - 4, style) + text(left + x + 23, y, words, "plot-label"))
    : { inside: "", bottom: top + 14 };
  const ticks = panel.kind === "grid" ? panel.rows : panel.yticks.map(([, words]) => words);
  const over = panel.kind === "curves" ? Math.max(10, (LETTER * panel.xticks.at(-1)[1].length) / 2) : 10; // half of the last tick
  const at = { left: left + 10 + LETTER * longest(ticks), right: left + width - (beside ? Math.max(room, over) : over), top: keys.bottom + 16, beside, keys: keys.inside, head: top + 14, from: left };
  at.bottom = at.top + tall;
  if (panel.kind === "curves") at.x = scale(panel.xlim, at.left, at.right, panel.log.includes("x"));
  if (panel.kind !== "grid") at.y = scale(panel.ylim, at.bottom, at.top, panel.log.includes("y"));
  return at;
}

export function layout(figure, width) {
  const wide = width >= BESIDE;
  const many = figure.panels.length;
  const tall = wide ? TALL.one - 20 * (many - 1) : TALL.phone;
  const each = wide ? (width - 16 * (many - 1)) / many : width;
  let top = 0;
  const places = figure.panels.map((panel, n) => {
    const at = place(panel, wide ? n * (each + 16) : 0, each, top, tall);
    if (!wide) top = at.bottom + 56;
    return at;
  });
  const level = Math.max(...places.map((at) => at.bottom)); // side by side all end at one height
  if (wide) figure.panels.forEach((panel, n) => {
    places[n].bottom = level;
    if (panel.kind !== "grid") places[n].y = scale(panel.ylim, level, places[n].top, panel.log.includes("y"));
  });
  return { places, width, height: Math.ceil(level + 44) };
}

// Ticks from both ends that do not run into each other.
function spaced(ticks, x) {
  let end = -Infinity;
  return ticks.filter(([value, words]) => {
    const half = (LETTER * words.length) / 2;
    if (x(value) - half < end + 6) return false;
    end = x(value) + half;
    return true;
  });
}

// A name on as many lines as its words need.
function folded(words, x, y, room, style) {
  const lines = words.split(" ").reduce((rows, word) => {
    const joined = rows.length ? `${rows.at(-1)} ${word}` : word;
    return rows.length && LETTER * joined.length > room ? [...rows, word] : [...rows.slice(0, -1), joined];
  }, []);
  return lines.map((line, i) => text(x, y + 13 * i, line, style, MIDDLE)).join("");
}

function names(list, at, band) {
  const every = band < 30 ? Math.ceil((LETTER * longest(list) + 4) / band) : 1;
  return list.map((name, i) => (i % every ? "" : folded(name, at.left + (i + 0.5) * band, at.bottom + 17, band, "plot-quiet"))).join("");
}

// The title, and behind it what is drawn upwards.
function heading({ title, ylabel }, at) {
  const unit = title && ylabel ? `<tspan class="plot-unit"> · ${escape(ylabel)}</tspan>` : "";
  return `<text x="${round(at.from)}" y="${round(at.head)}" class="plot-title">${escape(title || ylabel)}${unit}</text>`;
}

// What no step changes.
function still(panel, at) {
  const parts = [heading(panel, at), at.keys];
  const folds = panel.kind === "bars" && panel.names.some((name) => name.includes(" ") && LETTER * name.length > (at.right - at.left) / panel.names.length);
  parts.push(text((at.left + at.right) / 2, at.bottom + (folds ? 43 : 36), panel.xlabel, "plot-quiet", MIDDLE));
  if (panel.kind === "grid") {
    const height = (at.bottom - at.top) / panel.rows.length;
    parts.push(...panel.rows.map((name, i) => text(at.left - 6, at.top + (i + 0.5) * height + 4, name, "plot-quiet", END)), names(panel.columns, at, (at.right - at.left) / panel.columns.length));
    return parts.join("");
  }
  for (const [value, words] of panel.yticks) parts.push(stroke(at.left, at.y(value), at.right, at.y(value), "plot-grid"), text(at.left - 6, at.y(value) + 4, words, "plot-quiet", END));
  if (panel.kind === "bars") parts.push(names(panel.names, at, (at.right - at.left) / panel.names.length));
  else for (const [value, words] of spaced(panel.xticks, at.x)) parts.push(stroke(at.x(value), at.bottom, at.x(value), at.bottom + 4, "plot-grid"), text(at.x(value), at.bottom + 17, words, "plot-quiet", MIDDLE));
  return parts.join("");
}

function lines(panel, at, shown) {
  return panel.lines.map(({ axis, label }, i) => {
    const value = shown.lines[i];
    if (panel.kind === "bars") return stroke(at.left, at.y(value), at.right, at.y(value), "plot-mark") + (at.beside ? text(at.right + 6, at.y(value) + 4, label, "plot-note") : "");
    if (axis === "y") return stroke(at.left, at.y(value), at.right, at.y(value), "plot-mark") + text(at.left + 4, at.y(value) - 5, label, "plot-note");
    const x = at.x(value);
    const right = x < (at.left + at.right) / 2;
    return stroke(x, at.top, x, at.bottom, "plot-mark") + text(x + (right ? 5 : -5), at.top + 10, label, "plot-note", right ? "" : END);
  }).join("");
}

// Labels [y, words, look] in their order, pushed apart between two ends.
function apart(labels, low, high, gap = 15) {
  labels.sort((a, b) => a[0] - b[0]);
  for (let i = 1; i < labels.length; i += 1) labels[i][0] = Math.max(labels[i][0], labels[i - 1][0] + gap);
  let end = high;
  for (const label of labels.toReversed()) {
    label[0] = Math.max(low, Math.min(label[0], end));
    end = label[0] - gap;
  }
  return labels;
}

function curves(panel, at, shown) {
  const labels = [];
  const paths = panel.series.map((series, n) => {
    let [path, pen, last] = ["", "M", at.bottom];
    shown.series[n].forEach((value, i) => {
      if (value === null) {
        pen = "M";
        return;
      }
      last = at.y(value);
      path += `${pen}${round(at.x(panel.x[i]))} ${round(last)}`;
      pen = "L";
    });
    if (at.beside && series.label) labels.push([last, series.label, look(series)]);
    return `<path d="${path}" class="${look(series)}"/>`;
  });
  const beside = apart(labels, at.top + 6, at.bottom - 4).map(([y, words, style]) => stroke(at.right + 3, y, at.right + 13, y, style) + text(at.right + 17, y + 4, words, "plot-label"));
  const dots = panel.dots.flatMap(({ role }, n) => shown.dots[n].x.map((x, i) =>
    `<circle cx="${round(at.x(x))}" cy="${round(at.y(shown.dots[n].y[i]))}" r="5" class="plot-dot plot-${role}"/>`));
  return [...paths, ...beside, ...dots].join("");
}

function bars(panel, at, shown) {
  const band = (at.right - at.left) / panel.names.length;
  const zero = panel.log.includes("y") ? at.bottom : at.y(0);
  return shown.bars.map((value, i) => {
    const y = value === null ? zero : at.y(value);
    const [x, top] = [at.left + (i + 0.1) * band, Math.min(y, zero)];
    const told = number(value);
    const words = value !== null && LETTER * told.length < band ? text(x + 0.4 * band, top - 5, told, "plot-value", MIDDLE) : "";
    return `<rect x="${round(x)}" y="${round(top)}" width="${round(0.8 * band)}" height="${round(Math.abs(zero - y))}" class="plot-bar plot-${panel.roles[i]}"/>${words}`;
  }).join("");
}

function grid(panel, at, shown) {
  const [width, height] = [(at.right - at.left) / panel.columns.length, (at.bottom - at.top) / panel.rows.length];
  const share = (value) => (value - panel.low) / (panel.high - panel.low);
  return shown.grid.flatMap((row, i) => row.map((value, j) =>
    `<rect x="${round(at.left + j * width + 1)}" y="${round(at.top + i * height + 1)}" width="${round(width - 2)}" height="${round(height - 2)}" class="plot-cell plot-${panel.role}" fill-opacity="${share(value).toFixed(2)}"/>`)).join("");
}

const KINDS = { curves, bars, grid };

export const standing = (figure, { places }) => figure.panels.map((panel, n) => still(panel, places[n])).join("");

export const moving = (figure, { places }, shown) => figure.panels.map((panel, n) => {
  const one = KINDS[panel.kind](panel, places[n], shown[n]);
  return one + lines(panel, places[n], shown[n]);
}).join("");

// The rectangle of a bar or a cell, or the line at an x.
function mark(panel, at, shown, point) {
  if (panel.kind === "curves") {
    const x = at.x(panel.x[point]);
    const dots = panel.series.map(({ role }, i) => [role, shown.series[i][point]]).filter(([, value]) => value !== null)
      .map(([role, value]) => `<circle cx="${round(x)}" cy="${round(at.y(value))}" r="4.5" class="plot-dot plot-${role}"/>`);
    return `${stroke(x, at.top - 4, x, at.bottom, "plot-reader")}<circle cx="${round(x)}" cy="${round(at.bottom)}" r="6" class="plot-grip"/>${dots.join("")}`;
  }
  const columns = (panel.names ?? panel.columns).length;
  const [i, j] = [Math.floor(point / columns), point % columns];
  const width = (at.right - at.left) / columns;
  const height = panel.kind === "grid" ? (at.bottom - at.top) / panel.rows.length : at.bottom - at.top;
  return `<rect x="${round(at.left + j * width)}" y="${round(at.top + i * height)}" width="${round(width)}" height="${round(height)}" class="plot-chosen"/>`;
}

export const reader = (figure, { places }, shown, points) =>
  figure.panels.map((panel, n) => (points[n] < 0 ? "" : mark(panel, places[n], shown[n], points[n]))).join("");

// What the steps move sideways through a panel, an upright line or a dot alone: how to draw it to be
// dragged, and where it stands at each step.
export function ways(figure, { places }) {
  return figure.panels.flatMap(({ kind, lines: all, dots = [] }, n) => {
    const { x, y, top, bottom } = places[n];
    const upright = kind === "curves" ? all.filter(({ axis }) => axis === "x").map((one) => one.at.map((value) => [x(value), top, bottom])) : [];
    const alone = dots.filter((one) => one.x.every((row) => row.length === 1))
      .map((one) => one.x.map(([value], i) => [x(value), y(one.y[Math.min(i, one.y.length - 1)][0])]).map(([at, high]) => [at, high - 12, high + 12]));
    return [...upright, ...alone].filter((way) => way.length === figure.steps.length && way.some(([at]) => at !== way[0][0]));
  });
}

export const handles = (all, step) => all.map((way, n) => {
  const [x, top, bottom] = way[step];
  return `<rect x="${round(x - 12)}" y="${round(top)}" width="24" height="${round(bottom - top)}" class="plot-way" data-id="way-${n}"/>`;
}).join("");

// The step at which it stands nearest to an x.
export function stepAt(way, x) {
  const off = way.map(([at]) => Math.abs(at - x));
  return off.indexOf(Math.min(...off));
}

// The point of a panel under a place in the picture.
function pointIn(panel, at, x, y) {
  if (panel.kind === "curves") {
    const [a, b] = [panel.xlim, at];
    const share = Math.min(1, Math.max(0, (x - b.left) / (b.right - b.left)));
    const log = panel.log.includes("x");
    return nearest(panel, log ? a[0] * (a[1] / a[0]) ** share : a[0] + (a[1] - a[0]) * share);
  }
  const cell = (value, low, high, n) => Math.min(n - 1, Math.max(0, Math.floor(((value - low) / (high - low)) * n)));
  if (panel.kind === "bars") return cell(x, at.left, at.right, panel.names.length);
  return cell(y, at.top, at.bottom, panel.rows.length) * panel.columns.length + cell(x, at.left, at.right, panel.columns.length);
}

// The point of the first panel that is meant by a place in the picture, or -1.
export function pointAt(figure, { places }, x, y) {
  const away = ({ left, right, top, bottom }) => Math.max(left - x, 0, x - right) + Math.max(top - y, 0, y - bottom);
  const n = places.reduce((best, at, i) => (away(at) < away(places[best]) ? i : best), 0);
  const point = pointIn(figure.panels[n], places[n], x, y);
  return matching(figure.panels[n], figure.panels[0], point);
}

// The next point for an arrow key.
export function nextPoint(panel, point, key) {
  const columns = panel.kind === "grid" ? panel.columns.length : 1;
  const by = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: panel.kind === "grid" ? columns : -1, ArrowUp: panel.kind === "grid" ? -columns : 1 }[key];
  const last = pointsOf(panel) - 1;
  if (key === "Home") return 0;
  if (key === "End") return last;
  if (!by) return null;
  const next = point < 0 ? 0 : point + by;
  return next < 0 || next > last ? point : next;
}
