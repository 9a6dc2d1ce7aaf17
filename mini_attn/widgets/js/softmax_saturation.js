// What head_dim does to a row of scores, its weights and the gradient, with and without a scale.
import { softmax } from "./attention_example.js";
import { walks } from "./coins.js";
import { decimal, whole } from "./core/text.js";
import { draw } from "./saturation_picture.js";
import schema from "./schema/softmax_saturation.json" with { type: "json" };

const KEYS = 8;
const HEADS = 12; // d_model is that many heads wide, as in GPT-2
const SIZES = Array.from({ length: 11 }, (_, n) => 2 ** n);
const MANY = 200; // draws behind a point of the curves

const sum = (row) => row.reduce((total, value) => total + value, 0);
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

const DIVISORS = { one: "Without a scale", head_dim: "Divided by √head_dim", d_model: "Divided by √d_model" };

function describe({ head_dim: size, divisor, spread, top, moves: left, even }) {
  const share = left / even;
  const verdict = share < 0.15 ? "almost nothing can be learned from this row" : share > 0.98 ? "the row is nearly even: it hardly chooses" : "the row chooses and can still learn";
  return `${DIVISORS[divisor]}, head_dim ${whole(size)}: scores spread by about ${decimal(spread)}; the largest weight is ${decimal(top)} and ${decimal(100 * share, 1)} % of an even row's gradient is left, so ${verdict}.`;
}

function table({ dots, scores, weights, head_dim: size, top, moves: left }) {
  return {
    caption: `One query and ${KEYS} keys with entries +1 or −1, head_dim ${whole(size)}; the largest weight is ${decimal(top, 3)}, the w (1 − w) add up to ${decimal(left, 3)}`,
    head: ["key", "q · k", "score", "weight w", "w (1 − w)"],
    rows: dots.map((value, j) => [String(j + 1), whole(value).replace("-", "−"), decimal(scores[j]), decimal(weights[j], 3), decimal(weights[j] * (1 - weights[j]), 3)]),
  };
}

function explain(result, id) {
  const [name, j] = id.split("-");
  const { head_dim: size, dots, scores, weights, divide, curves: means, sizes, draws } = result;
  if (name === "size") {
    const at = (divisor, key) => decimal(means[divisor][key][j], 3);
    return { text: `head_dim ${whole(sizes[j])}, mean of ${whole(draws)} draws: the largest weight is ${at("one", "top")} without a scale, ${at("head_dim", "top")} divided by √head_dim and ${at("d_model", "top")} divided by √d_model. The w (1 − w) add up to ${at("one", "moves")}, ${at("head_dim", "moves")} and ${at("d_model", "moves")}.`, also: [] };
  }
  const w = weights[j];
  const start = `Key ${Number(j) + 1}: ${whole(size)} products of +1 or −1 add up to ${decimal(dots[j], 1).replace(".0", "")}; divided by ${decimal(divide)} = ${decimal(scores[j])}`;
  return { text: `${start}; its share of the exponentials is the weight ${decimal(w, 3)}. A small change of the score moves the weight by w (1 − w) = ${decimal(w * (1 - w), 3)} times as much.`, also: [`${name === "s" ? "w" : "s"}-${j}`] };
}

export default {
  name: "softmax_saturation",
  version: 1,
  title: "Why the scores are scaled",
  hint: "Point at a bar or at a size under the curves, tap it, or go to it with Tab and the arrow keys: here stands its arithmetic.",
  schema,
  controls: [
    { key: "divisor", kind: "choice", label: "Divide q · k by", options: [["one", "1"], ["head_dim", "√head_dim"], ["d_model", "√d_model"]] },
    { key: "head_dim", kind: "log", label: "head_dim" },
    { key: "draw", kind: "range", label: "Other coins", show: (n) => `draw ${n}` },
  ],
  compute, draw, describe, table, explain,
};
