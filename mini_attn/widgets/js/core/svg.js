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

export function box(x, y, width, height, style, more = "") {
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}" rx="3" class="${style}"${more}/>`;
}

// A part of a living picture that can be pointed at, tapped or focused. The first one takes part in
// the Tab order, the arrow keys go on from there. `label` is what a screen reader says first.
export function hit(x, y, width, height, style, { id, label, first, radius = 3 }) {
  const corners = radius ? ` rx="${radius}"` : "";
  return `<rect x="${round(x)}" y="${round(y)}" width="${round(width)}" height="${round(height)}"${corners} class="${style}" data-id="${id}" tabindex="${first ? 0 : -1}" role="img" aria-label="${escape(label)}"/>`;
}
