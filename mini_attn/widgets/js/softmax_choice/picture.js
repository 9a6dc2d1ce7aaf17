// The picture of the softmax: a line per token with its score, its exponential and its weight.
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, grip, knob, round, stroke, svg, targets, text } from "../core/svg.js";
import { decimal } from "../core/text.js";
import { TOKENS } from "./compute.js";
import schema from "./schema.json" with { type: "json" };

const ROW = 40;
const TALL = 28;
const TOP = 46;

export const small = (value) => (value < 0.0005 ? "0.000…" : decimal(value, 3));

// Three columns beside the tokens' names; each holds bars with their numbers. The scores are pulled,
// so theirs is the widest, and its scale stays as long as it can.
function layout(width, { scaled }) {
  const name = 46;
  const gap = width < 480 ? 12 : 28;
  const room = width - name - 3 * gap;
  const [score, column] = [0.42 * room, 0.29 * room];
  const first = name + gap;
  const most = [5, 10, 20, 50].find((end) => end >= Math.max(...scaled.map(Math.abs))) ?? 100;
  return { width, score, column, unit: score / 2 / most, zero: first + score / 2, x: [first, first + score + gap, first + score + column + 2 * gap] };
}

const target = targets("soft");

// A score is drawn from a zero in the middle, with a knob to pull it by.
function scoreBar(value, i, y, at) {
  const end = at.zero + value * at.unit;
  const [from, to] = [Math.min(at.zero, end), Math.max(at.zero, end)];
  const right = value <= 0;
  return stroke(at.zero, y - 6, at.zero, y + TALL + 6, "soft-zero")
    + keyed(at, `s-${i}`, box(from, y + 3, to - from, TALL - 6, value > 0 ? "soft-score" : "soft-score-minus"))
    + text(at.zero + (right ? 12 : -8), y + 19, decimal(value), "soft-number", right ? "" : END)
    + keyed(at, `knob-${i}`, held(end, y + TALL / 2));
}

const held = (x, y) => knob(x, y, "soft-knob", 6);

const pulled = (at, id, key, y, now, label) => grip("soft", at, id, at.x[0], y, at.score, 36, { key, entry: schema[key], now, label, words: decimal(now) });

// A share of one: the frame is one, the bar is the share, the number stands where there is room.
function shareBar(share, id, x, y, at, style, label) {
  const wide = share * at.column;
  const inside = wide > 44;
  return box(x, y + 3, at.column, TALL - 6, "soft-frame") + keyed(at, id, box(x, y + 3, Math.max(0.5, wide), TALL - 6, style))
    + text(inside ? x + wide - 6 : x + wide + 6, y + 19, small(share), inside ? "soft-number soft-inside" : "soft-number", `${inside ? END : ""} data-count="${id}"`)
    + target(at, id, x, y, at.column, TALL, `${label}: ${small(share)}`);
}

// A score is pulled along its column, and all of them by what is added to them.
export function drag(result, id, { width, state }) {
  const [kind, i] = id.split("-");
  const key = kind === "s" ? Object.keys(TOKENS)[i] : kind;
  if (kind !== "s" && kind !== "shift") return null;
  const pixel = result.temperature / layout(width, result).unit;
  return ({ dx }) => ({ [key]: state[key] + dx * pixel });
}

export function draw(result, { width = 720, live = false, label = "Five scores, their exponentials and their weights" } = {}) {
  const at = { ...layout(width, result), live, entry: `s-${result.most}` };
  const { tokens, scores, scaled, parts, weights, temperature, shift } = result;
  const narrow = width < 680; // short headings
  const names = narrow ? ["score ÷ T", width < 480 ? "e^(s−max)" : "e^(s − max)", "weight"]
    : [temperature === 1 ? "score" : `score ÷ ${decimal(temperature, 1)}`, "e to the (score − largest)", "weight = this ÷ sum"];
  const heads = names.map((words, n) => text(at.x[n], 20, words, "soft-head"));
  const lines = tokens.map((token, i) => {
    const y = TOP + i * ROW;
    return text(0, y + 19, token, i === result.most ? "soft-token soft-most" : "soft-token")
      + scoreBar(scaled[i], i, y, at) + pulled(at, `s-${i}`, Object.keys(TOKENS)[i], y - 4, scores[i] - shift, `score of ${token}`)
      + shareBar(parts[i], `e-${i}`, at.x[1], y, at, "soft-power", `exponential of ${token}`)
      + shareBar(weights[i], `w-${i}`, at.x[2], y, at, "soft-weight", `weight of ${token}`);
  });
  const bottom = TOP + tokens.length * ROW + 4;
  const end = at.zero + (shift / temperature) * at.unit;
  const line = stroke(at.x[1], bottom, width, bottom, "soft-zero") + stroke(at.x[0], bottom + 17, at.x[0] + at.score, bottom + 17, "soft-zero");
  const sums = text(0, bottom + 22, "all", "soft-token") + keyed(at, "knob", held(end, bottom + 17))
    + text(end + (shift > 0 ? -12 : 12), bottom + 12, `${shift < 0 ? "−" : "+"}${decimal(Math.abs(shift), 1)}`, "soft-number", shift > 0 ? END : "")
    + pulled(at, "shift", "shift", bottom - 1, shift, "added to all scores")
    + text(at.x[1] + at.column / 2, bottom + 22, `sum ${small(result.total)}`, "soft-sum", MIDDLE)
    + target(at, "sum", at.x[1], bottom + 4, at.column, TALL, `sum of the exponentials: ${small(result.total)}`)
    + text(at.x[2] + at.column / 2, bottom + 22, "sum 1", "soft-sum", MIDDLE);
  return svg("soft", width, bottom + 40, { live, label }, heads.join("") + lines.join("") + line + sums);
}
