// Beside the matrices: the totals so far, and the numbers moved for each size of tile.
import { scaleLinear } from "d3-scale";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, line, round, stroke, text } from "../core/svg.js";
import { decimal, escape, whole } from "../core/text.js";
import { intensity, sizeOf } from "./words.js";

function figure(x, y, number, words) {
  return `<text x="${round(x)}" y="${round(y)}"><tspan class="tile-figure">${escape(number)}</tspan><tspan class="tile-quiet" dx="6">${escape(words)}</tspan></text>`;
}

// The ends of the curves, pushed apart so that their words do not lie on each other.
function spread(ends, least) {
  const sorted = [...ends].sort((one, other) => one.y - other.y);
  sorted.forEach((end, i) => { if (i) end.y = Math.max(end.y, sorted[i - 1].y + least); });
  return sorted;
}

function curves(result, x, y, at) {
  const path = line((_, step) => x(2 * step * result.rows), y);
  return Object.entries(result.curves).map(([tile, numbers]) => {
    const chosen = Number(tile) === result.tile;
    const dot = keyed(at, `dot-${tile}`, `<circle cx="${round(x(result.flops))}" cy="${round(y(numbers[result.step]))}" r="${chosen ? 5 : 3}" class="tile-dot"/>`);
    const hit = at.live
      ? `<path d="${path(numbers)}" class="tile-reach" data-id="line-${tile}" tabindex="-1" role="img" aria-label="${escape(`tiles of ${sizeOf(tile)}: ${whole(numbers.at(-1))} numbers at the end`)}"/>`
      : "";
    return `<path d="${path(numbers)}" class="tile-curve tile-curve-${tile}${chosen ? " tile-chosen" : ""}"/>${dot}${hit}`;
  }).join("");
}

function chart(result, x0, y0, width, height, at) {
  const top = Math.max(...result.curves[1]);
  const x = scaleLinear([0, result.all_flops], [x0 + 34, x0 + width - 78]);
  const y = scaleLinear([0, top], [y0 + height, y0 + 8]);
  const grid = y.ticks(4).map((tick) => stroke(x.range()[0], y(tick), x.range()[1], y(tick), tick ? "tile-grid" : "tile-axis")
    + text(x0 + 28, y(tick) + 4, whole(tick), "tile-quiet", END));
  const ticks = [0, result.all_flops / 2, result.all_flops].map((tick) => text(x(tick), y0 + height + 17, whole(tick), "tile-quiet", MIDDLE));
  const ends = spread(Object.entries(result.curves).map(([tile, numbers]) => ({ tile, numbers: numbers.at(-1), y: y(numbers.at(-1)) + 4 })), 15);
  const words = ends.map((end) => text(x.range()[1] + 8, end.y, `${sizeOf(end.tile)}: ${whole(end.numbers)}`, Number(end.tile) === result.tile ? "tile-end tile-strong" : "tile-end"));
  const middle = (x.range()[0] + x.range()[1]) / 2;
  return grid.join("") + ticks.join("") + text(middle, y0 + height + 34, "FLOPs done", "tile-quiet", MIDDLE)
    + stroke(x(result.flops), y0, x(result.flops), y0 + height, "tile-line") + curves(result, x, y, at) + words.join("");
}

export function panel(result, x, y, width, at) {
  const per = decimal(intensity(result, result.flops, result.moved.numbers));
  const figures = [
    [whole(result.flops), `of ${whole(result.all_flops)} FLOPs`], [whole(result.moved.numbers), "numbers moved"], [per, "FLOP per byte (float32)"],
  ].map(([number, words], i) => figure(x, y + 16 + i * 27, number, words));
  const top = y + 16 + 3 * 27 + 6;
  const height = at.wide ? Math.max(120, at.bottom - top - 62) : 130;
  const head = text(x, top, "Numbers moved so far, by size of tile", "tile-head");
  return { inside: figures.join("") + head + chart(result, x, top + 10, width, height, at), bottom: top + 10 + height + 40 };
}
