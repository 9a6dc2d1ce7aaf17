// FLOPs and bytes of one layer, part by part, and where the scores take half.
import schema from "./schema.json" with { type: "json" };

export const HEAD_DIM = 64;
const BYTES = 2; // of a number: bfloat16
const TILE = 64; // queries and keys that a fused kernel holds at a time
const SOFTMAX = 5; // operations for a score: scale, maximum, exponential, sum, division

// FLOPs of the MLP for a token, in units of d²: two or three matrices, each a multiply-add a weight.
const MLP = { none: 0, plain: 2 * 2 * 4, gated: 2 * 3 * 4, narrow: 2 * 3 * (8 / 3) };

const pairsOf = (n, pairs) => (pairs === "full" ? n * n : (n * (n + 1)) / 2);

function flopsOf(seq, { d_model: d, mlp, pairs }) {
  const visible = pairsOf(seq, pairs);
  return {
    projections: 2 * seq * d * 3 * d,
    scores: 2 * visible * d,
    sum: 2 * visible * d,
    output: 2 * seq * d * d,
    mlp: MLP[mlp] * seq * d * d,
  };
}

function bytesOf(seq, { d_model: d, kernel }) {
  const heads = d / HEAD_DIM;
  const square = kernel === "written" ? seq * seq : Math.min(seq, TILE) ** 2;
  return { rows: BYTES * 5 * seq * d, scores: BYTES * heads * square }; // rows: x, q, k, v, out
}

// How many tokens make the scores and the weighted sum as much work as all products with weights.
function crossover({ mlp, d_model: d, pairs }) {
  const weights = (8 + MLP[mlp]) * d; // FLOPs a token, over d
  return pairs === "full" ? weights / 4 : weights / 2 - 1;
}

const both = ({ projections, scores, sum, output, mlp }) => ({ weights: projections + output + mlp, square: scores + sum });

export function compute(state) {
  const { seq } = state;
  const flops = flopsOf(seq, state);
  const { weights, square } = both(flops);
  const { min, max } = schema.seq;
  const lengths = Array.from({ length: Math.log2(max / min) + 1 }, (_, i) => min * 2 ** i);
  const cross = crossover(state);
  return {
    ...state, n_heads: state.d_model / HEAD_DIM, head_dim: HEAD_DIM, tile: TILE,
    flops, weights, square, total: weights + square, share: square / (weights + square),
    softmax: (SOFTMAX * pairsOf(seq, state.pairs) * state.d_model) / HEAD_DIM,
    cross, crossing: both(flopsOf(cross, state)).weights, bytes: bytesOf(seq, state), pair_count: pairsOf(seq, state.pairs),
    curves: lengths.map((n) => ({ n, ...both(flopsOf(n, state)), ...bytesOf(n, state) })),
  };
}
