// The picture: the text with what the chosen word reads, the next words, the loss, and all heads.
import { END, box, inParts, round, stroke, text } from "../core/svg.js";
import { decimal, escape } from "../core/text.js";
import { HEADS } from "./compute.js";
import { headMap, headName, levelOf } from "./maps.js";

// What is pressed has room for a finger where fingers press; what is seen of it stays as it is.
const MOUSE = { pitch: 32, word: 28, least: 26, bar: 30 }; // line to line, a word's box, bar to bar
const FINGER = { pitch: 44, word: 32, least: 44, bar: 44 };
const FEW = 3; // words that still fit on a phone's screen, where each is as tall as a finger
const THICK = 20; // a bar
const LETTER = 7.3; // a generous average at 13 pixels

function share(value) {
  if (value === 0 || value === 1) return String(value);
  return value < 0.005 ? "<0.01" : value > 0.995 ? ">0.99" : decimal(value);
}

// A part to be pointed at and pressed: a click or Enter changes the state.
function target(at, id, x, y, width, height, label, isEntry) {
  if (!at.live) return "";
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="3" class="in-target" data-id="${id}" tabindex="${isEntry ? 0 : -1}" role="button" aria-label="${escape(label)}"/>`;
}

// Where each word stands, on as many lines as they need.
function flow(words, { width, pitch, least, pad }) {
  let [x, line] = [0, 0];
  const places = words.map((word) => {
    const wide = Math.max(least, LETTER * word.length + pad);
    if (x && x + wide > width) [x, line] = [0, line + 1];
    const place = { x, y: line * pitch, wide };
    x += wide + 3;
    return place;
  });
  return { places, height: (line + 1) * pitch };
}

// The text; behind each word how much of the chosen word's weight the head gives it.
function line(result, at) {
  const { words, row, at: chosen } = result;
  const { places, height } = flow(words, at);
  const { pitch, word: tall } = at;
  const above = (pitch - tall) / 2;
  const inside = words.map((word, i) => {
    const { x, y, wide } = places[i];
    const level = i > chosen ? 0 : levelOf(row[i]);
    const style = i === chosen ? "in-word in-asks" : i > chosen ? "in-word in-later" : "in-word";
    const label = i > chosen ? `${word}, word ${i}, comes later` : `${word}, word ${i}, weight ${decimal(row[i])}`;
    return (level ? box(x, y + above, wide, tall, `in-shade in-${level}`) : "")
      + (i === chosen ? box(x + 1, y + above + 1, wide - 2, tall - 2, "in-asking") : "")
      + text(x + wide / 2, y + pitch / 2 + 5, word, `${style}${level > 3 ? " in-over" : ""}`, ' text-anchor="middle"')
      + target(at, `t-${i}`, x, y, wide, pitch, label, i === chosen);
  });
  return { inside: inside.join(""), height };
}

// What comes next: the bar is what is drawn from, the outline what the language says.
function nextWords(result, x, y, wide, at) {
  const { words, at: chosen, begun, isTrue } = result;
  const { bar, bars } = at;
  const name = 62, number = 84;
  const room = wide - name - number;
  const head = text(x, y + 14, begun ? `Words that begin with “${begun}”` : `After “${words[chosen]}”`, "in-head")
    + text(x + wide, y + 14, !isTrue ? "decoder" : wide < 400 ? "decoder | true" : "bar: decoder | outline: true", "in-quiet", END);
  const rows = bars.map(({ id, word, share: drawn, true: chance }, i) => {
    const top = y + 22 + i * bar, middle = top + bar / 2;
    return text(x + name - 6, middle + 5, word, "in-word", END)
      + box(x + name, middle - THICK / 2, Math.max(1, drawn * room), THICK, "in-bar")
      + (chance ? box(x + name, middle - THICK / 2 - 2, Math.max(1.5, chance * room), THICK + 4, "in-true") : "")
      + text(x + wide, middle + 5, `${share(drawn)}${chance === null ? "" : ` | ${share(chance)}`}`, "in-number", END)
      + target(at, `b-${id}`, x, top, wide, bar, `${word}: decoder ${share(drawn)}${chance === null ? "" : `, true ${share(chance)}`}`, i === 0);
  });
  const below = y + 30 + bars.length * bar;
  const draws = text(x + name, below + MOUSE.bar + 16, `Seed ${result.seed} draws “${result.drawn}” next.`, "in-quiet");
  return head + rows.join("") + loss(result, x, below, wide, name, room) + draws;
}

// The mean loss of the text beside its floor and, with heads off, beside what it is with all.
function loss({ mean, whole, lowest, off }, x, y, wide, name, room) {
  if (mean === null) return text(x, y + 16, "No word has a loss yet: type one, or choose one above.", "in-quiet");
  const most = Math.max(2, mean, whole);
  const to = (value) => x + name + (value / most) * room;
  return text(x + name - 6, y + 20, "loss", "in-head", END)
    + box(x + name, y + 5, to(mean) - x - name, THICK, "in-loss")
    + (lowest === null ? "" : stroke(to(lowest), y + 1, to(lowest), y + MOUSE.bar - 1, "in-floor"))
    + (off.length ? stroke(to(whole), y + 1, to(whole), y + MOUSE.bar - 1, "in-whole") : "")
    + text(x + wide, y + 20, `${decimal(mean)}${lowest === null ? "" : ` | ${decimal(lowest)}`}`, "in-number", END);
}

// All heads as small maps, those of a layer side by side.
function heads(result, y, at) {
  const across = at.width < 480 ? 4 : 8;
  const gap = 8;
  const size = Math.min(96, (at.width - (across - 1) * gap) / across);
  const inside = HEADS.map((name, i) => {
    const x = (i % across) * (size + gap), top = y + Math.floor(i / across) * (size + 26);
    const off = result.off.includes(name), chosen = name === result.head;
    return headName(x, top + 13, size, name, off, chosen)
      + headMap(result.maps[i], x, top + 18, size, result.at, { off, style: chosen ? "in-frame in-grown" : "in-frame" })
      + target(at, `h-${name}`, x, top, size, size + 18, `head ${name}${off ? ", off" : ""}`, chosen);
  });
  return { inside: inside.join(""), height: (HEADS.length / across) * (size + 26) };
}

export function draw(result, { width = 720, live = false, touch = false, part, label = "A text inside a trained decoder" } = {}) {
  const narrow = width < 480;
  const bars = narrow && touch ? result.bars.slice(0, FEW) : result.bars;
  const at = { width: width - 1, live, bars, pad: narrow ? 8 : 12, ...(touch ? FINGER : MOUSE) }; // a frame takes half a pixel on each side
  const above = line(result, at);
  const beside = width >= 560;
  const size = beside ? 254 : Math.min(240, width);
  const wide = beside ? at.width - size - 28 : at.width;
  const top = above.height + 12;
  const barsTall = 52 + bars.length * at.bar + MOUSE.bar;
  const off = result.off.includes(result.head);
  // Narrow, the grown map stands with the small ones in the second part.
  const grown = (x, y) => text(x, y + 14, `${result.head}: attention pattern`, "in-head") + headMap(result.maps[HEADS.indexOf(result.head)], x, y + 24, size, result.at, { off });
  const first = () => ({
    inside: above.inside + nextWords(result, 0, top, wide, at) + (beside ? grown(at.width - size, top) : ""),
    bottom: top + (beside ? Math.max(barsTall, 24 + size) : barsTall) + 8,
  });
  const second = () => {
    const below = beside ? 0 : size + 36;
    const small = heads(result, below, at);
    return { inside: (beside ? "" : grown((width - size) / 2, 0)) + small.inside, bottom: below + small.height };
  };
  return inParts("in", width, { live, label }, { part, first, second });
}
