// The running example, computed: the same arithmetic as mini_attn.numpy, in plain loops.
import example from "./data/example.json" with { type: "json" };

export const { tokens, n_heads: nHeads, head_dim: headDim, d_model: dModel, prompt_len: promptLen } = example;

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const times = (row, matrix) => matrix[0].map((_, column) => row.reduce((sum, x, i) => sum + x * matrix[i][column], 0));

// Rows of x through one projection: per head the columns that are its own.
function project(name, head) {
  const from = head * headDim;
  return example.embeddings.map((row) => times(row, example.weights[name]).slice(from, from + headDim));
}

function softmax(scores) {
  const top = Math.max(...scores);
  const parts = scores.map((score) => Math.exp(score - top));
  const total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / total);
}

export const scale = headDim ** -0.5;

// Everything the heads compute for all tokens, causal: row i meets keys 0 to i.
export const heads = Array.from({ length: nHeads }, (_, head) => {
  const [q, k, v] = ["q", "k", "v"].map((name) => project(name, head));
  const scores = q.map((query, i) => k.slice(0, i + 1).map((key) => scale * dot(query, key)));
  const weights = scores.map(softmax);
  const out = weights.map((row) => v[0].map((_, column) => row.reduce((sum, w, j) => sum + w * v[j][column], 0)));
  return { q, k, v, scores, weights, out };
});

// The layer's output: the heads side by side, through the output projection.
export const outputs = tokens.map((_, i) => times(heads.flatMap((head) => head.out[i]), example.weights.o));
