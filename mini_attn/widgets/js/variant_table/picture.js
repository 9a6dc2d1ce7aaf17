// The comparison's picture: a card for each question with its winner, and the chosen one's curves over
// the context, drawn as far as the line that is dragged. Pure: numbers in, SVG out, in CSS pixels.
import { tokenTick } from "../core/units.js";
import { handy } from "../core/drag.js";
import { scaleLog } from "d3-scale";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, grip, knob, line, panel, reachOf, round, stroke, svg, targets, text } from "../core/svg.js";
import { whole } from "../core/text.js";
import { SHAPES } from "../equal_bytes/picture.js";
import { rowsAt } from "./compute.js";
import schema from "./schema.json" with { type: "json" };
import { METRICS, kindOf, shown } from "./words.js";

const WIDE = 640; // below this the cards stand in two lines, and the names under the curves
const LEFT = 52; // room for the numbers of the axis
const NAMES = 222; // and for the names beside the curves
const AXIS = [256, schema.context.max];
const SAMPLES = Array.from({ length: 25 }, (_, i) => Math.round(AXIS[0] * 2 ** (i / 2)));
const CARD = 62;
const LEAST = { fit: 0.7 }; // no sequence fits: on the axis

const MARKS = [...SHAPES, (r) => `M${-1.2 * r} 0h${2.4 * r}M0 ${-1.2 * r}v${2.4 * r}`];

const target = targets("vary");
const metricOf = (key) => METRICS.find((metric) => metric.key === key);
const worst = (key) => key !== "fit" && key !== "flops"; // what doesn't fit can't win there

function layout(width) {
  const wide = width >= WIDE;
  const top = wide ? CARD + 44 : 2 * CARD + 42;
  const right = wide ? width - NAMES - 16 : width - 12;
  return { width, wide, top, bottom: top + (wide ? 236 : 144), right };
}
const across = ({ right }) => scaleLog(AXIS, [LEFT, right]).clamp(true);

// A question, and who wins it here.
function card(result, metric, n, at) {
  const [w, x] = at.wide ? [at.width / 4, (n * at.width) / 4] : [at.width / 2, ((n % 2) * at.width) / 2];
  const y = at.wide ? 1 : 1 + (n >> 1) * CARD;
  const { key, title } = metric;
  const value = result.best[key];
  const winners = result.rows.filter((row) => row[key] === value && (row.fits || !worst(key)));
  const who = winners.length > 1 ? `${winners.length} alike` : winners.length ? kindOf(winners[0]) : "";
  return box(x + 1, y, w - 8, CARD - 8, `vary-card${key === result.measure ? " vary-open" : ""}`) + text(x + 9, y + 17, title, "vary-head")
    + (who ? text(x + 9, y + 33, `✓ ${who}`, "vary-best") + text(x + 9, y + 48, shown(key, value), "vary-name") : text(x + 9, y + 33, "✗ none fits", "vary-over"))
    + target(at, `show-${key}`, x + 1, y, w - 8, CARD - 8, `${title}: ${who ? `${who}, ${shown(key, value)}` : "none fits"}`);
}

// The curve of each row up to the line, dashed from where its cache doesn't fit.
function curves(result, at, { x, y }) {
  const { context, measure } = result;
  const points = [...SAMPLES.filter((n) => n < context), context].map((n) => ({ n, rows: rowsAt(n, result, result.device) }));
  return result.rows.map((_, i) => {
    const own = points.map(({ n, rows }) => ({ n, value: rows[i][measure], fits: rows[i].fits || !worst(measure) }));
    const last = own.findLastIndex(({ fits }) => fits);
    const way = (some) => line(({ n }) => x(n), ({ value }) => y(value))(some);
    return `<path d="${way(own.slice(0, last + 1))}" class="vary-curve vary-${i}"/><path d="${way(own.slice(Math.max(0, last)))}" class="vary-curve vary-beyond vary-${i}"/>`;
  }).join("");
}

const mark = (i, x, y, r, more = "") => `<path transform="translate(${round(x)} ${round(y)})" d="${MARKS[i % MARKS.length](r)}" class="vary-mark vary-${i}${more}"/>`;

// The rows in the order of their curves, the highest first: one that is overtaken changes its place.
function names(result, at) {
  const { measure: key, rows, best } = result;
  const order = rows.map((_, i) => i).sort((a, b) => rows[b][key] - rows[a][key]);
  const line = Math.max(26, at.hit);
  const [many, w] = at.wide ? [7, NAMES] : [4, at.width / 2 - 6];
  return order.map((i, place) => {
    const row = rows[i];
    const [x, y] = at.wide ? [at.width - w, at.top - 8 + place * line] : [(place >= many) * (w + 12), at.bottom + 46 + (place % many) * line];
    const over = worst(key) && !row.fits;
    const wins = !over && row[key] === best[key];
    const style = over ? "vary-over" : wins ? "vary-best" : "vary-name";
    const value = `${over ? "✗ " : wins ? "✓ " : ""}${shown(key, row[key])}`;
    const middle = y + line / 2 + 4.5;
    return keyed(at, `row-${row.name}`, box(x, y, w, line, "vary-row") + mark(i, x + 10, middle - 4.5, 5, over ? " vary-open-mark" : "") + text(x + 22, middle, at.wide ? row.short : kindOf(row), style) + text(x + w - 2, middle, value, style, END))
      + target(at, `${key}-${i}`, x, y, w, line, `${row.short}, ${metricOf(key).title}: ${shown(key, row[key])}`);
  }).join("");
}

const TICKS = [256, 1024, 4096, 16384, 65536, 262144, 1048576];

function axes(result, at, { x, y }) {
  const { title, more, key } = metricOf(result.measure);
  const [low, high] = y.domain();
  const all = Array.from({ length: 20 }, (_, i) => 10 ** (i - 5)).filter((value) => value >= low && value <= high);
  const levels = all.filter((_, i) => all.length < 6 || i % 2 === 0);
  return levels.map((value) => stroke(LEFT, y(value), at.right, y(value), "vary-grid") + text(LEFT - 6, y(value) + 4, shown(key, value).replace("FLOP", ""), "vary-quiet", END)).join("")
    + TICKS.filter((_, i) => at.wide || i % 2 === 0).map((n) => text(x(n), at.bottom + 21, tokenTick(n), "vary-quiet", MIDDLE)).join("")
    + stroke(LEFT, at.bottom, at.right, at.bottom, "vary-axis") + text(0, at.top - 14, `${title}, ${more}`, "vary-quiet")
    + text(at.right, at.bottom + 38, "tokens in each sequence", "vary-quiet", END);
}

// The line at the context, with its number and a knob to take it by.
function now({ context }, at, x) {
  const here = x(context);
  const words = `${whole(context)} tokens`;
  const hint = at.live && here + 180 < at.right ? ", drag →" : "";
  return stroke(here, at.top, here, at.bottom, "vary-now") + (at.live ? knob(here, at.bottom, "vary-knob") : "")
    + text(Math.min(here + 6, at.right - 6.8 * words.length), at.bottom - 12, words + hint, "vary-here")
    + grip("vary", at, "context", Math.min(here, at.width - at.hit / 2) - at.hit / 2, at.top, at.hit, at.bottom - at.top + 10, { key: "context", stops: "log", entry: schema.context, now: context, label: "Tokens in each (context)", words });
}

export function draw(result, { width = 720, live = false, touch = false, label = "The variants of attention over the context" } = {}) {
  const at = { ...layout(width), live, hit: reachOf(touch), entry: "context" };
  const { measure, rows } = result;
  const x = across(at);
  const least = LEAST[measure] ?? 0;
  const ends = AXIS.flatMap((n) => rowsAt(n, result, result.device).map((row) => Math.max(least, row[measure])));
  const scale = scaleLog([Math.min(...ends) / 1.6, Math.max(...ends) * 1.4], [at.bottom, at.top]);
  const both = { x, y: Object.assign((value) => scale(Math.max(least, value)), { domain: scale.domain }) };
  const marks = rows.map((row, i) => keyed(at, `mark-${row.name}`, mark(i, x(result.context), both.y(row[measure]), 5, worst(measure) && !row.fits ? " vary-open-mark" : "")));
  const chart = axes(result, at, both) + curves(result, at, both) + now(result, at, x) + marks.join("");
  const height = at.wide ? at.bottom + 46 : at.bottom + 50 + 4 * Math.max(26, at.hit);
  return svg("vary", width, height, { live, label }, panel("cards", METRICS.map((metric, n) => card(result, metric, n, at)).join("")) + panel("curves", chart + names(result, at)));
}

// The line goes along its axis, to a power of two near the hand, else to numbers of two digits.
export function drag(result, id, { width, state }) {
  if (id !== "context") return null;
  const x = across(layout(width));
  return ({ dx }) => ({ context: handy(x.invert(x(state.context) + dx)) });
}
