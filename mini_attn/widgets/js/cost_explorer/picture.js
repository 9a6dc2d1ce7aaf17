// The cost explorer's picture: a bar for each part, and two charts over the number of tokens.
import { tokenTick } from "../core/units.js";
import { handy } from "../core/drag.js";
import { scaleLinear, scaleLog } from "d3-scale";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, grip, hatching, inParts, knob, line, reachOf, round, stroke, svg, targets, text } from "../core/svg.js";
import { whole } from "../core/text.js";
import schema from "./schema.json" with { type: "json" };
import { MLP_FORMULA, counts, flop, partsOf, percent, short, tick } from "./words.js";

export const WIDE = 600;
const ROW = 27;
const PLOT = 102; // height of a chart

const target = targets("cost");

// One line of the upper chart: name, formula, bar from where the last one ended, share.
function partRow(result, [id, name, formula, kind], i, from, at) {
  const { flops, total, mlp } = result;
  const y = at.top + i * ROW;
  const share = flops[id] / total;
  const [x, w] = [at.bar + at.long * from, Math.max(1, at.long * share)];
  const hatch = kind === "square" ? `<rect x="${round(x)}" y="${y + 5}" width="${round(w)}" height="${ROW - 10}" fill="url(#${at.uid}-hatch)"/>` : "";
  const words = at.wide ? text(at.formula, y + 20, id === "mlp" ? MLP_FORMULA[mlp] : formula, "cost-quiet") : "";
  return text(0, y + 20, name, kind === "square" ? "cost-name cost-name-square" : "cost-name") + words
    + keyed(at, `bar-${id}`, box(x, y + 5, w, ROW - 10, `cost-bar-${kind}`) + hatch)
    + text(at.width, y + 20, at.wide ? `${flop(flops[id])}, ${percent(share)}` : percent(share), "cost-number", END)
    + target(at, id, 0, y + 1, at.width, ROW - 2, `${name}: ${percent(share)}`);
}

function parts(result, at) {
  let from = 0;
  const rows = partsOf(result).map((part, i) => {
    const row = partRow(result, part, i, from, at);
    from += result.flops[part[0]] / result.total;
    return row;
  });
  const y = at.top + rows.length * ROW;
  const words = at.wide ? text(at.formula, y + 20, "5·pairs·heads", "cost-quiet") : "";
  const soft = stroke(0, y + 1, at.width, y + 1, "cost-grid") + text(0, y + 20, "softmax, separate", "cost-name") + words
    + box(at.bar, y + 5, Math.max(1, Math.min(1, result.softmax / result.total) * at.long), ROW - 10, "cost-bar-softmax")
    + text(at.width, y + 20, at.wide ? `${short(result.softmax, "ops")}, ${percent(result.softmax / result.total)}` : percent(result.softmax / result.total), "cost-number", END)
    + target(at, "softmax", 0, y + 2, at.width, ROW - 3, `softmax: ${percent(result.softmax / result.total)}`);
  return { inside: rows.join("") + soft, bottom: y + ROW };
}

const [LEFT, RIGHT] = [56, 10]; // of a chart, beside its curves
const halfOf = (width) => (width >= WIDE ? (width - 36) / 2 : width);

// The line at n is dragged along its axis, to a power of two near the hand, else to numbers of two digits.
export function drag(result, id, { width, state }) {
  if (!id.startsWith("now-")) return null;
  const { min, max } = schema.seq;
  const pixel = Math.log(max / min) / (halfOf(width) - LEFT - RIGHT);
  return ({ dx }) => ({ seq: handy(state.seq * Math.exp(dx * pixel)) });
}

const TICKS = [16, 1024, 65536, 1048576];

// Two curves over n on logarithmic axes: what grows with n, and what grows with its square.
function chart(result, spec, x0, y0, width, at) {
  const { curves, seq } = result;
  const [left, top] = [x0 + LEFT - 4, y0 + 38];
  const x = scaleLog([curves[0].n, curves.at(-1).n], [x0 + LEFT, x0 + width - RIGHT]).base(2);
  const all = curves.flatMap((point) => [point[spec.linear.key], point[spec.square.key]]);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const y = scaleLog([low, high], [top + PLOT, top]);
  const decades = scaleLinear([Math.log10(low), Math.log10(high)], [0, 1]).ticks(4).filter(Number.isInteger).map((power) => 10 ** power);
  const grid = decades.map((value) => stroke(left, y(value), x0 + width, y(value), "cost-grid") + text(left - 6, y(value) + 4, tick(value, spec.tick), "cost-quiet", END));
  const ticks = TICKS.map((n) => text(x(n), top + PLOT + 17, tokenTick(n), "cost-quiet", MIDDLE));
  const lines = [spec.linear, spec.square].map(({ key, id, style }, i) => {
    const [value, write] = counts(result)[key];
    const path = line((point) => x(point.n), (point) => y(point[key]))(curves);
    const at_y = y0 + 19 * i;
    return `<path d="${path}" class="cost-curve cost-curve-${style}"/>` + keyed(at, `dot-${key}`, `<circle cx="${round(x(seq))}" cy="${round(y(value))}" r="4.5" class="cost-dot-${style}"/>`)
      + stroke(x0, at_y - 4, x0 + 22, at_y - 4, `cost-curve cost-curve-${style}`) + text(x0 + 28, at_y, write(value), "cost-key", ` data-count="${key}"`)
      + (id ? target(at, id, x0, at_y - 18 + 5 * i, width, 24, write(value)) : "");
  });
  const { hit } = at;
  return grid.join("") + (spec.beyond?.(x, top) ?? "") + stroke(left, top + PLOT, x0 + width, top + PLOT, "cost-axis")
    + stroke(x(seq), top, x(seq), top + PLOT, "cost-now") + (at.live ? knob(x(seq), top + PLOT, "cost-grip") : "") + lines.join("") + ticks.join("")
    + text(x0 + width, top + PLOT + 35, "tokens n", "cost-quiet", END)
    + (spec.mark?.(x, y) ?? "") + grip("cost", at, `now-${spec.square.key}`, Math.min(x(seq) - hit / 2, x0 + width - hit), top, hit, PLOT + 8, { key: "seq", entry: schema.seq, now: seq, label: "Tokens n", words: `${whole(seq)} tokens` });
}

// Shaded: where the pairs take more than the weights. Where the curves cross has its name.
function flopChart(result, x0, y0, width, at) {
  const { cross, crossing } = result;
  const right = x0 + width - RIGHT;
  const words = `half at ${whole(Math.round(cross))}`;
  const beyond = (x, top) => keyed(at, "beyond", box(x(cross), top, Math.max(0, right - x(cross)), PLOT, "cost-beyond"))
    + (right - x(cross) > 104 ? text(right - 4, top + PLOT - 8, "attention larger", "cost-quiet", END) : "");
  const mark = (x, y) => {
    const [cx, cy] = [x(cross), y(crossing)];
    const left = cx > x0 + LEFT + 7 * words.length; // else there is room on the other side
    return keyed(at, "cross", `<circle cx="${round(cx)}" cy="${round(cy)}" r="5" class="cost-cross"/>`) + text(left ? cx - 9 : cx + 9, left ? cy - 8 : cy + 16, words, "cost-cross-word", left ? END : "")
      + target(at, "cross", cx - at.hit / 2, cy - at.hit / 2, at.hit, at.hit, `half and half at ${whole(Math.round(cross))} tokens`);
  };
  return chart(result, {
    tick: "", beyond, mark,
    linear: { key: "weights", style: "weights" },
    square: { key: "square", style: "square" },
  }, x0, y0, width, at);
}

function byteChart(result, x0, y0, width, at) {
  return chart(result, {
    tick: "B",
    linear: { key: "rows", id: "rows", style: "weights" },
    square: { key: "scores", id: "square", style: "square" },
  }, x0, y0, width, at);
}

export function draw(result, { width = 720, uid = "cost_explorer", live = false, touch = false, part, label = "FLOPs and bytes of one layer by part and by number of tokens" } = {}) {
  const wide = width >= WIDE;
  const bar = wide ? 246 : 128;
  const at = { wide, live, hit: reachOf(touch), entry: "scores", uid, width, top: 26, bar, formula: 146, long: width - bar - (wide ? 158 : 56) };
  const upper = parts(result, at);
  const half = halfOf(width);
  const y = upper.bottom + 24;
  const tall = PLOT + 78;
  const { total } = counts(result);
  const inside = text(0, 14, total[1](total[0]), "cost-head", ' data-count="total"') + upper.inside + flopChart(result, 0, y, half, at);
  const defs = hatching(`${uid}-hatch`, "cost-hatch");
  if (wide) return svg("cost", width, Math.ceil(y + tall), { live, label }, defs + inside + byteChart(result, half + 36, y, half, at));
  const second = () => ({ inside: byteChart(result, 0, 18, half, at), bottom: tall + 18 });
  return inParts("cost", width, { live, label }, { part, defs, first: () => ({ inside, bottom: y + tall }), second });
}
