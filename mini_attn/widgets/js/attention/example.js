// Attention over a few tokens in plain loops: the arithmetic of mini_attn.numpy, in float64.
import example from "../data/example.json" with { type: "json" };

export { example };

const dot = (a, b) => a.reduce((sum, value, i) => sum + value * b[i], 0);
const times = (row, matrix) => matrix[0].map((_, column) => row.reduce((sum, x, i) => sum + x * matrix[i][column], 0));
export const scaleOf = ({ head_dim: headDim }) => headDim ** -0.5;

export function softmax(scores) {
  const top = Math.max(...scores);
  const parts = scores.map((score) => Math.exp(score - top));
  const total = parts.reduce((sum, part) => sum + part, 0);
  return parts.map((part) => part / total);
}

// Query, key and value rows of some tokens, per head the columns that are its own.
function project(layer, embeddings) {
  const { n_heads: nHeads, head_dim: headDim, weights } = layer;
  const all = Object.fromEntries(["q", "k", "v"].map((name) => [name, embeddings.map((row) => times(row, weights[name]))]));
  return Array.from({ length: nHeads }, (_, head) => {
    const own = (rows) => rows.map((row) => row.slice(head * headDim, (head + 1) * headDim));
    return { q: own(all.q), k: own(all.k), v: own(all.v) };
  });
}

// A cache of one layer: per head the keys and values so far.
export const emptyCache = ({ n_heads: nHeads }) => Array.from({ length: nHeads }, () => ({ k: [], v: [] }));

// The new tokens' rows: append their keys and values, let each query meet the keys up to its own.
export function attend(layer, embeddings, cache) {
  const before = cache[0].k.length;
  const heads = project(layer, embeddings).map(({ q, k, v }, head) => {
    const kept = { k: [...cache[head].k, ...k], v: [...cache[head].v, ...v] };
    const scores = q.map((query, i) => kept.k.slice(0, before + i + 1).map((key) => scaleOf(layer) * dot(query, key)));
    const weights = scores.map(softmax);
    const out = weights.map((row) => kept.v[0].map((_, column) => row.reduce((sum, w, j) => sum + w * kept.v[j][column], 0)));
    return { q, k, v, scores, weights, out, kept };
  });
  const outputs = embeddings.map((_, i) => times(heads.flatMap((head) => head.out[i]), layer.weights.o));
  return { heads, outputs, cache: heads.map((head) => head.kept) };
}

// All passes of a text: the prompt, then one token a step. With a cache each pass has only its
// new rows, without one it starts from an empty cache and has them all.
export function passes(layer, promptLen, cached) {
  const { embeddings } = layer;
  let cache = emptyCache(layer);
  return Array.from({ length: embeddings.length - promptLen + 1 }, (_, step) => {
    const there = promptLen + step;
    const first = cached && step ? there - 1 : 0;
    const pass = attend(layer, embeddings.slice(first, there), cached ? cache : emptyCache(layer));
    cache = pass.cache;
    return { ...pass, first, there };
  });
}
