// Pieces of SVG markup that pictures are put together from. Coordinates get one decimal.
import { escape } from "./text.js";

export const MIDDLE = ' text-anchor="middle"';
export const END = ' text-anchor="end"';

export const round = (value) => Math.round(value * 10) / 10;

export function text(x, y, words, style, more = "") {
  return `<text x="${round(x)}" y="${round(y)}" class="${style}"${more}>${escape(words)}</text>`;
}

export function stroke(x1, y1, x2, y2, style) {
  return `<line x1="${round(x1)}" y1="${round(y1)}" x2="${round(x2)}" y2="${round(y2)}" class="${style}"/>`;
}

export function box(x, y, width, height, style, more = "", radius = 3) {
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="${radius}" class="${style}"${more}/>`;
}

// The way through some points: what is across and up of each, and of its number.
export const line = (x, y) => (points) =>
  points.map((point, i) => `${i ? "L" : "M"}${round(x(point, i))},${round(y(point, i))}`).join("");

// A bar from a zero line, up for plus and down for minus.
export function signedBar(value, x, zero, width, height, style) {
  return `<rect x="${round(x)}" y="${round(value > 0 ? zero - height : zero)}" width="${round(width)}" height="${round(height)}" class="${style}"/>`;
}

// How a picture makes its parts that can be pointed at, tapped or focused; a static picture has
// none. The part named `at.entry` takes part in the Tab order, the arrow keys go on from there.
// `label` is what a screen reader says first.
export const targets = (name, radius = 3) => (at, id, x, y, width, height, label) => {
  if (!at.live) return "";
  const corners = radius ? ` rx="${radius}"` : "";
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"${corners} class="${name}-target living-target" data-id="${id}" tabindex="${id === at.entry ? 0 : -1}" role="img" aria-label="${escape(label)}"/>`;
};

// As large as what points needs it, in pixels.
export const reachOf = (touch) => (touch ? 44 : 24);

// What shows that a part can be taken hold of.
export const knob = (x, y, style, radius = 7) => `<circle cx="${round(x)}" cy="${round(y)}" r="${radius}" class="${style}"/>`;

// A part of a picture that a phrase may be about.
export const panel = (name, inside, more = "") => `<g data-panel="${name}"${more}>${inside}</g>`;

// A part to be dragged that stands for a key of the state: the keys of a slider move it too. Where
// there is no control for the key, `stops` says which kind of one it is. It goes sideways, `upright` or `free`.
export const grip = (name, at, id, x, y, width, height, { key, stops, entry: { values = [], min = Math.min(...values), max = Math.max(...values) }, now, label, words, upright, free = upright }) => (at.live
  ? `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="3" class="${name}-target living-target living-${free ? "hold" : "grip"}"${upright ? ' aria-orientation="vertical"' : ""} data-id="${id}" data-grip="${key}"${stops ? ` data-stops="${stops}"` : ""} tabindex="${id === at.entry ? 0 : -1}" role="slider" aria-label="${escape(label)}" aria-valuemin="${min}" aria-valuemax="${max}" aria-valuenow="${now}" aria-valuetext="${escape(words)}"/>`
  : "");

// Parts too small to be hit one by one, on a surface that takes the pointer: it means the nearest.
export const field = ({ live }, inside) => (live ? `<g class="living-field">${inside}</g>` : inside);
export const surface = ({ live }, x, y, width, height) => (live ? box(x, y, width, height, "living-surface") : "");

// Samples with their words, [kind, words] each, on as many lines as they need. `lead` is the room of
// a sample, `gap` what follows the words; fonts differ, so `letter` is a generous average.
export function inLines(entries, y, { width, lead, gap, line, letter = 6.4 }, draw) {
  let [x, bottom] = [0, y];
  const inside = entries.map(([kind, words]) => {
    const room = lead + letter * words.length;
    if (x && x + room > width) [x, bottom] = [0, bottom + line];
    const part = draw(kind, words, x, bottom);
    x += room + gap;
    return part;
  });
  return { inside: inside.join(""), bottom };
}

// Slanting lines to fill an area with. Each view needs a pattern of its own: a page may hold several.
export function hatching(id, style, size = 6) {
  return `<defs><pattern id="${id}" width="${size}" height="${size}" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><line x1="0" x2="0" y1="0" y2="${size}" class="${style}"/></pattern></defs>`;
}

// A picture of two parts, each drawn from 0 down. A page shows the second apart, below the words
// about the first; a picture that stands alone has one below the other.
export function inParts(name, width, at, { part, first, second, defs = "" }) {
  const gap = 24;
  if (part === "second" || part === "first") {
    const { inside, bottom } = part === "first" ? first() : second();
    return svg(name, width, Math.ceil(bottom), at, defs + inside);
  }
  const [one, two] = [first(), second()];
  const below = Math.ceil(one.bottom) + gap;
  return svg(name, width, Math.ceil(below + two.bottom), at, defs + panel("first", one.inside) + panel("second", two.inside, ` transform="translate(0 ${below})"`));
}

// The whole picture; its name is the first word of its classes.
export function svg(name, width, height, { live, label }, inside) {
  return `<svg xmlns="http://www.w3.org/2000/svg" class="${name}-picture" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="${live ? "group" : "img"}" aria-label="${escape(label)}">${inside}</svg>`;
}
