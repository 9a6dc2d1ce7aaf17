// Where the words about a part of a picture stand: beside the part.
import { LEAVES } from "./lens.js";

const [WIDEST, GAP] = [340, 10]; // CSS pixels

// `part`, `room` and what else is drawn as {left, top, right, bottom}, the size of what is told: a
// place within the room, beside the part or below or above it, where it covers the fewest others.
export function besidePart(part, room, [width, height], others, windowHeight) {
  const [middle, centre] = [(part.top + part.bottom - height) / 2, (part.left + part.right - width) / 2];
  const within = (left) => Math.max(room.left, Math.min(left, room.right - width));
  const places = [
    [part.right + GAP, middle], [part.left - GAP - width, middle], [within(centre), part.bottom + GAP], [within(centre), part.top - GAP - height],
    [within(part.left), part.bottom + GAP], [within(part.right - width), part.top - GAP - height],
  ].filter(([left, top]) => left >= room.left && left + width <= room.right && top >= 0 && top + height <= windowHeight);
  const covers = ([left, top]) => others.filter((one) => one.left < left + width && one.right > left && one.top < top + height && one.bottom > top).length;
  const [left, top] = places.length ? places.reduce((best, one) => (covers(one) < covers(best) ? one : best)) : [within(centre), part.bottom + GAP];
  return { left: left - room.left, top: top - room.top };
}

// Put the words there; narrow, the style sheet has them as a strip at the bottom.
export function callOut(words, part, room, narrow) {
  const { style } = words;
  style.maxWidth = narrow ? "" : `${WIDEST}px`;
  [style.left, style.top] = ["", ""];
  if (narrow) return;
  const { width, height } = words.getBoundingClientRect();
  const drawn = Array.from(room.querySelectorAll(LEAVES), (one) => one.getBoundingClientRect()).filter((one) => one.width < WIDEST);
  const { left, top } = besidePart(part.getBoundingClientRect(), room.getBoundingClientRect(), [width, height], drawn, innerHeight);
  [style.left, style.top] = [`${left}px`, `${top}px`];
}
