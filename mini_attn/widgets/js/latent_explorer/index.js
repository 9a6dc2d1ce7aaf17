// The latent explorer: what the cache holds, what a head makes of it, and the other order.
import { tokenAt } from "../core/strip.js";
import { compute, tokens } from "./compute.js";
import { draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "latent_explorer",
  title: "Latent attention, expanded and absorbed",
  schema,
  controls: [
    { key: "form", kind: "choice", label: "Form", options: [["expanded", "expanded"], ["absorbed", "absorbed"]] },
    { key: "head", kind: "choice", label: "Head", options: [[1, "1"], [2, "2"], [3, "3"], [4, "4"]] },
  ],
  main: ["form"],
  second: { title: "What both forms cost" },
  // The newest token is dragged along the text, and another is tapped.
  drag: (_, id, { width }) => (id === "now" ? ({ to }) => ({ token: tokenAt(tokens, width, to[0]) + 1 }) : null),
  choose: (_, state, id) => (id.startsWith("t-") ? { ...state, token: Number(id.slice(2)) + 1 } : null),
  compute, draw, describe, table, explain,
};
