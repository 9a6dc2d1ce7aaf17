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
