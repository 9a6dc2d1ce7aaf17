// Five scores, their exponentials and their weights.
import { softmax, sum } from "../attention/arithmetic.js";

export const TOKENS = { once: "Once", upon: "upon", a: "a", time: "time", lamp: "lamp" };

export function compute(state) {
  const { shift, temperature } = state;
  const scores = Object.keys(TOKENS).map((name) => state[name] + shift);
  const scaled = scores.map((score) => score / temperature);
  const top = Math.max(...scaled);
  const parts = scaled.map((score) => Math.exp(score - top));
  const weights = softmax(scaled);
  const most = weights.indexOf(Math.max(...weights));
  const ties = weights.filter((weight) => Math.abs(weight - weights[most]) < 1e-12).length;
  return {
    shift, temperature, tokens: Object.values(TOKENS), scores, scaled, top, parts, weights, most, ties,
    total: sum(parts),
  };
}
