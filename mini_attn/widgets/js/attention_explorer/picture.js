// The explorer's picture: queries on the left, keys above, values below, outputs on the right, and
// in the middle a cell for each query and key. The last query can be pulled, entry by entry, and what
// its output is made of flows in from the values. Pure: numbers in, SVG out, in CSS pixels.
import { piles } from "../attention/piles.js";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, grip, knob, round, signedBar, stroke, svg, targets, text } from "../core/svg.js";
import { decimal, quote, shortWeight } from "../core/text.js";
import schema from "./schema.json" with { type: "json" };
import { favorites } from "./words.js";

const WIDE = 600;
const NAMES = { q: "query", k: "key", v: "value", out: "output" };
const FLOW = 20; // pixels of a weight of 1 on its way to the output
const TOP = 82;

function layout(width, { names, show }) {
  const wide = width >= WIDE;
  const count = names.length;
  const bars = wide || count <= 4; // narrow with many tokens: the cells need all the room
  const [name, vec, out, gap, tall] = wide ? [46, 144, 92, 14, 40] : bars ? [40, 38, 38, 6, 34] : [50, 0, 0, 4, 34];
  const sum = bars ? (wide ? 60 : 36) : 0;
  const cell = Math.min(130, Math.floor((width - name - vec - out - sum - 3 * gap) / count));
  const x = { q: name, cells: name + vec + gap };
  x.sum = x.cells + count * cell;
  x.out = x.sum + sum + gap;
  const room = wide ? 72 : 60; // for the query that is pulled
  const talls = names.map((_, i) => (wide && i === count - 1 ? room : tall));
  const end = TOP + talls.reduce((all, one) => all + one + 4, 0);
  const under = end + 44 + (out ? FLOW : 0);
  // Wide, the last query is pulled in its row; narrow, where there is room for a finger.
  const pull = wide ? { x: name, y: end - room - 4, w: vec, h: room } : { x: 0, y: under + 22, w: width, h: room };
  return {
    width, wide, bars, count, name, vec, out, sum, cell, talls, x, end, pull, weigh: show === "weights",
    y: (i) => TOP + i * (tall + 4), bottom: wide ? under + 8 : pull.y + room + 15,
  };
}

const target = targets("att");

// Where zero is, and pixels a unit: a vector that is never negative stands on the ground.
function scaleOf({ below, extent }, name, y, h) {
  const signed = below[name] < 0;
  return [signed ? y + h / 2 : y + h - 3, (signed ? h / 2 - 3 : h - 6) / extent[name]];
}

const bar = (value, n, x, w, zero, unit, style) => {
  const each = (w - 4) / 4;
  return Math.abs(value) < 0.005 ? "" : signedBar(value, x + 3 + n * each, zero, each - 2, Math.max(1.5, Math.abs(value) * unit), `att-bar-${style}`);
};

const frame = (name, x, y, w, h, zero) => box(x, y, w, h, `att-box-${name}`) + stroke(x + 2, zero, x + w - 2, zero, "att-zero");

// Four numbers as bars, up for plus and down for minus.
function vector(result, name, i, x, y, w, h, at) {
  const [zero, unit] = scaleOf(result, name, y, h);
  const inside = result[name][i].map((value, n) => bar(value, n, x, w, zero, Math.min(unit, (h - 3) / Math.abs(value)), name));
  return keyed(at, `${name}-${i}`, frame(name, x, y, w, h, zero) + inside.join(""))
    + target(at, `${name}-${i}`, x, y, w, h, `${NAMES[name]} of ${result.names[i]}`);
}

// An output is drawn as the sum that it is: on each other what the values bring, by their weights.
function output(result, i, y, at) {
  const [x, w, h] = [at.x.out, at.out, at.talls[i]];
  const [zero, unit] = scaleOf(result, "v", y, h);
  if (!at.weigh) return box(x, y, w, h, "att-box-later");
  const parts = piles(result.weights[i], result.v).map((bring, j) => {
    const bars = bring.map(([base, size], n) => bar(size, n, x, w, zero - base * unit, unit, "out"));
    return keyed(at, `p-${i}-${j}`, box(x, y, w, h, "att-none") + bars.join(""), { from: `v-${j}` });
  });
  return frame("out", x, y, w, h, zero) + parts.join("") + target(at, `out-${i}`, x, y, w, h, `output of ${result.names[i]}`);
}

// From each value a stream, as wide as its weight, into the output of the last token.
function flow({ weights }, at) {
  const [last, turn] = [weights.at(-1), 8];
  let gone = 0;
  return last.map((_, n) => {
    const j = last.length - 1 - n; // the nearest has the shortest way
    const wide = FLOW * last[j];
    const [x, y] = [at.x.cells + (j + 0.5) * at.cell, at.end + 44 + gone + wide / 2];
    const to = at.x.out + at.out / 2 - FLOW / 2 + gone + wide / 2;
    gone += wide;
    return `<path d="M${round(x)} ${at.end + 40}V${round(y - turn)}q0 ${turn} ${turn} ${turn}H${round(to - turn)}q${turn} 0 ${turn} ${-turn}V${at.end - 3}" class="att-flow" stroke-width="${round(wide)}"/>`;
  }).join("");
}

// Which part of a query is pulled, and how many pixels one is.
function pulling({ asked }, { y, h }) {
  const [low, high] = [Math.min(0, ...asked) + schema.q0.min, Math.max(0, ...asked) + schema.q0.max];
  const unit = (h - 14) / (high - low);
  return { unit, zero: y + 7 + high * unit };
}

export function drag(result, id, { width, state }) {
  const [kind, n] = id.split("-");
  if (kind !== "pull") return null;
  const { unit } = pulling(result, layout(width, result).pull);
  return ({ dy }) => ({ [`q${n}`]: state[`q${n}`] - dy / unit });
}

// The query in the hand: its bars have knobs, and a line where each was.
function pulled(result, at) {
  const { x, y, w, h } = at.pull;
  const { unit, zero } = pulling(result, at.pull);
  const each = (w - 4) / 4;
  const query = result.q.at(-1);
  const parts = query.map((value, n) => {
    const [left, tip, was] = [x + 2 + n * each, zero - value * unit, zero - result.asked[n] * unit];
    const name = result.entries[n] ?? `entry ${n + 1}`;
    return bar(value, n, x, w, zero, unit, "q") + stroke(left + 1, was, left + each - 1, was, "att-was")
      + knob(left + each / 2, tip, "att-knob", 5)
      + text(left + each / 2, y + h + 12, name.replace(/^(about|a) | word$/, "").replace("entry ", ""), "att-entry", MIDDLE)
      + grip("att", at, `pull-${n}`, left, y, each, h, {
        key: `q${n}`, entry: schema.q0, now: result[`q${n}`], upright: true,
        label: `query of ${result.names.at(-1)}, ${name}`, words: `${decimal(value)}. ${favorites(result)}`,
      });
  });
  const says = at.wide ? text(x, at.end + 40, "↕ Drag a bar", "att-quiet") : text(0, y - 8, `Query of ${quote(result.names.at(-1))}: drag a bar ↕`, "att-head");
  return says + frame("q", x, y, w, h, zero) + parts.join("");
}

// Pale under dark numbers, or nearly full under light ones: nothing between is legible.
function shade(result, i, j) {
  if (result.show === "weights") return result.weights[i][j] > 0.5 ? 0.92 : 0.9 * result.weights[i][j];
  const value = result.show === "dots" ? result.dots[i][j] : result.scores[i][j] * result.divide;
  return 0.45 * Math.min(1, Math.abs(value) / result.most);
}

function number(result, i, j, { cell }) {
  const { show, mask, weights, dots, scores } = result;
  if (show === "scores" && mask === "before" && j > i) return "−∞";
  const value = { weights, dots, scores }[show][i][j];
  if (show !== "weights") return decimal(value, cell < 36 ? 1 : 2);
  return cell < 36 ? shortWeight(value) : decimal(value);
}

function cellOf(result, i, j, y, at) {
  const { show, mask, names, weights } = result;
  const [x, w, h] = [at.x.cells + j * at.cell + 1, at.cell - 2, at.talls[i]];
  const hidden = mask !== "none" && j > i && show !== "dots";
  const negative = show !== "weights" && (show === "dots" ? result.dots : result.scores)[i][j] < 0;
  const gone = hidden && (show === "weights" || mask === "before");
  const opacity = gone ? 0 : Math.round(100 * shade(result, i, j)) / 100;
  const style = j > i && show !== "dots" ? gone ? "att-cell-hidden" : "att-cell-later" : "att-cell";
  const words = number(result, i, j, at);
  const strong = show === "weights" && weights[i][j] > 0.5;
  return box(x, y, w, h, negative ? "att-fill-minus" : "att-fill", ` fill-opacity="${opacity}"`)
    + box(x, y, w, h, style)
    + text(x + w / 2, y + h / 2 + 4.5, words, strong ? "att-number-strong" : gone ? "att-quiet" : "att-number", MIDDLE)
    + target(at, `w-${i}-${j}`, x, y, w, h, `${names[i]} looks at ${names[j]}: ${show === "dots" ? "q times k" : show.slice(0, -1)} ${words}`);
}

function lineOf(result, i, at) {
  const y = at.y(i);
  const tall = at.talls[i];
  const middle = y + tall / 2 + 4.5;
  const cells = result.names.map((_, j) => cellOf(result, i, j, y, at));
  const sum = result.sums[i];
  const right = Math.abs(sum - 1) < 0.005;
  const own = at.bars && !(at.wide && i === at.count - 1);
  return text(0, middle, result.names[i], i === at.count - 1 ? "att-head" : "att-token")
    + (own ? vector(result, "q", i, at.x.q, y, at.vec, tall, at) : "") + cells.join("")
    + (at.sum && at.weigh ? text(at.x.sum + at.sum - 4, middle, at.wide ? `= ${decimal(sum)}` : decimal(sum), right ? "att-quiet" : "att-wrong", END) : "")
    + (at.out ? output(result, i, y, at) : "");
}

// Above the cells the keys, below them the values: a column belongs to one token.
function columns(result, at) {
  const parts = result.names.map((name, j) => {
    const [x, w] = [at.x.cells + j * at.cell + 1, at.cell - 2];
    return text(x + w / 2, 34, name, at.cell < 40 ? "att-token-small" : "att-token", MIDDLE)
      + vector(result, "k", j, x, 41, w, 36, at) + vector(result, "v", j, x, at.end + 4, w, 36, at);
  });
  return parts.join("");
}

function headings(result, at) {
  const { show } = result;
  const title = show === "dots" ? "q · k" : `${show}${at.wide ? { scores: ": q · k, scaled", weights: ": softmax of each row" }[show] : ""}`;
  const side = (words, y) => text(at.x.cells - 6, y, words, "att-word", END);
  return text(at.x.cells, 12, title, "att-head") + side("keys", 62)
    + (show === "dots" ? "" : text(at.width, 12, at.wide ? "dashed: a later token" : "dashed: later", "att-quiet", END))
    + (at.wide ? text(at.x.q + at.vec / 2, TOP - 8, "queries", "att-word", MIDDLE) : "")
    + (at.out ? text(at.x.out + at.out / 2, TOP - 8, at.wide ? "outputs" : "out", "att-word", MIDDLE) : "")
    + (at.sum && at.weigh ? text(at.x.sum + at.sum - 4, TOP - 8, "sum", "att-quiet", END) : "")
    + side("values", at.end + 26);
}

export function draw(result, { width = 720, live = false, label = "Queries, keys and the weights of each pair" } = {}) {
  const at = { ...layout(width, result), live, entry: `w-${result.names.length - 1}-0` };
  return svg("att", width, Math.ceil(at.bottom), { live, label },
    headings(result, at) + (at.weigh && at.out ? flow(result, at) : "") + columns(result, at)
    + result.names.map((_, i) => lineOf(result, i, at)).join("") + pulled(result, at));
}
