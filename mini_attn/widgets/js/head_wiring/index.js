// Who reads whom: four query heads on four, two or one key/value heads, and what that changes.
import { tokens } from "../attention/example.js";
import { compute } from "./compute.js";
import { WIDE, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "head_wiring",
  title: "Who reads whom",
  schema,
  controls: [
    { key: "n_kv_heads", kind: "choice", label: "Key/value heads", options: [[4, "4"], [2, "2"], [1, "1"]] },
    { key: "order", kind: "choice", label: "Wiring", options: [["neighbours", "neighbors share"], ["dealt", "round-robin"]], disabled: (state) => state.n_kv_heads !== 2 },
    { key: "token", kind: "range", label: "Query token", show: (token) => `“${tokens[token]}” (${token + 1} of ${tokens.length})` },
  ],
  main: ["n_kv_heads"],
  second: { title: "Cost of one layer", upTo: WIDE },
  compute, draw, describe, table, explain,
};
