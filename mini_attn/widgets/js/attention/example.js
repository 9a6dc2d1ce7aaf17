// Attention over a few tokens in plain loops: the arithmetic of mini_attn.numpy, in float64.
import example from "../data/example.json" with { type: "json" };
import { dot, rowTimes, softmax } from "./arithmetic.js";

export { example };
export const tokens = example.tokens.map((token) => token.trim()); // without the spaces before them

export const scaleOf = ({ head_dim: headDim }) => headDim ** -0.5;

// Query, key and value rows of some tokens, per head the columns that are its own.
export function project(layer, embeddings) {
  const { n_heads: nHeads, head_dim: headDim, weights } = layer;
  const all = Object.fromEntries(["q", "k", "v"].map((name) => [name, embeddings.map((row) => rowTimes(row, weights[name]))]));
  return Array.from({ length: nHeads }, (_, head) => {
    const own = (rows) => rows.map((row) => row.slice(head * headDim, (head + 1) * headDim));
    return { q: own(all.q), k: own(all.k), v: own(all.v) };
  });
}

// A cache of one layer: per head the keys and values so far.
export const emptyCache = ({ n_heads: nHeads }) => Array.from({ length: nHeads }, () => ({ k: [], v: [] }));

// The new tokens' rows: append their keys and values, let each query meet the keys up to its own.
export function attend(layer, embeddings, cache = emptyCache(layer)) {
  const before = cache[0].k.length;
  const heads = project(layer, embeddings).map(({ q, k, v }, head) => {
    const cached = { k: [...cache[head].k, ...k], v: [...cache[head].v, ...v] };
    const scores = q.map((query, i) => cached.k.slice(0, before + i + 1).map((key) => scaleOf(layer) * dot(query, key)));
    const weights = scores.map(softmax);
    const out = weights.map((row) => rowTimes(row, cached.v));
    return { q, k, v, scores, weights, out, cached };
  });
  const outputs = embeddings.map((_, i) => rowTimes(heads.flatMap((head) => head.out[i]), layer.weights.o));
  return { heads, outputs, cache: heads.map((head) => head.cached) };
}

// All passes of a text: the prompt, then one token a step. With a cache each pass has only its
// new rows, without one it starts from an empty cache and has them all.
export function passes(layer, promptLen, cached) {
  const { embeddings } = layer;
  let cache;
  return Array.from({ length: embeddings.length - promptLen + 1 }, (_, step) => {
    const there = promptLen + step;
    const first = cached && step ? there - 1 : 0;
    const pass = attend(layer, embeddings.slice(first, there), cached ? cache : undefined);
    cache = pass.cache;
    return { ...pass, first, there };
  });
}
