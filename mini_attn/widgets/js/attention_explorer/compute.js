// Queries, keys, values, scores, weights and outputs of one head under a mask and a divisor.
import { dot, largest, rowTimes, softmax, sum } from "../attention/arithmetic.js";
import { attend, example, tokens } from "../attention/example.js";

const HEADS = { before: 0, content: 1 };
const rows = attend(example, example.embeddings).heads;

export const divisors = { one: 1, head_dim: Math.sqrt(example.head_dim), d_model: Math.sqrt(example.d_model) };

const least = (matrix) => Math.min(...matrix.flat());

// One row of weights under each of the rules; `open` is the softmax over everything.
function weigh(mask, scores, open, i) {
  const masked = open.map((value, j) => (j <= i ? value : 0));
  if (mask === "none") return open;
  if (mask === "after") return masked;
  if (mask === "before") return scores.map((_, j) => (j <= i ? softmax(scores.slice(0, i + 1))[j] : 0));
  return masked.map((value) => value / sum(masked));
}

export function compute(state) {
  const { head, mask, divisor } = state;
  const own = rows[HEADS[head]];
  const [all, k, v] = ["q", "k", "v"].map((name) => own[name].slice(0, state.tokens));
  const asked = all.at(-1); // the last query, before it is pulled
  const q = [...all.slice(0, -1), asked.map((value, n) => value + state[`q${n}`])];
  const dots = q.map((query) => k.map((key) => dot(query, key)));
  const scores = dots.map((row) => row.map((value) => value / divisors[divisor]));
  const open = scores.map(softmax);
  const weights = scores.map((row, i) => weigh(mask, row, open[i], i));
  return {
    ...state, names: tokens.slice(0, state.tokens),
    q, k, v, asked, dots, scores, open, weights, out: weights.map((row) => rowTimes(row, v)), divide: divisors[divisor],
    sums: weights.map(sum), ahead: open.map((row, i) => sum(row.slice(i + 1))),
    extent: { q: largest(own.q), k: largest(own.k), v: largest(own.v) }, most: largest(dots),
    below: { q: least(own.q), k: least(own.k), v: least(own.v) }, entries: head === "content" ? example.content_features : [],
  };
}
