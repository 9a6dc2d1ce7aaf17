// The picture: the text with arcs to what the chosen word reads, the heads with their switches, the
// next words and the loss, and one head's map, large.
import { keyed } from "../core/motion.js";
import { END, box, field, inParts, round, stroke, surface, text } from "../core/svg.js";
import { decimal, escape } from "../core/text.js";
import { arcs } from "../heads/arcs.js";
import { headMap, levelOf } from "../heads/maps.js";
import { headSwitch, switchTarget } from "../heads/switch.js";
import { HEADS } from "./compute.js";

// Fingers have a surface that takes the nearest word or bar, so that text, switches and bars are on
// one screen.
const MOUSE = { pitch: 32, word: 28, bar: 30, toggle: 28, map: 84 }; // line to line, a word's box, bar to bar, a switch, a map at most
const FINGER = { pitch: 30, word: 26, bar: 28, toggle: 44, map: 46 };
const LEAST = 26; // a word
const FEW = 3; // bars on a phone
const RISE = 12; // of an arc within a line
const THICK = 20; // a bar
const [NAME, NUMBER] = [62, 84]; // the room of a bar's word and of its number
const LETTER = 7.3; // a generous average at 13 pixels

function share(value) {
  if (value === 0 || value === 1) return String(value);
  return value < 0.005 ? "<0.01" : value > 0.995 ? ">0.99" : decimal(value);
}

// A part to be pointed at and pressed: a click or Enter changes the state.
function target(at, id, x, y, width, height, label, isEntry) {
  if (!at.live) return "";
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="3" class="in-target living-target" data-id="${id}" tabindex="${isEntry ? 0 : -1}" role="button" aria-label="${escape(label)}"/>`;
}

// Where each word stands, on as many lines as they need.
function flow(words, { width, pitch, pad }) {
  let [x, line] = [0, 0];
  const places = words.map((word) => {
    const wide = Math.max(LEAST, LETTER * word.length + pad);
    if (x && x + wide > width) [x, line] = [0, line + 1];
    const place = { x, y: RISE + line * pitch, wide };
    x += wide + 3;
    return place;
  });
  return { places, height: RISE + (line + 1) * pitch };
}

// What the head reads, as arcs behind the words.
function reads({ row, at: chosen, off, head }, places, at) {
  if (off.includes(head)) return "";
  const above = (at.pitch - at.word) / 2;
  const own = places[chosen];
  const [x, y] = [own.x + own.wide / 2, own.y + above];
  const ends = places.slice(0, chosen).map((place, i) => [row[i], place.x + place.wide / 2, place.y + (place.y === own.y ? above : at.pitch - above)]);
  return arcs(at, [x, y], ends, (far, isSame) => (isSame ? Math.min(RISE, 6 + far / 6) : 0), 6);
}

// The text; behind each word how much of the chosen word's weight the head gives it.
function line(result, at) {
  const { words, row, at: chosen } = result;
  const { places, height } = flow(words, at);
  const { pitch, word: tall } = at;
  const above = (pitch - tall) / 2;
  const seen = words.map((word, i) => {
    const { x, y, wide } = places[i];
    const level = i > chosen ? 0 : levelOf(row[i]);
    const style = i === chosen ? "in-word in-asks" : i > chosen ? "in-word in-later" : "in-word";
    return (level ? box(x, y + above, wide, tall, `in-shade in-${level}`) : "")
      + (i === chosen ? box(x + 1, y + above + 1, wide - 2, tall - 2, "in-asking") : "")
      + text(x + wide / 2, y + pitch / 2 + 5, word, `${style}${level > 3 ? " in-over" : ""}`, ' text-anchor="middle"');
  });
  const pressed = words.map((word, i) => {
    const label = i > chosen ? `${word}, word ${i}, comes later` : `${word}, word ${i}, weight ${decimal(row[i])}`;
    return target(at, `t-${i}`, places[i].x, places[i].y, places[i].wide, pitch, label, i === chosen);
  });
  return { inside: reads(result, places, at) + seen.join("") + near(at, 0, 0, at.width, height, pressed.join("")), height };
}

// For fingers: what is not hit is the nearest.
const near = (at, x, y, width, height, inside) => (at.touch ? field(at, surface(at, x, y, width, height) + inside) : inside);

// What comes next: the bar is what is drawn from, the outline what the language says.
function nextWords(result, x, y, wide, at) {
  const { words, at: chosen, begun, isTrue } = result;
  const { bar, bars } = at;
  const name = NAME, room = wide - NAME - NUMBER;
  const head = text(x, y + 14, begun ? `Words that begin with “${begun}”` : `After “${words[chosen]}”`, "in-head")
    + text(x + wide, y + 14, !isTrue ? "decoder" : wide < 400 ? "decoder | true" : "bar: decoder | outline: true", "in-quiet", END);
  const rows = bars.map(({ word, share: drawn, true: chance }, i) => {
    const top = y + 22 + i * bar, middle = top + bar / 2;
    return keyed(at, `name-${word}`, text(x + name - 6, middle + 5, word, "in-word", END))
      + keyed(at, `bar-${word}`, box(x + name, middle - THICK / 2, Math.max(1, drawn * room), THICK, "in-bar"))
      + (chance ? box(x + name, middle - THICK / 2 - 2, Math.max(1.5, chance * room), THICK + 4, "in-true") : "")
      + text(x + wide, middle + 5, `${share(drawn)}${chance === null ? "" : ` | ${share(chance)}`}`, "in-number", END);
  });
  const pressed = bars.map(({ id, word, share: drawn, true: chance }, i) =>
    target(at, `b-${id}`, x, y + 22 + i * bar, wide, bar, `${word}: decoder ${share(drawn)}${chance === null ? "" : `, true ${share(chance)}`}`, i === 0));
  const bottom = y + 26 + bars.length * bar;
  return { inside: head + rows.join("") + near(at, x, y + 22, wide, bars.length * bar, pressed.join("")), bottom };
}

// The mean loss of the text beside its floor and, with heads off, beside what it is with all.
function loss({ mean, whole, lowest, off, seed, drawn }, x, y, wide) {
  const name = NAME, room = wide - NAME - NUMBER;
  const draws = text(x + name, y + MOUSE.bar + 16, `Seed ${seed} draws “${drawn}” next.`, "in-quiet");
  if (mean === null) return text(x, y + 16, "No word has a loss yet: type one, or choose one above.", "in-quiet") + draws;
  const most = Math.max(2, mean, whole);
  const to = (value) => x + name + (value / most) * room;
  return text(x + name - 6, y + 20, "loss", "in-head", END)
    + box(x + name, y + 5, to(mean) - x - name, THICK, "in-loss")
    + (lowest === null ? "" : stroke(to(lowest), y + 1, to(lowest), y + MOUSE.bar - 1, "in-floor"))
    + (off.length ? stroke(to(whole), y + 1, to(whole), y + MOUSE.bar - 1, "in-whole") : "")
    + text(x + wide, y + 20, `${decimal(mean)}${lowest === null ? "" : ` | ${decimal(lowest)}`}`, "in-number", END)
    + draws;
}

// All heads: a map shows what its head reads in the text, and has its switch.
function heads(result, x, y, wide, at) {
  const gap = 6, cell = (wide - 3 * gap) / 4, size = Math.min(at.map, cell), tall = size + at.toggle + gap;
  const inside = HEADS.map((name, i) => {
    const left = x + (i % 4) * (cell + gap), top = y + Math.floor(i / 4) * tall;
    const isOn = !result.off.includes(name), chosen = name === result.head;
    const map = left + (cell - size) / 2, below = top + size;
    return headMap(result.maps[i], map, top, size, result.at, { off: !isOn, style: chosen ? "in-frame in-grown" : "in-frame" })
      + headSwitch(at, name, left, below, cell, at.toggle, isOn)
      + target(at, `h-${name}`, map, top, size, size, `show head ${name}`, chosen)
      + switchTarget(at, name, left, below, cell, at.toggle, isOn, i === 0);
  });
  return { inside: inside.join(""), bottom: y + 2 * tall };
}

export function draw(result, { width = 720, live = false, touch = false, part, label = "A text inside a trained decoder" } = {}) {
  const narrow = width < 480, beside = width >= 600;
  const bars = narrow ? result.bars.slice(0, FEW) : result.bars;
  const at = { width: width - 1, live, touch, bars, pad: narrow ? 8 : 12, ...(touch ? FINGER : MOUSE), ...(narrow ? { map: FINGER.map } : {}) }; // a frame takes half a pixel on each side
  const first = () => {
    const above = line(result, at), top = above.height + 12;
    const right = beside ? Math.max(300, 0.44 * at.width) : at.width;
    const all = heads(result, beside ? at.width - right : 0, top, right, at);
    const wide = beside ? at.width - right - 28 : at.width;
    const next = nextWords(result, 0, beside ? top : all.bottom + 4, wide, at);
    const costs = narrow ? "" : loss(result, 0, next.bottom, wide);
    return { inside: above.inside + all.inside + next.inside + costs, bottom: Math.max(all.bottom, next.bottom + (narrow ? 0 : 56)) };
  };
  const second = () => {
    const size = Math.min(narrow ? 240 : 320, width), top = narrow ? 64 : 0;
    const off = result.off.includes(result.head), x = narrow ? (width - size) / 2 : 0;
    return {
      inside: (narrow ? loss(result, 0, 0, at.width) : "") + text(x, top + 14, `${result.head}: attention pattern`, "in-head")
        + headMap(result.maps[HEADS.indexOf(result.head)], x, top + 24, size, result.at, { off }),
      bottom: top + size + 26,
    };
  };
  return inParts("in", width, { live, label }, { part, first, second });
}
