// One token's attention with two heads of 4 or one head of 8, from queries to output.
import { tokens } from "../attention/example.js";
import { compute } from "./compute.js";
import { draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

const STEPS = ["q, k, v", "scores", "weights", "averages", "together"];

export default {
  name: "head_stepper",
  title: "One token, two heads",
  schema,
  controls: [
    { key: "n_heads", kind: "choice", label: "Heads", options: [[2, "two of 4"], [1, "one of 8"]] },
    { key: "token", kind: "select", label: "Token that looks", options: tokens.map((word, i) => [i, `${i + 1} · ${word}`]) },
    {
      key: "join", kind: "choice", label: "Together", options: [["concatenate", "side by side"], ["add", "added up"]],
      when: ({ step, n_heads: nHeads }) => step === schema.step.max && nHeads > 1,
    },
    { key: "step", kind: "range", label: "Step", show: (step) => `${step + 1} of ${schema.step.max + 1}: ${STEPS[step]}` },
  ],
  main: ["step", "n_heads", "join"],
  choose: (_, state, id) => (id.startsWith("t-") ? { ...state, token: Number(id.split("-")[2]) } : null),
  play: { key: "step", milliseconds: 1800 },
  compute, draw, describe, table, explain,
};
