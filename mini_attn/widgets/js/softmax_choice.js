// Softmax on five numbers: how scores become shares that add up to one.
import { softmax } from "./attention_example.js";
import { decimal } from "./core/text.js";
import schema from "./schema/softmax_choice.json" with { type: "json" };
import { draw } from "./softmax_picture.js";
import { describe, explain, table } from "./softmax_words.js";

const TOKENS = { once: "Once", upon: "upon", a: "a", time: "time", key: "key" };

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
    total: parts.reduce((sum, part) => sum + part, 0),
  };
}

const range = (key, label, group) => ({ key, label, kind: "range", group, show: (value) => decimal(value) });

export default {
  name: "softmax_choice",
  version: 1,
  title: "Softmax on five numbers",
  hint: "Point at a score, a power of e or a weight, tap it, or go to it with Tab and the arrow keys: here stands its arithmetic.",
  schema,
  controls: [
    ...Object.entries(TOKENS).map(([key, token]) => range(key, `Score of “${token}”`, "Scores")),
    range("shift", "Add to all scores", "For all five"),
    range("temperature", "Temperature", "For all five"),
  ],
  compute, draw, describe, table, explain,
};
