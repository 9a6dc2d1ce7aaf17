// Arcs from a word to those that a head reads from it, as thick as their weights. The first is the
// strongest: when the head reads something else, the same arc swings over there.
import { keyed } from "../core/motion.js";
import { round } from "../core/svg.js";

const MOST = 4; // arcs
const LEAST = 0.03; // of the weight

// `ends`: [[weight, x, y], …]; `thick`: all of the weight; `rise` is how high an arc goes
// that ends so far away, on the same line or not.
export function arcs(at, [x, y], ends, rise, thick) {
  const shown = ends.filter(([weight]) => weight >= LEAST).sort(([a], [b]) => b - a).slice(0, MOST);
  return shown.map(([weight, endX, endY], i) => {
    const top = Math.min(y, endY) - rise(Math.abs(endX - x), endY === y);
    const peak = [y, endY].map((from) => from - (from - top) * 4 / 3); // where a cubic's handles lie
    const [left, right] = [Math.min(x, endX), Math.max(x, endX, Math.min(x, endX) + 1)];
    const frame = `<rect x="${round(left)}" y="${round(top)}" width="${round(right - left)}" height="${round(Math.max(y, endY) - top)}" fill="none"/>`;
    const way = `<path d="M${round(x)} ${round(y)}C${round(x)} ${round(peak[0])} ${round(endX)} ${round(peak[1])} ${round(endX)} ${round(endY)}" class="in-arc" stroke-width="${round(Math.max(1.2, thick * weight))}"/>`;
    return keyed(at, `arc-${i}`, frame + way);
  }).reverse().join(""); // the strongest above the others
}
