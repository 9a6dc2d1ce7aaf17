// The stepper's picture: a lane for each head, and below what becomes of their averages. Pure:
// numbers in, SVG out, in CSS pixels of the width that it is given.
import { range } from "d3-array";
import { piles } from "../attention/piles.js";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, round, signedBar, stroke, svg, targets, text } from "../core/svg.js";
import { decimal, shortWeight } from "../core/text.js";

const WIDE = 600; // below this the lanes stand one under the other
const LABEL = 60;
const TALL = { query: 25, keys: 25, scores: 24, weights: 48, values: 25, average: 25 }; // of a lane's rows
const ROWS = Object.keys(TALL);
// Narrow, a lane shows what its step reads and makes; the last one adds up below.
const AT_STEP = [["query", "keys", "values"], ["query", "keys", "scores"], ["scores", "weights"], ["weights", "values", "average"], ["average"]];
const GAP = 3;
const NARROW_TALL = 342;
const CELL = 28;

function layout(width, result) {
  const two = result.heads.length === 2;
  const wide = width >= WIDE;
  const lane = two && wide ? (width - 28) / 2 : width;
  const rows = wide ? ROWS : [...(two || result.step < 4 ? [] : ["weights"]), ...AT_STEP[result.step]];
  const from = {};
  let tall = 62; // the title, the question and the tokens
  for (const row of rows) [from[row], tall] = [tall, tall + TALL[row] + GAP];
  const lanes = result.heads.map((_, h) => (two && wide ? { x: h * (lane + 28), y: 0 } : { x: 0, y: h * tall }));
  const col = Math.floor((lane - LABEL) / result.tokens.length);
  const end = lanes.at(-1).y + tall + 12;
  const label = wide ? 116 : 76;
  const cell = Math.min(84, Math.floor((width - label) / result.width));
  return { width, wide, lane, lanes, rows, from, col, end, label, cell };
}

const target = targets("head");

// Four numbers as bars in a frame, up for plus and down for minus, [base, size] each.
function glyph(bars, most, x, y, w, h, tone) {
  const [unit, each, middle] = [(h / 2 - 2) / most, (w - 4) / bars.length, y + h / 2];
  return bars.map(([base, size], n) => (size ? signedBar(size, x + 2 + n * each + each * 0.12, middle - base * unit, each * 0.76, Math.max(1, Math.abs(size) * unit), `head-fill-${tone}`) : "")).join("");
}

const empty = (x, y, w, h) => box(x, y, w, h, "head-box-later");

// Query, key or value of a token in a head: at the token's column, dotted until it is computed.
function vectorAt(result, h, name, j, row, at) {
  if (!at.rows.includes(row)) return "";
  const [x, y, w, tall] = [at.x + LABEL + j * at.col + 1, at.y + at.from[row], at.col - 2, TALL[row]];
  const own = name === "q" || name === "out";
  const shown = name === "out" ? result.step >= 3 : true;
  if (!own && j > result.token) return text(x + w / 2, y + tall / 2 + 4, "·", "head-quiet", MIDDLE);
  if (!shown) return empty(x, y, w, tall);
  const head = result.heads[h];
  const half = w / (3 - result.n_heads); // the one head's vectors are those of two, joined
  const parts = range(h, h + 3 - result.n_heads).map((two, n) => {
    const four = (values) => values.slice(4 * n, 4 * n + 4);
    const [left, tone] = [x + n * half, two + 1];
    const frame = box(left, y, half, tall, `head-box-${tone}`) + stroke(left + 2, y + tall / 2, left + half - 2, y + tall / 2, "head-zero");
    const bars = (pairs, most) => glyph(pairs, most, left, y, half, tall, tone);
    if (name !== "out") return keyed(at, `${name}-${two}-${j}`, frame + bars(four(own ? head.q : head[name][j]).map((value) => [0, value]), result.extent[name]));
    const bring = piles(head.weights, head.v.map(four));
    return keyed(at, `o-${two}`, frame) + bring.map((pairs, from) =>
      keyed(at, `p-${two}-${from}`, box(left, y, half, tall, "head-none") + bars(pairs, result.extent.v), { from: `v-${two}-${from}` })).join("");
  });
  const id = own ? `${name === "q" ? "q" : "o"}-${h}` : `${name}-${h}-${j}`;
  const what = { q: "query", k: "key", v: "value", out: "average" }[name];
  return parts.join("") + target(at, id, x, y, w, tall, `${head.name}, ${what} of ${result.tokens[j]}`);
}

function scoreAt(result, h, j, at) {
  if (!at.rows.includes("scores")) return "";
  const [x, y, w] = [at.x + LABEL + j * at.col + 1, at.y + at.from.scores, at.col - 2];
  if (j > result.token) return text(x + w / 2, y + 16, "–", "head-quiet", MIDDLE);
  if (result.step < 1) return empty(x, y, w, TALL.scores);
  const score = result.heads[h].scores[j];
  const shown = decimal(score, at.col >= 40 ? 2 : 1);
  return text(x + w / 2, y + 16, shown, "head-number", MIDDLE)
    + target(at, `s-${h}-${j}`, x, y, w, TALL.scores, `${result.heads[h].name}, score of ${result.tokens[j]}: ${decimal(score)}`);
}

function weightAt(result, h, j, at) {
  if (!at.rows.includes("weights")) return "";
  const [x, y, w] = [at.x + LABEL + j * at.col + 1, at.y + at.from.weights, at.col - 2];
  if (j > result.token) return text(x + w / 2, y + TALL.weights - 2, "–", "head-quiet", MIDDLE);
  if (result.step < 2) return empty(x, y, w, TALL.weights);
  const weight = result.heads[h].weights[j];
  // Beside the one head's weight are those of two.
  const [first, second] = result.apart.map(({ weights }) => weights[j]);
  const bars = result.n_heads === 2 ? [[weight, h + 1, 0.15, 0.7]] : [[first, 1, 0.06, 0.24], [weight, 0, 0.34, 0.32], [second, 2, 0.7, 0.24]];
  return bars.map(([value, tone, left, wide]) =>
    keyed(at, `w-${tone}-${j}`, signedBar(value, x + w * left, y + 32, w * wide, Math.max(1, 30 * value), `head-fill-${tone}`))).join("")
    + stroke(x, y + 32, x + w, y + 32, "head-zero") + text(x + w / 2, y + TALL.weights - 2, shortWeight(weight), "head-number", MIDDLE)
    + target(at, `w-${h}-${j}`, x, y, w, TALL.weights, `${result.heads[h].name}, weight of ${result.tokens[j]}: ${decimal(weight)}`);
}

function lane(result, h, place) {
  const at = { ...place, ...place.lanes[h] };
  const head = result.heads[h];
  const all = range(result.tokens.length);
  const names = all.map((j) => {
    const x = at.x + LABEL + (j + 0.5) * at.col;
    const style = j === result.token ? "head-asks" : j > result.token ? "head-quiet" : "head-token";
    const word = at.col >= 34 ? text(x, at.y + 54, result.tokens[j], style, MIDDLE)
      : text(x - 4, at.y + 56, result.tokens[j], style, ` transform="rotate(-38 ${round(x - 4)} ${round(at.y + 56)})"`);
    return word + target(at, `t-${h}-${j}`, x - at.col / 2, at.y + 36, at.col, 25, `let ${result.tokens[j]} look`);
  });
  const rows = at.rows.map((row) =>
    text(at.x, at.y + at.from[row] + (row === "weights" ? 32 : TALL[row] / 2 + 4), row, "head-label"));
  const one = result.n_heads === 1;
  const beside = one && at.rows.includes("weights") && result.step > 1 ? `<text x="${at.x + 80}" y="${at.y + 14}" class="head-quiet">beside <tspan class="head-title-1">head 1</tspan> and <tspan class="head-title-2">head 2</tspan></text>` : "";
  return beside + text(at.x, at.y + 14, head.name, `head-title-${one ? 0 : h + 1}`) + text(at.x, at.y + 30, `asks for ${head.question}`, "head-quiet")
    + names.join("") + rows.join("") + vectorAt(result, h, "q", result.token, "query", at)
    + all.map((j) => vectorAt(result, h, "k", j, "keys", at) + scoreAt(result, h, j, at) + weightAt(result, h, j, at)
      + vectorAt(result, h, "v", j, "values", at)).join("") + vectorAt(result, h, "out", result.token, "average", at);
}

// A row of numbers in frames, which come out of the averages. `tone(n)` is the head that number n
// comes from, 0 is none.
function numbers(result, values, name, y, id, tone, at) {
  const label = text(at.label - 10, y + CELL / 2 + 4, name, "head-label", END);
  const cells = range(result.width).map((n) => {
    const [x, w] = [at.label + n * at.cell + 1, at.cell - 2];
    if (!values) return empty(x, y, w, CELL);
    // In a narrow frame .38, as the weights are written.
    const shown = w < 34 ? decimal(values[n]).replace(/^(−?)0(?=\.)/, "$1") : decimal(values[n]);
    const made = box(x, y, w, CELL, `head-box-${tone(n)}`) + text(x + w / 2, y + CELL / 2 + 4, shown, "head-number", MIDDLE);
    return keyed(at, `${id}-${n}`, made, { from: `o-${Math.floor(n / 4) ^ (id === "y")}` }) + target(at, `${id}-${n}`, x, y, w, CELL, `${name}, number ${n + 1}: ${decimal(values[n])}`);
  });
  return label + cells.join("");
}

function together(result, at) {
  const done = result.step >= 4;
  const adds = result.join === "add" && result.n_heads > 1;
  const from = (n) => Math.floor(n / 4) + 1;
  const [one, joined] = [result.n_heads === 1, (heads) => heads.flatMap((head) => head.out)];
  const title = !done ? "Together: not computed yet" : adds ? "Together: what each head adds"
    : one ? `The one average, beside the two${at.wide ? ", times W_o" : ""}` : "Together: side by side, times W_o";
  const rows = adds
    ? result.heads.map((head, h) => [`${h ? "+ " : ""}head ${h + 1}`, head.adds, `a-${h}`, () => h + 1])
    : [...(one ? [["two heads", joined(result.apart), "b", from]] : []),
      [one ? "one head" : at.wide ? "side by side" : "joined", joined(result.heads), "c", one ? () => 3 : from]];
  const lines = [...rows, ["= output", result.output, "y", () => 0]];
  const top = at.end + 24;
  const parts = lines.map(([name, values, id, tone], i) => numbers(result, done ? values : null, name, top + i * (CELL + 8), id, tone, at));
  return { inside: text(0, at.end + 8, title, "head-head") + parts.join(""), bottom: top + lines.length * (CELL + 8) };
}

export function draw(result, { width = 720, live = false, label = "One token's attention in each head, and their averages put together" } = {}) {
  const place = layout(width, result);
  const at = { ...place, live, entry: `t-0-${result.token}` };
  const shown = at.wide || result.step === AT_STEP.length - 1;
  const below = shown ? together(result, at) : { inside: "" };
  const height = Math.ceil(at.wide ? below.bottom : NARROW_TALL); // the same at every step
  return svg("head", width, height, { live, label }, result.heads.map((_, h) => lane(result, h, at)).join("") + below.inside);
}
