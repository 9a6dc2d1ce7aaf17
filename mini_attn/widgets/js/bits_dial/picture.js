// The dial's picture: a matrix before and after, the rungs under the numbers of one of its channels, and
// one query's weights before and after; a token has its column in all. Pure: numbers in, SVG out.
import { END, box, field, round, stroke, surface, svg, targets, text } from "../core/svg.js";
import { decimal, quote, shortWeight } from "../core/text.js";
import { GROUP } from "./compute.js";
import { lossOf, percent } from "./words.js";

const SHADES = 8;
const SIDE = 44; // what a panel has beside its tokens
const HEAD = 20; // and above them

const target = targets("dial", 0);

// A panel's words, and what can be pointed at: [id, x, y, width, height, label] each.
const panel = (at, x, y, tall, title, note, hits) => text(x, y + 13, title, "dial-head") + text(x + at.tokens, y + 13, note, "dial-quiet", END)
  + field(at, surface(at, x, y + HEAD, at.tokens, tall) + hits.map((hit) => target(at, ...hit)).join(""));

// A target as tall as the panel for each token.
const columns = (at, id, x, y, words, label) => words.map((word, t) => [`${id}-${t}`, x + t * at.cell, y + HEAD, at.cell, at.tall, `${word}: ${label(t)}`]);

const split = (axis, at, x, y, tall) => (axis === "channel" ? stroke(x + at.tokens / 2, y, x + at.tokens / 2, y + tall, "dial-split") : "");

// The numbers as cells, each channel by its own largest: full where they are positive, small where not.
function shaded({ cells, show }, key, at, x, y) {
  const paths = Array(2 * SHADES + 1).fill(""); // from the largest negative to the largest positive
  cells[0].forEach((_, c) => {
    const most = Math.max(...cells.map((row) => Math.abs(row[c].x)));
    cells.forEach((row, t) => {
      const shade = Math.max(-SHADES, Math.min(SHADES, Math.round((SHADES * row[c][key]) / most)));
      paths[SHADES + shade] += shade < 0 ? `M${t}.2 ${c}.2h.6v.6h-.6z` : `M${t} ${c}h1v1h-1z`;
    });
  });
  return `<g transform="translate(${x} ${y}) scale(${at.cell} ${at.row})">${paths.map((d, n) =>
    `<path d="${d}" class="dial-${n < SHADES ? "minus" : show}" fill-opacity="${Math.abs(n / SHADES - 1)}"/>`).join("")}</g>`;
}

// With a bar for the largest number of each channel.
function map(result, id, title, at, x, y) {
  const key = id === "b" ? "x" : "back";
  const top = y + HEAD;
  const sizes = result.cells[0].map((_, c) => Math.max(...result.cells.map((row) => Math.abs(row[c][key]))));
  const most = Math.max(...sizes);
  const hits = sizes.map((size, c) => [`${id}-${c}`, x, top + c * at.row, at.tokens, at.row, `channel ${c}, up to ${decimal(size)}`]);
  return shaded(result, key, at, x, top) + split(result.axis, at, x, top, at.map)
    + sizes.map((size, c) => box(x + at.tokens + 4, top + c * at.row + 1, (size / most) * 38, at.row - 2, "dial-size")).join("")
    + text(x + at.tokens + 4, y + 13, decimal(most, 1), "dial-quiet")
    + box(x, top + result.channel * at.row - 1, at.tokens, at.row + 2, "dial-chosen") + panel(at, x, y, at.map, title, id === "b" ? "small: negative" : "bars: largest", hits);
}

// The rungs of each group under its numbers, as far as they reach; 256 are too close to be drawn.
function ladder({ cells, bits, axis, channel, show, words }, at, x, y) {
  const column = cells.map((row) => row[channel]);
  const shown = column.flatMap(({ x: number, back }) => [number, back]);
  const [low, high] = [Math.min(...shown), Math.max(...shown)];
  const top = y + HEAD;
  const up = (value) => round(top + 6 + ((high - value) / (high - low || 1)) * (at.tall - 12));
  const every = axis === "channel" ? GROUP : 1; // tokens that share a rung
  let rungs = "";
  if (bits < 8) {
    for (let t = 0; t < column.length; t += every) {
      for (let code = 0; code < 2 ** bits; code++) {
        const level = up(code * column[t].scale + column[t].zero);
        if (level >= top && level <= top + at.tall) rungs += `M${round(x + t * at.cell)} ${level}h${round(every * at.cell)}`;
      }
    }
  }
  const marks = column.map(({ x: number, back }, t) => {
    const [middle, from, to] = [round(x + (t + 0.5) * at.cell), up(number), up(back)];
    return `${stroke(middle, from, middle, to, "dial-error")}<circle cx="${middle}" cy="${from}" r="2.8" class="dial-before"/><circle cx="${middle}" cy="${to}" r="2" class="dial-${show}"/>`;
  });
  const side = (value, level) => text(x + at.tokens + 4, level, decimal(value, 1), "dial-quiet");
  return `<path d="${rungs}" class="dial-rung"/>${split(axis, at, x, top, at.tall)}${marks.join("")}${side(high, top + 10)}${side(low, top + at.tall)}`
    + panel(at, x, y, at.tall, `Channel ${channel}: ${bits === 16 ? "no" : 2 ** bits} codes`, "○ before ● after", columns(at, "n", x, y, words, (t) => decimal(column[t].back)));
}

function weights({ exact, after, words }, at, x, y) {
  const bottom = y + HEAD + at.tall;
  const bar = (weight, t, style) => box(x + t * at.cell + 1, bottom - weight * (at.tall - 12), at.cell - 2, weight * (at.tall - 12), style);
  const best = exact.weights.indexOf(Math.max(...exact.weights));
  return words.map((_, t) => bar(after.weights[t], t, "dial-weight") + bar(exact.weights[t], t, "dial-exact")).join("") + stroke(x, bottom, x + at.tokens, bottom, "dial-split")
    + text(x + best * at.cell - 4, y + HEAD + 24, `${quote(words[best])} ${shortWeight(exact.weights[best])} → ${shortWeight(after.weights[best])}`, "dial-word", END)
    + panel(at, x, y, at.tall, `Weights of the last ${quote(words.at(-1))}`, "outline: exact", columns(at, "w", x, y, words, (t) => decimal(after.weights[t])));
}

export function draw(result, { width = 720, live = false, label = "Keys or values before and after" } = {}) {
  const wide = width >= 600;
  const half = wide ? (width + 24) / 2 : 0; // from one panel to the one beside it
  const tokens = (wide ? half - 24 : width) - SIDE;
  const row = wide ? 8 : 5;
  const at = { width, live, tokens, row, cell: tokens / GROUP / 2, map: GROUP * row, tall: wide ? 106 : 56, entry: `c-${result.channel}` };
  const [one, two] = [at.map + HEAD + 6, at.tall + HEAD + 8];
  const name = result.show === "keys" ? "Keys" : "Values";
  const places = wide ? [0, one, one, one + two] : [one, 2 * one, 2 * one + two, 2 * (one + two)];
  const { moved, off, true_bits: bits } = result;
  const figures = [["weight moved", percent(moved)], ["output off by", percent(off)], ["bits per value, K and V", bits.join(" and ")], ["loss above floor", lossOf(result)]].map(([words, value], n) => {
    const [x, y] = wide ? [(n * width) / 4, places[3] + 12] : [((n % 2) * width) / 2, places[3] + 12 + 33 * (n >> 1)];
    return text(x, y, words, "dial-quiet") + text(x, y + 17, value, "dial-number");
  });
  return svg("dial", width, places[3] + (wide ? 34 : 67), { live, label }, map(result, "b", `${name} before`, at, 0, 0) + map(result, "c", `${name} after`, at, half, places[0])
    + ladder(result, at, 0, places[1]) + weights(result, at, half, places[2]) + figures.join(""));
}
