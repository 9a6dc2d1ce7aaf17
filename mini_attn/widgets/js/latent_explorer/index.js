// The latent explorer: what the cache holds, what a head makes of it, and the other order.
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
    { key: "token", kind: "range", label: "Newest token", show: (token) => `“${tokens[token - 1]}”` },
  ],
  main: ["form"],
  second: { title: "What both forms cost" },
  compute, draw, describe, table, explain,
};
