// Where the words about a part of a picture stand: beside the part.
const [WIDEST, GAP] = [340, 10]; // CSS pixels

// `part`, `room` and `window` as {left, top, right, bottom}, the words' size: a place within the
// room, on the side of the part where it is free, else below, else above.
export function besidePart(part, room, [width, height], windowHeight) {
  const fits = (left) => left >= room.left && left + width <= room.right;
  const middle = (part.top + part.bottom - height) / 2;
  const beside = [part.right + GAP, part.left - GAP - width].find(fits);
  if (beside !== undefined && part.bottom - part.top < 2 * height) {
    return { left: beside - room.left, top: Math.max(middle, 0) - room.top };
  }
  const centre = (part.left + part.right - width) / 2;
  const left = Math.max(room.left, Math.min(centre, room.right - width));
  const below = part.bottom + GAP;
  const isSeen = below + height <= windowHeight || part.top - GAP - height < 0;
  return { left: left - room.left, top: (isSeen ? below : part.top - GAP - height) - room.top };
}

// Put the words there; narrow, the style sheet has them as a strip at the bottom.
export function callOut(words, part, room, narrow) {
  const { style } = words;
  style.maxWidth = narrow ? "" : `${WIDEST}px`;
  [style.left, style.top] = ["", ""];
  if (narrow) return;
  const { width, height } = words.getBoundingClientRect();
  const { left, top } = besidePart(part.getBoundingClientRect(), room.getBoundingClientRect(), [width, height], innerHeight);
  [style.left, style.top] = [`${left}px`, `${top}px`];
}
