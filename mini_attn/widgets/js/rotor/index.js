// The rotor: the planes of one head, a query and a key rotated to their positions, and the score.
import { compute } from "./compute.js";
import { draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "rotor",
  version: 1,
  title: "The rotor: positions as angles",
  hint: "Point at a dial or a number, tap it, or go to it with Tab and the arrow keys: here stands its arithmetic.",
  schema,
  controls: [
    { key: "distance", kind: "range", label: "Query comes after the key by", show: (n) => `${n}` },
    { key: "layout", kind: "choice", label: "Layout: who turns together", options: [["interleaved", "neighbours (interleaved)"], ["half", "half a head apart (half)"]] },
    { key: "position", kind: "range", label: "Move both: position of the key", show: (n) => `${n}` },
  ],
  play: { key: "position", milliseconds: 500 },
  compute, draw, describe, table, explain,
};
