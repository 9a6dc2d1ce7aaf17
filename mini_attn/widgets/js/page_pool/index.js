// A pool of memory under three schemes: reservations, pages, and pages that are shared.
import { hint } from "../core/text.js";
import { compute } from "./compute.js";
import { WIDE, draw, pitch } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

const each = (key) => schema[key].values.map((value) => [value, String(value)]);

export default {
  name: "page_pool",
  title: "Requests in one pool of memory",
  hint: hint("a request, a block or a step", "what it holds"),
  schema,
  controls: [
    { key: "scheme", kind: "choice", label: "Scheme", options: [["contiguous", "reserve"], ["pages", "pages"], ["shared", "shared pages"]] },
    { key: "block_size", kind: "choice", label: "Slots of a block", options: each("block_size"), disabled: ({ scheme }) => scheme === "contiguous" },
    { key: "request", kind: "choice", label: "Request", options: each("request") },
    { key: "step", kind: "range", label: "Step", show: (step) => `${step} of ${schema.step.max}` },
  ],
  second: { title: "Slots that hold a token, by step", upTo: WIDE },
  play: { key: "step", milliseconds: 1200 },
  // A request that is pressed is chosen, and a step.
  choose(_, state, id) {
    const [key, value] = id.split("-");
    return key === "step" ? { ...state, step: Number(value) } : key === "request" && { ...state, request: value };
  },
  drag: (_, id, { width }) => (id.startsWith("step") ? ({ dx }) => ({ step: Number(id.slice(5)) + dx / pitch(width) }) : null),
  compute, draw, describe, table, explain,
};
