// Longer contexts: what each rule does to every plane of a rotary embedding, on one axis.
import { whole } from "./core/text.js";
import { frequencies, stretch } from "./rope_rules.js";
import { draw } from "./rope_scaling_picture.js";
import { describe, explain, table } from "./rope_scaling_words.js";
import schema from "./schema/rope_scaling.json" with { type: "json" };

const SIZE = 128; // numbers of a head that turn
const FULL = 2 * Math.PI;

// seen: it came round in training, so that every angle is known. inside: it did not, and turns no
// further now. fresh: it did not, and now meets angles that it never had.
function planeOf(before, after, trained, length) {
  const [known, now] = [(before * trained) / FULL, (after * length) / FULL];
  const status = known >= 1 ? "seen" : now > known * (1 + 1e-9) ? "fresh" : "inside";
  return { before, after, slower: before / after, wave: FULL / after, waveBefore: FULL / before, known, now, status };
}

export function compute(state) {
  const { rule, factor, tokens, trained, theta } = state;
  const { inv, base, ropeFactor } = stretch(rule, { factor, tokens, trained, theta, size: SIZE });
  const length = rule === "dynamic" ? tokens : factor * trained;
  const planes = frequencies(SIZE, theta).map((before, i) => planeOf(before, inv[i], trained, length));
  const count = (status) => planes.filter((plane) => plane.status === status).length;
  const farther = planes.filter(({ status }) => status === "fresh").map(({ now, known }) => now / known);
  return {
    ...state, length, base, rope_factor: ropeFactor, logit_factor: ropeFactor ** 2, planes,
    counts: Object.fromEntries(["seen", "inside", "fresh"].map((status) => [status, count(status)])),
    farthest: farther.length ? Math.max(...farther) : 1,
    kept: planes.filter(({ slower }) => slower < 1.0005).length,
    full: planes.filter(({ slower }) => slower > factor * 0.9995).length,
  };
}

export default {
  name: "rope_scaling",
  version: 1,
  title: "Rules for longer contexts, plane by plane",
  hint: "Point at a plane, tap it, or go to it with Tab and the arrow keys: here stands what the rule does to it.",
  schema,
  controls: [
    { key: "rule", kind: "select", label: "Rule", options: [
      ["none", "none"], ["interpolation", "position interpolation"], ["ntk", "NTK-aware"], ["dynamic", "dynamic NTK"],
      ["yarn_code", "YaRN, as in its code"], ["yarn_paper", "YaRN, as in its paper"], ["llama3", "Llama 3"]] },
    { key: "factor", kind: "log", label: "Factor" },
    { key: "tokens", kind: "log", label: "Tokens so far", when: ({ rule }) => rule === "dynamic" },
    { key: "trained", kind: "choice", label: "Trained on", options: schema.trained.values.map((n) => [n, whole(n)]) },
    { key: "theta", kind: "choice", label: "Base", options: schema.theta.values.map((n) => [n, whole(n)]) },
  ],
  compute, draw, describe, table, explain,
};
