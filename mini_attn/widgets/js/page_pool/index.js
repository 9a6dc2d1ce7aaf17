// A pool of memory under three schemes: reservations, pages, and pages that are shared.
import { read } from "../core/schema.js";
import { compute } from "./compute.js";
import { WIDE, draw, stepAcross } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "page_pool",
  title: "Requests in one pool",
  schema,
  controls: [
    { key: "scheme", kind: "choice", label: "Scheme", options: [["contiguous", "reserve"], ["pages", "pages"], ["shared", "shared pages"]] },
    { key: "block_size", kind: "choice", label: "Slots per block", options: schema.block_size.values, disabled: ({ scheme }) => scheme === "contiguous" },
  ],
  main: ["scheme"],
  second: { title: "Slots that hold a token, by step", upTo: WIDE },
  play: { key: "step", milliseconds: 1200 },
  drag: (result, id, { width }) => (id === "now" ? ({ dx }) => ({ step: stepAcross(result, width, dx) }) : null),
  // A request that is pressed is chosen, and a step.
  choose(_, state, id) {
    const [key, value] = id.split("-");
    return key in state && { ...state, [key]: read(schema[key], value) };
  },
  compute, draw, describe, table, explain,
};
