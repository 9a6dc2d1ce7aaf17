// A matrix product up to a step: what was read, what is in fast memory, what was moved.
import { example, tokens } from "../attention/example.js";
import { moved, multiplyAdds, schedule } from "./product.js";
import schema from "./schema.json" with { type: "json" };

const NUMBER_BYTES = 4; // float32
const { d_model: k, head_dim: n, prompt_len: promptLen, embeddings, weights } = example;
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
    tokens: tokens.slice(promptLen - rows, promptLen),
    a: entries(rows, k, (i, p) => ({ value: left[i][p], reads: reads("i", i, "p", p), held: within(i, held.i) && within(p, held.p), now: uses(i, -1, p) })),
    b: entries(k, n, (p, j) => ({ value: right[p][j], reads: reads("p", p, "j", j), held: within(p, held.p) && within(j, held.j), now: uses(-1, j, p) })),
    c: entries(rows, n, (i, j) => {
      const terms = adds.slice(0, done).filter(([a, b]) => a === i && b === j).map(([, , p]) => [left[i][p], right[p][j]]);
      return { terms, value: terms.reduce((sum, [x, y]) => sum + x * y, 0), finished: terms.length === k, held: within(i, held.i) && within(j, held.j), now: uses(i, j, -1) };
    }),
    last: now.at(-1) ?? null,
    tiles: { i: held.i, j: held.j, p: held.p }, // what fast memory holds
    moved: moved(products, done), all: moved(products, rows * k * n),
    flops: 2 * done, all_flops: 2 * rows * k * n,
    curves: Object.fromEntries(schema.tile.values.map((one) => [one, curve(rows, one)])),
  };
}
