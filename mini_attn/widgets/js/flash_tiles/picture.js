// The picture of the tiles: the large memory with the square of scores, the fast one as a bar, and
// what is moved and computed. Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { scaleLinear } from "d3-scale";
import { nearest } from "../core/drag.js";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, grip, knob, reachOf, round, stroke, svg, targets, text } from "../core/svg.js";
import { whole } from "../core/text.js";
import { KILO } from "./compute.js";
import schema from "./schema.json" with { type: "json" };
import { NAMES, kilo, pairs, room } from "./words.js";

const WIDE = 600; // from here on the bars stand beside the square
const X = 34;
const Y = 54; // corner of the square
const target = targets("flash");

function layout(width) {
  const wide = width >= WIDE;
  const side = wide ? 236 : Math.min(140, width - 176);
  const right = X + side + (wide ? 50 : 34);
  return { width, wide, side, right, left: wide ? right : 0, top: wide ? 13 : Y + side + 36, end: Y + side };
}

// Bytes of the fast memory along its bar; the bar stays while its end is dragged.
const along = ({ used }, { left, width }) => scaleLinear([0, Math.max(schema.memory.max * KILO, used)], [left, width - 8]);

const block = (x, y, w, h) => `M${round(x)},${round(y)}h${round(w)}v${round(h)}h${round(-w)}z`;
const path = (parts, style) => `<path d="${parts.join("")}" class="${style}"/>`;

// The square of scores: computed tiles, those that are done, the one at hand, and those skipped.
function square({ rows, row, column, done, tile, nq, nk, skipped, causal, written }, { side, ...at }) {
  const [w, h] = [side / nk, side / nq];
  const stored = written ? "flash-stored" : "";
  const past = rows.slice(0, row + 1).map((n, i) => block(X, Y + i * h, w * (done || i < row ? n : column), h));
  const grid = Math.min(w, h) < 4 ? [] : rows.flatMap((n, i) => Array.from({ length: n }, (_, j) => block(X + j * w, Y + i * h, w, h)));
  const rest = rows.map((n, i) => block(X + n * w, Y + i * h, side - n * w, h));
  const [x, y] = [X + column * w, Y + row * h];
  return path(past, `flash-done ${stored}`) + path(grid, "flash-grid")
    + (causal ? path([`M${X},${Y}h${side}v${side}z`], "flash-mask") + path(rest, "flash-skip") : "")
    + (skipped ? text(X + side - 5, Y + 16, "skipped", "flash-quiet", END) : "")
    + path([block(X, Y, side, side)], `flash-frame ${stored}`)
    + (tile && !done ? keyed(at, "tile", box(x, y, w, h, "flash-now")) : "")
    + target(at, "tile", x + w / 2 - Math.max(12, w / 2), y + h / 2 - Math.max(12, h / 2), Math.max(24, w), Math.max(24, h), `tile ${whole(tile)}`);
}

const { block_q: Q, block_k: K } = schema;

// The end of a block can be taken: a longer one has more queries, or more keys.
function end(at, key, entry, size, x, y, what) {
  const { hit } = at;
  return (at.live ? knob(x, y, "flash-knob", 6) : "")
    + grip("flash", at, key, x - hit / 2, y - hit / 2, hit, hit, { key, entry, now: size, label: `${what} per block`, words: `${size} ${what.toLowerCase()}` });
}

// Q and O beside the square, K and V above it: each with its blocks, and the one that is held. The
// last block of O comes out of the sum.
function strips({ nq, nk, row, column, tile, done, tokens, written, block_q: bq, block_k: bk }, at) {
  const { side } = at;
  const held = tile && !done ? 1 : 0;
  const written_rows = done ? nq : row;
  const strip = (name, n, blocks, z, down) => {
    const turned = (u, length, thick = 12, v = z) => (down ? [v, Y + u, thick, length] : [X + u, v, length, thick]);
    return box(...turned(0, side), `flash-strip flash-${name}`)
      + blocks.map(([key, from, many, origin]) => keyed(at, key, box(...turned((from * side) / n, (many * side) / n), `flash-full flash-${name}`), { from: origin })).join("")
      + (down ? text(z + (name === "q" ? -12 : 16), Y + 11, name.toUpperCase(), "flash-head") : text(X - 18, z + 11, name.toUpperCase(), "flash-head"))
      + target(at, name, ...turned(0, side, 24, z - { v: 12, k: 4, q: 12, o: 0 }[name]), `${name.toUpperCase()}, ${n} blocks`);
  };
  const one = (name, at) => (held ? [[`held-${name}`, at, 1]] : []);
  const out = written_rows ? [["out", 0, written_rows - 1], [`out-${written_rows}`, written_rows - 1, 1, "part-o"]] : [];
  return strip("v", nk, one("v", column), 22) + strip("k", nk, one("k", column), 38) + strip("q", nq, one("q", row), X - 16, true)
    + strip("o", nq, out, X + side + 4, true) + text(0, 13, "Large memory", "flash-head")
    + text(X, at.end + 15, `${whole(tokens)}²${at.wide ? " scores" : ""}, tiles of ${bq} × ${bk}${written ? ", materialized" : ""}`, "flash-quiet")
    + end(at, "block_k", K, bk, X + ((column + 1) * side) / nk, 44, "Keys") + end(at, "block_q", Q, bq, X - 10, Y + ((row + 1) * side) / nq, "Queries");
}

// The fast memory: what it holds as a bar to its end, and as a list. What is read anew comes out of
// the large memory: K and V for each tile, Q for each row.
function fast(result, at) {
  const { parts, memory, over, row, column } = result;
  const loads = { q: [`part-q-${row}`, "held-q"], k: [`part-k-${column}`, "held-k"], v: [`part-v-${column}`, "held-v"] };
  const { left, top, wide, width } = at;
  const x = along(result, at);
  const [y, end] = [top + 10, x(memory * KILO)];
  const [more, each] = wide ? [2, (width - left) / 2] : [1, width - at.right];
  let from = 0;
  const inside = parts.map(({ name, bytes }, i) => {
    const [a, b] = [x(from), x(from += bytes)];
    const [u, v] = [at.right + (i % more) * each, (wide ? 66 : 6) + Math.floor(i / more) * 25];
    const [key, origin] = loads[name] ?? [`part-${name}`];
    return keyed(at, key, box(a, y, b - a, 26, `flash-full flash-${name}`) + (b - a > 14 ? text((a + b) / 2, y + 18, name.toUpperCase(), "flash-in", MIDDLE) : ""), { from: origin })
      + box(u, v + 5, 12, 12, `flash-full flash-${name}`) + text(u + 17, v + 16, NAMES[name], "flash-small") + text(u + each - more * 8, v + 16, kilo(bytes), "flash-small", END)
      + target(at, `part-${name}`, u - 2, v, each - 4, 24, `${NAMES[name]} in the fast memory`);
  });
  return text(left, top, `Fast memory: ${room(result)}`, over ? "flash-head flash-alarm" : "flash-head") + inside.join("")
    + box(left, y, end - left, 26, "flash-memory") + stroke(end, y - 3, end, y + 29, "flash-end")
    + knob(end, y + 13, "flash-knob", 6)
    + grip("flash", at, "memory", Math.min(end, width - at.hit / 2) - at.hit / 2, y + 13 - Math.max(32, at.hit) / 2, at.hit, Math.max(32, at.hit), { key: "memory", entry: schema.memory, now: memory, label: "Fast memory", words: `${memory} kB` });
}

// A pair of bars: in tiles, and with the scores materialized; the fuller one is as far as the loop.
function pair(at, y, [head, name, values, show], { share, written }) {
  const x = scaleLinear([0, Math.max(...values)], [0, at.width - at.left - 162]);
  return text(at.left, y, head, "flash-head") + values.map((value, i) => {
    const [top, wide, words] = [y + 7 + i * 25, x(value), ["tiles", "written"][i]];
    const own = i === Number(written) ? " flash-own" : "";
    return text(at.left, top + 15, words, `flash-small${own}`) + box(at.left + 60, top + 2, wide, 18, "flash-bar")
      + (own && box(at.left + 60, top + 2, wide * share, 18, "flash-sofar")) + text(at.width, top + 15, show(value), `flash-small${own}`, END)
      + target(at, `${name}-${words}`, at.left, top, at.width - at.left, 24, `${words}: ${show(value)}`);
  }).join("");
}

export function draw(result, { width = 720, live = false, touch = false, label = "Attention in tiles" } = {}) {
  const at = { ...layout(width), live, hit: reachOf(touch), entry: "tile" };
  const y = at.wide ? 168 : at.top + 60;
  const bars = pairs(result).map((one, i) => pair(at, y + i * 72, one, result)).join("");
  return svg("flash", width, Math.max(y + 132, at.end + 24), { live, label }, square(result, at) + strips(result, at) + fast(result, at) + bars);
}

// The end of the fast memory, those of the blocks, and the tile: to the right more keys, down more queries.
export function drag(result, id, { width, state }) {
  const at = layout(width);
  if (id === "memory") return ({ dx }) => ({ memory: state.memory + along(result, at).invert(dx + at.left) / KILO });
  const size = (key, by) => ({ [key]: nearest(schema[key], state[key] + (by * state.tokens) / at.side) });
  if (id === "block_q") return ({ dy }) => size(id, dy);
  if (id === "block_k") return ({ dx }) => size(id, dx);
  return id === "tile" && (({ dx, dy }) => ({ ...size("block_q", dy), ...size("block_k", dx) }));
}
