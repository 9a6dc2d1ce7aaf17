// A text's tokens after so many learned merges, and how a word of it gets there, merge by merge.
import learned from "../data/merge_steps.json" with { type: "json" };

export const MERGES = learned.map((line) => line.split(" ").map(Number)); // [left, right]
export const BYTES = 256;
// The bytes come first, in GPT-2's order: those that print, then the others.
const all = Array.from({ length: BYTES }, (_, byte) => byte);
const prints = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
const ORDER = [...all.filter(prints), ...all.filter((byte) => !prints(byte))];
const numbers = new Map(ORDER.map((byte, id) => [byte, id]));
// GPT-2's: a space belongs to the word after it, and no merge crosses a piece's end.
const PIECE = /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;
const rankOf = new Map(MERGES.map(([left, right], rank) => [`${left} ${right}`, rank]));
const encoder = new TextEncoder();

// The bytes of every token, in the order of their numbers.
const TOKENS = ORDER.map((byte) => [byte]);
for (const [left, right] of MERGES) TOKENS.push([...TOKENS[left], ...TOKENS[right]]);

// A token as text; bytes that are no whole characters by their hexadecimal numbers.
export function nameOf(id) {
  try {
    const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(new Uint8Array(TOKENS[id]));
    if (!/\p{C}/u.test(text.replaceAll("\n", ""))) return text.replaceAll("\n", "↵").replaceAll(" ", "␣");
  } catch {
    // A part of a character.
  }
  return TOKENS[id].map((byte) => byte.toString(16).toUpperCase().padStart(2, "0")).join(" ");
}

export const sizeOf = (id) => TOKENS[id].length;

// Each merge of a word in its order: the pair of lowest rank first, and of equal ones the leftmost.
export function stepsOf(word) {
  const steps = [{ rank: -1, ids: Array.from(encoder.encode(word), (byte) => numbers.get(byte)) }];
  for (;;) {
    const { ids } = steps.at(-1);
    const ranks = ids.slice(1).map((id, i) => rankOf.get(`${ids[i]} ${id}`) ?? Infinity);
    const rank = Math.min(...ranks);
    if (rank === Infinity) return steps;
    const at = ranks.indexOf(rank);
    steps.push({ rank, at, ids: [...ids.slice(0, at), BYTES + rank, ...ids.slice(at + 2)] });
  }
}

// The same word with a space in front, or without the one that it has.
const twinOf = (word) => (word.startsWith(" ") ? word.slice(1) : ` ${word}`);
const reached = (steps, merges) => steps.findLast(({ rank }) => rank < merges);

export function compute(state) {
  const { merges } = state;
  const words = state.text.match(PIECE) ?? [];
  const each = words.map(stepsOf);
  const piece = Math.min(state.piece, words.length - 1);
  const tokens = each.flatMap((steps, word) => reached(steps, merges).ids.map((id) => ({ id, word })));
  const ranks = [...new Set(each.flat().map(({ rank }) => rank))].sort((a, b) => a - b);
  const word = words[piece] ?? "";
  return {
    ...state, words, piece, tokens, word,
    start: each.flatMap(([{ ids }], at) => ids.map((id) => ({ id, word: at }))),
    steps: stepsOf(word), twin: twinOf(word), twinIds: reached(stepsOf(twinOf(word)), merges).ids,
    bytes: encoder.encode(state.text).length, characters: [...state.text].length,
    last: ranks.findLast((rank) => rank >= 0 && rank < merges) ?? null, next: ranks.find((rank) => rank >= merges) ?? null,
  };
}
