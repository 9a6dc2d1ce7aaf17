// The first page: a trained model, and a switch for each of its heads.
import { HEADS, keyOf } from "../inside_model/compute.js";
import { compute, waits } from "./compute.js";
import { draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, percent, table } from "./words.js";

export default {
  name: "home_model",
  title: "A trained model with eight heads",
  schema,
  looks: ["heads"],
  controls: HEADS.map((head) => ({ key: keyOf(head), kind: "toggle", label: head, when: () => false })), // in the picture
  choose(result, state, id) {
    const key = keyOf(id.slice(2));
    return { ...state, [key]: !state[key] };
  },
  counts: ({ bars }) => Object.fromEntries(bars.map(({ word, share }) => [word, [share, percent]])),
  waits, compute, draw, describe, table,
};
