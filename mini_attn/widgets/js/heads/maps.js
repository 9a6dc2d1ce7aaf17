// A head as a map: a line for each word that reads, a column for each word that is read.
import { box, round, stroke } from "../core/svg.js";

const LEVELS = [0.03, 0.1, 0.25, 0.5, 0.75]; // from each of these shares on, a stronger shade

export function levelOf(share) {
  let level = 0;
  while (share >= LEVELS[level]) level++; // no share reaches what lies behind the last one
  return level;
}

// One path for each shade, as thousands of rectangles would take the page too long. Neighbours in a
// line with the same shade are one piece.
function shades(rows, x, y, cell) {
  const fine = (value) => Math.round(value * 100) / 100;
  const paths = LEVELS.map(() => "");
  rows.forEach((row, i) => {
    for (let j = 0, end; j < row.length; j = end) {
      const level = levelOf(row[j]);
      end = j + 1;
      while (end < row.length && levelOf(row[end]) === level) end++;
      if (!level) continue; // most of a map
      const wide = fine((end - j) * cell);
      paths[level - 1] += `M${fine(x + j * cell)} ${fine(y + i * cell)}h${wide}v${fine(cell)}h${-wide}z`;
    }
  });
  return paths.map((d, i) => (d ? `<path d="${d}" class="in-shade in-${i + 1}"/>` : "")).join("");
}

// The map in a square; `at` is the line of the chosen word. A head that is off is struck out.
export function headMap(rows, x, y, size, at, { off = false, style = "in-frame" } = {}) {
  const cell = size / rows.length;
  const past = `<path d="M${round(x)} ${round(y)}V${round(y + size)}H${round(x + size)}z" class="in-past"/>`;
  const line = box(x, y + at * cell, size, Math.max(cell, 1.5), "in-line");
  const struck = off ? stroke(x, y, x + size, y + size, "in-struck") + stroke(x, y + size, x + size, y, "in-struck") : "";
  return `${past}${off ? "" : shades(rows, x, y, cell) + line}${struck}${box(x + 0.5, y, size - 0.5, size, style)}`;
}
