// Pairs written into one matrix and read back: what a state keeps, by the rule that writes it.
import { compute } from "./compute.js";
import { WIDE, draw, pairAt } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "state_matrix",
  title: "Pairs written into a matrix and read back",
  schema,
  controls: [
    { key: "rule", kind: "choice", label: "Rule", options: [["sum", "sum"], ["decay", "decay"], ["delta", "delta"], ["gated", "gated"], ["cache", "cache"]] },
    { key: "pairs", kind: "range", label: "Pairs", show: (n) => `${n}` },
    { key: "size", kind: "choice", label: "Dimension d", options: schema.size.values },
    { key: "decay", kind: "range", label: "Decay", show: (n) => n.toFixed(2), disabled: ({ rule }) => rule !== "decay" && rule !== "gated" },
    { key: "again", kind: "toggle", label: "The first key again" },
  ],
  main: ["rule", "pairs"],
  second: { title: "The matrix", upTo: WIDE },
  play: { key: "pairs", milliseconds: 900 },
  // A pair that is pressed is asked for, and the asked one is dragged along.
  drag: (result, id, { width }) => (id === "now" ? ({ to }) => ({ pair: pairAt(result, to[0], width) }) : null),
  choose: (_, state, id) => (id.startsWith("pair-") ? { ...state, pair: Number(id.slice(5)) } : null),
  compute, draw, describe, table, explain,
};
