// The score against the distance, in both layouts: the curve does not move when both tokens do.
import { extent } from "d3-array";
import { scaleLinear } from "d3-scale";
import { END, MIDDLE, line, round, stroke, text } from "../core/svg.js";
import { decimal } from "../core/text.js";

const AXIS = 40; // room for the numbers at the vertical axis

function labels(result, y, at) {
  const words = { now: `layout ${result.layout}`, other: `the same vectors in ${result.other}` };
  const at2 = at.wide ? [190, y] : [0, y + 20];
  return stroke(0, y - 4, 24, y - 4, "rotor-curve-now") + text(32, y, words.now, "rotor-quiet")
    + stroke(at2[0], at2[1] - 4, at2[0] + 24, at2[1] - 4, "rotor-curve-other") + text(at2[0] + 32, at2[1], words.other, "rotor-quiet");
}

export function curves(result, y0, at, target) {
  const { layout, other, distance } = result;
  const all = [...result.curves[layout], ...result.curves[other]];
  const [top, height] = [y0 + (at.wide ? 44 : 64), 110];
  const x = scaleLinear([0, result.curves[layout].length - 1], [AXIS + 8, at.width - 10]);
  const y = scaleLinear(extent([0, ...all]), [top + height, top]).nice(4);
  const grid = y.ticks(4).map((tick) => stroke(AXIS, y(tick), at.width, y(tick), tick ? "rotor-grid" : "rotor-zero")
    + text(AXIS - 6, y(tick) + 4, decimal(tick, 1), "rotor-quiet", END));
  const path = line((_, i) => x(i), y);
  const ticks = x.ticks(at.wide ? 8 : 4).map((tick) => text(x(tick), top + height + 18, String(tick), tick === distance ? "rotor-tick-now" : "rotor-quiet", MIDDLE));
  const [cx, cy] = [x(distance), y(result.score)];
  const inside = text(0, y0, "Score against the distance", "rotor-head") + labels(result, y0 + 22, at) + grid.join("")
    + `<path d="${path(result.curves[other])}" class="rotor-curve-other"/><path d="${path(result.curves[layout])}" class="rotor-curve-now"/>`
    + stroke(cx, top, cx, top + height, "rotor-now") + `<circle cx="${round(cx)}" cy="${round(cy)}" r="5" class="rotor-dot"/>`
    + ticks.join("") + text(AXIS + 8, top + height + 38, "distance in tokens", "rotor-quiet")
    + target(at, "dot-0", cx - 10, cy - 10, 20, 20, `${distance} apart: score ${decimal(result.score)}`);
  return { inside, bottom: top + height + 44 };
}
