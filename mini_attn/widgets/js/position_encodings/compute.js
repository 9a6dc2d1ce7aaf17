// What each encoding adds at these positions, and how it differs from the text's beginning at 0.
import { softmax } from "../attention/arithmetic.js";
import { tokens } from "../attention/example.js";
import schema from "./schema.json" with { type: "json" };
import { LEARNED, METHODS, content, triangle } from "./tables.js";

const present = (cells) => cells.flat().filter((value) => value !== null);

// Weights of each row; a token without a vector has none, and is visible to nobody.
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
    start, show, tokens, positions: tokens.map((_, i) => start + i), trained: LEARNED.length,
    panels: METHODS.map((method) => panel(method, start, show)),
  };
}
