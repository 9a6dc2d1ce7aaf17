// The ring: the last W tokens' keys and values, each in slot position mod W, and what is visible to a query.
import { compute } from "./compute.js";
import { WIDE, draw, textUpTo } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "ring_cache",
  title: "The ring: a cache that stops growing",
  schema,
  controls: [
    { key: "window", kind: "range", label: "Window W", show: (n) => `${n}` },
    { key: "head", kind: "choice", label: "Head", options: [[1, "1: the token before"], [2, "2: related content"]] },
  ],
  main: ["head"],
  second: { title: "The weights with the window and without it", upTo: WIDE },
  play: { key: "step", milliseconds: 1400 },
  // The newest token is dragged along the text, and another is tapped.
  drag: (_, id, { width }) => (id === "now" ? ({ to }) => ({ step: textUpTo(to, width) }) : null),
  choose: (_, state, id) => (id.startsWith("token-") ? { ...state, step: Number(id.slice(6)) + 1 } : null),
  compute, draw, describe, table, explain,
};
