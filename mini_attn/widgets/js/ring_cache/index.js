// The ring: the last W tokens' keys and values, each in slot position mod W, and what a query sees.
import { compute } from "./compute.js";
import { draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "ring_cache",
  version: 1,
  title: "The ring: a cache that stops growing",
  hint: "Point at a token, a slot or a bar, tap it, or go to it with Tab and the arrow keys: here stands its arithmetic.",
  schema,
  controls: [
    { key: "window", kind: "range", label: "Window W", show: (n) => `${n}` },
    { key: "head", kind: "choice", label: "Head", options: [[1, "1: the token before"], [2, "2: related content"]] },
    { key: "step", kind: "range", label: "Tokens so far", show: (n) => `${n} of ${schema.step.max}` },
  ],
  play: { key: "step", milliseconds: 1400 },
  compute, draw, describe, table, explain,
};
