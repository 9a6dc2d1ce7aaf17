// The rotor: the planes of one head, a query and a key rotated to their positions, and the score.
import { whole } from "../core/text.js";
import { compute } from "./compute.js";
import { drag, draw, product } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "rotor",
  title: "The rotor: positions as angles",
  schema,
  controls: [
    { key: "layout", kind: "choice", label: "Layout of the pairs", options: [["interleaved", "interleaved"], ["half", "half"]] },
    { key: "position", kind: "range", label: "Move both: position of the key", show: (n) => `${n}` },
    { key: "vectors", kind: "choice", label: "Query and key", options: [["chosen", "given"], ["equal", "q = k"], ["independent", "unrelated"]] },
    { key: "base", kind: "select", label: "Base", options: schema.base.values.map((n) => [n, whole(n)]) },
  ],
  drag,
  counts: ({ planes }) => Object.fromEntries(planes.map(({ part }, n) => [`part-${n}`, [part, product]])),
  second: { title: "Score against the distance", narrow: "The numbers, and the score against the distance" },
  play: { key: "position", milliseconds: 500 },
  compute, draw, describe, table, explain,
};
