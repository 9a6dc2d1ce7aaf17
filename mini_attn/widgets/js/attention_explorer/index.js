// Who attends to whom: queries, keys, scores, mask, weights, values and outputs of one head.
import { decimal } from "../core/text.js";
import { compute, divisors } from "./compute.js";
import { drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

const past = ({ show }) => show !== "dots";
const PULLED = { q0: 0, q1: 0, q2: 0, q3: 0 };

export default {
  name: "attention_explorer",
  title: "Attention, cell by cell",
  schema,
  controls: [
    { key: "head", kind: "choice", label: "This head looks for", options: [["content", "related words"], ["before", "the word before"]] },
    { key: "tokens", kind: "choice", label: "Tokens", options: [[4, "4"], [8, "8"]] },
    { key: "show", kind: "choice", label: "Cells show", options: [["dots", "q · k"], ["scores", "scores"], ["weights", "weights"]] },
    { key: "divisor", kind: "select", label: "Divide q · k by", when: past, options: [["one", "1 (no scale)"], ...["head_dim", "d_model"].map((name) => [name, `√${name} = ${decimal(divisors[name])}`])] },
    { key: "mask", kind: "select", label: "Hide later tokens", when: past,
      options: [["none", "no"], ["after", "0 after softmax"], ["renormalised", "0, divided by sum"], ["before", "−∞ before softmax"]] },
  ],
  main: ["mask"],
  drag,
  // Another head or another last token has a query of its own.
  update: (state, key, value) => ({ ...state, ...(key === "head" || key === "tokens" ? PULLED : {}), [key]: value }),
  compute, draw, describe, table, explain,
};
