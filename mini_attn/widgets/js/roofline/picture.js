// The roofline's picture: the roof on logarithmic axes with the marks of both phases, those of one
// named below, two bars of time for each operation, and one for their sum. Pure: numbers in, SVG out, in
// CSS pixels of the given width.
import { scaleLinear, scaleLog } from "d3-scale";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, grip, inParts, reachOf, round, stroke, targets, text } from "../core/svg.js";
import { count } from "../core/text.js";
import { duration, scaled } from "../core/units.js";
import schema from "./schema.json" with { type: "json" };
import { OPERATIONS, PARTS, SIDES, intensity } from "./words.js";

const WIDE = 560;
const LEFT = 50; // room for the numbers of the axis
const X = [0.5, 65536]; // FLOPs per byte that the axis shows; what lies beyond stands at its end
const TICKS = [1, 4, 16, 64, 256, 1024, 4096, 16384];

const target = targets("roof");

// Square, triangle, diamond, disc: told apart without colour. Those of the other phase are hollow.
function mark(key, x, y, more = "") {
  const style = `class="roof-mark roof-${key}${more}"`;
  if (key === "weights") return `<rect x="${round(x - 6)}" y="${round(y - 6)}" width="12" height="12" rx="3" ${style}/>`;
  if (key === "attention") return `<path d="M${round(x)} ${round(y - 8)} l8 14 h-16 Z" ${style}/>`;
  if (key === "logits") return `<path d="M${round(x)} ${round(y - 8)} l7 8 l-7 8 l-7 -8 Z" ${style}/>`;
  return `<circle cx="${round(x)}" cy="${round(y)}" r="7" ${style}/>`;
}

function scales(result, at) {
  const { flops_per_second: peak, bytes_per_second: rate } = result.device;
  return {
    x: scaleLog(X, [at.left, at.right]).clamp(true),
    y: scaleLog([rate * X[0], peak * 1.6], [at.bottom, at.top]).clamp(true),
  };
}

// The grid is drawn first and the numbers last, so that no line crosses them.
function axes(result, at, { x, y }) {
  const { flops_per_second: peak } = result.device;
  const ticks = at.wide ? TICKS : TICKS.filter((_, i) => i % 2 === 0);
  const levels = [1e-3, 1e-2, 1e-1, 1].filter((share) => peak * share > y.domain()[0]);
  const grid = [
    ...ticks.map((tick) => stroke(x(tick), at.top, x(tick), at.bottom, "roof-grid")),
    ...levels.map((share) => stroke(at.left, y(peak * share), at.right, y(peak * share), "roof-grid")),
  ];
  const labels = [
    ...ticks.map((tick) => text(x(tick), at.bottom + 16, tick.toLocaleString("en"), "roof-quiet", MIDDLE)),
    ...levels.map((share) => text(at.left - 6, y(peak * share) + 4, `${share * 100}%`, "roof-quiet", END)),
    text(0, at.top - 14, "share of the peak", "roof-quiet"),
    text(at.right, at.top - 14, `peak ${scaled(peak, "FLOP/s")}`, "roof-quiet", END),
    text(at.right, at.bottom + 33, "FLOPs per byte moved", "roof-quiet", END),
  ];
  return { grid: grid.join(""), labels: labels.join("") };
}

function roof(result, at, { x, y }) {
  const { flops_per_second: peak, bytes_per_second: rate } = result.device;
  const corner = [x(result.ridge), y(peak)];
  const start = [x(X[0]), y(rate * X[0])];
  const under = `<path d="M${round(start[0])} ${round(start[1])} L${round(corner[0])} ${round(corner[1])} V${round(at.bottom)} H${round(start[0])} Z" class="roof-wait"/>`;
  const line = `<path d="M${round(start[0])} ${round(start[1])} L${round(corner[0])} ${round(corner[1])} H${round(at.right)}" class="roof-line"/>`;
  const words = text(corner[0], corner[1] - 11, `ridge point ${intensity(result.ridge)}`, "roof-name", MIDDLE);
  const waits = at.wide ? text(corner[0] - 8, at.bottom - 12, "memory is the limit", "roof-quiet", END) : "";
  return under + line + words + waits + target(at, "roof-line", corner[0] - at.hit / 2, corner[1] - at.hit / 2, at.hit, at.hit, `the ridge point, at ${intensity(result.ridge)} FLOPs per byte`);
}

const SHORT = { weights: "weights", attention: "attention", logits: "LM head", whole: "whole pass" };
const laneAt = (lane, at) => at.bottom + 54 + lane * Math.max(26, at.hit);

// Where a part of a pass is: on the roof, and below it for the whole pass.
const place = ({ intensity: value, share }, { device }, { x, y }) => [x(value), y(share * device.flops_per_second)];

// A part that goes where the number of sequences takes it; attention stays.
const hold = (at, id, result, key, told, place) => (key === "attention" ? target(at, id, ...place, told)
  : grip("roof", at, id, ...place, { key: "batch", entry: schema.batch, now: result.batch, label: `${PARTS[key]}, moved by the sequences`, words: `${count(result.batch, "sequence")}: ${told}` }));

// A mark on the roof, and under the axis a lane with its name.
function point(result, key, lane, at, both) {
  const part = result.parts[key];
  const [here, over] = place(part, result, both);
  const below = laneAt(lane, at);
  const { hit } = at;
  const words = `${at.wide ? PARTS[key] : SHORT[key]}: ${intensity(part.intensity)}${part.intensity > X[1] ? " →" : ""}`;
  const long = 7.2 * words.length + 16;
  const right = here + long < at.width;
  const [left, told] = [right ? here - 11 : here + 11 - long, `${PARTS[key]}: ${intensity(part.intensity)} FLOPs per byte`];
  return keyed(at, `${result.phase}-${key}`, mark(key, here, over))
    + keyed(at, `lane-${key}`, mark(key, here, below) + text(here + (right ? 13 : -13), below + 4.5, words, "roof-name", right ? "" : END))
    + hold(at, `on-${key}`, result, key, told, [here - hit / 2, over - hit / 2, hit, hit]) + hold(at, `mark-${key}`, result, key, told, [left, below - hit / 2, long, hit]);
}

// Which phase has its names below: beside its mark for the whole pass, where no other mark is.
function phaseOf(result, at, both) {
  const [x, y] = place(result.parts.whole, result, both);
  const slope = y > at.top + 24;
  return text(slope ? x - 14 : Math.min(x + 10, at.width - 110), slope ? y - 4 : y + 22, result.phase, "roof-name", slope ? END : "");
}

// The marks of the other phase; a tap takes its names below.
function others({ other: { phase, parts }, ...result }, at, both) {
  const marks = Object.keys(PARTS).map((key) => keyed(at, `${phase}-${key}`, mark(key, ...place(parts[key], result, both), " roof-other")));
  const [x, y] = place(parts.whole, result, both);
  const slope = y > at.top + 24; // beside the mark it is free, under the roof below it
  const left = x > at.width - 80;
  return marks.join("") + text(slope ? x + 13 : x, slope ? y + 5 : y + 28, phase, "roof-link", slope ? "" : left ? END : MIDDLE)
    + target(at, "phase", Math.min(left ? x - 52 : x - 12, at.width - 76), y - at.hit / 2, 76, slope ? at.hit : at.hit / 2 + 34, `the same for ${phase}`);
}

// What a bar says: beside it where there is room, else inside.
function said(words, from, to, top, at, style) {
  if (at.width - to > 7.4 * words.length + 12) return text(to + 8, top + 15, words, style);
  return text(Math.max(to - 8, from + 7.4 * words.length), top + 15, words, `${style} roof-in`, END);
}

const STEP = 25; // from bar to bar: room for a finger
const HIGH = 20;

// The two times of an operation. The longer one is filled and counts, the other one hollow.
function pair(result, key, top, at, { start, scale }) {
  const part = result.parts[key];
  const name = OPERATIONS[key];
  const lines = Object.entries(SIDES).map(([side, label], n) => {
    const [y, counts] = [top + n * STEP, side === part.side];
    const long = Math.max(1, scale(part[side]));
    const words = `${label} ${duration(part[side])}`;
    const bar = box(start, y, long, HIGH, `roof-bar roof-${key} ${counts ? "roof-counts" : "roof-hollow"}`);
    return bar + said(counts && at.wide ? `${words}, counts` : words, start, start + long, y, at, counts ? "roof-name" : "roof-quiet")
      + target(at, `bar-${side}-${key}`, start, y - 2, Math.max(24, long), 24, `${name}, ${words}${counts ? ", which counts" : ""}`);
  });
  const [first, ...more] = name.split(" ");
  const title = at.wide ? text(0, top + 15, first, "roof-name") + text(0, top + STEP + 13, more.join(" "), "roof-quiet") : text(0, top - 6, name, "roof-name");
  return title + lines.join("");
}

// The times that count, end to end: operations follow one another.
function whole(result, top, at, { start, scale }) {
  let from = start;
  const pieces = Object.keys(OPERATIONS).map((key) => {
    const long = scale(result.parts[key].seconds);
    const piece = box(from, top, Math.max(1, long), HIGH, `roof-bar roof-${key} roof-counts`);
    from += long;
    return piece;
  });
  const words = `${duration(result.seconds)} in all`;
  const title = at.wide ? text(0, top + 15, "whole pass", "roof-name") + text(start, top + HIGH + 16, `${words}, at least`, "roof-name")
    : text(0, top - 6, `whole pass: ${words}, at least`, "roof-name");
  return title + pieces.join("") + target(at, "bar-whole", start, top - 2, from - start, 24, `the whole pass: ${words}`);
}

// An operation takes the longer of its two times, and the pass the sum of its operations.
function bars(result, y, at) {
  const start = at.wide ? 118 : 0;
  const scales = { start, scale: scaleLinear([0, result.seconds], [0, at.width - start - 4]) };
  const [lead, tall] = at.wide ? [16, 2 * STEP + 10] : [34, 2 * STEP + 24];
  const notes = ["For each operation, the longer time counts (filled).", "The pass is the sum of its operations."];
  const key = at.wide ? text(0, y, notes.join(" "), "roof-quiet") : notes.map((note, n) => text(0, y + 16 * n, note, "roof-quiet")).join("");
  const top = y + lead + (at.wide ? 0 : 16);
  const pairs = Object.keys(OPERATIONS).map((name, n) => pair(result, name, top + n * tall, at, scales));
  const end = top + pairs.length * tall;
  return { inside: key + pairs.join("") + whole(result, end, at, scales), bottom: end + HIGH + (at.wide ? 24 : 6) };
}

// From the roof down to the lane; drawn first, so that the numbers of the axis stay legible.
function drop(result, key, lane, at, both) {
  const [x, y] = place(result.parts[key], result, both);
  return keyed(at, `drop-${key}`, stroke(x, y, x, laneAt(lane, at), `roof-drop roof-${key}`));
}

// The part furthest to the right first: no line of a lower lane crosses a name.
const lanes = ({ parts }) => Object.keys(PARTS).sort((a, b) => parts[b].intensity - parts[a].intensity);

// Marks move along the axis: so many times the intensity, so many times the sequences.
export function drag(result, id, { width, state }) {
  if (!/^(mark|on)-(?!attention)/.test(id)) return null; // its intensity stays
  const pixel = Math.log(X[1] / X[0]) / (width - 14 - LEFT);
  return ({ dx }) => ({ batch: state.batch * Math.exp(dx * pixel) });
}

export function draw(result, { width = 720, live = false, touch = false, part, label = "A roofline with the parts of both phases, and their times" } = {}) {
  const wide = width >= WIDE;
  const at = { width, wide, live, hit: reachOf(touch), entry: "mark-whole", left: LEFT, right: width - 14, top: 26, bottom: wide ? 216 : 190 };
  const both = scales(result, at);
  const { grid, labels } = axes(result, at, both);
  // What can't be dragged lies below what can.
  const placed = lanes(result).map((key, lane) => [key, lane]).sort(([a], [b]) => (b === "attention") - (a === "attention"));
  const [drops, points] = [drop, point].map((part) => placed.map(([key, lane]) => part(result, key, lane, at, both)).join(""));
  const bottom = laneAt(Object.keys(PARTS).length - 1, at) + 14;
  const first = () => ({ inside: grid + roof(result, at, both) + drops + labels + others(result, at, both) + phaseOf(result, at, both) + points, bottom });
  return inParts("roof", width, { live, label }, { part, first, second: () => bars(result, 14, at) });
}
