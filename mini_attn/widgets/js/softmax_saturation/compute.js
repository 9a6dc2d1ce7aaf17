// Scores and weights of tossed coins for a size of head, and their means over many draws.
import { softmax, sum } from "../attention/arithmetic.js";
import { walks } from "./coins.js";
import schema from "./schema.json" with { type: "json" };

const KEYS = 8;
const HEADS = 12; // d_model is that many heads wide, as in GPT-2
const SIZES = Array.from({ length: 11 }, (_, n) => 2 ** n);
const MANY = 200; // draws behind a point of the curves

const divideBy = { one: () => 1, head_dim: (size) => Math.sqrt(size), d_model: (size) => Math.sqrt(HEADS * size) };

// The derivative of a weight by its own score, w (1 − w), added over the row: what can still move.
const moves = (weights) => sum(weights.map((w) => w * (1 - w)));

// Nothing is tossed before it is asked for: other pages carry this file too.
const known = new Map();
const tossed = (n) => known.get(n) ?? known.set(n, walks(n, KEYS, schema.head_dim.max)).get(n);

function row(dots, size, divisor) {
  const scores = dots.map((value) => value / divideBy[divisor](size));
  const weights = softmax(scores);
  return { dots, scores, weights, top: Math.max(...weights), moves: moves(weights) };
}

// The mean over many draws, for each size of a head: the curves, computed once.
let lines;
function curves() {
  if (lines) return lines;
  const ends = Array.from({ length: MANY }, (_, n) => {
    const all = walks(n + 1, KEYS, SIZES.at(-1));
    return SIZES.map((size) => all[size - 1]);
  });
  const mean = (divisor, key) => SIZES.map((size, s) => sum(ends.map((dots) => row(dots[s], size, divisor)[key])) / MANY);
  lines = Object.fromEntries(Object.keys(divideBy).map((name) => [name, { top: mean(name, "top"), moves: mean(name, "moves") }]));
  return lines;
}

export function compute(state) {
  const { head_dim: size, divisor, draw: n } = state;
  const spread = (name) => Math.sqrt(size) / divideBy[name](size);
  return {
    ...state, ...row(tossed(n)[size - 1], size, divisor), divide: divideBy[divisor](size), spread: spread(divisor), even: moves(Array(KEYS).fill(1 / KEYS)),
    sizes: SIZES, curves: curves(), draws: MANY,
  };
}
