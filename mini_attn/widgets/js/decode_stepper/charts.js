// The stepper's running totals: three small charts, each with both curves and its numbers.
import { max } from "d3-array";
import { scaleLinear } from "d3-scale";
import { END, MIDDLE, line, round, stroke, text } from "../core/svg.js";
import { whole } from "../core/text.js";

const METRICS = [["passes", "Token passes"], ["flops", "FLOPs"], ["bytes", "Bytes moved"]];
const WAYS = [["cached", "with a cache"], ["plain", "without"]];
const AXIS = 54; // room for the numbers at the vertical axis

function plot(result, key, x0, y0, width, height) {
  const steps = result.history.plain;
  const x = scaleLinear([0, steps.length - 1], [x0 + AXIS + 12, x0 + width - 8]);
  const y = scaleLinear([0, max(steps, ({ total }) => total[key])], [y0 + height, y0 + 8]).nice(3);
  const grid = y.ticks(3).map((tick) => stroke(x0 + AXIS, y(tick), x0 + width, y(tick), tick ? "step-grid" : "step-axis")
    + text(x0 + AXIS - 6, y(tick) + 4, whole(tick), "step-quiet", END));
  const path = line((_, i) => x(i), ({ total }) => y(total[key]));
  const now = x(result.step);
  const curves = WAYS.map(([way]) =>
    `<path d="${path(result.history[way].slice(0, result.step + 1))}" class="step-curve step-curve-${way}"/><circle cx="${round(now)}" cy="${round(y(result.total[way][key]))}" r="4.5" class="step-dot-${way}"/>`);
  const labels = steps.map(({ step }) => text(x(step), y0 + height + 17, step ? String(step) : "prefill", step === result.step ? "step-tick-now" : "step-quiet", MIDDLE));
  return grid.join("") + stroke(now, y0 + 4, now, y0 + height, "step-now") + curves.join("") + labels.join("");
}

// What the curves are at now: a sample of the line, the number, the word.
function figures(result, key, x, y) {
  return WAYS.map(([way, words], n) => {
    const at = y + 24 * n;
    const number = whole(result.total[way][key]);
    return stroke(x, at - 5, x + 22, at - 5, `step-curve step-curve-${way}`)
      + `<text x="${x + 30}" y="${at}"><tspan class="step-figure step-figure-${way}">${number}</tspan><tspan class="step-quiet" dx="6">${words}</tspan></text>`;
  }).join("");
}

// Wide: three charts side by side. Narrow: one under the other.
export function charts(result, y, at) {
  const title = text(0, y + 4, `Added up to ${result.step ? `step ${result.step}` : "the prefill"}`, "step-head");
  const gap = 26;
  const width = at.wide ? (at.width - 2 * gap) / 3 : at.width;
  const height = at.wide ? 92 : 66;
  const tall = 76 + height + 26;
  const parts = METRICS.map(([key, name], n) => {
    const x = at.wide ? n * (width + gap) : 0;
    const top = y + 30 + (at.wide ? 0 : n * (tall + 12));
    const named = key === "bytes" ? `${name} (${whole(result.weight_bytes)}: weights)` : name;
    return text(x, top, named, "step-metric") + figures(result, key, x, top + 26) + plot(result, key, x, top + 62, width, height);
  });
  return { inside: title + parts.join(""), bottom: y + 30 + (at.wide ? tall : 3 * tall + 2 * 12) - 12 };
}
