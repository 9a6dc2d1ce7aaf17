// Who reads whom: four query heads on four, two or one key/value heads, and what that changes.
import { whole } from "../core/text.js";
import { compute } from "./compute.js";
import { drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { COSTS, describe, explain, table } from "./words.js";

export default {
  name: "head_wiring",
  title: "Who reads whom",
  schema,
  controls: [
    { key: "n_kv_heads", kind: "choice", label: "Key/value heads", options: [[4, "4"], [2, "2"], [1, "1"]] },
    { key: "order", kind: "choice", label: "Wiring", options: [["neighbours", "neighbors share"], ["dealt", "round-robin"]], disabled: (state) => state.n_kv_heads !== 2 },
  ],
  main: ["n_kv_heads"],
  drag,
  choose: (_, state, id) => (id.startsWith("t-") ? { ...state, token: Number(id.slice(2)) } : null),
  counts: ({ costs }) => Object.fromEntries(Object.entries(COSTS).map(([key, [, unit]]) => [key, [costs[key], (n) => `${whole(n)} ${unit}`]])),
  compute, draw, describe, table, explain,
};
