// Position encodings side by side: what each adds to a score matrix, and what moving the text changes.
import { softmax } from "./attention_example.js";
import { draw } from "./position_picture.js";
import { LEARNED, METHODS, content, names, triangle } from "./position_tables.js";
import { describe, explain, table } from "./position_words.js";
import schema from "./schema/position_encodings.json" with { type: "json" };

const present = (cells) => cells.flat().filter((value) => value !== null);

// Weights of each row; a token without a vector has none, and is seen by nobody.
function weigh(added) {
  return added.map((row, i) => {
    if (row[i] === null) return row;
    return softmax(row.map((value, j) => content(i, j) + value));
  });
}

function panel(method, start, show) {
  const cells = (at) => (show === "weights" ? weigh(triangle(method, at)) : triangle(method, at));
  const [now, home] = [cells(start), cells(0)];
  const gaps = now.flatMap((row, i) => row.map((value, j) => (value === null ? 0 : Math.abs(value - home[i][j]))));
  const all = Array.from({ length: schema.start.max + 1 }, (_, at) => present(cells(at)).map(Math.abs)).flat();
  return {
    name: method.name, title: method.title, short: method.short, cells: now,
    added: triangle(method, start), changed: Math.max(...gaps),
    missing: now.filter((row, i) => row[i] === null).length, most: show === "weights" ? 1 : Math.max(...all),
  };
}

export function compute({ start, show }) {
  return {
    start, show, names, positions: names.map((_, i) => start + i), trained: LEARNED.length,
    panels: METHODS.map((method) => panel(method, start, show)),
  };
}

export default {
  name: "position_encodings",
  version: 1,
  title: "What a position adds to a score",
  hint: "Point at a square, tap it, or go to it with Tab and the arrow keys: here stands its arithmetic.",
  schema,
  controls: [
    { key: "start", kind: "range", label: "Move the text: it begins at position", show: (value) => String(value) },
    { key: "show", kind: "choice", label: "Squares show", options: [["added", "what is added"], ["weights", "the weights"]] },
  ],
  play: { key: "start", milliseconds: 700 },
  compute, draw, describe, table, explain,
};
