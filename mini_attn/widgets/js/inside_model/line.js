// The line that is typed: its words, those that stories do not have, and a word that is only begun.
import stories from "../data/stories.json" with { type: "json" };
import { openLanguage } from "../stories/reader.js";

export const language = openLanguage(stories);
export const WORDS = language.words;
export const LONGEST = 256; // tokens of a training row, <s> among them
const NUMBERS = new Map(WORDS.map((word, id) => [word, id]));

// How many letters have to be changed, put in or left out to make one word of the other.
function apart(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row.at(-1);
}

// At most three words of the language that a word was perhaps meant to be.
export function near(word) {
  const most = word.length < 4 ? 1 : 2;
  const all = WORDS.slice(1).map((one) => [apart(word, one), one]);
  return all.filter(([distance]) => distance <= most).sort(([a], [b]) => a - b).slice(0, 3).map(([, one]) => one);
}

const split = (text) => text.toLowerCase().replace(/([.,!?;:])/g, " $1 ").trim().split(/\s+/).filter(Boolean);
const isBegun = (word) => WORDS.some((one) => one.startsWith(word));

// {ids, begun, strange}: <s> comes first whether it is typed or not. The last word may be one that
// is still being typed, the beginning of a word: it waits in `begun` and is not read.
export function readLine(text) {
  const words = split(text);
  if (words[0] === WORDS[0]) words.shift();
  const last = words.at(-1) ?? "";
  const begun = last && !NUMBERS.has(last) && !/\s$/.test(text) && isBegun(last) ? words.pop() : "";
  const strange = words.findIndex((word) => !NUMBERS.has(word));
  return { ids: [0, ...words.map((word) => NUMBERS.get(word))], begun, strange: strange < 0 ? null : words[strange], place: strange };
}

// Why a text is refused, or null.
export function refuse({ text }) {
  const { ids, strange, place } = readLine(text);
  if (strange !== null) {
    const others = near(strange);
    const words = others.length ? `perhaps ${others.join(" or ")}` : "and none comes near it";
    return `“${strange.slice(0, 40)}”, word ${place + 1}, is none of the ${WORDS.length} words of this language; ${words}`;
  }
  return ids.length > LONGEST ? `the text has ${ids.length - 1} words; with <s> the decoder has room for ${LONGEST - 1}` : null;
}

export const wordsOf = (ids) => ids.map((id) => WORDS[id]);
export const textOf = (ids) => wordsOf(ids.slice(1)).join(" ");
