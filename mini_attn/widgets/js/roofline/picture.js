// The roofline's picture: the roof on logarithmic axes, a mark for each part of a pass with its name
// below, and two bars of time. Pure: numbers in, SVG out, in CSS pixels of the given width.
import { scaleLinear, scaleLog } from "d3-scale";
import { END, MIDDLE, box, round, stroke, svg, targets, text } from "../core/svg.js";
import { duration, scaled } from "../core/units.js";
import { PARTS, intensity } from "./words.js";

const WIDE = 560;
const X = [0.5, 65536]; // FLOP a byte that the axis shows; what lies beyond stands at its end
const TICKS = [1, 4, 16, 64, 256, 1024, 4096, 16384];

const target = targets("roof");

// Square, triangle, disc: told apart without colour.
function mark(key, x, y) {
  if (key === "weights") return box(x - 6, y - 6, 12, 12, "roof-mark roof-weights");
  if (key === "attention") return `<path d="M${round(x)} ${round(y - 8)} l8 14 h-16 Z" class="roof-mark roof-attention"/>`;
  return `<circle cx="${round(x)}" cy="${round(y)}" r="7" class="roof-mark roof-whole"/>`;
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
    ...levels.map((share) => text(at.left - 6, y(peak * share) + 4, `${share * 100} %`, "roof-quiet", END)),
    text(0, at.top - 14, "share of the peak", "roof-quiet"),
    text(at.right, at.top - 14, `peak ${scaled(peak, "FLOP/s")}`, "roof-quiet", END),
    text(at.right, at.bottom + 33, "FLOP for each byte that is moved", "roof-quiet", END),
  ];
  return { grid: grid.join(""), labels: labels.join("") };
}

function roof(result, at, { x, y }) {
  const { flops_per_second: peak, bytes_per_second: rate } = result.device;
  const corner = [x(result.ridge), y(peak)];
  const start = [x(X[0]), y(rate * X[0])];
  const under = `<path d="M${round(start[0])} ${round(start[1])} L${round(corner[0])} ${round(corner[1])} V${round(at.bottom)} H${round(start[0])} Z" class="roof-wait"/>`;
  const line = `<path d="M${round(start[0])} ${round(start[1])} L${round(corner[0])} ${round(corner[1])} H${round(at.right)}" class="roof-line"/>`;
  const words = text(corner[0] + 8, corner[1] + 20, `ridge ${intensity(result.ridge)}`, "roof-name");
  const waits = at.wide ? text(corner[0] - 8, at.bottom - 12, "memory is the limit", "roof-quiet", END) : "";
  return under + line + words + waits + target(at, "roof-line", corner[0] - 12, corner[1] - 12, 24, 24, `the ridge, at ${intensity(result.ridge)} FLOP a byte`);
}

const laneAt = (lane, at) => at.bottom + 54 + lane * 26;

// A mark on the roof, and under the axis a lane with its name.
function point(result, key, lane, at, { x, y }) {
  const part = result.parts[key];
  const here = x(part.intensity);
  const over = y(part.speed);
  const below = laneAt(lane, at);
  const words = `${at.wide ? PARTS[key] : key === "weights" ? "weights" : key === "attention" ? "attention" : "whole pass"}: ${intensity(part.intensity)}${part.intensity > X[1] ? " →" : ""}`;
  const long = 7.2 * words.length + 16;
  const right = here + long < at.width;
  return mark(key, here, over) + mark(key, here, below)
    + text(here + (right ? 13 : -13), below + 4.5, words, "roof-name", right ? "" : END)
    + target(at, `mark-${key}`, right ? here - 11 : here + 11 - long, below - 12, long, 24, `${PARTS[key]}: ${intensity(part.intensity)} FLOP a byte`);
}

// Reading and arithmetic go on side by side: the longer of the two bars is the time of the pass.
function bars(result, y, at) {
  const { reading, computing } = result.parts.whole;
  const start = at.wide ? 92 : 0;
  const room = at.width - start - 4;
  const scale = scaleLinear([0, Math.max(reading, computing)], [0, room]);
  const step = at.wide ? 34 : 54;
  const lines = [["reading", "Reading"], ["computing", "Arithmetic"]].map(([side, name], n) => {
    const top = y + 18 + n * step + (at.wide ? 0 : 18);
    const total = result.parts.whole[side];
    let from = start;
    const pieces = ["weights", "attention"].map((key) => {
      const long = scale(result.parts[key][side]);
      const label = `${name}, ${key === "weights" ? "weights" : side === "reading" ? "cache" : "attention"}: ${duration(result.parts[key][side])}`;
      const piece = box(from, top, Math.max(0.5, long), 22, `roof-bar roof-${key}`) + target(at, `bar-${side}-${key}`, from, top, Math.max(1, long), 22, label);
      from += long;
      return piece;
    });
    const says = `${duration(total)}${side === result.bound ? ", the time of the pass" : ""}`;
    const beside = at.width - from > 8 * says.length + 12;
    const title = at.wide ? text(0, top + 15, name, "roof-name") : text(0, top - 6, `${name}: ${says}`, "roof-name");
    const number = !at.wide ? "" : beside ? text(from + 8, top + 15, says, "roof-name") : text(from - 8, top + 15, says, "roof-inside", END);
    return title + pieces.join("") + number;
  });
  const key = `${at.wide ? "Time, side by side; the longer bar counts. " : ""}Plain: weights. Dashed frame: cache and attention.`;
  return { inside: text(0, y, key, "roof-quiet") + lines.join(""), bottom: y + 20 + 2 * step + (at.wide ? 0 : 8) };
}

// From the roof down to the lane; drawn first, so that the numbers of the axis stay legible.
function drop(result, key, lane, at, { x, y }) {
  const { intensity: value, speed } = result.parts[key];
  return stroke(x(value), y(speed), x(value), laneAt(lane, at), `roof-drop roof-${key}`);
}

// The part furthest to the right first: no line of a lower lane crosses a name.
const lanes = ({ parts }) => Object.keys(PARTS).sort((a, b) => parts[b].intensity - parts[a].intensity);

export function draw(result, { width = 720, live = false, label = "A roofline with the parts of a pass, and two bars of time" } = {}) {
  const wide = width >= WIDE;
  const at = { width, wide, live, entry: "mark-whole", left: 50, right: width - 14, top: 26, bottom: wide ? 230 : 190 };
  const both = scales(result, at);
  const times = bars(result, at.bottom + 54 + 3 * 26 + 18, at);
  const height = Math.ceil(times.bottom);
  const { grid, labels } = axes(result, at, both);
  const [drops, points] = [drop, point].map((part) => lanes(result).map((key, lane) => part(result, key, lane, at, both)).join(""));
  return svg("roof", width, height, { live, label }, grid + roof(result, at, both) + drops + labels + points + times.inside);
}
