// A text inside a trained decoder: the next word and what it should be, each head, each switched off.
import { decimal } from "../core/text.js";
import { HEADS, MEMBERS, append, compute, fewer, keyOf, nextWord, waits } from "./compute.js";
import { LONGEST, WORDS, refuse } from "./line.js";
import { draw } from "./picture.js";
import { PRESETS } from "./presets.js";
import schema from "./schema.json" with { type: "json" };
import { describe, explain, table } from "./words.js";

const FULL = `The text is full: there's room for ${LONGEST} tokens.`;

// The decoder that the text's end still needs, as a promise, else null.
const isComing = (view) => waits({ ...view.state, at: LONGEST - 1 }, view.model);

// Appends the next word to the text; false where there is no room for another.
function goOn(view) {
  if (isComing(view)) return true; // the next time
  const longer = nextWord(view.state);
  if (longer) view.write(longer);
  else view.complain(FULL);
  return Boolean(longer);
}

// A press that comes before the decoder is kept; what does not come is told where it is waited for.
function next(view) {
  const coming = isComing(view);
  if (coming) coming.then(() => goOn(view), () => null);
  else goOn(view);
}

const actions = {
  next,
  tell(view) {
    if (!view.timer) view.repeat(() => goOn(view), 250);
    else view.stop();
  },
  fewer: (view) => view.write(fewer(view.state)),
  ...Object.fromEntries(PRESETS.map(({ text, head }, i) => [`preset-${i}`, (view) => view.write({ ...view.state, text, head, at: LONGEST - 1 })])),
};

// What a pressed part of the picture changes.
function choose(result, state, id) {
  const [kind, name] = [id[0], id.slice(2)];
  if (kind === "t") return { ...state, at: Number(name) === result.ids.length - 1 ? LONGEST - 1 : Number(name) };
  if (kind === "h") return { ...state, head: name };
  if (kind === "s") return { ...state, [keyOf(name)]: !state[keyOf(name)] };
  return result.full && result.isLast ? null : append(state, Number(name), result.at);
}

const inPicture = { when: () => false }; // by mouse and by keyboard

export default {
  name: "inside_model",
  title: "Inside a trained decoder",
  schema,
  looks: ["heads"],
  controls: [
    { key: "text", kind: "text", label: `Text, in the ${WORDS.length} words of the stories` },
    { key: "member", kind: "select", label: "Decoder", options: Object.entries(MEMBERS).map(([name, title]) => [name, `${name}: ${title}`]) },
    { key: "temperature", kind: "range", label: "Temperature", show: (value) => decimal(value, 1) },
    { key: "top_p", kind: "range", label: "Top-p", show: (value) => decimal(value) },
    { key: "seed", kind: "number", label: "Seed" },
    { key: "at", kind: "range", label: "Chosen word", ...inPicture },
    { key: "head", kind: "select", label: "Head in the text", options: HEADS, ...inPicture },
    ...HEADS.map((head) => ({ key: keyOf(head), kind: "toggle", label: head, ...inPicture })),
  ],
  buttons: [
    ...PRESETS.map(({ label }, i) => [`preset-${i}`, label]),
    ["next", "Next word", "main"], ["tell", "Keep writing", "main"], ["fewer", "Take back", "main"],
  ],
  main: ["text"],
  folds: true,
  second: { title: "The chosen head, large", narrow: "Loss, and the chosen head, large" },
  actions, choose, refuse, waits,
  compute, draw, describe, table, explain,
};
