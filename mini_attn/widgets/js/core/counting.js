// Numbers that a change brings about run to their new value, so that the eye sees more or less of
// them. What a screen reader may hear is the last one only.
import { MOTION, still } from "./motion.js";

// In proportion where both are above zero, else evenly.
export const between = (from, to, t) => (from > 0 && to > 0 ? from * (to / from) ** t : from + (to - from) * t);

// Called after each drawing with what is counted, {key: [value, how it is written]}: the text of a
// key has it as `data-count` and is drawn with its new value.
export function counting(root) {
  const shown = {};
  let frame = 0;
  const counter = (counts, held) => {
    cancelAnimationFrame(frame);
    const calm = held || still();
    const moves = Object.entries(counts).flatMap(([key, [to, write]]) => {
      const [text, from] = [root.querySelector(`[data-count="${key}"]`), shown[key] ?? to];
      shown[key] = to;
      return !text || calm || from === to ? [] : [{ key, from, to, write, text, last: text.textContent }];
    });
    const begin = performance.now();
    const step = () => {
      const t = Math.min(1, (performance.now() - begin) / MOTION);
      for (const { key, from, to, write, text, last } of moves) {
        shown[key] = t < 1 ? between(from, to, 1 - (1 - t) ** 3) : to;
        text.textContent = t < 1 ? write(shown[key]) : last;
        t < 1 ? text.setAttribute("aria-hidden", "true") : text.removeAttribute("aria-hidden");
      }
      if (t < 1) frame = requestAnimationFrame(step);
    };
    if (moves.length) step();
  };
  return Object.assign(counter, { stop: () => cancelAnimationFrame(frame) });
}
