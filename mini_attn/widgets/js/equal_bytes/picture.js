// The picture of equal bytes: bytes across, loss or recall up, a line for each member. Pure: numbers
// in, SVG out, in CSS pixels of the given width.
import { scaleLinear, scaleLog } from "d3-scale";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, inLines, round, stroke, svg, targets, text } from "../core/svg.js";
import { MEASURES, amount, named, short } from "./words.js";

const WIDE = 560;
const LEAST = 0.0001; // nats: what is less lies on the axis
export const SHAPES = [
  (r) => `M${-r} ${-r} h${2 * r} v${2 * r} h${-2 * r} Z`,
  (r) => `M${-r} 0 a${r} ${r} 0 1 0 ${2 * r} 0 a${r} ${r} 0 1 0 ${-2 * r} 0 Z`,
  (r) => `M0 ${-1.25 * r} l${1.2 * r} ${2.1 * r} h${-2.4 * r} Z`,
  (r) => `M0 ${-1.4 * r} l${1.4 * r} ${1.4 * r} l${-1.4 * r} ${1.4 * r} l${-1.4 * r} ${-1.4 * r} Z`,
  (r) => `M0 ${1.25 * r} l${1.2 * r} ${-2.1 * r} h${-2.4 * r} Z`,
  (r) => `M${-r} ${-r} L${r} ${r} M${-r} ${r} L${r} ${-r}`,
];

const target = targets("even");
const mark = (n, x, y, r, more = "") => `<path transform="translate(${round(x)} ${round(y)})" d="${SHAPES[n % SHAPES.length](r)}" class="even-mark even-${n % SHAPES.length}${more}"/>`;

function scales({ points, measure }, at) {
  const sizes = points.map((point) => point.bytes);
  const x = scaleLog([Math.min(...sizes) / 1.25, Math.max(...sizes) * 1.25], [at.left, at.right]);
  if (!MEASURES[measure].few) return { x, y: scaleLinear([0, 1], [at.bottom, at.top]) };
  const values = points.map((point) => Math.max(LEAST, point[measure][0]));
  return { x, y: scaleLog([Math.min(...values) / 1.5, Math.max(...values) * 1.5], [at.bottom, at.top]).clamp(true) };
}

function axes({ measure }, at, { x, y }) {
  const { few, axis } = MEASURES[measure];
  const [low, high] = x.domain();
  const sizes = Array.from({ length: 12 }, (_, i) => 2 ** i).filter((size) => size >= low && size <= high);
  const inside = ([least, most]) => {
    const steps = most / least > 100 ? [1] : [1, 2, 5];
    return [-4, -3, -2, -1, 0].flatMap((power) => steps.map((step) => step * 10 ** power)).filter((level) => level >= least && level <= most);
  };
  const levels = few ? inside(y.domain()) : [0, 0.25, 0.5, 0.75, 1];
  const grid = [
    ...sizes.map((size) => stroke(x(size), at.top, x(size), at.bottom, "even-grid")),
    ...levels.map((level) => stroke(at.left, y(level), at.right, y(level), "even-grid")),
  ];
  const labels = [
    ...sizes.map((size) => text(x(size), at.bottom + 17, size.toLocaleString("en"), "even-quiet", MIDDLE)),
    ...levels.map((level) => text(at.left - 6, y(level) + 4, few ? String(Number(level.toPrecision(1))) : `${100 * level}%`, "even-quiet", END)),
    text(0, at.top - 12, axis, "even-quiet"),
    text(at.right, at.bottom + 35, "bytes of cache per token", "even-quiet", END),
  ];
  return grid.join("") + labels.join("");
}

function oneSeries(result, { member, line, beside }, n, at, { x, y }) {
  const { measure, yours } = result;
  const place = (point) => [x(point.bytes), y(MEASURES[measure].few ? Math.max(LEAST, point[measure][0]) : point[measure][0])];
  const route = line.map((point, i) => `${i ? "L" : "M"}${place(point).map(round).join(" ")}`).join(" ");
  const path = line.length > 1 ? `<path d="${route}" class="even-line even-${n % SHAPES.length}"/>` : "";
  const bar = (point) => {
    const [mean, off] = point[measure];
    const [px] = place(point);
    return off === null ? "" : stroke(px, y(Math.max(LEAST, mean - off)), px, y(mean + off), `even-bar even-${n % SHAPES.length}`);
  };
  const one = (point, r, more) => keyed(at, point.id, mark(n, ...place(point), r, more));
  const tagged = (point) => [...place(point), result.group === "windows" ? point.window || "all" : point.k_bits];
  const tags = yours?.member === member ? line.map(tagged) : [];
  const inside = path + [...line, ...beside].map(bar).join("")
    + line.map((point) => one(point, 5, "")).join("") + beside.map((point) => one(point, 4.5, " even-open")).join("");
  const hits = [...line, ...beside].map((point) => {
    const [px, py] = place(point);
    const left = Math.min(Math.max(px - 12, 0), at.width - 24);
    return target(at, point.id, left, py - 12, 24, 24, `${named(point)}: ${amount(measure, point[measure][0])}`);
  });
  return { inside, hits: hits.join(""), tags, marks: [...line, ...beside].map(place) };
}

// The numbers of one line: above their marks, or below where another mark is in the way.
function labels({ tags, marks }) {
  return tags.map(([x, y, words]) => {
    const over = marks.some(([a, b]) => Math.abs(a - x) < 12 && b < y - 1 && b > y - 26);
    return text(x, y + (over ? 20 : -10), words, "even-tag", MIDDLE);
  }).join("");
}

// A line at the bytes of what the reader chose, and a ring around it.
function chosen({ yours, measure }, at, { x, y }) {
  if (!yours) return "";
  const level = MEASURES[measure].few ? Math.max(LEAST, yours[measure][0]) : yours[measure][0];
  return stroke(x(yours.bytes), at.top, x(yours.bytes), at.bottom, "even-guide")
    + keyed(at, "ring", `<circle cx="${round(x(yours.bytes))}" cy="${round(y(level))}" r="11" class="even-ring"/>`);
}

export function draw(result, { width = 720, live = false, label = "Loss or recall against the bytes of the cache" } = {}) {
  const wide = width >= WIDE;
  const keys = result.lines.map(({ member }, n) => [n, short(member)]);
  const legend = inLines(keys, 14, { width, lead: 18, gap: 18, line: 22 }, (n, words, x, y) =>
    mark(n, x + 7, y - 4, 5) + text(x + 18, y, words, "even-name"));
  const top = legend.bottom + 40;
  const entry = result.yours?.id ?? result.points[0].id;
  const at = { width, live, entry, left: 52, right: width - 12, top, bottom: top + (wide ? 290 : 260) };
  const both = scales(result, at);
  const drawn = result.lines.map((one, n) => oneSeries(result, one, n, at, both));
  const inside = legend.inside + axes(result, at, both) + chosen(result, at, both)
    + drawn.map((one) => one.inside).join("") + labels({ tags: drawn.flatMap((one) => one.tags), marks: drawn.flatMap((one) => one.marks) })
    + drawn.map((one) => one.hits).join("");
  return svg("even", width, at.bottom + 46, { live, label }, inside);
}
