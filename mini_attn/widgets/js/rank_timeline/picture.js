// The time line's picture: a row for each rank, the square of scores, and all schemes compared.
// Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, grip, hatching, inParts, knob, stroke, svg, targets, text } from "../core/svg.js";
import { duration, scaled } from "../core/units.js";
import { NAMES, explain, percent, stepWords } from "./words.js";

export const WIDE = 620; // below this the square goes apart
const SIDE = 232;
const NAME = 46; // room of a rank's name
const BAR = 26;

const target = targets("ranks");

function layout(result, { width, uid, live, touch, part }) {
  const wide = width >= WIDE;
  const left = wide ? SIDE + 34 : 0;
  const row = result.ranks === 8 ? 21 : result.ranks === 4 ? 30 : 44;
  return { width, wide, left, row, uid, live, touch, top: 26, tall: result.ranks * row, entry: part === "second" ? "square" : "now" };
}

const along = ({ seconds }, { left, width }) => scaleLinear([0, seconds], [left + NAME, width - 2]);

// The step that is under way at a place.
export function stepAt(result, x, width) {
  const when = along(result, layout(result, { width })).invert(x);
  return Math.max(0, result.phases.findLastIndex(({ starts }) => starts <= when));
}

// What a rank does in a step: it computes, it waits, and a message is on its way below.
function segment(result, t, rank, at, x) {
  const { kind, work, sent, starts, ends, from } = result.phases[t];
  const y = at.top + rank * at.row;
  const tall = at.row - 6;
  const [a, b, c] = [x(starts), x(starts + work[rank]), x(ends)];
  const now = t === result.step ? " ranks-now" : "";
  const parts = [
    work[rank] ? box(a + 0.5, y, Math.max(1, b - a - 1), tall, `ranks-work${now}`) : "",
    c - b > 1.5 && kind !== "send" ? box(b + 0.5, y, c - b - 1, tall, `ranks-wait${now}`, ` fill="url(#${at.uid}-hatch)"`) : "",
    kind === "send" ? box(a + 0.5, y, Math.max(1, c - a - 1), tall, `ranks-send${now}`) : "",
    kind === "round" && sent ? box(a + 0.5, y + tall, Math.max(1, x(starts + sent) - a - 1), 4, "ranks-send", "", 1) : "",
    from && work[rank] && b - a > 22 ? text((a + b) / 2, y + tall / 2 + 4, `k${from[rank]}`, "ranks-in", MIDDLE) : "",
  ];
  return parts.join("") + target(at, `part-${t}-${rank}`, a, y - 1, Math.max(4, c - a), at.row - 1, explain(result, `part-${t}-${rank}`).text);
}

// A row for each rank, and below the axis the moment, which is dragged.
function lines(result, at) {
  const x = along(result, at);
  const { phases, step, ranks, seconds } = result;
  const names = Array.from({ length: ranks }, (_, rank) => text(at.left, at.top + rank * at.row + at.row / 2 + 1, `rank ${rank}`, "ranks-quiet"));
  const parts = phases.flatMap((_, t) => names.map((_, rank) => segment(result, t, rank, at, x)));
  const y = at.top + at.tall + 4;
  const { starts, ends } = phases[step];
  const middle = x((starts + ends) / 2);
  const hit = at.touch ? 44 : 28;
  const wide = Math.max(hit, x(ends) - x(starts));
  const place = Math.max(at.left + NAME, Math.min(at.width - wide, middle - wide / 2));
  return text(at.left, 13, `${stepWords(result)}`, "ranks-head")
    + parts.join("") + names.join("") + stroke(at.left + NAME, y, at.width - 2, y, "ranks-axis")
    + keyed(at, "now", box(x(starts), y - 2, Math.max(3, x(ends) - x(starts)), 4, "ranks-moment", "", 1) + knob(middle, y, "ranks-knob"))
    + grip("ranks", at, "now", place, y - hit / 2, wide, hit, { key: "step", entry: { min: 0, max: phases.length - 1 }, now: step, label: "Step", words: stepWords(result) })
    + text(at.left + NAME, y + 22, "0", "ranks-quiet") + text(at.width - 2, y + 22, duration(seconds), "ranks-quiet", END);
}

const LEGEND = [["work", "computes", 0], ["send", "sends", 86], ["wait", "waits", 154]];

function key(y, at) {
  return LEGEND.map(([kind, words, x]) => box(at.left + NAME + x, y, 15, 12, `ranks-${kind}`, kind === "wait" ? ` fill="url(#${at.uid}-hatch)"` : "")
    + text(at.left + NAME + x + 20, y + 10.5, words, "ranks-quiet")).join("");
}

// All schemes with these tokens and this link; one that is pressed is chosen.
function bars(result, y, at) {
  const x = scaleLinear([0, max(result.all, ({ seconds }) => seconds)], [0, at.width - at.left - 102 - 128]);
  const rows = result.all.map(({ scheme, seconds, idle, bytes }, i) => {
    const top = y + 12 + i * BAR;
    const own = scheme === result.scheme ? " ranks-own" : "";
    const long = x(seconds);
    return text(at.left, top + 15, NAMES[scheme], `ranks-small${own}`)
      + keyed(at, `time-${scheme}`, box(at.left + 102, top + 3, Math.max(1, long), 16, `ranks-time${own}`))
      + box(at.left + 102 + long * (1 - idle), top + 3, long * idle, 16, "ranks-wait", ` fill="url(#${at.uid}-hatch)"`)
      + text(at.width, top + 15, `${percent(idle)} · ${scaled(bytes, "B")}`, `ranks-small${own}`, END)
      + target(at, `bar-${scheme}`, at.left, top, at.width - at.left, BAR - 2, explain(result, `bar-${scheme}`).text);
  });
  return text(at.left, y, "Time", "ranks-head") + text(at.width, y, "waiting · each sends", "ranks-quiet", END) + rows.join("");
}

// Queries downward, keys to the right: which chunk meets which now.
function square(result, at, side, top) {
  const { ranks, cells, scheme } = result;
  const gap = 22;
  const cell = (side - gap) / (2 * ranks);
  const own = (chunk) => (scheme === "zigzag" ? Math.min(chunk, 2 * ranks - 1 - chunk) : Math.floor(chunk / 2));
  const split = scheme === "contiguous" || scheme === "zigzag";
  const marks = split ? Array.from({ length: 2 * ranks }, (_, i) => text(gap - 5, top + (i + 0.5) * cell + 4, own(i), "ranks-quiet", END)) : [];
  const drawn = cells.map(({ q, k, half, when }) => {
    const [x, y] = [gap + k * cell, top + q * cell];
    const style = `ranks-cell-${when}`;
    return half ? `<path d="M${x.toFixed(1)} ${y.toFixed(1)}v${cell.toFixed(1)}h${cell.toFixed(1)}z" class="${style}"/>` : box(x, y, cell, cell, style, "", 0);
  });
  const below = top + side - gap + 17;
  return text(0, top - 13, split ? "Scores: whose queries" : "Scores, of each rank's heads", "ranks-head") + marks.join("") + drawn.join("")
    + box(gap, top, side - gap, side - gap, "ranks-frame", "", 0)
    + text(gap, below, "keys, in the order of the text", "ranks-quiet")
    + target(at, "square", gap, top, side - gap, side - gap, explain(result, "square").text);
}

export function draw(result, { width = 720, uid = "rank_timeline", live = false, touch = false, part, label = "Several devices on a time line" } = {}) {
  const at = layout(result, { width, uid, live, touch, part });
  const defs = hatching(`${uid}-hatch`, "ranks-hatch", 5);
  const y = at.top + at.tall + 38;
  const first = () => ({ inside: lines(result, at) + key(y, at) + bars(result, y + 42, at), bottom: y + 42 + 12 + 4 * BAR + 2 });
  if (!at.wide) return inParts("ranks", width, { live, label }, { part, defs, first, second: () => ({ inside: square(result, at, Math.min(width, 280), 26), bottom: 26 + Math.min(width, 280) }) });
  const { inside, bottom } = first();
  return svg("ranks", width, Math.max(bottom, 26 + SIDE + 6), { live, label }, defs + inside + square(result, at, SIDE, 26));
}
