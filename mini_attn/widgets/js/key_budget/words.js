// Which keys stay, in words: the sentence, the table, and the details of words and bars.
import { decimal, quote } from "../core/text.js";

export const MEASURES = [
  ["loss, stories", "nats per word above the floor"],
  ["loss, copying", "nats per word where a row repeats"],
  ["who has what", "right answers, asked within 64 words"],
];
export const HEADS = ["retrieval head", "previous-token head"];
export const POLICIES = { recent: "recency window", first: "first 4 + recent", heavy: "H2O, half recent", observed: "SnapKV", yours: "your choice", all: "all keys" };
const STATES = { gone: "evicted", later: "not read yet", new: "its own" };

export const percent = (share) => `${Math.round(100 * share)}%`;
const number = (i, value) => (i < 2 ? decimal(value) : percent(value));
export const amount = (i, point) => (point ? number(i, point[i][0]) : "not measured");
const spread = (i, point) => amount(i, point) + (point?.[i][1] ? ` ± ${number(i, point[i][1])}` : "");
export const says = ({ kind, weight, full }) => (STATES[kind] ?? `kept, weight ${percent(weight)}`) + (kind === "gone" ? `, would get ${percent(full)}` : "");

// Which keys are left.
const rule = ({ policy, budget, observe, places }) => ({
  yours: `the ${places.length - 1} of ${budget} that you chose and its own`,
  recent: `the newest ${budget} and its own`,
  first: `the first 4, the newest ${budget - 4} and its own`,
  heavy: `the newest ${budget >> 1}, the ${budget - (budget >> 1)} with the most weight so far and its own`,
  observed: `the prompt's last ${observe}, the ${budget - observe} they attend to most, and all later ones`,
})[policy];

export function describe(result) {
  const { rows, newest, step, places, gone, heads, policy, said, done, answer, prompt } = result;
  const whole = policy === "observed" && step > 1 && step <= prompt ? `, because the prompt's ${prompt} words are read at once` : "";
  const reads = `${quote(rows[newest].word)} at position ${newest} reads ${gone ? `${places.length} of ${step} keys: ${rule(result)}` : `${step > 1 ? `all ${step} keys` : "its own key"}${whole}`}.`;
  const [one, other] = heads.map(({ lost }) => percent(lost));
  const lost = gone ? ` Evicted keys would get ${one} of the ${HEADS[0]}'s weight and ${other} of the ${HEADS[1]}'s.` : "";
  return reads + lost + (done ? ` The answer is ${quote(answer)}; with this cache in every head, the model ${said ? `says ${quote(said[0])} (${said[1]}%)` : "wasn't tried"}.` : "");
}

export function table({ rows, head, policy, budget, now, all }) {
  const cell = (value, kind) => (kind === "later" ? "–" : percent(value));
  return {
    caption: `Keys that stay: ${POLICIES[policy]}, ${budget}; weights of the ${HEADS[head - 1]}. ${MEASURES.map(([name], i) => `${name} ${amount(i, now)} (all keys ${amount(i, all)})`).join(", ")}`,
    head: ["word", "position", "key", "weight", "with all keys"],
    rows: rows.map(({ word, position, kind, weight, full }) => [word, String(position), STATES[kind] ?? "kept", cell(weight, kind), cell(full, kind)]),
  };
}

function explainWord({ rows, newest, head }, { word, kind, position, full, weight }) {
  if (kind === "later") return `${quote(word)} at position ${position} hasn't been read yet.`;
  const then = kind === "gone" ? "Its key was evicted, so the remaining keys share that weight." : `Now it gets ${percent(weight)}.`;
  return `With all keys, the ${HEADS[head - 1]} of ${quote(rows[newest].word)} gives ${percent(full)} to ${quote(word)} at position ${position}. ${then}`;
}

export function explain(result, id) {
  const [kind, n] = id.split("-");
  const { rows, heads, now, all, budget } = result;
  const text = {
    word: () => explainWord(result, rows[n]),
    next: () => "Who goes back for the cup? The model answers at the end.",
    room: () => `${budget} keys per head stay after each word. While a new word is read, its own key comes on top.`,
    head: () => `With all keys, the ${HEADS[n]} would give ${percent(heads[n].lost)} of its weight to evicted keys.`,
    measure: () => `${MEASURES[n].join(" (")}): ${spread(n, now)}; with all keys ${spread(n, all)}.`,
  }[kind]();
  return { text, also: [] };
}
