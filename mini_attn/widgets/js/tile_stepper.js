// A matrix product, step by step: the same FLOPs, and fewer numbers moved the more are held.
import { example } from "./attention_example.js";
import schema from "./schema/tile_stepper.json" with { type: "json" };
import { draw } from "./tile_picture.js";
import { moved, multiplyAdds, schedule } from "./tile_product.js";
import { describe, explain, table } from "./tile_words.js";

const NUMBER_BYTES = 4; // float32
const { d_model: k, head_dim: n, prompt_len: promptLen, embeddings, tokens, weights } = example;
const right = weights.q.map((row) => row.slice(0, n)); // the columns of head 1
const STEPS = schema.step.max; // a step is `rows` multiply-adds: k · n steps are the whole product

const within = (value, [from, to]) => value >= from && value < to;

// One line of the chart: numbers moved after each step.
const curve = (m, tile) => {
  const products = schedule(m, k, n, tile);
  return Array.from({ length: STEPS + 1 }, (_, step) => moved(products, step * m).numbers);
};

function entries(rows, columns, one) {
  return Array.from({ length: rows }, (_, i) => Array.from({ length: columns }, (_, j) => one(i, j)));
}

export function compute({ rows, tile, step }) {
  const left = embeddings.slice(promptLen - rows, promptLen);
  const products = schedule(rows, k, n, tile);
  const done = step * rows;
  const begun = products.filter(({ begins }) => begins < done);
  const held = begun.at(-1) ?? { i: [0, 0], j: [0, 0], p: [0, 0] };
  const adds = products.flatMap(multiplyAdds);
  const now = adds.slice(Math.max(0, done - rows), done);
  const uses = (i, j, p) => now.some(([a, b, c]) => (i < 0 || a === i) && (j < 0 || b === j) && (p < 0 || c === p));
  const reads = (axis, i, other, j) => begun.filter((one) => within(i, one[axis]) && within(j, one[other])).length;
  return {
    rows, tile, step, steps: STEPS, k, n, number_bytes: NUMBER_BYTES,
    tokens: tokens.slice(promptLen - rows, promptLen).map((token) => token.trim()),
    a: entries(rows, k, (i, p) => ({ value: left[i][p], reads: reads("i", i, "p", p), held: within(i, held.i) && within(p, held.p), now: uses(i, -1, p) })),
    b: entries(k, n, (p, j) => ({ value: right[p][j], reads: reads("p", p, "j", j), held: within(p, held.p) && within(j, held.j), now: uses(-1, j, p) })),
    c: entries(rows, n, (i, j) => {
      const terms = adds.slice(0, done).filter(([a, b]) => a === i && b === j).map(([, , p]) => [left[i][p], right[p][j]]);
      return { terms, value: terms.reduce((sum, [x, y]) => sum + x * y, 0), finished: terms.length === k, held: within(i, held.i) && within(j, held.j), now: uses(i, j, -1) };
    }),
    last: now.at(-1) ?? null,
    moved: moved(products, done), all: moved(products, rows * k * n),
    flops: 2 * done, all_flops: 2 * rows * k * n,
    curves: Object.fromEntries(schema.tile.values.map((one) => [one, curve(rows, one)])),
  };
}

export default {
  name: "tile_stepper",
  version: 1,
  title: "A matrix product in tiles",
  hint: "Point at a number, tap it, or go to it with Tab and the arrow keys: here stands how often it was read, or the sum that it is.",
  schema,
  controls: [
    { key: "tile", kind: "choice", label: "Tile held in fast memory", options: [[1, "1 × 1"], [2, "2 × 2"], [4, "4 × 4"]] },
    { key: "rows", kind: "choice", label: "Rows of x (tokens at once)", options: [[4, "4"], [2, "2"], [1, "1"]] },
    { key: "step", kind: "range", label: "Step", show: (step) => `${step} of ${STEPS}` },
  ],
  play: { key: "step", milliseconds: 700 },
  compute, draw, describe, table, explain,
};
