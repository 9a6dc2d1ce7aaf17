// Attention among four words in twelve moments: each word compares, makes shares, and takes.
import { attend, example, tokens } from "../attention/example.js";

const WORDS = 4;
const CONTENT = 1; // the head that looks for related words
export const BEATS = 3;

const { scores, weights } = attend(example, example.embeddings.slice(0, WORDS)).heads[CONTENT];

export function compute({ moment }) {
  return {
    moment, word: Math.floor(moment / BEATS), beat: moment % BEATS,
    tokens: tokens.slice(0, WORDS), scores, weights,
  };
}
