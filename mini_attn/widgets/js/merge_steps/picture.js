// The picture: the text's tokens with their numbers, and below them one word, merge by merge.
// Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, inParts, targets, text } from "../core/svg.js";
import { whole } from "../core/text.js";
import { BYTES, nameOf } from "./compute.js";
import { explain, mergeWords, reachedIn, spaced } from "./words.js";

const WIDE = 480; // from here tokens are large
const LETTER = 8; // a generous average at 13 pixels
// A token's least width, its height, line to line, a letter, and where name and number stand.
const LARGE = { least: 36, tall: 56, line: 66, letter: 10.5, name: 25, number: 46, style: "merges-large" };
const LITTLE = { least: 27, tall: 38, line: 46, letter: LETTER, name: 16, number: 32, style: "merges-name" };
const [SMALL, ROW] = [20, 25]; // a box of the word's steps, and step to step
const STEPS = 10; // shown at once
const RANK = 34; // room of a merge's number

const target = targets("merges");
const wideOf = (id, least, letter = LETTER) => Math.max(least, letter * nameOf(id).length + 8);

// Where each token is, those of a piece closer together, on as many lines as they need.
function places(tokens, { width, size }) {
  let [x, y] = [1, 30];
  const found = tokens.map(({ id, word }, i) => {
    const wide = Math.min(width - 2, wideOf(id, size.least, size.letter));
    x += i && tokens[i - 1].word !== word ? 6 : i ? 1 : 0;
    if (x + wide > width - 1) [x, y] = [1, y + size.line];
    const place = { x, y, wide };
    x += wide;
    return place;
  });
  return { found, bottom: y + size.line };
}

// The tokens; below them is room for the text's bytes, so that nothing moves up as tokens merge.
function flow(result, at) {
  const { tokens, last, piece, start } = result;
  const { size } = at;
  const { found, bottom } = places(tokens, at);
  const parts = tokens.map(({ id, word }, i) => {
    const { x, y, wide } = found[i];
    const style = `merges-token${id < BYTES ? "" : " merges-made"}${last !== null && id === BYTES + last ? " merges-new" : ""}${word === piece ? " merges-chosen" : ""}`;
    const names = text(x + wide / 2, y + size.name, nameOf(id), size.style, MIDDLE) + text(x + wide / 2, y + size.number, id, "merges-quiet", MIDDLE);
    return keyed(at, `token-${i}-${id}`, box(x, y, wide, size.tall, style) + names) + target(at, `token-${i}`, x, y, wide, size.tall, `${nameOf(id)}, number ${id}`);
  });
  return { inside: parts.join(""), bottom: Math.max(bottom, places(start, at).bottom) };
}

function first(result, at) {
  const { merges, tokens, last, next, words } = result;
  const head = text(0, 16, `Vocabulary ${whole(BYTES + merges)}`, "merges-head") + text(at.width, 16, `${whole(tokens.length)} ${tokens.length === 1 ? "token" : "tokens"}`, "merges-head", END);
  if (!words.length) return { inside: head, bottom: 30 };
  const { inside, bottom } = flow(result, at);
  const said = text(0, bottom + 12, last === null ? "No merge yet: every byte is a token." : mergeWords(last), "merges-name")
    + text(0, bottom + 32, next === null ? "No other merge changes this text." : `Next: ${mergeWords(next).replace("M", "m")}`, "merges-quiet");
  return { inside: head + inside + said, bottom: bottom + 40 };
}

// Boxes of some tokens in a row; where they have no room, dots.
function row(ids, x, y, { width }, made) {
  const parts = [];
  for (const [i, id] of ids.entries()) {
    const wide = wideOf(id, 16);
    if (x + wide > width - 14) return `${parts.join("")}${text(x + 2, y + 14, "…", "merges-quiet")}`;
    parts.push(box(x, y, wide, SMALL, `merges-token${id < BYTES ? "" : " merges-made"}${i === made ? " merges-new" : ""}`) + text(x + wide / 2, y + 14.5, nameOf(id), "merges-name", MIDDLE));
    x += wide + 1;
  }
  return parts.join("");
}

// The word from its bytes to its tokens, and the same word with or without a space.
function second(result, at) {
  const { steps, word, twin, twinIds } = result;
  if (!word) return { inside: "", bottom: 1 };
  const now = reachedIn(result);
  const from = Math.max(0, Math.min(now - STEPS + 2, steps.length - STEPS));
  const lines = steps.slice(from, from + STEPS).map(({ rank, ids, at: made }, i) => {
    const [k, y] = [from + i, 26 + i * ROW];
    return `<g class="${k > now ? "merges-later" : ""}">${text(RANK - 8, y + 14.5, rank < 0 ? "" : rank + 1, "merges-quiet", END)}${row(ids, RANK, y, at, made)}</g>`
      + (k === now ? box(RANK - 3, y - 2, at.width - RANK + 2, SMALL + 4, "merges-now") : "")
      + target(at, `step-${k}`, 0, y - 2, at.width, ROW - 1, explain(result, `step-${k}`).text);
  });
  const y = 26 + lines.length * ROW + 22;
  const isSpace = twin.startsWith(" ");
  const below = word.trim() ? text(0, y - 4, `The same with${isSpace ? "" : "out"} a space in front`, "merges-head") + row(twinIds, RANK, y + 4, at) + target(at, "twin", 0, y + 2, at.width, SMALL + 4, explain(result, "twin").text) : "";
  return { inside: text(0, 14, `“${spaced(word).slice(0, 24)}”, merge by merge`, "merges-head") + lines.join("") + below, bottom: y + 30 };
}

export function draw(result, { width = 720, uid = "merge_steps", live = false, touch = false, part, label = "A text's tokens, merge by merge" } = {}) {
  const chosen = result.tokens.findIndex(({ word }) => word === result.piece);
  const at = { width, size: width < WIDE ? LITTLE : LARGE, uid, live, touch, entry: part === "second" ? `step-${reachedIn(result)}` : chosen < 0 ? "twin" : `token-${chosen}` };
  return inParts("merges", width, { live, label }, { part, first: () => first(result, at), second: () => second(result, at) });
}
