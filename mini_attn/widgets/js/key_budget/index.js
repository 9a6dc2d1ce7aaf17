// Which keys may stay: a story read with room for some of its keys, under several policies.
// Its data stand in the page, as a plot's do: they would be a burden to all other pages.
import { chosen, compute } from "./compute.js";
import { WIDE, drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { HEADS, POLICIES, describe, explain, table } from "./words.js";

const definition = {
  name: "key_budget",
  title: "Which keys may stay",
  schema,
  controls: [
    { key: "policy", kind: "select", label: "Method", options: Object.entries(POLICIES) },
    { key: "head", kind: "choice", label: "Weights of", options: HEADS.map((name, i) => [i + 1, name]) },
    { key: "step", kind: "range", label: "Words read", show: (n) => `${n} of ${schema.step.max}` },
  ],
  main: ["policy", "step"],
  second: { title: "What gets lost", upTo: WIDE },
  play: { key: "step", milliseconds: 500 },
  // A word that is tapped stays or goes; where there is no room for it, the first chosen goes.
  choose({ places, newest }, state, id) {
    const word = Number(id.split("word-")[1] ?? newest);
    if (word >= newest) return null;
    const now = state.policy === "yours" ? chosen(state, newest) : places.filter((place) => place < newest);
    const kept = now.includes(word) ? now.filter((one) => one !== word) : [...now, word].slice(-state.budget);
    return { ...state, policy: "yours", kept: kept.join(".") };
  },
  draw, drag, describe, table, explain,
};

export const made = (data) => ({ ...definition, compute: (state) => compute(data, state) });

// What the page or the notebook gives; a page that holds none shows the picture that was built.
function given(box, model) {
  try {
    return made(model ? model.get("_story") : JSON.parse(box.querySelector("script[data-story]").textContent));
  } catch {
    return null;
  }
}

export default { ...definition, given };
