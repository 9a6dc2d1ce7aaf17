// Decoding step by step: which rows are computed, which are cached, and what that adds up to.
import { tokenAt } from "../core/strip.js";
import { compute } from "./compute.js";
import { PROMPT, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "decode_stepper",
  title: "Decoding, step by step",
  schema,
  controls: [
    { key: "cached", kind: "choice", label: "Cache", options: [[true, "on"], [false, "off"]] },
    { key: "head", kind: "choice", label: "Head", options: [[1, "1"], [2, "2"]] },
  ],
  main: ["cached"],
  second: { title: "Running totals", narrow: "Weights and running totals" },
  play: { key: "step", milliseconds: 1400 },
  // The frame is dragged along the text, and a token is tapped.
  drag: ({ rows }, id, { width }) => (id === "now" ? ({ to }) => ({ step: tokenAt(rows.map(({ token }) => token), width, to[0]) - PROMPT + 1 }) : null),
  choose: (_, state, id) => (id.startsWith("t-") ? { ...state, step: Math.max(0, id.slice(2) - PROMPT + 1) } : null),
  compute, draw, describe, table, explain,
};
