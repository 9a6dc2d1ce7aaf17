// Weights of four query heads on their own key/value heads and on shared ones, and the cost of each.
import { example, softmax } from "../attention/example.js";
import heads from "../data/example_heads.json" with { type: "json" };

const { d_model: dModel, head_dim: size, embeddings } = example;
export const tokens = example.tokens.map((token) => token.trim());
const { n_heads: nHeads, questions, weights: layer } = heads;
const scale = size ** -0.5;
const upTo = (n) => Array.from({ length: n }, (_, i) => i);
const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);

// Rows of one head: each embedding times the head's columns of a matrix.
function rowsOf(name, head) {
  return embeddings.map((row) => upTo(size).map((n) => dot(row, layer[name].map((line) => line[head * size + n]))));
}

// The mean of some heads, number by number: what a checkpoint's heads are pooled to.
const mean = (several) => several[0].map((row, i) => row.map((_, n) => several.reduce((sum, rows) => sum + rows[i][n], 0) / several.length));

const own = Object.fromEntries(["q", "k", "v"].map((name) => [name, upTo(nHeads).map((head) => rowsOf(name, head))]));

// Which key/value head a query head reads, counted from 0.
export function reads(head, nKvHeads, order) {
  return order === "dealt" ? head % nKvHeads : Math.floor(head / (nHeads / nKvHeads));
}

// What one layer keeps, reads and computes for a query that sees so many tokens, in numbers.
function costs(nKvHeads, seen) {
  const kept = 2 * nKvHeads * size;
  return { kept, read: kept * seen, learned: dModel * kept, scores: 2 * 2 * nHeads * size * seen };
}

function look(head, kv, keys, token) {
  const q = own.q[head][token];
  const scores = keys[kv].slice(0, token + 1).map((key) => scale * dot(q, key));
  return { q, scores, weights: softmax(scores) };
}

export function compute({ n_kv_heads: nKvHeads, order, token }) {
  const group = nHeads / nKvHeads;
  const makers = upTo(nKvHeads).map((kv) => upTo(group).map((i) => kv * group + i));
  const keys = makers.map((some) => mean(some.map((head) => own.k[head])));
  const lines = upTo(nHeads).map((head) => {
    const kv = reads(head, nKvHeads, order);
    const now = look(head, kv, keys, token);
    const before = look(head, head, own.k, token).weights;
    const change = Math.max(...now.weights.map((weight, j) => Math.abs(weight - before[j])));
    return { head, question: questions[head], kv, ...now, before, change };
  });
  return {
    n_kv_heads: nKvHeads, n_heads: nHeads, order, token, group, makers, keys, lines, scale, head_dim: size, d_model: dModel,
    tokens, costs: costs(nKvHeads, token + 1), most: costs(nHeads, token + 1),
  };
}
