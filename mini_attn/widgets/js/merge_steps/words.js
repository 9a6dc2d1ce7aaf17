// The merges in words: the sentence, the table, and what stands behind a token.
import { count, quote, whole } from "../core/text.js";
import { BYTES, MERGES, nameOf, sizeOf } from "./compute.js";

const shown = (id) => quote(nameOf(id));
export const spaced = (word) => word.replaceAll(" ", "␣").replaceAll("\n", "↵");

// Merge 107: ␣at + tention → ␣attention
export function mergeWords(rank) {
  const [left, right] = MERGES[rank];
  return `Merge ${rank + 1}: ${nameOf(left)} + ${nameOf(right)} → ${nameOf(BYTES + rank)}`;
}

export const reachedIn = ({ steps, merges }) => steps.findLastIndex(({ rank }) => rank < merges);

export function describe(result) {
  const { merges, tokens, bytes, word, steps, twin, twinIds, words } = result;
  if (!words.length) return "There's no text, so there are no tokens.";
  const own = steps[reachedIn(result)].ids.length;
  const pair = word.trim() ? ` ${quote(spaced(word))} is ${count(own, "token")}, and ${quote(spaced(twin))} is ${whole(twinIds.length)}.` : "";
  return `With ${count(merges, "merge")}, the vocabulary has ${whole(BYTES + merges)} tokens, and the text's ${count(bytes, "byte")} take ${whole(tokens.length)}.${pair}`;
}

export function table({ tokens, words, merges }) {
  return {
    caption: `The text's tokens with ${count(merges, "merge")}`,
    head: ["token", "number", "bytes", "of the piece"],
    rows: tokens.map(({ id, word }) => [nameOf(id), `${id}`, `${sizeOf(id)}`, spaced(words[word])]),
  };
}

function explainToken({ tokens, words }, i) {
  const { id, word } = tokens[i];
  const size = `Number ${id}, ${shown(id)}, ${count(sizeOf(id), "byte")} of the piece ${quote(spaced(words[word]))}.`;
  if (id < BYTES) return `${size} It's a single byte. Every text can be written with these ${BYTES}, which are numbered in GPT-2's order.`;
  const [left, right] = MERGES[id - BYTES];
  return `${size} Merge ${id - BYTES + 1} made it of ${shown(left)} and ${shown(right)}, which were neighbors more often than any other pair of the sample by then.`;
}

function explainStep({ steps, word }, i) {
  const { rank, ids } = steps[i];
  const now = `${quote(spaced(word))} in ${count(ids.length, "token")}`;
  if (rank < 0) return `${now}: its bytes.`;
  return `${mergeWords(rank)}. Among the pairs of the line above, it was learned first. Then it's ${now}.`;
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [kind, i] = id.split("-");
  if (kind === "token") return { text: explainToken(result, Number(i)), also: [] };
  if (kind === "step") return { text: explainStep(result, Number(i)), also: [] };
  return { text: `The same letters make another piece, ${quote(spaced(result.twin))}: ${count(result.twinIds.length, "token")}. Its bytes differ by a space, so other merges apply.`, also: [] };
}
