// Blocks of a picture that grow out of others, or fold into them, when its state changes. A block is
// a group whose first part is its frame.
import { MOTION, still } from "./motion.js";

const WAY = { duration: MOTION, easing: "ease-out" };

export const block = ({ live }, id, inside) => (live ? `<g class="living-block" data-block="${id}">${inside}</g>` : inside);

export const blocksOf = (root) => new Map(Array.from(root.querySelectorAll("[data-block]"), (one) => [one.dataset.block, one]));

const frameOf = ({ firstElementChild: frame }) => ["x", "y", "width", "height"].map((name) => Number(frame.getAttribute(name)));

// What brings the one frame onto the other, from its upper left corner.
export function onto([x, y, width, height], [left, top, wide, tall]) {
  return `translate(${left - x}px, ${top - y}px) scale(${wide / width}, ${tall / height})`;
}

// `ways` is {grow, fold}, each a list of [from, to]; the old blocks are those of the last drawing.
export function morph(root, old, { grow = [], fold = [] }) {
  if (still()) return;
  const now = blocksOf(root);
  const both = (pairs) => pairs.map(([from, to]) => [old.get(from), now.get(to)]).filter(([from, to]) => from && to);
  for (const [from, to] of both(grow)) to.animate([{ transform: onto(frameOf(to), frameOf(from)) }, { transform: "none" }], WAY);
  for (const [from, to] of both(fold)) {
    delete from.dataset.block; // the next drawing does not find it
    to.ownerSVGElement.append(from);
    const way = [{ transform: "none", opacity: 1 }, { transform: onto(frameOf(from), frameOf(to)), opacity: 0 }];
    from.animate(way, WAY).onfinish = () => from.remove();
  }
}
