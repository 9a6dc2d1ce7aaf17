// The roofline of this tab beside those of other machines, and a bar for each time. Pure: numbers
// in, SVG out. Hollow is predicted, filled is measured.
import { END, MIDDLE, box, round, stroke, svg, text } from "../core/svg.js";
import { scaled } from "../core/units.js";
import { MACHINES, NAMES, intensity, predict, roof, shortTitle } from "./compare.js";

const X = [0.25, 1024]; // FLOPs per byte
const X_TICKS = [0.25, 1, 4, 16, 64, 256, 1024];
const Y = [1e9, 1e14]; // FLOPs per second: a processor's slowest point, a GPU's fastest
const WIDE = 560;
const LINE = 16; // from name to name

// A position on a logarithmic axis.
const logarithmic = ([from, to], [start, end]) => (value) => start + ((end - start) * Math.log(value / from)) / Math.log(to / from);

const SHORT = { stored: (name) => name.split(",")[0] };
const shortName = ({ key, name }) => (SHORT[key] ?? ((one) => one.split(" ")[0]))(name);

// What is drawn: machines chosen to compare with, then the places of this tab that have a roof.
function roofs(result, beside) {
  const others = MACHINES.map((one, n) => ({ ...one, short: shortName(one), style: `ym-other ym-dash-${n}` })).filter(({ key }) => beside[key]);
  const own = (result?.places ?? []).filter(roof).map((place) => ({
    ...roof(place), key: place.kind, short: place.kind === "cpu" ? "this CPU" : place.adapter.software ? "software" : "this GPU", style: `ym-own ym-${place.kind}`, place,
  }));
  return [...others, ...own];
}

// The same before and after measuring, unless a point would lie beyond: then by whole decades more.
function decades(all) {
  const least = Math.min(Y[0], ...all.flatMap(({ bytes_per_second: rate, place }) => [X[0] * rate, ...measured(place)]));
  const most = Math.max(Y[1], ...all.map(({ flops_per_second: rate }) => rate));
  return [10 ** Math.floor(Math.log10(least)), 10 ** Math.ceil(Math.log10(most))];
}

const measured = (place) => NAMES.map((name) => place?.cases[name]).filter((one) => one?.seconds).map(({ flops, seconds }) => flops / seconds);

// Square, triangle, disc: told apart without colour.
function mark(name, x, y, style) {
  if (name === "mha") return box(x - 5.5, y - 5.5, 11, 11, style, "", 2);
  if (name === "gqa") return `<path d="M${round(x)} ${round(y - 7)} l7 12 h-14 Z" class="${style}"/>`;
  return `<circle cx="${round(x)}" cy="${round(y)}" r="6" class="${style}"/>`;
}

function axes(at, { x, y }, [low, high]) {
  const levels = Array.from({ length: Math.round(Math.log10(high / low)) + 1 }, (_, n) => low * 10 ** n);
  return [
    ...X_TICKS.map((tick) => stroke(x(tick), at.top, x(tick), at.bottom, "ym-grid") + text(x(tick), at.bottom + 16, tick.toLocaleString("en"), "ym-quiet", MIDDLE)),
    ...levels.map((level) => stroke(at.left, y(level), at.right, y(level), "ym-grid") + text(at.left - 6, y(level) + 4, scaled(level, "", (n) => String(Math.round(n))), "ym-quiet", END)),
    text(0, 12, "FLOP/s", "ym-quiet"), text(at.right, at.bottom + 34, "FLOPs per byte", "ym-quiet", END),
  ].join("");
}

// The three ways to decode, each at its intensity.
function columns(at, { x }) {
  return NAMES.map((name) => stroke(x(intensity(name)), at.top, x(intensity(name)), at.bottom, "ym-column")
    + text(x(intensity(name)), at.top - 8, shortTitle(name), "ym-name", MIDDLE)).join("");
}

function line({ bytes_per_second: bandwidth, flops_per_second: rate, style }, at, { x, y }) {
  const ridge = Math.max(X[0], Math.min(rate / bandwidth, X[1]));
  return `<path d="M${round(at.left)} ${round(y(Math.min(X[0] * bandwidth, rate)))} L${round(x(ridge))} ${round(y(Math.min(ridge * bandwidth, rate)))} H${round(at.right)}" class="ym-roof ${style}"/>`;
}

// Names beside the ends of the roofs, moved apart where they would meet.
function names(all, at, { y }) {
  const placed = all.map((one) => ({ ...one, end: y(one.flops_per_second) })).sort((a, b) => a.end - b.end || b.bytes_per_second - a.bytes_per_second);
  let last = -LINE;
  return placed.map(({ short, style, end }) => {
    last = Math.max(end, last + LINE);
    return stroke(at.right, end, at.right + 22, last, `ym-lead ${style}`) + text(at.right + 26, last + 4, short, style.includes("own") ? "ym-name" : "ym-quiet");
  }).join("");
}

function marks({ place, style, ...rates }, { x, y }) {
  return NAMES.map((name) => {
    const across = x(intensity(name));
    const { seconds } = predict({ bytes: 1, flops: intensity(name) }, rates);
    const predicted = y(intensity(name) / seconds);
    const hollow = mark(name, across, predicted, `ym-mark ym-hollow ${style}`);
    const one = place?.cases[name];
    if (!one?.seconds) return hollow;
    const found = y(one.flops / one.seconds);
    return stroke(across, predicted, across, found, `ym-fall ${style}`) + hollow + mark(name, across, found, `ym-mark ${style}`);
  }).join("");
}

export function drawRoofs(result, beside, { width, label }) {
  const all = roofs(result, beside);
  const at = { left: 44, right: width - (width < WIDE ? 84 : 104), top: 44, bottom: width < WIDE ? 300 : 340 };
  const range = decades(all);
  const both = { x: logarithmic(X, [at.left, at.right]), y: logarithmic(range, [at.bottom, at.top]) };
  const inside = axes(at, both, range) + columns(at, both) + all.map((one) => line(one, at, both)).join("")
    + all.map((one) => marks(one, both)).join("") + names(all, at, both);
  return svg("ym-roofs", width, at.bottom + 42, { label }, inside);
}

// One case of a place: the prediction is an outline, the measured time fills it and goes beyond.
export function drawBar({ predicted_seconds: predicted, seconds = 0 }, longest, kind, width) {
  const long = (time) => Math.max(2, ((width - 4) * time) / longest);
  const fill = seconds ? box(2, 7, long(seconds), 12, `ym-fill ym-${kind}`) : "";
  const inside = fill + box(2, 2, long(predicted), 22, `ym-outline ym-${kind}`);
  return `<svg class="ym-bar" viewBox="0 0 ${width} 26" width="${width}" height="26" aria-hidden="true">${inside}</svg>`;
}

export const longestOf = ({ cases }) => Math.max(...Object.values(cases).flatMap((one) => [one.predicted_seconds, one.seconds ?? 0]));
