// The cost explorer: FLOPs and bytes of one layer, part by part, against the number of tokens.
import { HEAD_DIM, compute } from "./compute.js";
import { WIDE, drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { counts, describe, explain, table } from "./words.js";

export default {
  name: "cost_explorer",
  title: "What one layer costs",
  schema,
  controls: [
    { key: "seq", kind: "log", label: "Tokens n" },
    { key: "d_model", kind: "select", label: "Width d (d_model)", options: schema.d_model.values.map((d) => [d, `${d}: ${d / HEAD_DIM} heads of dimension ${HEAD_DIM}`]) },
    { key: "mlp", kind: "select", label: "MLP", options: [["none", "none"], ["plain", "width 4d"], ["gated", "gated, width 4d"], ["narrow", "gated, width 8d/3"]] },
    { key: "pairs", kind: "choice", label: "Pairs computed", options: [["full", "full square"], ["exact", "visible only"]] },
    { key: "kernel", kind: "choice", label: "Scores", options: [["written", "materialized"], ["fused", "in tiles"]] },
  ],
  drag,
  main: ["seq"],
  second: { title: "Bytes of its attention, against tokens", upTo: WIDE },
  compute, draw, counts, describe, table, explain,
};
