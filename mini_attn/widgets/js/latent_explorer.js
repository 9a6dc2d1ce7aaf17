// The latent explorer: what the cache holds, what a head makes of it, and the other order.
import { attend, example, work } from "./latent_attention.js";
import { draw } from "./latent_picture.js";
import { describe, explain, table } from "./latent_words.js";
import schema from "./schema/latent_explorer.json" with { type: "json" };

const { kv_lora_rank: rank, qk_rope_head_dim: rope, n_heads: nHeads, tokens, questions } = example;
const names = tokens.map((token) => token.trim());
const largest = (rows) => Math.max(...rows.flat(Infinity).map(Math.abs)) || 1;

// The largest number of each kind at any token: bars keep their measure while tokens come in.
const extents = Array.from({ length: nHeads }, (_, head) => {
  const steps = tokens.map((_, i) => attend(example, i + 1, head));
  const { latent, ropeKey, expanded } = steps.at(-1);
  return {
    r: largest(ropeKey), c: largest(latent), k: largest(expanded.k), v: largest(expanded.v),
    qr: largest(steps.map(({ qRope }) => qRope)), qn: largest(steps.map(({ q }) => q)),
    qa: largest(steps.map(({ absorbed }) => absorbed.qLatent)), mix: largest(latent), out: largest(expanded.v),
  };
});

function difference({ expanded, absorbed }) {
  const gaps = ["weights", "out"].flatMap((name) => expanded[name].map((x, i) => Math.abs(x - absorbed[name][i])));
  return Math.max(...gaps);
}

export function compute(state) {
  const { form, head, token: there } = state;
  const step = attend(example, there, head - 1);
  const way = step[form];
  return {
    ...state, there, names, extent: extents[head - 1], question: questions[head - 1], n_heads: nHeads, rank, rope,
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
