// The ring: the last W tokens' keys and values, each in slot position mod W, and what is visible to a query.
import { compute } from "./compute.js";
import { WIDE, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "ring_cache",
  title: "The ring: a cache that stops growing",
  schema,
  controls: [
    { key: "window", kind: "range", label: "Window W", show: (n) => `${n}` },
    { key: "head", kind: "choice", label: "Head", options: [[1, "1: the token before"], [2, "2: related content"]] },
    { key: "step", kind: "range", label: "Tokens so far", show: (n) => `${n} of ${schema.step.max}` },
  ],
  second: { title: "The weights with the window and without it", upTo: WIDE },
  play: { key: "step", milliseconds: 1400 },
  compute, draw, describe, table, explain,
};
