// Position encodings side by side: what each adds to a score matrix, and what moving the text changes.
import { compute } from "./compute.js";
import { drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "position_encodings",
  title: "What a position adds to a score",
  schema,
  controls: [
    { key: "show", kind: "choice", label: "Squares show", options: [["added", "what is added"], ["weights", "the weights"]] },
  ],
  drag,
  play: { key: "start", milliseconds: 700 },
  compute, draw, describe, table, explain,
};
