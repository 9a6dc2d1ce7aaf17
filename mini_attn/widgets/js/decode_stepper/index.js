// Decoding step by step: which rows are computed, which are cached, and what that adds up to.
import { compute } from "./compute.js";
import { draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "decode_stepper",
  title: "Decoding, step by step",
  schema,
  controls: [
    { key: "cached", kind: "choice", label: "Cache", options: [[true, "on"], [false, "off"]] },
    { key: "head", kind: "choice", label: "Head", options: [[1, "1"], [2, "2"]] },
    { key: "step", kind: "range", label: "Step", show: (step) => (step ? `${step} of ${schema.step.max}` : "prefill") },
  ],
  main: ["step", "cached"],
  second: { title: "Running totals", narrow: "Weights and running totals" },
  play: { key: "step", milliseconds: 1400 },
  compute, draw, describe, table, explain,
};
