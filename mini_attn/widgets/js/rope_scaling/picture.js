// The picture of the rules: the wavelength of every plane before and after, against the trained
// and the wanted length, and below it how much each plane is slowed. Pure: numbers in, SVG out.
import { scaleLinear, scaleLog } from "d3-scale";
import { keyed } from "../core/motion.js";
import schema from "./schema.json" with { type: "json" };
import { END, MIDDLE, box, field, grip, inLines, knob, line, reachOf, round, stroke, surface, svg, targets, text } from "../core/svg.js";
import { whole } from "../core/text.js";

const WIDE = 600;
const AXIS = 52;
const LEGEND = { seen: "full rotation in training", inside: "rotate no further than in training", fresh: "meet new angles" };
const POWERS = ["1", "10", "100", "1 k", "10 k", "100 k", "1 M", "10 M", "100 M", "1 G"];

// Each status has a colour and a form of its own.
function mark(status, x, y, r) {
  if (status === "seen") return `<circle cx="${round(x)}" cy="${round(y)}" r="${r}" class="rsc-seen"/>`;
  if (status === "inside") return `<rect x="${round(x - r)}" y="${round(y - r)}" width="${2 * r}" height="${2 * r}" class="rsc-inside"/>`;
  return `<path d="M${round(x)} ${round(y - r - 1)}L${round(x + r + 1)} ${round(y + r)}H${round(x - r - 1)}Z" class="rsc-fresh"/>`;
}

const onTarget = targets("rsc", 0);
const target = (at, id, i, y, h, label) => onTarget(at, id, at.x(i) - at.step / 2, y, at.step, h, label);
const planesIn = (at, y, h, inside) => field(at, surface(at, at.x(0) - at.step / 2, y, at.width - AXIS - 8, h) + inside.join(""));

// A level with its words above its left end, where no wave is.
function level(at, y, words, style) {
  return stroke(AXIS, y, at.width, y, style) + text(AXIS + 6, y - 5, words, `rsc-label ${style}-text`);
}

const TOP = 30; // of the wavelengths

function scaleOf({ planes, length }, tall) {
  const most = 10 ** Math.ceil(Math.log10(Math.max(length, ...planes.map(({ wave }) => wave)) * 1.5));
  return [scaleLog([1, most], [TOP + tall, TOP]), most];
}

// The length that the model is used at is a line to be taken up or down.
function used(result, y, at) {
  const { rule, length, factor, tokens, trained } = result;
  const key = rule === "dynamic" ? "tokens" : "factor";
  const reach = reachOf(at.touch);
  const hold = at.live ? knob(at.width - 12, y(length), "rsc-knob")
    + grip("rsc", at, "used", AXIS, y(length) - reach / 2, at.width - AXIS, reach, {
      key, stops: "log", entry: schema[key], now: key === "tokens" ? tokens : factor, label: "Used at", upright: true, words: `${whole(length)} tokens`,
    }) : "";
  return keyed(at, "used", level(at, y(length), length === trained ? "" : `used at ${whole(length)}`, "rsc-used") + hold);
}

// To the length at that height: the factor of the method, or for dynamic NTK the tokens so far.
export function drag(result, id, { width }) {
  if (id !== "used") return null;
  const [y] = scaleOf(result, width >= WIDE ? 160 : 150);
  const from = y(result.length);
  return ({ dy }) => {
    const length = y.invert(from + dy);
    return result.rule === "dynamic" ? { tokens: Math.round(length) } : { factor: length / result.trained };
  };
}

function waves(result, at) {
  const { planes, trained, length } = result;
  const top = TOP;
  const [y, most] = scaleOf(result, at.tall);
  const ticks = Array.from({ length: Math.round(Math.log10(most)) + 1 }, (_, n) => n).filter((n) => at.wide || n % 2 === 0);
  const grid = ticks.map((n) => stroke(AXIS, y(10 ** n), at.width, y(10 ** n), "rsc-grid") + text(AXIS - 6, y(10 ** n) + 4, POWERS[n], "rsc-quiet", END));
  const before = line((_, i) => at.x(i), ({ waveBefore }) => y(waveBefore))(planes);
  const far = Math.abs(y(trained) - y(length)) > 16; // room for two labels
  const levels = level(at, y(trained), far || length === trained ? `trained on ${whole(trained)}` : "", "rsc-trained");
  // What the same length does to each plane without a rule, where that is something new.
  const ghosts = planes.map(({ alone, waveBefore, slower }, i) => (alone === "fresh" && slower > 1.0005 ? `<g class="rsc-ghost">${mark(alone, at.x(i), y(waveBefore), at.wide ? 2.5 : 2)}</g>` : ""));
  const marks = planes.map(({ status, wave }, i) => keyed(at, `m-${i}`, mark(status, at.x(i), y(wave), at.wide ? 3 : 2))
    + target(at, `p-${i}`, i, top, at.tall, `plane ${i}: ${LEGEND[status]}`));
  return { inside: text(0, 14, "wavelength in tokens", "rsc-head") + grid.join("") + levels + `<path d="${before}" class="rsc-before"/>` + ghosts.join("") + planesIn(at, top, at.tall, marks) + used(result, y, at), bottom: top + at.tall };
}

function slowing(result, top, at) {
  const { planes, factor } = result;
  const most = Math.max(2, factor, ...planes.map(({ slower }) => slower));
  const tall = 64;
  const y = scaleLinear([0, most], [top + 24 + tall, top + 24]);
  const bars = planes.map(({ status, slower }, i) => box(at.x(i) - at.step * 0.4, y(slower), at.step * 0.8, y(0) - y(slower), `rsc-${status}`)
    + target(at, `s-${i}`, i, top + 24, tall, `plane ${i}: ${slower.toFixed(2)} times slower`));
  const marks = [1, most].map((value) => stroke(AXIS, y(value), at.width, y(value), "rsc-grid") + text(AXIS - 6, y(value) + 4, `${whole(Math.round(value))} ×`, "rsc-quiet", END));
  const last = planes.length - 1;
  const ends = [[0, "0"], [(last + 1) / 2, at.wide ? "plane, from the fastest to the slowest" : "plane"], [last, String(last)]];
  return {
    inside: text(0, top + 8, "times slower than before", "rsc-head") + marks.join("") + planesIn(at, top + 24, tall, bars) + stroke(AXIS, y(0), at.width, y(0), "rsc-axis")
      + ends.map(([i, words]) => text(i === last ? at.width - 4 : at.x(i), y(0) + 16, words, "rsc-quiet", i === last ? END : MIDDLE)).join(""),
    bottom: top + 24 + tall + 20,
  };
}

function legend({ counts, rule, planes }, y, at) {
  const alone = rule === "none" ? 0 : planes.filter((plane) => plane.alone === "fresh").length;
  const entries = Object.entries(LEGEND).map(([status, words]) => [status, `${counts[status]} ${words}`]);
  const sample = (status, x, line) => (status === "before" ? `<path d="M${x} ${line - 4}h14" class="rsc-before"/>` : mark(status, x + 6, line - 4, 4));
  const key = inLines([...entries, ["before", alone ? `without a method: ${alone} meet new angles` : "without a method"]], y, { width: at.width, lead: 20, gap: 18, line: 20, letter: 6.7 },
    (status, words, x, line) => sample(status, x, line) + text(x + 18, line, words, "rsc-quiet"));
  return { inside: key.inside, bottom: key.bottom + 10 };
}

export function draw(result, { width = 720, live = false, touch = false, label = "Wavelength of every plane and the training context" } = {}) {
  const wide = width >= WIDE;
  const count = result.planes.length;
  const step = (width - AXIS - 8) / count;
  const at = { wide, width, live, touch, step, tall: wide ? 160 : 150, x: (i) => AXIS + 4 + (i + 0.5) * step, entry: `p-${Math.round(0.8 * count)}` };
  const over = waves(result, at);
  const under = slowing(result, over.bottom + 22, at);
  const key = legend(result, under.bottom + 20, at);
  return svg("rsc", width, key.bottom, { live, label }, over.inside + under.inside + key.inside);
}
