// Weights of four query heads on their own key/value heads and on shared ones, and the cost of each.
import { range } from "d3-array";
import { dot, softmax } from "../attention/arithmetic.js";
import { example, tokens, project, scaleOf } from "../attention/example.js";
import heads from "../data/example_heads.json" with { type: "json" };

const { d_model: dModel, head_dim: size, embeddings } = example;
const { n_heads: nHeads, questions, weights } = heads;
const scale = scaleOf(example);
const own = project({ n_heads: nHeads, head_dim: size, weights }, embeddings);
const ownKeys = own.map(({ k }) => k);

// The mean of some heads, number by number: what a checkpoint's heads are pooled to.
const mean = (several) => several[0].map((row, i) => row.map((_, n) => several.reduce((sum, rows) => sum + rows[i][n], 0) / several.length));

// Which key/value head a query head reads, counted from 0.
function reads(head, nKvHeads, order) {
  return order === "dealt" ? head % nKvHeads : Math.floor(head / (nHeads / nKvHeads));
}

// What one layer keeps, reads and computes for a query with so many visible keys, in numbers.
function costs(nKvHeads, visible) {
  const kept = 2 * nKvHeads * size;
  return { kept, read: kept * visible, learned: dModel * kept, scores: 2 * 2 * nHeads * size * visible };
}

function look(head, kv, keys, token) {
  const q = own[head].q[token];
  const scores = keys[kv].slice(0, token + 1).map((key) => scale * dot(q, key));
  return { q, scores, weights: softmax(scores) };
}

export function compute({ n_kv_heads: nKvHeads, order, token }) {
  const group = nHeads / nKvHeads;
  const makers = range(nKvHeads).map((kv) => range(kv * group, (kv + 1) * group));
  const keys = makers.map((some) => mean(some.map((head) => ownKeys[head])));
  const lines = range(nHeads).map((head) => {
    const kv = reads(head, nKvHeads, order);
    const now = look(head, kv, keys, token);
    const before = look(head, head, ownKeys, token).weights;
    const change = Math.max(...now.weights.map((weight, j) => Math.abs(weight - before[j])));
    return { head, question: questions[head], kv, ...now, before, change };
  });
  return {
    n_kv_heads: nKvHeads, n_heads: nHeads, order, token, group, makers, keys, lines, scale, head_dim: size, d_model: dModel,
    tokens, costs: costs(nKvHeads, token + 1), most: costs(nHeads, token + 1),
  };
}
