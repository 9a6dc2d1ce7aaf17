// A step of latent attention in both forms, and how far apart their results are.
import { largest } from "../attention/arithmetic.js";
import { attend, example, work } from "./attention.js";

const { kv_lora_rank: rank, qk_rope_head_dim: rope, n_heads: nHeads, questions } = example;
export const tokens = example.tokens.map((token) => token.trim());

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
    ...state, there, tokens, extent: extents[head - 1], question: questions[head - 1], n_heads: nHeads, rank, rope,
    latent: step.latent, rope_key: step.ropeKey, q: step.q, q_rope: step.qRope, q_latent: step.absorbed.qLatent,
    k: step.expanded.k, v: step.expanded.v, mixed: step.absorbed.mixed,
    content: way.content, position: step.position, scale: step.scale, scores: way.scores, weights: way.weights, out: way.out,
    difference: difference(step), work: work(example, there), cache_numbers: there * (rank + rope),
  };
}
