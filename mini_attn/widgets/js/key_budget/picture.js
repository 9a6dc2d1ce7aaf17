// The story with the keys that are left, the room for them, and what was measured with so many.
// Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, grip, inParts, knob, panel, round, stroke, targets, text } from "../core/svg.js";
import schema from "./schema.json" with { type: "json" };
import { HEADS, MEASURES, POLICIES, amount, percent, says } from "./words.js";

export const WIDE = 600; // below this the measurements go under the story
const LINE = 43;
const BAR = 14; // a weight of one, below its word

const target = targets("keys");

// The words on as many lines as they need.
function flow(rows, width) {
  let [x, y] = [0, 22];
  return rows.map(({ word }) => {
    const wide = Math.max(24, 6.6 * word.replace(/[mw]/g, "mm").length + 7);
    if (x + wide > width) [x, y] = [0, y + LINE];
    const place = { x, y, wide };
    x += wide + 2;
    return place;
  });
}

function cell(row, { x, y, wide }, at) {
  const { word, kind, weight, full, position } = row;
  const bar = (share, style) => (share < 0.005 ? "" : box(x + 2, y + 26, wide - 4, Math.max(1.5, BAR * share), style));
  const weights = kind === "later" ? "" : kind === "gone" ? bar(full, "keys-lost") : bar(weight, "keys-weight");
  const inside = box(x, y, wide, 24, `keys-${kind}`) + text(x + wide / 2, y + 16.5, word, `keys-word-${kind}`, MIDDLE);
  return keyed(at, `word-${position}`, inside, { takes: [`key-${position}`] }) + weights
    + target(at, `word-${position}`, x, y, wide, 24 + BAR, `${word}, ${says(row)}`);
}

// What comes behind the last word: the word that the story goes on with, or what is said instead.
function next({ said, done, answer }, { x, y, wide }, at) {
  const word = done ? said?.[0] ?? "–" : "?";
  const style = done && word !== answer ? "keys-wrong" : "keys-ask";
  return box(x, y, wide, 24, style) + text(x + wide / 2, y + 16.5, word, "keys-word-new", MIDDLE)
    + target(at, "next", x, y, wide, 24 + BAR, done ? `then: ${word}` : "what comes next");
}

// Room for so many keys, out of all words, and the keys in it: each comes out of its word and goes
// back there. The end of the room is dragged.
function room({ budget, rows, policy, places }, y, at) {
  const unit = at.width / rows.length;
  const all = policy === "all";
  const end = all ? at.width : unit * budget;
  const keys = places.map((place, i) => keyed(at, `key-${place}`,
    box(i * unit + 1, y + 22, unit - 2, 10, `keys-key-${rows[place].kind}`), { from: `word-${place}` }));
  return text(0, y + 12, all ? `All ${rows.length} keys stay` : `Budget: ${budget} of ${rows.length} keys`, "keys-head")
    + (at.live ? text(at.width, y + 12, "tap the words to keep", "keys-quiet", END) : "")
    + box(0, y + 20, at.width, 14, "keys-track") + box(0, y + 20, end, 14, "keys-room") + keys.join("")
    + (all ? "" : knob(end, y + 27, "keys-end", 9)
      + grip("keys", at, "room", end - 14, y + 13, 28, 28, { key: "budget", entry: schema.budget, now: budget, label: "Budget of keys", words: `${budget} keys` }));
}


// Rows of [name, share, part, style]: what is given to keys that are gone.
const lossBars = (head, rows, x, y, wide, at) => {
  const from = x + 154;
  const long = wide - 154 - 44;
  return text(x, y + 12, head, "keys-head") + rows.map(([name, share, id, style], i) => {
    const top = y + 24 + 26 * i;
    return text(x, top + 13, name, style) + box(from, top, long, 17, "keys-track")
      + keyed(at, `lost-${id}`, box(from, top, long * share, 17, "keys-lost"))
      + text(x + wide, top + 13, percent(share), "keys-number", END)
      + (id[0] === "h" ? target(at, id, x, top - 4, wide, 25, `${name}: ${percent(share)}`) : "");
  }).join("");
};

// What both heads would give to keys that are gone.
const losses = ({ heads, head }, y, at) => lossBars("Weight on evicted keys",
  heads.map(({ lost }, i) => [HEADS[i], lost, `head-${i}`, i === head - 1 ? "keys-strong" : "keys-name"]), 0, y, at.half, at);

// The same of one head for a reader's choice and for the rules with as many keys.
const compared = ({ heads, others }, n, x, y, wide, at) => lossBars(`Lost to the ${HEADS[n]}`, [
  [POLICIES.yours, heads[n].lost, `head-${n}`, "keys-strong"],
  ...others.map(([rule, lost], i) => [POLICIES[rule], lost[n], `other-${i}-${n}`, "keys-name"]),
], x, y, wide, at);

// Means over many stories: a bar for this policy and budget, a mark for the whole cache.
function measured({ now, all, most }, x0, y, wide, at) {
  const from = x0 + 96;
  const long = wide - 96 - 62;
  const head = text(x0, y + 12, "Measured on rows of 256 words", "keys-head");
  const bars = MEASURES.map(([name], i) => {
    const top = y + 24 + 26 * i;
    const whole = from + long * (all[i][0] / most[i]);
    return text(x0, top + 13, name, "keys-name") + box(from, top, long, 17, "keys-track")
      + (now ? box(from, top, long * (now[i][0] / most[i]), 17, i < 2 ? "keys-worse" : "keys-better") : "")
      + stroke(whole, top - 3, whole, top + 20, "keys-all")
      + text(x0 + wide, top + 13, now ? amount(i, now) : "–", "keys-number", END)
      + target(at, `measure-${i}`, x0, top - 4, wide, 25, `${name}: ${amount(i, now)}`);
  });
  const note = text(x0, y + 116, now ? "the line: all keys" : "not measured", "keys-quiet");
  return { inside: head + bars.join("") + note, bottom: y + 122 };
}

function story(result, at) {
  const places = flow([...result.rows, { word: result.answer }], at.width);
  const { newest, places: held } = result;
  const title = text(0, 12, `The story: position ${newest} reads ${held.length} of ${newest + 1} keys`, "keys-head");
  const below = places.at(-1).y + LINE + 2;
  const inside = title + result.rows.map((row, i) => cell(row, places[i], at)).join("") + next(result, places.at(-1), at)
    + room(result, below, at);
  return { inside: panel("story", inside), bottom: below + 44 };
}

export function draw(result, { width = 720, live = false, part, label = "A story, and the keys of its words that are left" } = {}) {
  const wide = width >= WIDE;
  const at = { width, live, entry: `word-${result.newest}`, half: wide ? Math.round(width * 0.44) : width };
  const first = () => story(result, at);
  const second = () => {
    const yours = result.policy === "yours";
    const rows = yours ? 1 + result.others.length : 2;
    const [x, y] = wide ? [at.half + 30, 0] : [0, 38 + 26 * rows];
    const right = yours ? { inside: compared(result, 1, x, y, width - x, at), bottom: y + 24 + 26 * rows } : measured(result, x, y, width - x, at);
    return { inside: panel("losses", yours ? compared(result, 0, 0, 0, at.half, at) : losses(result, 0, at)) + panel("measured", right.inside), bottom: Math.max(right.bottom, 122) };
  };
  return inParts("keys", width, { live, label }, { part, first, second });
}

// The end of the room follows the pointer.
export function drag({ rows, budget }, id, { width }) {
  return id === "room" ? ({ dx }) => ({ budget: budget + (dx / width) * rows.length }) : null;
}

