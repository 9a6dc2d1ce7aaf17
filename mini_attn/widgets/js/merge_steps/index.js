// A text's tokens, merge by merge, with merges learned from this book's own prose.
import { MERGES, compute } from "./compute.js";
import { draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

const actions = {
  // To the next merge that changes this text, or behind the last one.
  next(view) {
    const { next } = compute(view.state);
    if (next === null) view.complain("No other merge changes this text.");
    else view.write({ ...view.state, merges: next + 1 });
  },
  undo(view) {
    const { last } = compute(view.state);
    view.write({ ...view.state, merges: last ?? 0 });
  },
  all: (view) => view.write({ ...view.state, merges: MERGES.length }),
};

export default {
  name: "merge_steps",
  title: "From text to tokens, merge by merge",
  schema,
  controls: [
    { key: "text", kind: "text", label: "Your text" },
    { key: "merges", kind: "range", label: "Merges" },
  ],
  buttons: [["next", "Next merge", "main"], ["undo", "Take back", "main"], ["all", "All merges", "main"]],
  main: ["text"],
  second: { title: "The chosen word, merge by merge" },
  // A token that is pressed chooses its word; a step of a word, its merges.
  choose(result, state, id) {
    const [kind, i] = id.split("-");
    if (kind === "token") return { ...state, piece: result.tokens[i].word };
    return kind === "step" ? { ...state, merges: result.steps[i].rank + 1 } : null;
  },
  actions, compute, draw, describe, table, explain,
};
