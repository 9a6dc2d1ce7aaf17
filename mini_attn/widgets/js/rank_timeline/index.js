// Several devices on a time line: who computes, who sends and who waits.
import { tokenTick } from "../core/units.js";
import { compute } from "./compute.js";
import { WIDE, draw, stepAt } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

export default {
  name: "rank_timeline",
  title: "Who computes, who sends, who waits",
  schema,
  controls: [
    { key: "scheme", kind: "choice", label: "Scheme", options: [["contiguous", "ring"], ["zigzag", "zigzag"], ["ulysses", "Ulysses"], ["tensor", "tensor"]] },
    { key: "ranks", kind: "choice", label: "Devices", options: schema.ranks.values },
    { key: "tokens", kind: "choice", label: "Tokens", options: schema.tokens.values.map((n) => [n, tokenTick(n)]) },
    { key: "link", kind: "choice", label: "Link, GB/s", options: schema.link.values },
  ],
  main: ["scheme"],
  second: { title: "Who computes which block of the scores", upTo: WIDE },
  play: { key: "step", milliseconds: 1400 },
  // The moment is dragged along the time, and a bar's scheme is chosen.
  drag: (result, id, { width }) => (id === "now" ? ({ to }) => ({ step: stepAt(result, to[0], width) }) : null),
  choose(_, state, id) {
    const [kind, value] = id.split("-");
    if (kind === "bar") return { ...state, scheme: value };
    return kind === "part" ? { ...state, step: Number(value) } : null;
  },
  compute, draw, describe, table, explain,
};
