// The first page's picture in words: what the model says now, and what a head reads.
import { count, quote } from "../core/text.js";
import { HEADS } from "../inside_model/compute.js";

export const percent = (share) => (share > 0.995 ? ">99%" : share < 0.005 ? "<1%" : `${Math.round(100 * share)}%`);

const said = ({ word, share }) => `${quote(word)}, ${percent(share)}`;

// The word that a head reads most from the last one.
function most({ maps, sentence }, head) {
  const row = maps[HEADS.indexOf(head)].at(-1);
  const share = Math.max(...row);
  return { word: sentence[row.indexOf(share)], share };
}

function one(result, head) {
  const { bars: [first, second], forgot, reader, right } = result;
  if (forgot) {
    const reads = reader ? ` Without it, ${reader} reads ${quote(most(result, reader).word)} instead of ${quote(right)}.` : "";
    return `You broke it: it now says ${said(first)}. Head ${head} looks one word back.${reads}`;
  }
  if (first.share < 2 * second.share) return `Without ${head} it can hardly decide: ${said(first)}, or ${said(second)}. It still hasn’t forgotten.`;
  const so = first.share < 0.9 ? "it’s less sure, but it still says" : "it still says";
  return `Without ${head} ${so} ${said(first)}. Switch it on again and try another.`;
}

export function describe(result) {
  const { off, bars: [first], forgot } = result;
  if (!off.length) return `It says ${said(first)}, and it’s right: Tom has the ball.`;
  if (off.length === 1) return one(result, off[0]);
  return `With ${count(off.length, "head")} off it ${forgot ? "now" : "still"} says ${said(first)}.${forgot ? " Can you do it with one?" : ""}`;
}

export const table = ({ bars, off }) => ({
  caption: `What may follow “now” with ${off.length ? `${off.join(", ")} off` : "all heads on"}`,
  head: ["", "probability"],
  rows: bars.map(({ word, share }) => [word, percent(share)]),
});
