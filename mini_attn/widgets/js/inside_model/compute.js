// A text inside the decoder: what comes next and should come next, whom each head reads, what a word cost.
import { bring, modelOf } from "../decoder/source.js";
import { chance, probabilities, sample } from "../decoder/sample.js";
import facts from "../data/inside_model.json" with { type: "json" };
import { LONGEST, WORDS, readLine, textOf, wordsOf } from "./line.js";
import { passOf, truthOf } from "./passes.js";
import schema from "./schema.json" with { type: "json" };

export const MEMBERS = facts.members; // their titles by name
export const HEADS = schema.head.values;
export const keyOf = (head) => head.toLowerCase();
export const FIRST = schema.text.default;
const BARS = 6;
const LAYERS = [HEADS.filter((head) => head.startsWith("L0")), HEADS.filter((head) => head.startsWith("L1"))];

const sum = (row) => row.reduce((total, value) => total + value, 0);
const mean = (row) => (row.length ? sum(row) / row.length : null);

// The first text's pass, which comes with the page: nothing has to be loaded to see it.
export const stored = {
  costs: facts.costs, // of each word from the second on
  last: facts.nats, // of each word that may follow the last one
  maps: facts.maps.map((rows) => rows.map((row) => row.split(" ").map((share) => Number(share) / 1000))),
};

const factorsOf = (state) => LAYERS.map((layer) => layer.map((head) => (state[keyOf(head)] ? 1 : 0)));
const isWhole = (heads) => heads.flat().every((factor) => factor === 1);
// All that the stored pass answers: it has the last word's probabilities alone.
const isStored = (state, ids, at) =>
  state.member === "mha" && state.text === FIRST && at === ids.length - 1 && isWhole(factorsOf(state)) && !modelOf("mha");

const placeOf = (state, ids) => Math.min(state.at, ids.length - 1);

// A promise of the decoder where a state needs one that is not here yet, else null.
export function waits(state, host) {
  const { ids } = readLine(state.text);
  if (modelOf(state.member) || isStored(state, ids, placeOf(state, ids))) return null;
  return bring(state.member, host);
}

// What each word cost from the second on.
const costsOf = (pass, ids) => pass.costs ?? ids.slice(1).map((id, i) => pass.nats[i][id]);

// What the language says: null from where no text of it goes on so.
function truth(ids, at) {
  const { chances, had } = truthOf(ids);
  const outside = had.slice(0, ids.length).findIndex((chance) => chance === 0);
  return {
    outside: outside < 0 ? null : outside,
    chances: outside < 0 || at < outside ? chances[at] : null,
    floors: had.slice(1, outside < 0 ? ids.length : outside).map((chance) => -Math.log(chance)),
  };
}

// The likeliest next words, by the decoder or by the language; of one that is begun its endings.
function bars(logits, chances, shares, begun) {
  const raw = probabilities(logits);
  return WORDS.map((word, id) => ({ id, word, raw: raw[id], share: shares[id], true: chances?.[id] ?? null }))
    .filter(({ word }) => word.startsWith(begun))
    .sort((a, b) => Math.max(b.raw, b.true ?? 0) - Math.max(a.raw, a.true ?? 0) || a.id - b.id)
    .slice(0, BARS);
}

// The number from 0 to 1 that draws the word after a position: the same for a seed each time.
function lot(seed, at) {
  const next = chance(seed);
  for (let i = 0; i < at; i++) next();
  return next();
}

export function compute(state) {
  const { ids, begun } = readLine(state.text);
  const at = placeOf(state, ids);
  const factors = factorsOf(state);
  const here = isStored(state, ids, at);
  const pass = here ? stored : passOf(state.member, factors, ids);
  const whole = here || isWhole(factors) ? pass : passOf(state.member, LAYERS.map((layer) => layer.map(() => 1)), ids);
  const nats = pass.last ?? pass.nats[at];
  const logits = Array.from(nats, (value) => -value);
  const options = { temperature: state.temperature, topP: state.top_p };
  const { outside, chances, floors } = truth(ids, at);
  const costs = costsOf(pass, ids);
  const surprise = (row) => (chances ? sum(chances.map((chance, id) => (chance ? chance * row[id] : 0))) : null);
  return {
    ...state, at, begun, ids, words: wordsOf(ids), outside, title: MEMBERS[state.member],
    off: HEADS.filter((head) => !state[keyOf(head)]),
    full: ids.length === LONGEST, isLast: at === ids.length - 1,
    maps: pass.maps.map((rows) => rows.slice(0, ids.length)),
    row: pass.maps[HEADS.indexOf(state.head)][at],
    bars: bars(logits, chances, probabilities(logits, options), begun),
    drawn: WORDS[sample(logits, lot(state.seed, at), options)],
    isTrue: Boolean(chances),
    expected: surprise(nats), least: chances ? -sum(chances.map((chance) => (chance ? chance * Math.log(chance) : 0))) : null,
    costs, floors, mean: mean(costs), whole: mean(costsOf(whole, ids)), lowest: floors.length === costs.length ? mean(floors) : null,
  };
}

// The word that is drawn next, appended to the text; null where there is no room.
export function nextWord(state) {
  const result = compute({ ...state, at: LONGEST - 1 });
  return result.full ? null : append(state, WORDS.indexOf(result.drawn));
}

// A word after the last one, or instead of what came after the chosen one.
export function append(state, id, at = LONGEST) {
  const { ids } = readLine(state.text);
  return { ...state, text: textOf([...ids.slice(0, at + 1), id]), at: LONGEST - 1 };
}

export function fewer(state) {
  const { ids } = readLine(state.text);
  return { ...state, text: ids.length > 1 ? textOf(ids.slice(0, -1)) : "", at: LONGEST - 1 };
}
