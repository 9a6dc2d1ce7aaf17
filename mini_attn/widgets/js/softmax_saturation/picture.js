// The picture of saturation: scores and weights of eight keys, and two curves over head_dim.
import { scaleLinear, scaleLog } from "d3-scale";
import { END, MIDDLE, box, line, round, signedBar, stroke, svg, targets, text } from "../core/svg.js";
import { decimal, shortWeight, whole } from "../core/text.js";

const WIDE = 600;
const BARS = 118; // height of a bar chart
const PLOT = 130; // height of a curve
const WAYS = { one: "divided by 1", head_dim: "by √head_dim", d_model: "by √d_model" };

const target = targets("sat");

// Eight scores around zero. The axis grows with them, so its ends are written.
function scoreBars({ scores }, x, y, width, at) {
  const most = Math.max(3, ...scores.map(Math.abs));
  const scale = scaleLinear([-most, most], [y + BARS, y]);
  const [step, zero] = [width / scores.length, y + BARS / 2];
  const inside = scores.map((score, j) => {
    const height = Math.max(1, Math.abs(scale(score) - zero));
    return signedBar(score, x + j * step + 3, zero, step - 6, height, "sat-bar-score")
      + target(at, `s-${j}`, x + j * step + 1, y, step - 2, BARS, `score of key ${j + 1}: ${decimal(score)}`);
  });
  const ends = [most, -most].map((value, n) => text(x, y + (n ? BARS + 14 : -5), decimal(value, 1), "sat-quiet"));
  return stroke(x, zero, x + width, zero, "sat-axis") + inside.join("") + ends.join("");
}

function weightBars({ weights }, x, y, width, at) {
  const step = width / weights.length;
  const inside = weights.map((w, j) => {
    const height = Math.max(1, w * (BARS - 16));
    return box(x + j * step + 3, y + BARS - height, step - 6, height, "sat-bar-weight")
      + text(x + (j + 0.5) * step, y + BARS - height - 4, shortWeight(w), "sat-number", MIDDLE)
      + target(at, `w-${j}`, x + j * step + 1, y, step - 2, BARS, `weight of key ${j + 1}: ${decimal(w, 3)}`);
  });
  return stroke(x, y + BARS, x + width, y + BARS, "sat-axis") + inside.join("")
    + text(x + width / 2, y + BARS + 15, "8 keys", "sat-quiet", MIDDLE);
}

function curve(result, key, most, x, y, width, at, ids) {
  const { sizes, curves, divisor } = result;
  const across = scaleLog([1, sizes.at(-1)], [x + 34, x + width - 20]).base(2);
  const up = scaleLinear([0, most], [y + PLOT, y]);
  const grid = [0, 0.5, 1].map((tick) => stroke(x + 28, up(tick), x + width, up(tick), tick ? "sat-grid" : "sat-axis") + text(x + 22, up(tick) + 4, decimal(tick, 1), "sat-quiet", END));
  const path = line((_, n) => across(sizes[n]), up);
  const lines = Object.keys(WAYS).map((name) => `<path d="${path(curves[name][key])}" class="sat-curve sat-curve-${name}${name === divisor ? " sat-chosen" : ""}"/>`);
  const ticks = [1, 4, 16, 64, 256, 1024].map((size) => text(across(size), y + PLOT + 16, whole(size), "sat-quiet", MIDDLE));
  const now = across(result.head_dim);
  const step = across(2) - across(1);
  const spots = ids ? sizes.map((size, n) => {
    const left = across(size) - step / 2 + 1;
    return target(at, `size-${n}`, left, y, Math.min(step - 2, x + width - left), PLOT, `head_dim ${size}`);
  }) : [];
  return grid.join("") + stroke(now, y, now, y + PLOT, "sat-now") + lines.join("")
    + `<circle cx="${round(now)}" cy="${round(up(result[key]))}" r="4.5" class="sat-dot"/>` + ticks.join("") + spots.join("");
}

function legend(y, at) {
  let x = 0;
  return Object.entries(WAYS).map(([name, long]) => {
    const words = at.wide ? long : long.split("by ")[1];
    const part = stroke(x, y - 4, x + 22, y - 4, `sat-curve sat-curve-${name}`) + text(x + 27, y, words, "sat-quiet");
    x += (at.wide ? 60 : 44) + 6.2 * words.length;
    return part;
  }).join("") + (at.wide ? text(x, y, "dot: this draw", "sat-quiet") : "");
}

export function draw(result, { width = 720, live = false, label = "Scores, weights and gradient against head_dim" } = {}) {
  const wide = width >= WIDE;
  const at = { wide, live, entry: "w-0" };
  const half = wide ? (width - 40) / 2 : width;
  const right = wide ? half + 40 : 0;
  const tall = [BARS + 64, PLOT + 66];
  const y = wide ? [44, 44, 44 + tall[0], 44 + tall[0]] : [44, 44 + tall[0], 44 + 2 * tall[0], 44 + 2 * tall[0] + tall[1]];
  const heads = [`scores, about ±${decimal(result.spread, result.spread < 10 ? 2 : 1)}`, "weights", "the largest weight, against head_dim", "gradient left: Σ w (1 − w)"];
  const titles = heads.map((words, n) => text(n % 2 ? right : 0, y[n] - 26, words, "sat-head"));
  const last = y[3] + PLOT + 44;
  const height = Math.ceil(last + 8);
  return svg("sat", width, height, { live, label },
    titles.join("") + scoreBars(result, 0, y[0], half, at) + weightBars(result, right, y[1], half, at)
    + curve(result, "top", 1, 0, y[2], half, at, true) + curve(result, "moves", 1, right, y[3], half, at, false)
    + legend(last, at));
}
