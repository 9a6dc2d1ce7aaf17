// What the first page's model answers with some heads off, and what its heads read.
import facts from "../data/home_model.json" with { type: "json" };
import { bring, modelOf } from "../decoder/source.js";
import { FIRST, HEADS, keyOf, stored as first } from "../inside_model/compute.js";
import { WORDS, readLine, wordsOf } from "../inside_model/line.js";
import { passOf } from "../inside_model/passes.js";

const MEMBER = "mha";
const RIGHT = "tom"; // who has the ball
const PEOPLE = [RIGHT, "lily"];
const READERS = ["L1H3", "L1H1", "L1H0", "L1H2"]; // those that look for the name, the surest first
const { ids } = readLine(FIRST);
const words = wordsOf(ids);
const [story, sentence] = [words.slice(1, facts.from), words.slice(facts.from)];

const offOf = (state) => HEADS.filter((head) => !state[keyOf(head)]);

// Two or more heads off are computed when they are asked for.
export function waits(state, host) {
  return offOf(state).length < 2 || modelOf(MEMBER) ? null : bring(MEMBER, host);
}

// The lines of a map, which are stored one after the other.
function lines(text) {
  const shares = text.split(" ").map((share) => Number(share) / 1000);
  return sentence.map((_, i) => shares.slice((i * (i + 1)) / 2, ((i + 1) * (i + 2)) / 2));
}

// The lines of the sentence in maps of the whole text.
const lastOf = (maps) => maps.map((rows) => rows.slice(facts.from, ids.length).map((row) => Array.from(row.slice(facts.from))));

// A stored answer; the maps that no head before them has changed are those with all heads on.
function stored(name) {
  const { next, maps = [] } = facts[name];
  return { next, maps: [...lastOf(first.maps.slice(0, HEADS.length - maps.length)), ...maps.map(lines)] };
}

// The same from the decoder.
function computed(off) {
  const factors = [0, 1].map((layer) => HEADS.slice(4 * layer, 4 * layer + 4).map((head) => (off.includes(head) ? 0 : 1)));
  const { nats, maps } = passOf(MEMBER, factors, ids);
  const chances = WORDS.map((word, id) => [word, Math.exp(-nats[ids.length - 1][id])]).sort(([, a], [, b]) => b - a);
  return {
    next: Object.fromEntries(chances.filter(([word], i) => !i || PEOPLE.includes(word))),
    maps: lastOf(maps),
  };
}

export function compute(state) {
  const off = offOf(state);
  const { next, maps } = off.length < 2 ? stored(off[0] ?? "all") : computed(off);
  const bars = Object.entries(next).map(([word, share]) => ({ word, share })).sort((a, b) => b.share - a.share).slice(0, 2);
  const reader = READERS.find((head) => !off.includes(head)) ?? null;
  const row = reader ? maps[HEADS.indexOf(reader)].at(-1) : [];
  return {
    off, story, sentence, maps, bars, reader, row, right: RIGHT,
    before: reader ? Math.max(0, 1 - row.reduce((sum, share) => sum + share, 0)) : 0,
    forgot: bars[0].word !== RIGHT,
  };
}
