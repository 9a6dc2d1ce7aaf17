// What the cost explorer says: numbers with units, one sentence, a table, and each part's arithmetic.
import { decimal, whole } from "../core/text.js";
import { scaled } from "../core/units.js";

// Three digits and a unit, whole where there is no prefix: 4.83 GFLOP, 12.6 MB, 64 B.
export const short = (value, unit) => (value < 1000 ? `${whole(value)} ${unit}` : scaled(value, unit));

// A power of ten on an axis: 100 G, 1 MB.
export const tick = (value, unit) => scaled(value, unit, whole);

export const flop = (value) => short(value, "FLOP");
export const bytes = (value) => short(value, "B");
export const percent = (share) => `${decimal(100 * share, 1)}%`;

export const PARTS = [
  ["projections", "q, k, v projections", "2·n·d·3d", "weights"],
  ["scores", "scores q kᵀ", "2·pairs·d", "square"],
  ["sum", "weighted sum", "2·pairs·d", "square"],
  ["output", "output projection", "2·n·d·d", "weights"],
  ["mlp", "MLP", "", "weights"],
];
const WIDTHS = { none: "no MLP", plain: "an MLP of width 4d", gated: "a gated MLP of width 4d", narrow: "a gated MLP of width 8d/3" };
export const MLP_FORMULA = { none: "none here", plain: "2·n·2·d·4d", gated: "2·n·3·d·4d", narrow: "2·n·3·d·8d/3" };
const FACTOR = { plain: [2, "4d", 4], gated: [3, "4d", 4], narrow: [3, "8d/3", 8 / 3] };

export const partsOf = ({ mlp }) => PARTS.filter(([id]) => id !== "mlp" || mlp !== "none");

export function describe({ seq, share, cross, total, mlp, pairs }) {
  const long = seq === cross ? "" : seq > cross ? "past " : "short of ";
  return `${whole(seq)} tokens: ${flop(total)}, ${percent(share)} of it for scores and weighted sum, the part that grows with the square. That's ${long}the ${whole(Math.round(cross))} tokens where it makes up half${mlp === "none" ? "" : `, with ${WIDTHS[mlp]}`}${pairs === "full" ? "" : ", visible pairs only"}.`;
}

// What stands in large beside its name, as [number, how it is written].
export const counts = ({ total, weights, square, bytes: memory, kernel }) => ({
  total: [total, (n) => `One layer: ${flop(n)}`],
  weights: [weights, (n) => `weight matmuls: ${flop(n)}`],
  square: [square, (n) => `scores and weighted sum: ${flop(n)}`],
  rows: [memory.rows, (n) => `rows x, q, k, v, out: ${bytes(n)}`],
  scores: [memory.scores, (n) => `scores, ${kernel === "written" ? "materialized" : "a tile at a time"}: ${bytes(n)}`],
});

export function table(result) {
  const { seq, d_model: d, flops, total, softmax, bytes: memory, kernel } = result;
  const rows = partsOf(result).map(([id, name]) => [name, whole(flops[id]), percent(flops[id] / total)]);
  return {
    caption: `One layer, ${whole(seq)} tokens, d = ${whole(d)}`,
    head: ["", "FLOPs or bytes", "share of the FLOPs"],
    rows: [
      ...rows, ["all matmuls", whole(total), "100.0%"], ["softmax, in operations", whole(softmax), percent(softmax / total)],
      ["rows x, q, k, v, out, in bytes", whole(memory.rows), "–"],
      [`scores ${kernel === "written" ? "materialized" : "held at a time"}, in bytes`, whole(memory.scores), "–"],
    ],
  };
}

const pairWords = ({ seq, pairs, pair_count: count }) =>
  (pairs === "full" ? `n · n = ${whole(count)} pairs` : `n (n + 1) / 2 = ${whole(count)} visible pairs`) + ` of ${whole(seq)} tokens`;

function partWords(result, id) {
  const { seq, d_model: d, flops, total, mlp, head_dim: size, n_heads: heads } = result;
  const n = whole(seq);
  const end = `, ${percent(flops[id] / total)} of all matmuls. ${id === "scores" || id === "sum" ? "Twice the tokens, about four times the work." : "Twice the tokens, twice the work."}`;
  if (id === "projections") return `Three matrices of d × d = ${whole(d)} × ${whole(d)}, one multiply-add (2 FLOPs) per weight and token: 2 · ${n} · ${whole(d)} · 3 · ${whole(d)} = ${whole(flops[id])} FLOPs${end}`;
  if (id === "output") return `One matrix of d × d: 2 · ${n} · ${whole(d)} · ${whole(d)} = ${whole(flops[id])} FLOPs${end}`;
  if (id === "mlp") {
    const [matrices, width, times] = FACTOR[mlp];
    return `${matrices} matrices of d × ${width} = ${whole(d)} × ${whole(times * d)}: 2 · ${n} · ${matrices} · ${whole(d)} · ${whole(times * d)} = ${whole(flops[id])} FLOPs${end}`;
  }
  const what = id === "scores" ? "one score takes" : "one weight times one value takes";
  return `${pairWords(result)}; in each of ${heads} heads ${what} ${size} multiply-adds: 2 · ${whole(result.pair_count)} · ${heads} · ${size} = ${whole(flops[id])} FLOPs${end}`;
}

export function explain(result, id) {
  const { seq, d_model: d, pairs, cross, bytes: memory, kernel, n_heads: heads, head_dim: size, tile, softmax, total } = result;
  const n = whole(seq);
  if (id === "softmax") return { text: `${whole(result.pair_count)} pairs in ${heads} heads, 5 operations each (scale, maximum, exponential, sum, division): ${whole(softmax)} operations, ${percent(softmax / total)} of the matmuls' FLOPs. They aren't matmuls, so they take more time than their number suggests.`, also: [] };
  if (id === "cross") {
    const weights = (result.weights / seq / d) || 0;
    const rule = pairs === "full" ? `4·n·d against ${whole(Math.round(weights / d))}·d² per token: n = ${whole(Math.round(weights / d))}·d / 4` : `2·(n + 1)·d against ${whole(Math.round(weights / d))}·d² per token: n = ${whole(Math.round(weights / d))}·d / 2 − 1`;
    return { text: `Half and half: ${rule} = ${whole(Math.round(cross))} tokens. To the left, the weight matmuls are larger; to the right, the quadratic part is.`, also: ["scores", "sum"] };
  }
  if (id.startsWith("now-")) return { text: `The line is at ${n} tokens: ${flop(result.weights)} for weight matmuls, ${flop(result.square)} for scores and weighted sum. Drag it, or move it with the left and right arrow keys.`, also: [] };
  if (id === "rows") return { text: `The rows x, q, k, v and out: 5 · ${n} · ${whole(d)} values of 2 bytes = ${whole(memory.rows)} bytes. Linear in n.`, also: [] };
  if (id === "square") {
    const text = kernel === "written"
      ? `One score per pair and head, materialized: ${heads} · ${n} · ${n} values of 2 bytes = ${whole(memory.scores)} bytes. It's the only quadratic thing in memory, and larger than the rows beyond 5 · ${size} = ${5 * size} tokens.`
      : `A tile of ${Math.min(seq, tile)} × ${Math.min(seq, tile)} scores in each of ${heads} heads, used and overwritten: ${whole(memory.scores)} bytes, whatever n is. The FLOPs don't change.`;
    return { text, also: [] };
  }
  return { text: partWords(result, id), also: id === "scores" ? ["sum"] : id === "sum" ? ["scores"] : [] };
}
