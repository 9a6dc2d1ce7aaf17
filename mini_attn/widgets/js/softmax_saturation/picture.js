// The picture of saturation: scores and weights of eight keys, and two curves over head_dim.
import { scaleLinear, scaleLog } from "d3-scale";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, field, grip, line, round, signedBar, stroke, surface, svg, targets, text } from "../core/svg.js";
import { decimal, shortWeight, whole } from "../core/text.js";
import schema from "./schema.json" with { type: "json" };

const WIDE = 600;
const BARS = 118; // height of a bar chart
const PLOT = 130; // height of a curve
const WAYS = { one: "by 1", head_dim: "by √head_dim", d_model: "by √d_model" };

const target = targets("sat");

// Eight scores around zero. The axis grows with them, so its ends are written.
function scoreBars({ scores }, x, y, width, at) {
  const most = Math.max(3, ...scores.map(Math.abs));
  const scale = scaleLinear([-most, most], [y + BARS, y]);
  const [step, zero] = [width / scores.length, y + BARS / 2];
  const inside = scores.map((score, j) => {
    const height = Math.max(1, Math.abs(scale(score) - zero));
    return keyed(at, `s-${j}`, signedBar(score, x + j * step + 3, zero, step - 6, height, "sat-bar-score"));
  });
  const spots = scores.map((score, j) => target(at, `s-${j}`, x + j * step + 1, y, step - 2, BARS, `score of key ${j + 1}: ${decimal(score)}`));
  const ends = [most, -most].map((value, n) => text(x, y + (n ? BARS + 14 : -5), decimal(value, 1), "sat-quiet"));
  return stroke(x, zero, x + width, zero, "sat-axis") + inside.join("") + ends.join("") + field(at, surface(at, x, y, width, BARS) + spots.join(""));
}

function weightBars({ weights }, x, y, width, at) {
  const step = width / weights.length;
  const inside = weights.map((w, j) => {
    const height = Math.max(1, w * (BARS - 16));
    return keyed(at, `w-${j}`, box(x + j * step + 3, y + BARS - height, step - 6, height, "sat-bar-weight"))
      + (at.wide || w > 0.15 ? text(x + (j + 0.5) * step, y + BARS - height - 4, shortWeight(w), "sat-number", MIDDLE) : "");
  });
  const spots = weights.map((w, j) => target(at, `w-${j}`, x + j * step + 1, y, step - 2, BARS, `weight of key ${j + 1}: ${decimal(w, 3)}`));
  return stroke(x, y + BARS, x + width, y + BARS, "sat-axis") + inside.join("")
    + text(x + width / 2, y + BARS + 15, "8 keys", "sat-quiet", MIDDLE) + field(at, surface(at, x, y, width, BARS) + spots.join(""));
}

const acrossOf = (x, width) => scaleLog([1, schema.head_dim.max], [x + 34, x + width - 22]).base(2);

// The mean over many draws for each size, and this draw on a line that can be dragged.
function curve(result, key, x, y, width, at) {
  const { sizes, curves, divisor, head_dim: size } = result;
  const across = acrossOf(x, width);
  const up = scaleLinear([0, 1], [y + PLOT, y]);
  const grid = [0, 0.5, 1].map((tick) => stroke(x + 28, up(tick), x + width, up(tick), tick ? "sat-grid" : "sat-axis") + text(x + 22, up(tick) + 4, decimal(tick, 1), "sat-quiet", END));
  const path = line((_, n) => across(sizes[n]), up);
  const lines = Object.keys(WAYS).map((name) => `<path d="${path(curves[name][key])}" class="sat-curve sat-curve-${name}${name === divisor ? " sat-chosen" : ""}"/>`);
  const names = Object.entries(WAYS).map(([name, words]) => text(x + width, up(curves[name].top.at(-1)) - 6, words.slice(at.wide ? 0 : 3), `sat-name sat-name-${name}`, END));
  const ticks = (at.wide ? [1, 4, 16, 64, 256, 1024] : [1, 32, 1024]).map((tick) => text(across(tick), y + PLOT + 16, whole(tick), "sat-quiet", MIDDLE));
  const now = across(size);
  return grid.join("") + lines.join("") + (key === "top" ? names.join("") : "") + ticks.join("")
    + keyed(at, `now-${key}`, `${stroke(now, y, now, y + PLOT, "sat-now")}<path d="M${round(now - 4)} ${y + PLOT / 4}l-5 5 5 5M${round(now + 4)} ${y + PLOT / 4}l5 5-5 5" class="sat-ends"/>`)
    + keyed(at, `dot-${key}`, `<circle cx="${round(now)}" cy="${round(up(result[key]))}" r="5" class="sat-dot"/>`)
    + grip("sat", at, `now-${key}`, now - 22, y, 44, PLOT, { key: "head_dim", entry: schema.head_dim, now: size, label: "head_dim", words: whole(size) });
}

// Four charts, two beside two: what there is where.
function layout(width) {
  const wide = width >= WIDE;
  const half = (width - (wide ? 40 : 16)) / 2;
  return { wide, half, right: width - half, bars: 44, curves: 44 + BARS + 64 };
}

// To the nearest power of two under the hand.
export function drag(result, id, { width }) {
  const [kind, key] = id.split("-");
  if (kind !== "now") return null;
  const { half, right } = layout(width);
  const across = acrossOf(key === "top" ? 0 : right, half);
  return ({ to: [x] }) => ({ head_dim: 2 ** Math.round(Math.log2(across.invert(x))) });
}

export function draw(result, { width = 720, live = false, label = "Scores, weights and gradient against head_dim" } = {}) {
  const { half, right, bars, curves, wide } = layout(width);
  const at = { wide, live, entry: "now-top" };
  const heads = [`scores, about ±${decimal(result.spread, result.spread < 10 ? 2 : 1)}`, "weights", wide ? "largest weight, against head_dim" : "largest weight", wide ? "gradient left: Σ w (1 − w)" : "gradient left"];
  const titles = heads.map((words, n) => text(n % 2 ? right : 0, (n < 2 ? bars : curves) - 26, words, "sat-head"));
  return svg("sat", width, curves + PLOT + 24, { live, label },
    titles.join("") + scoreBars(result, 0, bars, half, at) + weightBars(result, right, bars, half, at)
    + curve(result, "top", 0, curves, half, at) + curve(result, "moves", right, curves, half, at));
}
