// Softmax on five numbers: how scores become weights that sum to one.
import { decimal } from "../core/text.js";
import { TOKENS, compute } from "./compute.js";
import { drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

const range = (key, label, group) => ({ key, label, kind: "range", group, show: (value) => decimal(value) });

export default {
  name: "softmax_choice",
  title: "Softmax on five numbers",
  schema,
  controls: [
    ...Object.entries(TOKENS).map(([key, token]) => range(key, `Score of “${token}”`, "Scores")),
    range("shift", "Add to all scores", "For all five"),
    range("temperature", "Temperature", "For all five"),
  ],
  drag,
  main: ["shift", "temperature"],
  compute, draw, describe, table, explain,
};
