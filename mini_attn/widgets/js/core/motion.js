// One mechanism for all that moves: a part of a picture with a key is the same part in the next
// drawing, and travels to where it is drawn there. A new key comes out of the part that it names as
// its origin; a key that is gone goes into the part that takes it.
import { escape } from "./text.js";

export const MOTION = 350; // milliseconds
const MOST = 240; // parts on their way at once: beyond, nothing moves
const WAY = { duration: MOTION, easing: "cubic-bezier(0.3, 0, 0.2, 1)", fill: "backwards" };
const way = ({ dataset }) => ({ ...WAY, delay: ((dataset.late ?? 0) * MOTION) / 2 });

// Whether a reader wants nothing to move.
export const still = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

// A part with a key. If it begins with a rect, that is its frame, whose size changes on the way.
// `from`: the key of its origin. `takes`: the keys that go into it. `turn`: [degrees, x, y], an angle
// around a point instead of a place. `late`: how many half motions it waits, so that others show the
// way. Keyed parts hold no keyed parts.
export function keyed({ live }, key, inside, { from, takes, turn, late } = {}) {
  if (!live) return inside;
  const more = Object.entries({ from, takes: takes?.join(" "), turn: turn?.join(" "), late });
  const said = more.map(([name, value]) => (value === undefined ? "" : ` data-${name}="${escape(value)}"`));
  return `<g class="living-keyed" data-part="${escape(key)}"${said.join("")}>${inside}</g>`;
}

const frameOf = (part) => (part.firstElementChild?.localName === "rect" ? part.firstElementChild : part);

// Where the parts of a picture are, on their way or not: {key: [part, left, top, width, height]} in
// units of the picture.
export function placesOf(root) {
  const found = new Map();
  for (const svg of root.querySelectorAll("svg")) {
    const parts = svg.querySelectorAll("[data-part]");
    if (!parts.length) continue;
    const ground = svg.getBoundingClientRect();
    const zoom = svg.viewBox.baseVal.width / ground.width || 1;
    for (const part of parts) {
      const { left, top, width, height } = frameOf(part).getBoundingClientRect();
      found.set(part.dataset.part, [part, (left - ground.left) * zoom, (top - ground.top) * zoom, width * zoom, height * zoom]);
    }
  }
  return found;
}

// What brings the one frame onto the other, from its upper left corner; where there is no frame, or
// none as large, the middles.
export function onto([x, y, width, height], [left, top, wide, tall], scales) {
  return scales && width && height
    ? `translate(${left - x}px, ${top - y}px) scale(${wide / width}, ${tall / height})`
    : `translate(${left - x + (wide - width) / 2}px, ${top - y + (tall - height) / 2}px)`;
}

const near = (a, b) => a.every((value, i) => Math.abs(value - b[i]) < 0.5);

// More than once around is shown as once around and the rest.
const around = (by) => (by % 360) + (Math.abs(by) > 360 ? Math.sign(by) * 360 : 0);

function turned(part, was) {
  const [angle, x, y] = part.dataset.turn.split(" ").map(Number);
  const by = around(Number(was.dataset.turn.split(" ")[0]) - angle);
  if (Math.abs(by) < 0.1) return;
  Object.assign(part.style, { transformBox: "view-box", transformOrigin: `${x}px ${y}px` });
  part.animate([{ transform: `rotate(${by}deg)` }, { transform: "none" }], way(part));
}

// The old part stands in the new picture until it has gone into the part that takes it.
function fold(part, [was, ...old], now) {
  part.parentNode.append(was);
  was.removeAttribute("data-part"); // the next drawing does not find it
  const steps = [{ transform: "none", opacity: 1 }, { transform: onto(old, now, frameOf(was) !== was), opacity: 0 }];
  was.animate(steps, way(was)).onfinish = () => was.remove();
}

// From the places of the last drawing to those of this one.
export function travel(root, before) {
  const after = placesOf(root);
  if (after.size > MOST) return;
  for (const [key, [part, ...now]] of after) {
    const [was, ...old] = before.get(key) ?? before.get(part.dataset.from) ?? [];
    if (was && part.dataset.turn && was.dataset.turn) turned(part, was);
    else if (was && !near(old, now)) part.animate([{ transform: onto(now, old, frameOf(part) !== part) }, { transform: "none" }], way(part));
    else if (!was) part.animate([{ opacity: 0 }, { opacity: 1 }], way(part));
    for (const taken of part.dataset.takes?.split(" ") ?? []) {
      if (!after.has(taken) && before.has(taken)) fold(part, before.get(taken), now);
    }
  }
}
