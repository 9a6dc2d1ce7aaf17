// Six triangles of squares, one for each encoding: the area says how much, filled is plus, hollow is
// minus. Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { keyed } from "../core/motion.js";
import schema from "./schema.json" with { type: "json" };
import { END, MIDDLE, box, field, grip, round, stroke, svg, targets, text } from "../core/svg.js";
import { decimal } from "../core/text.js";
import { verdict } from "./words.js";

const WIDE = 600; // below this two triangles stand side by side, not three
const [LEFT, TOP, GAP] = [22, 4, 12];
const STRIP = 62; // the ruler with the text on it

function layout(width, count) {
  const columns = width >= WIDE ? 3 : 2;
  const tile = Math.floor((width - (columns - 1) * GAP) / columns);
  const wide = columns === 3;
  const cell = Math.min(wide ? 19 : 12, Math.floor((tile - LEFT) / count));
  return { width, wide, columns, tile, cell, place: width / (count + schema.start.max), high: TOP + count * cell + (wide ? 28 : 22) };
}

const square = (x, y, side) => `M${round(x)} ${round(y)}h${round(side)}v${round(side)}h${round(-side)}z`;
const path = (kind, lines) => (lines ? `<path d="${lines}" class="pos-${kind}"/>` : "");

// What stands in a cell, as [kind, lines]: a square whose area is the size of the number, or a
// cross where there is no vector.
function mark(value, x, y, cell, most) {
  const [cx, cy] = [x + cell / 2, y + cell / 2];
  if (value === null) {
    const r = cell / 5;
    return ["cross", `M${round(cx - r)} ${round(cy - r)}l${round(2 * r)} ${round(2 * r)}M${round(cx - r)} ${round(cy + r)}l${round(2 * r)} ${round(-2 * r)}`];
  }
  const side = Math.max(2, Math.sqrt(Math.abs(value) / most) * (cell - 4));
  const drawn = Math.abs(value) >= 1e-3 * most;
  return [value > 0 ? "plus" : "minus", drawn ? square(cx - side / 2, cy - side / 2, side) : ""];
}

const target = targets("pos", 0);

// The text on a ruler of positions: it is taken along, or moved by the arrow keys.
function strip({ start, tokens }, at) {
  const x = (position) => position * at.place;
  const ruler = Array.from({ length: tokens.length + schema.start.max }, (_, n) =>
    stroke(x(n + 0.5), 38, x(n + 0.5), 43, "pos-tick") + text(x(n + 0.5), 55, String(n), "pos-place", MIDDLE));
  const long = at.place >= 38;
  const words = tokens.map((token, i) => (long ? (i ? stroke(x(start + i), 6, x(start + i), 34, "pos-cut") : "")
    + text(x(start + i + 0.5), 25, token, "pos-word", MIDDLE) : ""));
  const name = long ? "" : text(x(start + tokens.length / 2), 25, `“${tokens[0]} ${tokens[1]} … ${tokens.at(-1)}”`, "pos-word", MIDDLE);
  const [left, wide, tall] = [x(start), x(tokens.length), at.touch ? 44 : 32];
  return ruler.join("") + keyed(at, "text", box(left, 4, wide, 32, "pos-text") + words.join("") + name)
    + grip("pos", at, "text", left, 20 - tall / 2, wide, tall, {
      key: "start", entry: schema.start, now: start, label: "Where the text begins", words: `positions ${start} to ${start + tokens.length - 1}`,
    });
}

// All marks of a kind are one path: a slider redraws six triangles, and elements are what costs.
function cells(result, panel, x0, y0, at) {
  const lines = { cell: "", plus: "", minus: "", cross: "" };
  const targets = panel.cells.flatMap((row, i) => row.map((value, j) => {
    const [x, y] = [x0 + j * at.cell, y0 + i * at.cell];
    const [kind, marked] = mark(value, x, y, at.cell, panel.most);
    lines.cell += square(x, y, at.cell);
    lines[kind] += marked;
    const words = value === null ? "no vector" : decimal(value);
    return at.touch && (i < 7 || j) ? "" : target(at, `${panel.name}-${i}-${j}`, x, y, at.cell, at.cell, `${panel.title}: query at ${result.positions[i]}, key at ${result.positions[j]}: ${words}`);
  }));
  return field(at, Object.entries(lines).map(([kind, drawn]) => path(kind, drawn)).join("") + targets.join(""));
}

function triangle(result, n, at) {
  const panel = result.panels[n];
  const x0 = (n % at.columns) * (at.tile + GAP);
  const y0 = STRIP + Math.floor(n / at.columns) * at.high;
  const [left, top] = [x0 + LEFT, y0 + TOP];
  const bottom = top + result.positions.length * at.cell;
  const every = at.cell < 18 ? 2 : 1; // two digits need their room
  const labels = result.positions.map((position, i) =>
    text(left - 5, top + (i + 0.5) * at.cell + 4, String(position), "pos-place", END)
    + (i % every ? "" : text(left + (i + 0.5) * at.cell, bottom + 13, String(position), "pos-place", MIDDLE)));
  const { good, words, short } = verdict(result, panel);
  const style = good === null ? "pos-quiet" : good ? "pos-same" : "pos-other";
  // The corner that a triangle leaves free holds its name and what is said of it.
  const lines = [[panel.title, "pos-head"], ...(at.wide ? [[panel.short, "pos-quiet"]] : []), [short ?? words, style]];
  return lines.map(([said, kind], n) => text(x0 + at.tile - 2, top + 11 + 18 * n, said, kind, END)).join("") + cells(result, panel, left, top, at) + labels.join("");
}

// What the marks mean, on as many lines as they need; a letter is about 6.3 px wide.
function legend(result, y, at) {
  const entries = [["", at.wide ? "row: query at m, column: key at n" : "row: query, column: key"], ["plus", "plus"], ["minus", "minus"], ["", "area: size, each triangle on its own scale"]];
  if (result.show === "weights") entries.splice(1, 3, ["plus", "weight: a full square is 1"]);
  if (result.panels.some(({ missing }) => missing)) entries.push(["cross", "no vector"]);
  let [x, line] = [0, y];
  const inside = entries.flatMap(([kind, words]) => {
    const room = Math.floor((at.width - (kind ? 20 : 0)) / 6.3);
    const parts = words.length <= room ? [words] : [words.slice(0, words.lastIndexOf(" ", room)), words.slice(words.lastIndexOf(" ", room) + 1)];
    return parts.map((part, nth) => {
      const wide = (kind ? 20 : 0) + 6.3 * part.length;
      if (x && (nth || x + wide > at.width)) [x, line] = [0, line + 19];
      const sample = kind && !nth ? path(...mark({ plus: 1, minus: -1, cross: null }[kind], x, line - 11, 16, 1)) : "";
      const said = sample + text(x + (kind ? 20 : 0), line + 1, part, "pos-quiet");
      x += wide + 18;
      return said;
    });
  });
  return { inside: inside.join(""), bottom: line + 8 };
}

// The text is moved on its ruler, or by any of its triangles: a cell to the side is a position.
export function drag(result, id, { width, state }) {
  const { cell, place } = layout(width, result.tokens.length);
  return ({ dx }) => ({ start: state.start + dx / (id === "text" ? place : cell) });
}

export function draw(result, { width = 720, live = false, touch = false, label = "What six position encodings add to the scores of eight tokens" } = {}) {
  const at = { ...layout(width, result.tokens.length), live, touch, entry: "text" };
  const lines = Math.ceil(result.panels.length / at.columns);
  const key = legend(result, STRIP + lines * at.high + 12, at);
  const height = Math.ceil(key.bottom);
  return svg("pos", width, height, { live, label }, strip(result, at) + result.panels.map((_, n) => triangle(result, n, at)).join("") + key.inside);
}
