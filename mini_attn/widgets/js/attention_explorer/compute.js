// Queries, keys, values, scores, weights and outputs of one head under a mask, a divisor and a temperature.
import { dot, largest, rowTimes, softmax, sum } from "../attention/arithmetic.js";
import { attend, example, tokens } from "../attention/example.js";

const HEADS = { before: 0, content: 1 };
const rows = attend(example, example.embeddings).heads;

export const divisors = { one: 1, head_dim: Math.sqrt(example.head_dim), d_model: Math.sqrt(example.d_model) };

// One row of weights under each of the rules; `open` is the softmax over everything.
function weigh(mask, scores, open, i) {
  const masked = open.map((value, j) => (j <= i ? value : 0));
  if (mask === "none") return open;
  if (mask === "after") return masked;
  if (mask === "before") return scores.map((_, j) => (j <= i ? softmax(scores.slice(0, i + 1))[j] : 0));
  return masked.map((value) => value / sum(masked));
}

export function compute(state) {
  const { head, mask, divisor, temperature } = state;
  const own = rows[HEADS[head]];
  const [q, k, v] = ["q", "k", "v"].map((name) => own[name].slice(0, state.tokens));
  const dots = q.map((query) => k.map((key) => dot(query, key)));
  const factor = 1 / (divisors[divisor] * temperature);
  const scores = dots.map((row) => row.map((value) => factor * value));
  const open = scores.map(softmax);
  const weights = scores.map((row, i) => weigh(mask, row, open[i], i));
  return {
    ...state, names: tokens.slice(0, state.tokens),
    q, k, v, dots, scores, open, weights, out: weights.map((row) => rowTimes(row, v)), divide: divisors[divisor], factor,
    sums: weights.map(sum), ahead: open.map((row, i) => sum(row.slice(i + 1))),
    extent: { q: largest(own.q), k: largest(own.k), v: largest(own.v), out: largest(own.v) }, most: largest(dots),
  };
}
