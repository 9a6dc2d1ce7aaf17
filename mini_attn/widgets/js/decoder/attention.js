// Attention of a few new tokens over all that are kept: heads in groups, and latent attention.
// Rows are tokens: q (tokens, n_heads * head_dim) has each token's heads side by side.
import { frequencies } from "../rope/planes.js";
import { linear, rmsNorm } from "./arithmetic.js";

// Rotate each pair (a, b) of a head by position * theta ** (-2 i / size), in place. Heads are `width`
// numbers wide, of which those before `from` stay as they are.
function rotate(x, rows, start, { layout, theta, rotary_dim: rotaryDim }, width, from = 0) {
  const size = rotaryDim ?? width - from;
  const speeds = frequencies(size, theta);
  const [step, apart] = layout === "half" ? [1, size / 2] : [2, 1]; // from pair to pair, from a to b
  const rowWidth = x.length / rows;
  for (let row = 0; row < rows; row++) {
    for (let i = 0; i < speeds.length; i++) {
      const angle = (start + row) * speeds[i];
      const cos = Math.cos(angle), sin = Math.sin(angle);
      for (let head = row * rowWidth; head < (row + 1) * rowWidth; head += width) {
        const at = head + from + i * step;
        const a = x[at], b = x[at + apart];
        x[at] = a * cos - b * sin;
        x[at + apart] = a * sin + b * cos;
      }
    }
  }
}

// How fast each head's scores fall with the distance: 2 ** (-8 (h + 1) / n_heads). Where the number
// of heads is no power of two: the next lower power's, then every other one of the next higher.
function alibiSlopes(nHeads) {
  const lower = 2 ** Math.floor(Math.log2(nHeads));
  return Array.from({ length: nHeads }, (_, h) => 2 ** (-8 * (h < lower ? (h + 1) / lower : (2 * (h - lower) + 1) / (2 * lower))));
}

// Writes the positions that a query sees, none of the future, and says how many they are.
function lookBack(position, { window, sink_tokens: sinkTokens }, seen) {
  let count = 0;
  for (let key = 0; key <= position; key++) {
    if (window === null || position - key < window || key < sinkTokens) seen[count++] = key;
  }
  return count;
}

// The first numbers of a row as shares that sum to 1; a sink takes a share and leaves less.
function soften(scores, count, sink) {
  let top = sink;
  for (let i = 0; i < count; i++) if (scores[i] > top) top = scores[i];
  let total = Math.exp(sink - top); // without a sink that is -Infinity, and this is 0
  for (let i = 0; i < count; i++) total += scores[i] = Math.exp(scores[i] - top);
  for (let i = 0; i < count; i++) scores[i] /= total;
}

// For each head softmax(scale * q @ k.T) @ v. Head h reads keys and values of h // group.
// weights[h] is (tokens, length), out (tokens, n_heads * v_head_dim).
function attend(q, { keys, values, keyRow, valueRow }, start, rule) {
  const { nHeads, nKvHeads, headDim, vHeadDim, scale, softcap, slopes, sinks } = rule;
  const tokens = q.length / (nHeads * headDim);
  const length = start + tokens;
  const weights = Array.from({ length: nHeads }, () => new Float64Array(tokens * length));
  const out = new Float64Array(tokens * nHeads * vHeadDim);
  const seen = new Int32Array(length);
  const scores = new Float64Array(length);
  for (let t = 0; t < tokens; t++) {
    const count = lookBack(start + t, rule, seen);
    for (let h = 0; h < nHeads; h++) {
      const group = Math.floor((h * nKvHeads) / nHeads);
      const query = (t * nHeads + h) * headDim;
      for (let s = 0; s < count; s++) {
        const key = seen[s] * keyRow + group * headDim;
        let score = 0;
        for (let d = 0; d < headDim; d++) score += q[query + d] * keys[key + d];
        score *= scale;
        if (softcap !== null) score = softcap * Math.tanh(score / softcap);
        scores[s] = score - slopes[h] * (start + t - seen[s]);
      }
      soften(scores, count, sinks ? sinks[h] : -Infinity);
      const gathered = (t * nHeads + h) * vHeadDim;
      for (let s = 0; s < count; s++) {
        const weight = scores[s];
        weights[h][t * length + seen[s]] = weight;
        const value = seen[s] * valueRow + group * vHeadDim;
        for (let d = 0; d < vHeadDim; d++) out[gathered + d] += weight * values[value + d];
      }
    }
  }
  return { weights, out };
}

const flat = (nHeads) => new Float64Array(nHeads); // slopes of heads that see no distance

// Multi-head, grouped-query and multi-query attention.
const heads = {
  newCache(config, capacity) {
    const keyRow = config.n_kv_heads * config.head_dim, valueRow = config.n_kv_heads * config.v_head_dim;
    return { keyRow, valueRow, keys: new Float64Array(capacity * keyRow), values: new Float64Array(capacity * valueRow) };
  },
  run(x, layer, config, cache, start, rows) {
    const { n_heads: nHeads, n_kv_heads: nKvHeads, head_dim: headDim, v_head_dim: vHeadDim, rope } = config;
    let q = linear(x, layer.q_proj, rows); // (rows, n_heads * head_dim)
    let k = linear(x, layer.k_proj, rows); // (rows, n_kv_heads * head_dim)
    if (config.qk_norm) [q, k] = [rmsNorm(q, layer.q_norm.weight, config.eps), rmsNorm(k, layer.k_norm.weight, config.eps)];
    if (rope) for (const turned of [q, k]) rotate(turned, rows, start, rope, headDim);
    cache.keys.set(k, start * cache.keyRow);
    cache.values.set(linear(x, layer.v_proj, rows), start * cache.valueRow);
    return attend(q, cache, start, {
      ...config, nHeads, nKvHeads, headDim, vHeadDim, sinks: layer.sinks, scale: config.scale ?? headDim ** -0.5,
      slopes: config.alibi ? alibiSlopes(nHeads) : flat(nHeads),
    });
  },
};

// Latent attention, absorbed: queries go to the latents, the key and the value of one head for all.
const latent = {
  // A row is the normed latent and the rotated key; the value is the first part of it.
  newCache({ kv_lora_rank: rank, qk_rope_head_dim: turned }, capacity) {
    const keys = new Float64Array(capacity * (rank + turned));
    return { keyRow: rank + turned, valueRow: rank + turned, keys, values: keys };
  },
  run(x, layer, config, cache, start, rows) {
    const { n_heads: nHeads, kv_lora_rank: rank, qk_nope_head_dim: nope, qk_rope_head_dim: turned, rope } = config;
    const q = linear(latentQueries(x, layer, config, rows), layer.q_b_proj ?? layer.q_proj, rows); // (rows, n_heads * (nope + rope))
    rotate(q, rows, start, rope, nope + turned, nope);
    let kept = linear(x, layer.kv_a_proj_with_mqa, rows); // (rows, rank + rope)
    kept = rmsNorm(kept, layer.kv_a_layernorm.weight, config.eps, rank + turned);
    rotate(kept, rows, start, rope, rank + turned, rank);
    cache.keys.set(kept, start * cache.keyRow);
    const { weights, out } = attend(absorb(q, layer.kv_b_proj.weight, config), cache, start, {
      nHeads, nKvHeads: 1, headDim: rank + turned, vHeadDim: rank, sinks: layer.sinks, slopes: flat(nHeads),
      softcap: null, window: null, sink_tokens: 0, scale: config.scale ?? (nope + turned) ** -0.5,
    });
    return { weights, out: expand(out, layer.kv_b_proj.weight, config) };
  },
};

// What queries are made of: the tokens, or a latent of them, which is not kept.
function latentQueries(x, { q_a_proj: down, q_a_layernorm: norm }, { eps }, rows) {
  return down ? rmsNorm(linear(x, down, rows), norm.weight, eps) : x;
}

// (rows, n_heads * (nope + rope)) becomes (rows, n_heads * (rank + rope)): q_nope @ W_UK, and q_rope.
// Of kv_b_proj (n_heads * (nope + v_head_dim), rank) each head has W_UK above W_UV.
function absorb(q, weight, { n_heads: nHeads, kv_lora_rank: rank, qk_nope_head_dim: nope, qk_rope_head_dim: turned, v_head_dim: vHeadDim }) {
  const made = new Float64Array((q.length / (nope + turned)) * (rank + turned));
  for (let i = 0; i < q.length / (nope + turned); i++) {
    const query = i * (nope + turned), to = i * (rank + turned), up = (i % nHeads) * (nope + vHeadDim) * rank;
    for (let n = 0; n < nope; n++) {
      for (let r = 0; r < rank; r++) made[to + r] += q[query + n] * weight[up + n * rank + r];
    }
    for (let r = 0; r < turned; r++) made[to + rank + r] = q[query + nope + r];
  }
  return made;
}

// (rows, n_heads * rank) becomes (rows, n_heads * v_head_dim): gathered latents @ W_UV.T.
function expand(latents, weight, { n_heads: nHeads, kv_lora_rank: rank, qk_nope_head_dim: nope, v_head_dim: vHeadDim }) {
  const out = new Float64Array((latents.length / rank) * vHeadDim);
  for (let i = 0; i < latents.length / rank; i++) {
    const up = ((i % nHeads) * (nope + vHeadDim) + nope) * rank;
    for (let v = 0; v < vHeadDim; v++) {
      let sum = 0;
      for (let r = 0; r < rank; r++) sum += latents[i * rank + r] * weight[up + v * rank + r];
      out[i * vHeadDim + v] = sum;
    }
  }
  return out;
}

export const ATTENTIONS = { heads, latent };
