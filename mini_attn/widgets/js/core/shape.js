// The model, device, batch and context that a reader has chosen: one choice for all pictures of the
// book that have them, kept by the browser where it keeps anything.
import { fault } from "./schema.js";
import { keepText, textOf } from "../progress/store.js";

const NAME = "living:shape";
const EVENT = "living:shape";
const KEYS = ["model", "device", "batch", "context"];

function kept() {
  try {
    const found = JSON.parse(textOf(NAME));
    return found && typeof found === "object" && !Array.isArray(found) ? found : {};
  } catch {
    return {}; // not what this page has written
  }
}

// A state with what was chosen elsewhere, as far as this picture knows it: a model that it does not
// have leaves its own.
export function chosen({ schema, update }, state, values = kept()) {
  return KEYS.filter((key) => schema[key] && Object.hasOwn(values, key) && !fault(schema[key], key, values[key]))
    .reduce((next, key) => (next[key] === values[key] ? next : update ? update(next, key, values[key]) : { ...next, [key]: values[key] }), state);
}

// Keep what a reader has changed, and tell the page's other pictures.
export function choose(view, before, after) {
  const changed = KEYS.filter((key) => key in after && after[key] !== before[key]);
  if (!changed.length) return;
  keepText(NAME, JSON.stringify({ ...kept(), ...Object.fromEntries(changed.map((key) => [key, after[key]])) }));
  document.dispatchEvent(new CustomEvent(EVENT, { detail: view }));
}

// Reset: the choice is forgotten. The pictures that are open elsewhere keep what they show.
export const forget = () => keepText(NAME, "{}");

export const whenChosen = (callback) => document.addEventListener(EVENT, ({ detail }) => callback(detail));
