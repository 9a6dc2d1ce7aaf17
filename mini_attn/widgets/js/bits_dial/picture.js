// The dial's picture: the channels of a matrix, the rungs under the numbers of one of them, and one
// query's weights before and after; a token has its column in both. Pure: numbers in, SVG out.
import { keyed } from "../core/motion.js";
import { END, box, grip, knob, panel, reachOf, round, stroke, svg, targets, text } from "../core/svg.js";
import { decimal, quote, shortWeight } from "../core/text.js";
import { GROUP } from "./compute.js";
import schema from "./schema.json" with { type: "json" };

const SIDE = 40; // what the panels have beside their tokens
const HEAD = 22; // and above them
const STRIP = 58; // the tallest bar of the channels
const SHELF = HEAD + 16 + STRIP; // where their bars stand

const target = targets("dial", 0);

const layout = (width) => ({ width, tokens: width - SIDE, cell: (width - SIDE) / GROUP / 2, bar: width / GROUP });

// The largest number of each channel, and the one that fills the strip: the outlier at its largest.
function sizesOf({ cells, special, outlier, show }) {
  const sizes = cells[0].map((_, c) => Math.max(...cells.map((row) => Math.abs(row[c].x))));
  return { sizes, most: Math.max(...sizes, show === "keys" ? (schema.outlier.max * sizes[special]) / outlier : 0) };
}
const tallOf = (size, most) => STRIP * Math.sqrt(size / most);

// A bar for each channel; a knob below says which one is on the ladder, one on top makes it larger.
function channels(result, at) {
  const { show, channel, special, outlier } = result;
  const { sizes, most } = sizesOf(result);
  const { bar, hit } = at;
  const bars = sizes.map((size, c) => {
    const tall = tallOf(size, most);
    return keyed(at, `c-${c}`, box(c * bar + 3, SHELF - tall, bar - 6, tall, `dial-${show}${c === channel ? " dial-chosen" : ""}`))
      + (bar < hit ? "" : target(at, `c-${c}`, c * bar, HEAD, bar, SHELF - HEAD, `channel ${c}, up to ${decimal(size)}`));
  });
  const held = (c, y) => knob((c + 0.5) * bar, y, "dial-knob");
  const hold = (id, c, y, more) => grip("dial", at, id, Math.min(at.width - hit, Math.max(0, (c + 0.5) * bar - hit / 2)), y, hit, hit, more);
  const top = SHELF - tallOf(sizes[special], most);
  const large = show === "values" ? "" : stroke((special + 0.5) * bar, SHELF - STRIP, (special + 0.5) * bar, top, "dial-track") + held(special, top) + text((special + 0.5) * bar + 11, top - 3, `× ${outlier}`, "dial-strong")
    + hold("outlier", special, Math.min(top + 12, SHELF) - hit, { key: "outlier", entry: schema.outlier, now: outlier, label: `Outlier, channel ${special} of the keys`, words: `${outlier} times as large` });
  const other = `Show the ${show === "keys" ? "values" : "keys"}`;
  return text(0, 14, `Largest ${show} of each channel`, "dial-head") + (at.live ? text(at.width - 4, 15, other, "dial-link", END) : "")
    + target(at, "show", at.width - 108, 0, 108, hit, other) + bars.join("") + stroke(0, SHELF, at.width, SHELF, "dial-split")
    + held(channel, SHELF + 11) + large
    + hold("channel", channel, SHELF, { key: "channel", entry: schema.channel, now: channel, label: "Channel on the ladder", words: `channel ${channel}` });
}

// One target for as many tokens as a finger covers: it stands for the one of them that matters most.
function columns(at, id, y, tall, words, matters, label) {
  let many = 1;
  while (many * at.cell < at.hit) many *= 2;
  return words.flatMap((_, first) => (first % many ? [] : [words.slice(first, first + many).reduce((best, __, i) => (matters(first + i) > matters(best) ? first + i : best), first)]))
    .map((t) => target(at, `${id}-${t}`, Math.floor(t / many) * many * at.cell, y, many * at.cell, tall, `${words[t]}: ${label(t)}`)).join("");
}

const split = (at, y, tall) => stroke(at.tokens / 2, y, at.tokens / 2, y + tall, "dial-split");

// The rungs of each group under its numbers, as far as they reach; 256 are too close to be drawn.
function ladder({ cells, bits, axis, channel, show, words }, at, y) {
  const column = cells.map((row) => row[channel]);
  const shown = column.flatMap(({ x: number, back }) => [number, back]);
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  const { tokens, cell } = at;
  const [top, tall] = [y + HEAD, at.ladder];
  const up = (value) => round(top + 8 + ((high - value) / (high - low || 1)) * (tall - 16));
  const every = axis === "channel" ? GROUP : 1; // tokens that share a rung
  let rungs = "";
  if (bits < 8) {
    for (let t = 0; t < column.length; t += every) {
      for (let code = 0; code < 2 ** bits; code++) {
        const level = up(code * column[t].scale + column[t].zero);
        if (level >= top && level <= top + tall) rungs += `M${round(t * cell + 1)} ${level}h${round(every * cell - 2)}`;
      }
    }
  }
  const dot = (t, value, r, style) => `<circle cx="${round((t + 0.5) * cell)}" cy="${up(value)}" r="${r}" class="dial-${style}"/>`;
  const marks = column.map(({ x: number, back }, t) => {
    const middle = round((t + 0.5) * cell);
    return stroke(middle, up(number), middle, up(back), "dial-error") + dot(t, number, at.dot + 1.5, "before");
  });
  const after = column.map(({ back }, t) => keyed(at, `n-${t}`, dot(t, back, at.dot, show)));
  const side = (value, level) => text(tokens + 4, level, decimal(value, 1), "dial-quiet");
  const many = bits === 16 ? "no" : `${2 ** bits}`;
  return text(0, y + 14, `Channel ${channel}: ${many} codes`, "dial-head") + text(at.width, y + 14, "○ before ● after", "dial-quiet", END)
    + `<path d="${rungs}" class="dial-rung"/>${axis === "channel" ? split(at, top, tall) : ""}${marks.join("")}${after.join("")}${side(high, top + 12)}${side(low, top + tall)}`
    + columns(at, "n", top, tall, words, (t) => Math.abs(column[t].back - column[t].x), (t) => decimal(column[t].back));
}

function weights({ exact, after, words }, at, y) {
  const { cell, tokens } = at;
  const bottom = y + HEAD + at.tall;
  const bar = (weight, t, style) => box(t * cell + 1, bottom - weight * at.tall, cell - 2, weight * at.tall, style);
  const best = exact.weights.indexOf(Math.max(...exact.weights));
  const all = [exact.weights, after.weights];
  return words.map((_, t) => keyed(at, `w-${t}`, bar(after.weights[t], t, "dial-weight")) + bar(exact.weights[t], t, "dial-exact")).join("") + stroke(0, bottom, tokens, bottom, "dial-split")
    + text(best * cell - 6, y + HEAD + 20, quote(words[best]), "dial-strong", END)
    + text(best * cell - 6, y + HEAD + 38, `${shortWeight(exact.weights[best])} → ${shortWeight(after.weights[best])}`, "dial-strong", END)
    + text(0, y + 14, `Weights of the last ${quote(words.at(-1))}`, "dial-head") + text(at.width, y + 14, "outline: exact", "dial-quiet", END)
    + columns(at, "w", y + HEAD, at.tall, words, (t) => Math.max(...all.map((one) => one[t])), (t) => decimal(after.weights[t]));
}

export function draw(result, { width = 720, live = false, touch = false, label = "A channel of keys or values on its ladder of codes, and one query's weights" } = {}) {
  const wide = width >= 600;
  const [tall, more] = wide ? [80, 122] : [72, 112];
  const at = { ...layout(width), live, hit: reachOf(touch), tall, ladder: more, dot: wide ? 4 : 2.5, entry: "channel" };
  const one = SHELF + (touch ? 46 : 32);
  const two = one + HEAD + more + 14;
  return svg("dial", width, two + HEAD + tall + 4, { live, label }, panel("channels", channels(result, at)) + panel("ladder", ladder(result, at, one)) + panel("weights", weights(result, at, two)));
}

// The knob below takes another channel to the ladder; the one on top makes the outlier as tall as the hand.
export function drag(result, id, { width, state }) {
  if (id === "channel") return ({ dx }) => ({ channel: state.channel + dx / layout(width).bar });
  if (id !== "outlier") return null;
  const { sizes, most } = sizesOf(result);
  const tall = tallOf(sizes[result.special], most);
  return ({ dy }) => ({ outlier: (result.outlier * most * (Math.max(0, tall - dy) / STRIP) ** 2) / sizes[result.special] });
}
