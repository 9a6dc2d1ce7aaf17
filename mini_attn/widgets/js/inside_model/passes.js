// What the decoder and the language make of a text, kept so that a change computes only what is new.
import { forward, newCache } from "../decoder/forward.js";
import { modelOf } from "../decoder/source.js";
import { reader } from "../stories/reader.js";
import { LONGEST, language } from "./line.js";

const KEPT = 4; // runs: with heads off and on, before and after a change

const begins = (ids, all) => ids.length <= all.length && ids.every((id, i) => id === all[i]);

// The newest runs of one kind by a name; one that a text goes on from is carried on, and of one that
// goes further the text is a part, as no position depends on later ones.
function kept(fresh, extend) {
  const runs = new Map();
  return (name, ids, ...given) => {
    let run = runs.get(name);
    runs.delete(name);
    if (!run || !(begins(run.ids, ids) || begins(ids, run.ids))) run = fresh(...given);
    const added = ids.slice(run.ids.length);
    if (added.length) extend(run, added);
    runs.set(name, run);
    if (runs.size > KEPT) runs.delete(runs.keys().next().value);
    return run;
  };
}

// −ln of each word's probability, of logits (vocab_size).
function nats(logits) {
  const top = Math.max(...logits);
  let total = 0;
  for (const logit of logits) total += Math.exp(logit - top);
  return logits.map((logit) => Math.log(total) + top - logit);
}

// A pass of the decoder: for each position the nats of every next word, for each head its rows.
const decoded = kept(
  (model, heads) => ({ model, heads, ids: [], cache: newCache(model, LONGEST), nats: [], maps: heads.flat().map(() => []) }),
  (run, added) => {
    const { model, heads, cache, ids } = run;
    const { logits, weights } = forward(model, added, { heads, cache });
    const vocab = model.config.vocab_size;
    const length = ids.length + added.length;
    added.forEach((_, t) => {
      run.nats.push(nats(logits.subarray(t * vocab, (t + 1) * vocab)));
      weights.flat().forEach((map, h) => run.maps[h].push(map.subarray(t * length, t * length + ids.length + t + 1)));
    });
    run.ids = [...ids, ...added];
  },
);

// The language: the chances of what follows each word, and the chance that each word had.
const read = kept(
  () => ({ ids: [], reading: reader(language), chances: [], had: [] }),
  (run, added) => {
    for (const id of added) {
      run.had.push(run.reading.step(id));
      run.chances.push(run.reading.probabilities());
    }
    run.ids = [...run.ids, ...added];
  },
);

export const truthOf = (ids) => read("language", ids);

// heads[layer][head] is 1 or 0.
export const passOf = (member, heads, ids) => decoded(`${member} ${heads.flat().join("")}`, ids, modelOf(member), heads);
