// The encodings in words: the sentence, the table, and the arithmetic of each cell.
import { count, decimal } from "../core/text.js";
import { ALIBI, LEARNED, SHAW, T5, bucketOf, content, queries, speeds } from "./tables.js";

const SMALL = 1e-9;
const vector = (values) => `(${values.map((value) => decimal(value, 1)).join(", ")})`;
const list = (words) => (words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`);

// What stands under each panel.
export function verdict(result, { changed, missing }) {
  if (missing) return { good: false, words: `✗ ${missing} without vector`, short: `✗ ${missing} missing` };
  if (!result.start) return { good: null, words: "not moved yet" };
  const off = decimal(changed, changed < 10 ? 2 : 1);
  return changed < SMALL ? { good: true, words: "✓ same as at 0" } : { good: false, words: `✗ off by up to ${off}`, short: `✗ up to ${off}` };
}

export function describe(result) {
  const { start, positions, panels, trained, show } = result;
  const what = show === "weights" ? "weights" : "numbers";
  const where = `The text is at positions ${start} to ${positions.at(-1)}`;
  if (!start) return `${where}, where it begins. Move it and see which of the six keep their ${what}.`;
  const of = (test) => list(panels.filter(test).map(({ title }) => title));
  const beyond = panels.find(({ missing }) => missing);
  const lost = beyond ? ` ${count(beyond.missing, "token")} ${beyond.missing === 1 ? "is" : "are"} beyond the ${trained} learned positions.` : "";
  return `${where}. These ${what} changed: ${of((one) => one.changed >= SMALL || one.missing)}. Unchanged: ${of((one) => one.changed < SMALL && !one.missing)}.${lost}`;
}

export function table(result) {
  const { tokens, positions, panels, start, show } = result;
  const last = tokens.length - 1;
  const shown = (value) => (value === null || value === undefined ? "no vector" : decimal(value));
  return {
    caption: `${show === "weights" ? "Weights" : "What is added to the scores"} in the row of “${tokens[last]}” at position ${positions[last]}; the text begins at ${start}`,
    head: ["key", "position", "distance", ...panels.map(({ title }) => title)],
    rows: [
      ...tokens.map((name, j) => [name, String(positions[j]), String(last - j), ...panels.map(({ cells }) => shown(cells[last][j]))]),
      ["moved from 0", "", "", ...panels.map((one) => verdict(result, one).words)],
    ],
  };
}

const arithmetic = {
  integer: (m, n) => `the two positions, multiplied: ${m} · ${n} / √4`,
  learned: (m, n) => `two rows of a table: ${vector(LEARNED[m])} · ${vector(LEARNED[n])} / √4`,
  sinusoidal: (m, n) => `two clocks, ${m - n} apart: (${speeds.map((speed) => `cos ${decimal(speed * (m - n), speed < 1 ? 2 : 1)}`).join(" + ")}) / √4`,
  shaw: (m, n, i) => `query ${vector(queries[i])} · ${vector(SHAW[Math.min(m - n, 2)])}, the vector of distance ${m - n < 2 ? m - n : "2 and more"}, / √4`,
  t5: (m, n) => `distance ${m - n} is in bucket ${bucketOf(m - n)} of ${T5.biases.length}, whose number`,
  alibi: (m, n) => `the slope times the distance: −${decimal(ALIBI.slope, 1)} · ${m - n}`,
};

// What stands behind a cell, and the same cell of the other five.
export function explain(result, id) {
  if (id === "text") return { text: "Drag the text to other positions, or use the arrow keys.", also: [] };
  const [name, row, column] = id.split("-");
  const [i, j] = [Number(row), Number(column)];
  const { tokens, positions, panels, show, trained } = result;
  const one = panels.find((other) => other.name === name);
  const also = panels.filter((other) => other !== one).map((other) => `${other.name}-${i}-${j}`);
  const [m, n, value] = [positions[i], positions[j], one.added[i][j]];
  const who = `${one.title}, query “${tokens[i]}” at ${m}, key “${tokens[j]}” at ${n}`;
  if (value === null) return { text: `${who}: the table has vectors for positions 0 to ${trained - 1}, and none for ${Math.max(m, n)}.`, also };
  const said = `${who}: ${arithmetic[name](m, n, i)} = ${decimal(value)}.`;
  if (show === "added") return { text: said, also };
  const word = content(i, j);
  return { text: `${said} With ${decimal(word)} for the words, the score is ${decimal(word + value)}, and the softmax of the row gives ${decimal(one.cells[i][j])}.`, also };
}
