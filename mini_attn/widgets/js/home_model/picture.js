// The picture: the end of the story with arcs from its last word, the next word, and eight switches.
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, round, svg, text } from "../core/svg.js";
import { arcs } from "../heads/arcs.js";
import { headMap } from "../heads/maps.js";
import { headSwitch, switchTarget } from "../heads/switch.js";
import { HEADS } from "../inside_model/compute.js";
import { percent } from "./words.js";

const PROMPT = ["Switch off one head so that", "it forgets who has the ball."];
const GAP = 3;

// Words on lines of some length, as few as hold so many letters each.
function wrapped(words, letters) {
  const all = words.join(" ").length, least = all / Math.ceil(all / letters);
  const lines = [""];
  for (const word of words) {
    if (lines.at(-1).length >= least) lines.push(word);
    else lines.push(`${lines.pop()} ${word}`.trim());
  }
  return lines;
}

// The words of a line with what each takes, in the middle of the picture: first what lies before
// the sentence, last the place of the next word.
function row({ sentence, bars }, { width, narrow }) {
  const [letter, pad] = narrow ? [7.4, 4] : [9.5, 16];
  const words = ["…", ...sentence, bars[0].word];
  const apart = narrow ? 6 : 10; // the next word from the others
  const all = words.map((word, i) => letter * word.length + pad + (i > sentence.length ? 10 : 0));
  const total = all.reduce((sum, wide) => sum + wide + GAP, apart - GAP);
  const wides = all.map((wide) => wide * Math.min(1, width / total));
  let x = Math.max(0, (width - total) / 2);
  return wides.map((wide, i) => {
    if (i > sentence.length) x += Math.min(apart, width - x - wide);
    const place = { word: words[i], x, wide, middle: x + wide / 2 };
    x += wide + GAP;
    return place;
  });
}

export function story(result, y, at) {
  const lines = wrapped(result.story, at.width / 6.6);
  return { inside: lines.map((line, i) => text(at.width / 2, y + 12 + 17 * i, line, "home-quiet", MIDDLE)).join(""), bottom: y + 17 * lines.length };
}

// The sentence, the arcs above it, and what the model says next.
export function line(result, y, at) {
  const { width, narrow, rise } = at;
  const places = row(result, at);
  const [high, top] = [narrow ? 30 : 38, y + 8 + rise];
  const base = top + high / 2 + (narrow ? 5 : 6);
  const now = places.at(-2), next = places.at(-1);
  const shares = [result.before, ...result.row];
  const ends = places.slice(0, -2).map(({ middle }, i) => [shares[i], middle, top]);
  const most = Math.max(...ends.map(([, x]) => now.middle - x));
  const said = result.forgot ? "home-word home-said home-wrong" : "home-word home-said";
  const words = places.slice(0, -1).map(({ word, middle }, i) => text(middle, base, word, i === places.length - 2 ? "home-word home-now" : "home-word", MIDDLE));
  return {
    inside: arcs(at, [now.middle, top], ends, (far) => (rise - 12) * Math.sqrt(far / most), narrow ? 10 : 14)
      + words.join("")
      + box(next.x, top, next.wide, high, result.forgot ? "home-place home-wrong" : "home-place")
      + keyed(at, `next-${next.word}`, text(next.middle, base, next.word, said, MIDDLE), { from: `name-${next.word}` })
      + (result.reader ? text(width / 2, y + 8, `What head ${result.reader} reads from “now”`, "home-quiet", MIDDLE) : ""),
    bottom: top + high,
  };
}

// The likeliest next words: a bar keeps its word when it changes its place.
export function next({ bars, right }, y, at) {
  const pitch = at.narrow ? 26 : 30, name = 56, number = 52;
  const room = at.width - name - number;
  const rows = bars.map(({ word, share }, i) => {
    const top = y + i * pitch, style = word === right ? "home-bar" : i ? "home-bar home-other" : "home-bar home-wrong";
    return keyed(at, `bar-${word}`, box(name, top + 3, Math.max(1.5, share * room), pitch - 6, style))
      + keyed(at, `name-${word}`, text(name - 8, top + pitch / 2 + 5, word, i ? "home-name" : "home-name home-now", END))
      + text(at.width, top + pitch / 2 + 5, percent(share), i ? "home-number" : "home-number home-now", `${END} data-count="${word}"`);
  });
  return { inside: rows.join(""), bottom: y + bars.length * pitch };
}

// All heads, each a switch with its map.
export function heads(result, y, at) {
  const across = at.narrow ? 4 : 8;
  const cell = (at.width - (across - 1) * 8) / across;
  const size = Math.min(at.most, cell - 12), tall = size + 38;
  const inside = HEADS.map((name, i) => {
    const x = (i % across) * (cell + 8), top = y + Math.floor(i / across) * (tall + 6);
    const isOn = !result.off.includes(name);
    return box(x, top, cell, tall, "home-head")
      + headMap(result.maps[i], x + (cell - size) / 2, top + 6, size, result.sentence.length - 1, { off: !isOn, style: name === result.reader ? "in-frame in-grown" : "in-frame" })
      + headSwitch(at, name, x + cell / 2 - 31, top + size + 8, 62, 28, isOn)
      + switchTarget(at, name, x, top, cell, tall, isOn, i === 0);
  });
  return { inside: inside.join(""), bottom: y + (HEADS.length / across) * (tall + 6) };
}

export function draw(result, { width = 720, live = false, label = "A trained model and its eight heads" } = {}) {
  const narrow = width < 480;
  const at = { width: width - 1, live, narrow, rise: narrow ? 56 : 76, most: narrow ? 50 : 84 };
  const before = story(result, 0, at);
  const said = line(result, before.bottom + 8, at);
  const bars = next(result, said.bottom + 10, at);
  const prompt = narrow ? PROMPT : [PROMPT.join(" ")];
  const lines = prompt.map((words, i) => text(at.width / 2, bars.bottom + 26 + 21 * i, words, "home-prompt", MIDDLE));
  const all = heads(result, bars.bottom + 16 + 21 * prompt.length, at);
  const mark = `<g transform="translate(0.5 0.5)"${result.forgot ? ' class="home-forgot"' : ""}>`;
  return svg("home", width, Math.ceil(round(all.bottom)), { live, label }, `${mark}${before.inside}${said.inside}${bars.inside}${lines.join("")}${all.inside}</g>`);
}
