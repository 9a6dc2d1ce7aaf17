// The book's first picture: attention among four words, told in three beats a word.
import goal from "../attention_explorer/schema.json" with { type: "json" };
import { toHash } from "../core/hash.js";
import { defaults } from "../core/schema.js";
import { BEATS, compute } from "./compute.js";
import { draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

// The same words, rule and row in the picture that takes this one apart.
function carries({ word, beat }) {
  const state = { ...defaults(goal), mask: "before", show: beat ? "weights" : "scores" };
  return `${toHash("attention_explorer", goal, state)}&at=${beat ? "out" : "q"}-${word}`;
}

export default {
  name: "first_look",
  title: "Four words look at each other",
  schema,
  controls: [{ key: "moment", kind: "range", label: "Moment", show: (n) => `${n + 1} of 12` }],
  play: { key: "moment", milliseconds: 1600, byItself: true },
  choose(result, state, id) {
    const [kind, word] = id.split("-");
    return kind === "row" ? { moment: BEATS * Number(word) + BEATS - 1 } : null;
  },
  compute, draw, describe, table, explain, carries,
};
