// The latent explorer: what the cache holds, what a head makes of it, and the other order.
import { attend, example, work } from "./latent_attention.js";
import { draw } from "./latent_picture.js";
import { describe, explain, table } from "./latent_words.js";
import schema from "./schema/latent_explorer.json" with { type: "json" };

const { kv_lora_rank: rank, qk_rope_head_dim: rope, n_heads: nHeads, tokens, questions } = example;
const names = tokens.map((token) => token.trim());
const heads = Array.from({ length: nHeads }, (_, head) => attend(example, tokens.length, head));
const largest = (rows) => Math.max(...rows.flat(Infinity).map(Math.abs));

// The largest number of each kind, in any head and at any token: bars keep their measure.
const everywhere = tokens.flatMap((_, i) => heads.map((_, head) => attend(example, i + 1, head)));
const extent = {
  r: largest(heads[0].ropeKey), c: largest(heads[0].latent), qr: largest(everywhere.map(({ qRope }) => qRope)),
  k: largest(heads.map(({ expanded }) => expanded.k)), v: largest(heads.map(({ expanded }) => expanded.v)),
  qn: largest(everywhere.map(({ q }) => q)), qa: largest(everywhere.map(({ absorbed }) => absorbed.qLatent)),
  mix: largest(heads[0].latent), out: largest(heads.map(({ expanded }) => expanded.v)),
};

function difference({ expanded, absorbed }) {
  const gaps = ["weights", "out"].flatMap((name) => expanded[name].map((x, i) => Math.abs(x - absorbed[name][i])));
  return Math.max(...gaps);
}

export function compute(state) {
  const { form, head, token: there } = state;
  const step = attend(example, there, head - 1);
  const way = step[form];
  return {
    ...state, there, names, extent, question: questions[head - 1], n_heads: nHeads, rank, rope,
    latent: step.latent, rope_key: step.ropeKey, q: step.q, q_rope: step.qRope, q_latent: step.absorbed.qLatent,
    k: step.expanded.k, v: step.expanded.v, mixed: step.absorbed.mixed,
    content: way.content, place: step.place, scale: step.scale, scores: way.scores, weights: way.weights, out: way.out,
    difference: difference(step), work: work(example, there), cache_numbers: there * (rank + rope),
  };
}

export default {
  name: "latent_explorer",
  version: 1,
  title: "Latent attention, expanded and absorbed",
  hint: "Point at a vector or a weight, tap it, or go to it with Tab and the arrow keys: here stands its arithmetic.",
  schema,
  controls: [
    { key: "form", kind: "choice", label: "Form", options: [["expanded", "expanded"], ["absorbed", "absorbed"]] },
    { key: "head", kind: "choice", label: "Head", options: [[1, "1"], [2, "2"], [3, "3"], [4, "4"]] },
    { key: "token", kind: "range", label: "Newest token", show: (token) => `“${names[token - 1]}”` },
  ],
  compute, draw, describe, table, explain,
};
