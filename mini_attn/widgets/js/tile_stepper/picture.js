// The tile stepper's picture: the two matrices and their product, and the numbers moved so far.
// Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { keyed } from "../core/motion.js";
import schema from "./schema.json" with { type: "json" };
import { END, MIDDLE, box, field, grip, inParts, knob, reachOf, round, stroke, surface, svg, targets, text } from "../core/svg.js";
import { decimal, whole } from "../core/text.js";
import { panel } from "./chart.js";

export const WIDE = 600; // below this the chart goes under the matrices
const NAMES = 46;

const target = targets("tile");

// The left matrix stands left of the product, the right one above it: row meets column.
function layout(width, { rows, k, n }) {
  const wide = width >= WIDE;
  const gap = 26;
  const room = wide ? width * 0.56 : width;
  const cell = Math.min(34, Math.floor((room - NAMES - gap - 9) / (k + n)));
  const x = { a: NAMES, b: NAMES + k * cell + gap, c: NAMES + k * cell + gap };
  const y = { b: 24, a: 24 + k * cell + gap, c: 24 + k * cell + gap };
  return { wide, width, cell, x, y, right: x.b + n * cell, bottom: y.a + rows * cell };
}

function styleOf({ held, now, reads, terms }) {
  const begun = reads === undefined ? terms.length : reads;
  return `${held ? "tile-held" : begun ? "tile-seen" : "tile-new"}${now ? " tile-now" : ""}`;
}

// What is written into a cell: how often an operand was read, or the sum so far where it has room.
function shown(entry, at) {
  if (entry.reads !== undefined) return entry.reads ? whole(entry.reads) : "";
  if (!entry.terms.length) return "";
  if (at.cell >= 27) return decimal(entry.value, 1).replace(".0", "");
  return entry.finished ? "✓" : "…";
}

function says(entry) {
  if (entry.reads !== undefined) return `read ${whole(entry.reads)} times${entry.held ? ", held" : ""}`;
  return entry.terms.length ? `${decimal(entry.value)}${entry.finished ? ", finished" : " so far"}` : "not begun";
}

function matrix(result, name, at) {
  const words = { a: "x", b: "W_q", c: "q" }[name];
  const cells = result[name].map((row, i) => row.map((entry, j) => {
    const [x, y, size] = [at.x[name] + j * at.cell + 1, at.y[name] + i * at.cell + 1, at.cell - 2];
    const id = `${name}-${i}-${j}`;
    const style = entry.finished ? "tile-value tile-done" : entry.held && name !== "c" ? "tile-value tile-in" : "tile-value";
    const hit = target(at, id, x, y, size, size, `${words} ${i + 1}, ${j + 1}: ${says(entry)}`);
    return box(x, y, size, size, styleOf(entry)) + text(x + size / 2, y + size / 2 + 4, shown(entry, at), style, MIDDLE) + hit;
  }).join("")).join("");
  return field(at, surface(at, at.x[name], at.y[name], at.cell * result[name][0].length, at.cell * result[name].length) + cells);
}

// What fast memory holds of a matrix, as a frame that travels from tile to tile.
function frame(name, [top, below], [left, right], at) {
  const [x, y] = [at.x[name] + left * at.cell, at.y[name] + top * at.cell];
  return keyed(at, `tile-${name}`, box(x, y, (right - left) * at.cell, (below - top) * at.cell, "tile-frame"));
}

// The held tile of the product has a knob: it is taken to where the product is to be computed.
function handle({ tiles: { i, j }, step, steps, tile }, at) {
  const [x, y] = [at.x.c + j[1] * at.cell, at.y.c + i[1] * at.cell];
  const reach = reachOf(at.touch);
  return keyed(at, "knob", knob(x, y, "tile-knob")
    + grip("tile", at, "knob", x - reach / 2, y - reach / 2, reach, reach, {
      key: "step", entry: schema.step, now: step, label: "The tile of q that is computed",
      free: true, words: `step ${step} of ${steps}, tile ${i[0] / tile + 1}, ${j[0] / tile + 1}`,
    }));
}

function frames(result, at) {
  const { i, j, p } = result.tiles;
  return frame("a", i, p, at) + frame("b", p, j, at) + frame("c", i, j, at) + (at.live ? handle(result, at) : "");
}

// To the last step of the tile of the product that the knob is taken to.
export function drag(result, id, { width }) {
  if (id !== "knob") return null;
  const { cell } = layout(width, result);
  const { tile, rows, n, k, tiles: { i, j } } = result;
  const cut = (value, size) => Math.max(0, Math.min(Math.ceil(size / tile) - 1, Math.round(value)));
  return ({ dx, dy }) => {
    const row = cut(i[0] / tile + dy / cell / tile, rows), column = cut(j[0] / tile + dx / cell / tile, n);
    const tall = Math.min(tile, rows - row * tile), wide = Math.min(tile, n - column * tile);
    const done = k * (row * tile * n + tall * (column * tile + wide)); // multiply-adds until its end
    return { step: Math.floor(done / rows) };
  };
}

// In the corner that row-meets-column leaves free.
function legend(at) {
  const lines = [["tile-held", "", "held in fast memory"], ["tile-held tile-now", "", "used in this step"],
    ["tile-seen", "2", "times read so far"], ["tile-new", "", "not read yet"]];
  const pitch = Math.min(26, Math.floor((at.y.a - 46) / lines.length));
  return lines.map(([style, digit, words], i) => {
    const y = 10 + i * pitch;
    return box(1, y, 17, 17, style) + text(9.5, y + 13, digit, "tile-value", MIDDLE) + text(26, y + 13, words, "tile-quiet");
  }).join("");
}

export function draw(result, { width = 720, live = false, touch = false, part, label = "A matrix product in tiles, and the numbers it moves" } = {}) {
  const place = layout(width, result);
  const at = { ...place, live, touch, entry: "knob" };
  const { rows, k, n } = result;
  const heads = text(at.x.a, at.y.a - 7, `x (${rows} × ${k})`, "tile-head")
    + text(at.x.b, at.y.b - 8, `W_q (${k} × ${n})`, "tile-head")
    + text(at.right, at.bottom + 18, `q (${rows} × ${n})`, "tile-head", END);
  const names = result.tokens.map((token, i) => text(0, at.y.a + (i + 0.5) * at.cell + 4, token, "tile-token"));
  const corner = stroke(at.x.b - 13, at.y.b, at.x.b - 13, at.bottom, "tile-rule") + stroke(at.x.a, at.y.a - 24, at.right, at.y.a - 24, "tile-rule");
  const matrices = legend(at) + corner + heads + names.join("") + ["a", "b", "c"].map((name) => matrix(result, name, at)).join("") + frames(result, at);
  const first = () => ({ inside: matrices, bottom: at.bottom + 26 });
  if (!at.wide) return inParts("tile", width, { live, label }, { part, first, second: () => panel(result, 0, 0, width, at) });
  const chart = panel(result, at.right + 34, 0, width - at.right - 34, at);
  return svg("tile", width, Math.ceil(Math.max(at.bottom + 26, chart.bottom)), { live, label }, matrices + chart.inside);
}
