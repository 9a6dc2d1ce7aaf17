// The calculator's picture: four figures, a bar of the device's memory, the cache against the
// context, and the formula. Pure: numbers in, SVG out; every length is in CSS pixels of the
// width it is given, so that text keeps its size on a phone.
import { handy } from "../core/drag.js";
import { scaleLinear, scaleLog } from "d3-scale";

import {
  binarySize, count, counts, deviceWords, formula, grouped, numberText, roundSize, saving, size, splitWords, weightWords,
} from "./words.js";
import { grip, hatching, inLines, line, reachOf, round } from "../core/svg.js";
import { escape } from "../core/text.js";
import schema from "./schema.json" with { type: "json" };

const NARROW = 520;
const GAP = 28;

const attributes = (values) =>
  Object.entries(values).map(([key, value]) => ` ${key}="${escape(typeof value === "number" ? round(value) : value)}"`).join("");
const mark = (tag, values, inside = "") => `<${tag}${attributes(values)}>${inside}</${tag}>`;
const text = (x, y, words, kind, more = {}) =>
  mark("text", { x, y, class: `calc-${kind}`, ...more }, escape(words));
const group = (y, inside) => mark("g", { transform: `translate(0 ${round(y)})` }, inside);

// System fonts differ; these are generous averages, enough to wrap and to avoid collisions.
const textWidth = (words, pixels) => String(words).length * pixels * 0.58;

// Lines of text from y on, broken at spaces; 13 px a letter's height, 18 px a line.
function wrapped(words, y, width, kind, x = 0) {
  const lines = [];
  for (const word of words.split(" ")) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && textWidth(longer, 12.5) < width - x) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  const inside = lines.map((part, index) => text(x, y + 18 * index, part, kind)).join("");
  return { inside, height: 4 + 18 * lines.length };
}

function figures(result, width) {
  const cards = [
    [result.sizes.ranks > 1 ? "cache of each device" : "the cache", "cache", binarySize(result.total_bytes)],
    ["compared with weights", "beside", weightWords(result)],
    ["one token takes", "token", `${grouped(result.bytes_per_token)} bytes`],
    ["sequences that fit", "fit", `of ${count(result.sizes.context, "token")}`],
  ];
  const all = counts(result);
  const columns = width < NARROW ? 2 : 4;
  const step = (width + 12) / columns;
  const tall = 84;
  const inside = cards.map(([label, key, note], index) => {
    const [value, write] = all[key];
    const x = (index % columns) * step;
    const y = Math.floor(index / columns) * (tall + 12);
    return mark("rect", { x: x + 0.5, y: y + 0.5, width: step - 13, height: tall, rx: 6, class: "calc-card" })
      + text(x + 12, y + 20, label, "quiet")
      + text(x + 12, y + 50, write(value), "figure", { "data-count": key })
      + text(x + 12, y + 71, note, "quiet");
  }).join("");
  const rows = Math.ceil(cards.length / columns);
  const height = rows * (tall + 12) - 12;
  const notes = [saving(result), splitWords(result)].filter(Boolean).reduce((above, words) => {
    const next = wrapped(words, height + above.height + 22, width, "note");
    return { inside: above.inside + next.inside, height: above.height + next.height };
  }, { inside: "", height: 0 });
  return { inside: inside + notes.inside, height: height + notes.height };
}

function bar(result, width) {
  const weights = Number(result.weight_bytes);
  const cache = Number(result.total_bytes);
  const memory = Number(result.device_bytes);
  const unit = [1e15, 1e12, 1e9, 1e6].find((scale) => Math.max(memory, weights + cache) >= scale) ?? 1;
  const name = { 1e15: "PB", 1e12: "TB", 1e9: "GB", 1e6: "MB", 1: "bytes" }[unit];
  const x = scaleLinear([0, Math.max(memory, weights + cache)], [0, width - 1]);
  const top = 34;
  const tall = 38;
  const over = weights + cache > memory;
  const piece = (from, to, kind, words) => (to > from
    ? mark("rect", { x: x(from), y: top, width: Math.max(x(to) - x(from), 1.5), height: tall, class: `calc-${kind}` },
      mark("title", {}, escape(words)))
    : "");
  const ticks = x.ticks(width < NARROW ? 4 : 8).map((tick) =>
    mark("line", { x1: x(tick), x2: x(tick), y1: top + tall, y2: top + tall + 5, class: "calc-axis" })
    + text(x(tick), top + tall + 19, grouped(round(tick / unit)), "tick",
      { "text-anchor": tick === 0 ? "start" : x(tick) > width - 14 ? "end" : "middle" })).join("");
  const limit = over
    ? mark("rect", { x: x(memory), y: top, width: x(weights + cache) - x(memory), height: tall, class: "calc-beyond calc-over" })
      + mark("line", { x1: x(memory), x2: x(memory), y1: top - 8, y2: top + tall + 6, class: "calc-limit" })
    : "";
  const last = over
    ? ["beyond", `${size(weights + cache - memory)} too much for ${deviceWords(result)}`]
    : ["free", `free ${size(memory - weights - cache)} of ${deviceWords(result)}`];
  const key = keyLine([["weights", weightWords(result)], ["cache", `cache ${size(cache)}`], last], width);
  return {
    inside: text(0, 14, `Memory of ${result.sizes.ranks > 1 ? "each" : "the"} device, in ${name}`, "title")
      + mark("rect", { x: 0.5, y: top, width: x(Math.max(memory, weights + cache)), height: tall, class: "calc-free" })
      + piece(0, weights, "weights", weightWords(result))
      + piece(weights, weights + cache, "cache", `cache ${size(cache)}`)
      + limit + ticks + group(top + tall + 32, key.inside),
    height: top + tall + 32 + key.height,
  };
}

// Samples with words: squares for areas, strokes for lines.
function keyLine(entries, width) {
  const key = inLines(entries, 0, { width, lead: 30, gap: 12, line: 20, letter: 6.96 }, (kind, words, x, y) => {
    const sample = kind.startsWith("line")
      ? mark("line", { x1: x, x2: x + 22, y1: y + 7, y2: y + 7, class: `calc-line calc-${kind}` })
      : mark("rect", { x: x + 0.5, y: y + 1, width: 21, height: 12, class: `calc-${kind}${kind === "beyond" ? " calc-over" : ""}` });
    return sample + text(x + 29, y + 11, words, "quiet");
  });
  return { inside: key.inside, height: key.bottom + 16 };
}

const LEAST_CONTEXT = 128;

function chartScales(result, width, height, left) {
  const { sizes } = result;
  const longest = Math.max(131072, sizes.context);
  const x = scaleLog([Math.min(LEAST_CONTEXT, sizes.context), longest], [left, width - 12]).base(2);
  const marks = [result.device_bytes, result.weight_bytes, result.total_bytes].map(Number);
  const high = Math.max(...marks, result.bytesAt(longest)) * 2;
  const low = Math.min(...marks, result.bytesAt(LEAST_CONTEXT) * 1.0) / 2;
  const y = scaleLog([10 ** Math.floor(Math.log10(low)), 10 ** Math.ceil(Math.log10(high))], [height - 34, 30]);
  return { x, y };
}

function chartAxes(x, y, width, height, left) {
  const [from, to] = x.domain();
  const powers = [];
  const every = width < NARROW ? 4 : 2;
  for (let power = Math.ceil(Math.log2(from)); 2 ** power <= to; power += every) powers.push(2 ** power);
  const [low, high] = y.domain().map((value) => Math.round(Math.log10(value)));
  const steps = Array.from({ length: high - low + 1 }, (_, index) => 10 ** (low + index));
  const across = steps.map((value) =>
    mark("line", { x1: left, x2: width - 12, y1: y(value), y2: y(value), class: "calc-grid" })
    + text(left - 8, y(value) + 4, size(value).replace(/\.0+ /, " "), "tick", { "text-anchor": "end" })).join("");
  const down = powers.map((value) =>
    mark("line", { x1: x(value), x2: x(value), y1: height - 34, y2: height - 29, class: "calc-axis" })
    + text(Math.min(x(value), width - textWidth(grouped(value), 12) / 2), height - 15, grouped(value), "tick",
      { "text-anchor": "middle" })).join("");
  return across + down
    + mark("line", { x1: left, x2: width - 12, y1: height - 34, y2: height - 34, class: "calc-axis" })
    + text(width - 12, height + 2, "tokens per sequence", "tick", { "text-anchor": "end" });
}

function curve(x, y, bytesAt, kind) {
  const [from, to] = x.domain();
  const steps = Array.from({ length: 41 }, (_, i) => Math.round(from * (to / from) ** (i / 40)));
  const [low, high] = y.domain();
  const inside = (context) => bytesAt(context) >= low && bytesAt(context) <= high;
  const d = line(x, (context) => y(bytesAt(context)))(steps.filter(inside));
  return mark("path", { d, class: `calc-line calc-line-${kind}` });
}

// A level with its words at the left, or at the right where a curve comes through them: curves rise,
// so that one of the two ends is free.
function level(x, y, bytes, kind, words, below, curves) {
  const [start, end] = x.range();
  const at = y(Number(bytes));
  const beside = x.invert(start + textWidth(words, 12) + 12);
  const taken = curves.some((bytesAt) => y(bytesAt(Math.round(beside))) < at + 18);
  return mark("line", { x1: start, x2: end, y1: at, y2: at, class: `calc-level calc-level-${kind}` })
    + text(taken ? end - 6 : start + 6, at + (below ? 15 : -6), words, "halo", { "text-anchor": taken ? "end" : "start" });
}

function room(x, y, result) {
  const [start, end] = x.range();
  const [bottom, top] = y.range();
  const left = Number(result.left_bytes);
  const edge = left > y.domain()[0] ? y(left) : bottom;
  return mark("rect", { x: start, y: top, width: end - start, height: Math.max(0, edge - top), class: "calc-beyond" });
}

// The context is taken by its line; snapped to a power of two near the hand.
export function drag(result, id, { width }) {
  if (id !== "context" || result.error) return null;
  const { x } = chartScales(result, width, heightOf(width), LEFT);
  return ({ dx }) => ({ context: handy(x.invert(x(result.sizes.context) + dx)) });
}

function here(x, y, result, at) {
  const { context } = result.sizes;
  const px = x(context);
  const py = y(Number(result.total_bytes));
  const [start, end] = x.range();
  const right = px < start + 90 || (px > (start + end) / 2 && px < end - 90);
  return mark("path", { d: `M${round(px)} ${round(y.range()[0])}V${round(py)}`, class: "calc-drop" })
    + mark("circle", { cx: px, cy: py, r: 6, class: "calc-here" })
    + text(px + (right ? 12 : -12), py + (right ? 20 : -12), size(result.total_bytes), "halo calc-strong",
      { "text-anchor": right ? "start" : "end" })
    + grip("calc", at, "context", Math.min(px, end + 12 - at.hit / 2) - at.hit / 2, y.range()[1], at.hit, y.range()[0] - y.range()[1], {
      key: "context", entry: schema.context, now: context, label: "Tokens per sequence", words: `${grouped(context)} tokens`,
    });
}

const LEFT = 58;
const heightOf = (width) => (width < NARROW ? 300 : 330);

function chart(result, width, at) {
  const height = heightOf(width);
  const left = LEFT;
  const { x, y } = chartScales(result, width, height, left);
  const close = Math.abs(y(Number(result.device_bytes)) - y(Number(result.weight_bytes))) < 20;
  const below = result.device_bytes > result.weight_bytes;
  const plain = result.mha_bytes > result.total_bytes;
  const curves = [result.bytesAt, ...(plain ? [result.mhaBytesAt] : [])];
  return {
    inside: text(0, 14, `${result.sizes.ranks > 1 ? "Each device's cache" : "Cache against tokens"}, ${count(result.sizes.batch, "sequence")}`, "title")
      + chartAxes(x, y, width, height, left)
      + room(x, y, result)
      + level(x, y, result.device_bytes, "device", `device ${roundSize(result.device_bytes)}`, close && !below, curves)
      + level(x, y, result.weight_bytes, "weights", `weights ${size(result.weight_bytes)}`, close && below, curves)
      + (plain ? curve(x, y, result.mhaBytesAt, "mha") : "")
      + curve(x, y, result.bytesAt, "cache")
      + here(x, y, result, at),
    height: height + 6,
  };
}

function legend(result, width) {
  const entries = [["line-cache", "this cache"], ["beyond", "doesn't fit with the weights"]];
  if (result.mha_bytes > result.total_bytes) {
    entries.splice(1, 0, ["line-mha", "one KV head per query head"]);
  }
  return keyLine(entries, width);
}

// A number of the formula; pointing at it or focusing it says where it comes from.
function chip(item, shown, x, y, wide) {
  const tip = `${shown} ${item.label}: ${item.why}`;
  return mark("g", { tabindex: 0, role: "img", "aria-label": tip, "data-tip": tip, "data-id": `${item.label}-${x}-${y}` },
    mark("rect", { x, y, width: wide, height: 46, rx: 5, class: "calc-chip" })
    + text(x + wide / 2, y + 21, shown, "number", { "text-anchor": "middle" })
    + text(x + wide / 2, y + 38, item.label, "label", { "text-anchor": "middle" }));
}

function chips(result, width) {
  const items = [...formula(result), { sign: "=" }];
  let x = 0;
  let y = 28;
  const inside = items.map((item) => {
    const shown = item.sign ?? numberText(item.value);
    const wide = item.sign
      ? textWidth(shown, 16) + 8
      : Math.max(textWidth(shown, 17), textWidth(item.label, 11)) + 14;
    if (x + wide > width) [x, y] = [0, y + 54];
    const out = item.sign
      ? text(x + wide / 2, y + 22, shown, "sign", { "text-anchor": "middle" })
      : chip(item, shown, x, y, wide);
    x += wide + 3;
    return out;
  }).join("");
  y = Math.max(y, 28 + 54); // long numbers take a second line: nothing below it moves
  const exact = `${grouped(result.total_bytes)} bytes`;
  const units = `${size(result.total_bytes)} (1 GB = 10⁹ bytes) · ${binarySize(result.total_bytes)} (1 GiB = 2³⁰ bytes)`;
  const scales = result.bits <= 8 ? " · without the scales that quantized values need too" : "";
  return {
    inside: text(0, 14, result.sizes.ranks > 1 ? "The formula, for each device" : "The formula with these numbers", "title") + inside
      + text(0, y + 76, exact, "figure")
      + wrapped(units + scales, y + 98, width, "quiet").inside,
    height: y + 84 + wrapped(units + scales, y + 98, width, "quiet").height,
  };
}

function problem(result, width) {
  const words = wrapped(result.error, 54, width - 16, "quiet", 16);
  const frame = { x: 0.5, y: 0.5, width: width - 1, height: words.height + 54, rx: 6, class: "calc-card" };
  return {
    inside: mark("rect", frame) + text(16, 30, "These numbers don't go together", "alarm") + words.inside,
    height: words.height + 56,
  };
}

export function draw(result, { width = 720, uid = "calc", live = false, touch = false } = {}) {
  const at = { live, hit: reachOf(touch) };
  const parts = result.error ? [problem(result, width)]
    : [figures(result, width), bar(result, width), chart(result, width, at), legend(result, width), chips(result, width)];
  let y = 0;
  const inside = parts.map((part, index) => {
    if (index) y += index === 3 ? 12 : GAP;
    const placed = group(y, part.inside);
    y += part.height;
    return placed;
  }).join("");
  return mark("svg", {
    xmlns: "http://www.w3.org/2000/svg", viewBox: `0 0 ${width} ${Math.ceil(y)}`, width, height: Math.ceil(y),
    class: "calc-picture", role: "group", "aria-label": "Cache, memory and formula",
    style: `--calc-beyond: url(#${uid}-hatch)`,
  }, hatching(`${uid}-hatch`, "calc-hatch", 7) + inside);
}
