// The matrix's picture: the state as a square, the error of each pair that's read back, and one pair
// written and read. Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { range } from "d3-array";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, field, grip, hatching, inLines, inParts, knob, round, signedBar, stroke, surface, svg, targets, text } from "../core/svg.js";
import { decimal } from "../core/text.js";
import schema from "./schema.json" with { type: "json" };
import { explain, keptWords, nameOf } from "./words.js";

export const WIDE = 600; // below this the square goes apart
const SIDE = 216;
const AXIS = 30;
const TALL = 118; // of the errors
const TOP = 1.5; // as large an error as there's room for
const STRIP = 46;

const target = targets("state");

function layout(result, { width, live, uid, part }) {
  const wide = width >= WIDE;
  const left = wide ? SIDE + 32 : 0;
  return { width, live, uid, left, wide, each: (width - left - AXIS) / result.pairs, entry: part === "second" ? "state" : "now" };
}

// The pair that a place across stands for.
export function pairAt(result, x, width) {
  const { left, each } = layout(result, { width });
  return Math.max(1, Math.min(result.pairs, 1 + Math.floor((x - left - AXIS) / each)));
}

// A number as a square that grows with its size, full for plus and an outline for minus.
function mark(value, most, x, y, cell) {
  const side = Math.sqrt(Math.abs(value) / most) * (cell - 2);
  if (side < 0.8) return "";
  const inset = value < 0 ? 0.75 : 0;
  const own = Math.max(0.1, side - 2 * inset);
  return `<rect x="${round(x + (cell - own) / 2)}" y="${round(y + (cell - own) / 2)}" width="${round(own)}" height="${round(own)}" class="state-${value < 0 ? "minus" : "plus"}"/>`;
}

const grid = (rows, most, x, y, cell) => rows.map((row, i) => row.map((value, j) => mark(value, most, x + j * cell, y + i * cell, cell)).join("")).join("");

// The matrix; of a cache the keys, and beside them the values.
function square(result, at, side, y) {
  const { rule, state, size, written, held, most } = result;
  const cache = rule === "cache";
  const cell = cache ? Math.min(12, (side - 12) / (2 * size), side / written.length) : side / size;
  const wide = cell * size;
  const tall = cell * (cache ? written.length : size);
  const inside = cache ? grid(written, 1, 0, y, cell) + grid(held, 1, wide + 12, y, cell) + box(wide + 12, y, wide, tall, "state-frame", "", 0)
    : grid(state, most, 0, y, cell);
  const below = y + Math.max(tall, cache ? 0 : side) + 17;
  return {
    inside: text(0, y - 11, cache ? "The cache" : "The state", "state-head") + inside + box(0, y, wide, tall, "state-frame", "", 0)
      + text(0, below, cache ? "keys, and their values" : "a row per number of a key", "state-quiet") + text(0, below + 17, keptWords(result), "state-quiet")
      + target(at, "state", 0, y, cache ? 2 * wide + 12 : side, Math.max(24, tall), explain(result, "state").text),
    bottom: below + 23,
  };
}

// A bar for each pair: how far off its value is when it's read back. The asked pair's is dragged.
function chart(result, y, at) {
  const { pairs, errors, found, pair } = result;
  const x = (i) => at.left + AXIS + i * at.each;
  const level = (error) => y + 14 + TALL * (1 - Math.min(TOP, error) / TOP);
  const lines = [0, 0.5, 1, 1.5].map((error) => stroke(at.left + AXIS, level(error), at.width, level(error), error === 1 ? "state-nothing" : "state-grid") + text(at.left + AXIS - 5, level(error) + 4, error, "state-quiet", END));
  const gap = at.each > 6 ? 1.5 : 0.5;
  const bars = range(pairs).map((i) => {
    const kind = found[i] === i ? "right" : "wrong";
    const hatch = kind === "wrong" ? ` fill="url(#${at.uid}-hatch)"` : "";
    const inside = box(x(i) + gap, Math.min(level(0) - 1, level(errors[i])), Math.max(1, at.each - 2 * gap), Math.max(1, level(0) - level(errors[i])), `state-${kind}${i + 1 === pair ? " state-own" : ""}`, hatch, 1);
    return keyed(at, `error-${i}`, inside) + (i + 1 === pair ? "" : target(at, `pair-${i + 1}`, x(i), level(TOP), at.each, TALL, explain(result, `pair-${i + 1}`).text));
  });
  const middle = x(pair - 0.5);
  const hit = Math.max(24, at.each);
  const place = Math.max(at.left, Math.min(at.width - hit, middle - hit / 2));
  const own = grip("state", at, "now", place, level(TOP), hit, TALL + 26, { key: "pair", entry: { ...schema.pair, max: pairs }, now: pair, label: "Key", words: `key ${pair} of ${pairs}` });
  return text(at.left, y, `Error of each value read back: ${nameOf(result)}`, "state-head") + lines.join("")
    + field(at, surface(at, at.left + AXIS, level(TOP), at.width - at.left - AXIS, TALL) + bars.join("") + own)
    + knob(middle, level(0) + 11, "state-knob", 6) + (at.each > 19 ? range(pairs).filter((i) => i + 1 !== pair).map((i) => text(x(i + 0.5), level(0) + 15, i + 1, "state-quiet", MIDDLE)).join("") : "");
}

// The value that was written with the asked key, and what it reads.
function strips({ wanted, reads, pair, size, errors }, y, at) {
  const [name, wide] = [52, at.width - at.left - 54];
  const each = Math.min(34, wide / size);
  const scale = (STRIP / 2 - 3) / Math.max(...wanted[pair - 1].concat(reads[pair - 1]).map(Math.abs));
  const strip = (row, words, style, top) => {
    const zero = top + STRIP / 2;
    const bars = row.map((value, i) => signedBar(value, at.left + name + i * each + 2, zero, each - 4, Math.max(1, Math.abs(value) * scale), style));
    return text(at.left, zero + 4, words, "state-quiet") + box(at.left + name, top, each * size, STRIP, "state-frame", "", 2)
      + stroke(at.left + name, zero, at.left + name + each * size, zero, "state-grid") + bars.join("")
      + target(at, `strip-${words === "written" ? "value" : "read"}`, at.left + name, top, each * size, STRIP, `${words} with key ${pair}`);
  };
  return text(at.left, y, `Key ${pair}: off by ${decimal(errors[pair - 1])}`, "state-head")
    + strip(wanted[pair - 1], "written", "state-value", y + 10) + strip(reads[pair - 1], "read", "state-read", y + STRIP + 14);
}

const LEGEND = { right: "nearest to its own value", wrong: "nearer to another" };

export function draw(result, { width = 720, uid = "state_matrix", live = false, part, label = "Pairs written into a matrix and read back" } = {}) {
  const at = layout(result, { width, live, uid, part });
  const defs = hatching(`${uid}-hatch`, "state-hatch", 5);
  const first = () => {
    const key = inLines(Object.entries(LEGEND), 182, { width: width - at.left, lead: 22, gap: 14, line: 20 }, (kind, words, x, y) =>
      box(at.left + x, y - 11, 15, 12, `state-${kind}`, kind === "wrong" ? ` fill="url(#${uid}-hatch)"` : "", 1) + text(at.left + x + 21, y, words, "state-quiet"));
    const below = key.bottom + 28;
    return { inside: chart(result, 14, at) + key.inside + strips(result, below, at), bottom: below + 2 * STRIP + 20 };
  };
  if (!at.wide) return inParts("state", width, { live, label }, { part, defs, first, second: () => square(result, at, Math.min(width, 260), 26) });
  const [one, two] = [first(), square(result, at, SIDE, 26)];
  return svg("state", width, Math.ceil(Math.max(one.bottom, two.bottom)), { live, label }, defs + one.inside + two.inside);
}
