// Latent attention of one new token in plain loops, in both orders: the arithmetic of
// mini_attn.numpy, in float64.
import { dot, rowTimes, softmax } from "../attention/arithmetic.js";
import example from "../data/example_latent.json" with { type: "json" };
import { rotate } from "../rope/planes.js";

export { example };

const EPS = 1e-6; // as in the configuration's default
const timesTransposed = (row, matrix) => matrix.map((line) => dot(row, line));

function normed(row, weight) {
  const root = Math.sqrt(dot(row, row) / row.length + EPS);
  return row.map((x) => (weight * x) / root);
}

// What the cache holds after the first `there` tokens.
function cached(layer, there) {
  const rank = layer.kv_lora_rank;
  const rows = layer.embeddings.slice(0, there).map((x) => rowTimes(x, layer.weights.kv_a));
  return {
    latent: rows.map((row) => normed(row.slice(0, rank), layer.norm)),
    // A single plane: one radian a position, whatever the base.
    ropeKey: rows.map((row, position) => rotate(row.slice(rank), position)),
  };
}

// The newest token's query of one head, and both ways from it to the head's output.
export function attend(layer, there, head) {
  const { latent, ropeKey } = cached(layer, there);
  const { qk_nope_head_dim: nope, qk_rope_head_dim: rope } = layer;
  const all = rowTimes(layer.embeddings[there - 1], layer.weights.q);
  const own = all.slice(head * (nope + rope), (head + 1) * (nope + rope));
  const [q, qRope] = [own.slice(0, nope), rotate(own.slice(nope), there - 1)];
  const [up, out] = [layer.w_uk[head], layer.w_uv[head]];
  const scale = (nope + rope) ** -0.5;
  const position = ropeKey.map((key) => dot(qRope, key));
  const score = (content) => content.map((part, j) => scale * (part + position[j]));

  const [k, v] = [latent.map((c) => rowTimes(c, up)), latent.map((c) => rowTimes(c, out))];
  const content = k.map((key) => dot(q, key));
  const weights = softmax(score(content));
  const expanded = { k, v, content, scores: score(content), weights, out: rowTimes(weights, v) };

  const qLatent = timesTransposed(q, up);
  const met = latent.map((c) => dot(qLatent, c));
  const shares = softmax(score(met));
  const mixed = rowTimes(shares, latent);
  const absorbed = { qLatent, content: met, scores: score(met), weights: shares, mixed, out: rowTimes(mixed, out) };
  return { latent, ropeKey, q, qRope, position, scale, expanded, absorbed };
}

// Numbers and FLOPs of a step of all heads with one new token, in each form.
export function work(layer, there) {
  const { kv_lora_rank: rank, qk_nope_head_dim: nope, qk_rope_head_dim: rope, v_head_dim: v, n_heads: heads } = layer;
  const dModel = layer.embeddings[0].length;
  const shared = dModel * heads * (nope + rope) + dModel * (rank + rope) + heads * v * dModel;
  const up = rank * heads * (nope + v);
  const flops = (made, key, value) => 2 * (shared + made + heads * there * (key + value));
  return {
    expanded: { made: there * heads * (nope + v), flops: flops(up * there, nope + rope, v) },
    absorbed: { made: 2 * heads * rank, flops: flops(up, rank + rope, rank) },
  };
}
