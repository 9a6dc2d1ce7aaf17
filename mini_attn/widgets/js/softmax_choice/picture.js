// The picture of the softmax: a line per token with its score, its exponential and its weight.
import { scaleLinear } from "d3-scale";
import { END, MIDDLE, box, stroke, svg, targets, text } from "../core/svg.js";
import { decimal } from "../core/text.js";
import { TOKENS } from "./compute.js";

const ROW = 40;
const TALL = 28;
const TOP = 46;

const small = (value) => (value < 0.0005 ? "0.000…" : decimal(value, 3));

// Three columns beside the tokens' names; each holds a bar with its number.
function layout(width) {
  const name = 46;
  const gap = width < 480 ? 12 : 28;
  const column = (width - name - 3 * gap) / 3;
  return { width, name, gap, column, x: [0, 1, 2].map((n) => name + gap + n * (column + gap)) };
}

const onTarget = targets("soft");
const target = (at, id, x, y, label) => onTarget(at, id, x, y, at.column, TALL, label);

// A score is drawn from a zero in the middle, as far as the largest score of all reaches.
function scoreBar(value, most, x, y, at) {
  const scale = scaleLinear([-most, most], [x, x + at.column]);
  const [from, to] = [Math.min(scale(0), scale(value)), Math.max(scale(0), scale(value))];
  const inside = value === 0 ? "" : box(from, y + 3, Math.max(1.5, to - from), TALL - 6, value > 0 ? "soft-score" : "soft-score-minus");
  const right = value <= 0;
  const words = text(scale(0) + (right ? 6 : -6), y + 19, decimal(value), "soft-number", right ? "" : END);
  return inside + stroke(scale(0), y, scale(0), y + TALL, "soft-zero") + words;
}

// A share of one: the frame is one, the bar is the share, the number stands where there is room.
function shareBar(share, x, y, at, style, number) {
  const wide = share * at.column;
  const inside = wide > 58;
  return box(x, y + 3, at.column, TALL - 6, "soft-frame") + box(x, y + 3, Math.max(0.5, wide), TALL - 6, style)
    + text(inside ? x + wide - 6 : x + wide + 6, y + 19, number, inside ? "soft-number soft-inside" : "soft-number", inside ? END : "");
}

// A score is pulled along its column; what a pixel is worth stays what it was when it was taken.
export function drag({ scaled, temperature }, id, { width, state }) {
  const [kind, i] = id.split("-");
  if (kind !== "s") return null;
  const key = Object.keys(TOKENS)[Number(i)];
  const pixel = (2 * temperature * Math.max(1, ...scaled.map(Math.abs))) / layout(width).column;
  return ({ dx }) => ({ [key]: state[key] + dx * pixel });
}

export function draw(result, { width = 720, live = false, label = "Five scores, their exponentials and their weights" } = {}) {
  const at = { ...layout(width), live, entry: `w-${result.most}` };
  const { tokens, scores, scaled, parts, weights, temperature } = result;
  const most = Math.max(1, ...scaled.map(Math.abs));
  const narrow = width < 680; // short headings
  const names = narrow ? ["score ÷ T", width < 330 ? "e^(s−max)" : "e^(s − max)", "weight"]
    : [temperature === 1 ? "score" : `score ÷ ${decimal(temperature, 1)}`, "e to the (score − largest)", "weight = this ÷ sum"];
  const heads = names.map((words, n) => text(at.x[n], 20, words, "soft-head"));
  const lines = tokens.map((token, i) => {
    const y = TOP + i * ROW;
    const [s, e, w] = at.x;
    return text(0, y + 19, token, i === result.most ? "soft-token soft-most" : "soft-token")
      + scoreBar(scaled[i], most, s, y, at) + target(at, `s-${i}`, s, y, `score of ${token}: ${decimal(scores[i])}`)
      + shareBar(parts[i], e, y, at, "soft-power", small(parts[i])) + target(at, `e-${i}`, e, y, `exponential of ${token}: ${small(parts[i])}`)
      + shareBar(weights[i], w, y, at, "soft-weight", small(weights[i])) + target(at, `w-${i}`, w, y, `weight of ${token}: ${small(weights[i])}`);
  });
  const bottom = TOP + tokens.length * ROW + 4;
  const line = stroke(at.x[1], bottom, width, bottom, "soft-zero");
  const sums = text(at.x[1] + at.column / 2, bottom + 22, `sum ${small(result.total)}`, "soft-sum", MIDDLE)
    + target(at, "sum", at.x[1], bottom + 4, `sum of the exponentials: ${small(result.total)}`)
    + text(at.x[2] + at.column / 2, bottom + 22, "sum 1", "soft-sum", MIDDLE);
  const height = bottom + 40;
  return svg("soft", width, height, { live, label }, heads.join("") + lines.join("") + line + sums);
}
