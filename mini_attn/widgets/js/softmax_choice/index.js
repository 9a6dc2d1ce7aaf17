// Softmax on five numbers: how scores become weights that sum to one.
import { decimal } from "../core/text.js";
import { compute } from "./compute.js";
import { drag, draw, small } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "softmax_choice",
  title: "Softmax on five numbers",
  schema,
  controls: [{ key: "temperature", label: "Temperature", kind: "range", show: (value) => decimal(value) }],
  drag,
  counts: ({ parts, weights }) => Object.fromEntries([parts, weights].flatMap((row, n) => row.map((value, i) => [`${"ew"[n]}-${i}`, [value, small]]))),
  compute, draw, describe, table, explain,
};
