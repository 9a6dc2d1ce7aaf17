// The latent explorer's picture: what is cached, what one head makes of it, who meets whom, and
// what both forms cost. Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { keyed } from "../core/motion.js";
import { MIDDLE, box, inParts, panel, round, signedBar, stroke, targets, text } from "../core/svg.js";
import { STRIP, strip } from "../core/strip.js";
import { decimal, whole } from "../core/text.js";
import schema from "./schema.json" with { type: "json" };

const WIDE = 620; // below this the two parts of a score stand in the words only
const ROW = 32;
const TALL = 25;

// Where the columns are: rotated keys (k_pe) and latents (cached), keys and values (made), the weight.
function layout(width, count) {
  const wide = width >= WIDE;
  const [label, gap, aisle, weight, parts] = wide ? [92, 12, 40, 60, 140] : [46, 6, 20, 38, 0];
  const bar = Math.min(24, Math.floor((width - label - 3 * gap - aisle - weight - parts) / 14));
  const x = { r: label };
  x.c = x.r + 2 * bar + gap;
  x.k = x.c + 4 * bar + aisle;
  x.v = x.k + 4 * bar + gap;
  x.content = x.v + 4 * bar + gap;
  x.position = x.content + parts / 2;
  x.w = x.content + parts;
  const size = { r: 2, c: 4, k: 4, v: 4 };
  const top = 64;
  return { width, wide, bar, x, size, gap, weight, top, first: top + ROW + 8, sum: top + ROW + 8 + count * ROW + 8 };
}

const target = targets("latent");

// Keys and values come out of their latent and go back into it: those of the newest token first, as
// an example, then the others, then the query and the weighted sum, to the side where they are needed.
function ways(at, id) {
  const [kind, j] = id.split("-");
  const from = { k: `c-${j}`, v: `c-${j}`, c: `t-${j}`, r: `t-${j}`, qa: "qn", mix: "out" }[kind];
  const takes = { c: [`k-${j}`, `v-${j}`], qn: ["qa"], out: ["mix"] }[kind];
  const late = j === undefined ? 4 : Number(j) === at.newest ? 0 : 2;
  return { from, takes, late: late || undefined };
}

// Numbers as bars, up for plus and down for minus, in a frame that says how they came to be.
function vector(at, column, y, values, most, kind, id, label) {
  const [x, w] = [at.x[column], at.size[column] * at.bar];
  const hit = target(at, id, x, y, w, TALL, label);
  if (!values) return box(x, y, w, TALL, `latent-box-${kind}`) + hit;
  const middle = y + TALL / 2;
  const bars = values.map((value, n) => {
    const height = Math.max(1.5, (Math.abs(value) / most) * (TALL / 2 - 2));
    return Math.abs(value) < 1e-9 ? "" : signedBar(value, x + n * at.bar + 1.5, middle, at.bar - 3, height, `latent-bar-${kind}`);
  });
  return keyed(at, id, box(x, y, w, TALL, `latent-box-${kind}`) + stroke(x + 2, middle, x + w - 2, middle, "latent-zero") + bars.join(""), ways(at, id)) + hit;
}

function arrow(x1, x2, y) {
  const back = x2 < x1 ? 1 : -1;
  return stroke(x1, y, x2, y, "latent-arrow") + `<path d="M${round(x2)} ${round(y)}l${6 * back} -4v8z" class="latent-head"/>`;
}

function headings(result, at) {
  const over = (x1, x2, words, style) => text((x1 + x2) / 2, 14, words, style, MIDDLE) + stroke(x1, 21, x2, 21, `${style}-line`);
  const name = (column, words, w = at.size[column] * at.bar) => text(at.x[column] + w / 2, 40, words, "latent-quiet", MIDDLE);
  const end = at.x.v + 4 * at.bar;
  const made = result.form === "expanded" ? (at.wide ? `made for head ${result.head}` : "made now") : "not made";
  const parts = at.wide ? name("content", "content", 70) + name("position", "position", 70) : "";
  return over(at.x.r, at.x.c + 4 * at.bar, at.wide ? "in the cache" : "cached", "latent-cached") + over(at.x.k, end, made, "latent-made")
    + name("r", at.wide ? "k_pe" : "RoPE") + name("c", "latent") + name("k", "key") + name("v", "value") + parts + name("w", "weight", at.weight);
}

// The query is above what it meets: always above the rotated keys, and above the keys or,
// absorbed, above the latents.
function queryRow(result, at) {
  const { form, q, q_rope: qRope, q_latent: qLatent, extent } = result;
  const absorbed = form === "absorbed";
  const y = at.top;
  const middle = y + TALL / 2;
  const goes = absorbed ? arrow(at.x.k - 3, at.x.c + 4 * at.bar + 3, middle) + (at.wide ? text((at.x.k + at.x.c + 4 * at.bar) / 2, middle - 7, "W_UK", "latent-small", MIDDLE) : "") : "";
  const rule = `(content + position) / √${Math.round(result.scale ** -2)},`;
  const how = at.wide ? text(at.x.content + 4, y + 8, rule, "latent-small") + text(at.x.content + 4, y + 23, "then softmax over the tokens", "latent-small") : "";
  return text(0, middle + 4.5, "query", "latent-strong") + goes + how
    + vector(at, "r", y, qRope, extent.qr, "query", "qr", "query, RoPE part")
    + vector(at, "c", y, absorbed ? qLatent : null, extent.qa, absorbed ? "query" : "none", "qa", "query taken to the latent")
    + vector(at, "k", y, q, extent.qn, absorbed ? "before" : "query", "qn", "query, NoPE part");
}

// Below: values mixed, or latents mixed and then read out.
function sumRow(result, at) {
  const { form, mixed, out, extent } = result;
  const absorbed = form === "absorbed";
  const middle = at.sum + TALL / 2;
  const [from, to] = [at.x.c + 4 * at.bar + 3, at.x.v - 3];
  const goes = absorbed ? arrow(from, to, middle) + text((from + to) / 2, middle - 6, "W_UV", "latent-small", MIDDLE) : "";
  return text(0, middle + 4.5, at.wide ? "weighted sum" : "sum", "latent-strong") + goes
    + vector(at, "c", at.sum, absorbed ? mixed : null, extent.mix, absorbed ? "query" : "none", "mix", "weighted sum of the latents")
    + vector(at, "v", at.sum, out, extent.out, "query", "out", "output of the head");
}

function weightOf(result, j, y, at) {
  const weight = result.weights[j];
  const strong = weight > 0.5;
  const shade = box(at.x.w, y, at.weight, TALL, "latent-weight", ` fill-opacity="${strong ? 0.92 : Math.round(weight * 50) / 100}"`);
  const number = text(at.x.w + at.weight / 2, y + 15.5, decimal(weight), strong ? "latent-number-strong" : "latent-number", MIDDLE);
  const parts = at.wide ? [["content", result.content[j]], ["position", result.position[j]]].map(([column, value]) =>
    text(at.x[column] + 35, y + 15.5, decimal(value), "latent-number", MIDDLE)).join("") : "";
  return shade + box(at.x.w, y, at.weight, TALL, "latent-box-query") + number + parts;
}

function tokenRow(result, j, at) {
  const { tokens, there, form, latent, rope_key: keys, k, v, extent } = result;
  const y = at.first + j * ROW;
  const here = j < there;
  const kind = here ? (j === there - 1 ? "new" : "kept") : "later";
  const made = form === "expanded" && here;
  const style = !here ? "latent-quiet" : j === there - 1 ? "latent-strong" : "latent-token";
  const says = here ? "" : ", not there yet";
  const part = (column, values, most, what, words) => vector(at, column, y, values, most, what, `${column}-${j}`, `${words} of ${tokens[j]}${says}`);
  const hit = target(at, `w-${j}`, at.x.w, y, at.weight, TALL, here ? `weight of ${tokens[j]}, ${decimal(result.weights[j])}` : `${tokens[j]}${says}`);
  return text(0, y + 15.5, tokens[j], style)
    + part("r", here ? keys[j] : null, extent.r, kind, "rotated key") + part("c", here ? latent[j] : null, extent.c, kind, "latent")
    + part("k", made ? k[j] : null, extent.k, made ? "made" : here ? "none" : "later", made ? "key" : "no key made")
    + part("v", made ? v[j] : null, extent.v, made ? "made" : here ? "none" : "later", made ? "value" : "no value made")
    + (here ? weightOf(result, j, y, at) : box(at.x.w, y, at.weight, TALL, "latent-box-later")) + hit;
}

// Two bars, one for each form; the one that is shown has its name in bold.
function compare(result, key, title, x, y, width, live) {
  const most = Math.max(result.work.expanded[key], result.work.absorbed[key]);
  const bars = ["expanded", "absorbed"].map((form, n) => {
    const at = y + 14 + n * 26;
    const value = result.work[form][key];
    const room = width - 76 - 52;
    const w = (value / most) * room;
    return text(x, at + 13, form, form === result.form ? "latent-strong" : "latent-token")
      + keyed({ live }, `${key}-${form}`, box(x + 76, at, w, 18, form === "expanded" ? "latent-cost-expanded" : "latent-cost-absorbed"))
      + text(x + 76 + w + 6, at + 13.5, whole(value), form === result.form ? "latent-strong" : "latent-token");
  });
  return text(x, y, title, "latent-strong") + bars.join("");
}

function counts(result, y, at) {
  const half = (at.width - 30) / 2;
  const numbers = compare(result, "made", "Values made in this step, all heads", 0, y, at.wide ? half : at.width, at.live);
  const flops = compare(result, "flops", "FLOPs of this step, all heads", at.wide ? half + 30 : 0, at.wide ? y : y + 92, at.wide ? half : at.width, at.live);
  return { inside: numbers + flops, bottom: y + (at.wide ? 72 : 164) };
}

function sentences({ there, rank, rope, cache_numbers: kept, difference }, y, at) {
  const cache = `In the cache: ${there} × (${rope} + ${rank}) = ${whole(kept)} values, for all four heads`;
  const size = difference === 0 ? "0" : difference.toExponential(0);
  return at.wide ? text(0, y, cache, "latent-strong") + text(0, y + 22, `✓ Weights and output, expanded and absorbed: largest difference ${size} (both were computed)`, "latent-same")
    : text(0, y, cache.replace(", for all four heads", ""), "latent-strong") + text(0, y + 22, "✓ Same weights and output in both forms", "latent-same");
}

export function draw(result, { width = 720, live = false, touch = false, part, label = "What latent attention keeps, makes and mixes" } = {}) {
  const count = result.tokens.length;
  const newest = result.there - 1;
  const at = { ...layout(width, count), live, touch, newest, entry: "now" };
  const said = at.sum + ROW + 22;
  const reading = strip("latent", at, result.tokens, { first: newest, newest, key: "token", entry: schema.token, now: result.there, label: "Newest token", words: result.tokens[newest] });
  const rows = result.tokens.map((_, j) => tokenRow(result, j, at)).join("");
  const inside = headings(result, at) + queryRow(result, at) + rows + sumRow(result, at) + sentences(result, said, at);
  const first = () => ({ inside: reading + panel("heads", inside, ` transform="translate(0 ${STRIP})"`), bottom: STRIP + said + 30 });
  return inParts("latent", width, { live, label }, { part, first, second: () => counts(result, 14, at) });
}
