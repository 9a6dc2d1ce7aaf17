// The film's picture: two loss curves with a mark at the moment, and below them a map for each head.
import { scaleLinear } from "d3-scale";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, field, inLines, line, round, signedBar, stroke, surface, svg, targets, text } from "../core/svg.js";
import { decimal, whole } from "../core/text.js";

const PLOT = 150; // height of the curves
const LEVELS = 9; // shades of a map
const BAR = 12;
const target = targets("film");

const KINDS = { copying: "words that could be copied", stories: "words of stories" };

function curves(result, width, at) {
  const { curve, floor, guess, frame, moments, step } = result;
  const across = scaleLinear([0, curve.step.at(-1)], [34, width - 12]);
  const up = scaleLinear([0, 5], [PLOT, 0]);
  const top = 30;
  const grid = [0, 1, 2, 3, 4, 5].map((nats) => stroke(34, top + up(nats), width, top + up(nats), nats ? "film-grid" : "film-axis")
    + text(28, top + up(nats) + 4, String(nats), "film-quiet", END));
  const floors = Object.keys(KINDS).map((kind) => stroke(34, top + up(floor[kind]), width, top + up(floor[kind]), `film-floor film-line-${kind}`));
  const guessing = stroke(34, top + up(guess), width, top + up(guess), "film-guess") + text(width - 4, top + up(guess) + 14, "uniform guess", "film-quiet", END);
  const path = (kind) => line((_, n) => across(curve.step[n]), (nats) => top + up(nats))(curve[kind]);
  const lines = Object.keys(KINDS).map((kind) => `<path d="${path(kind)}" class="film-line film-line-${kind}"/>`);
  const now = keyed(at, "now", stroke(across(step), top, across(step), top + PLOT, "film-now"));
  const dot = (moment, kind, r) => `<circle cx="${round(across(moment.step))}" cy="${round(top + up(moment[kind]))}" r="${r}" class="film-dot film-dot-${kind}"/>`;
  const dots = Object.keys(KINDS).map((kind) => moments.map((moment) => dot(moment, kind, 2.5)).join("") + keyed(at, kind, dot(moments[frame], kind, 5.5)));
  const edges = moments.map((moment, n) => (n ? (across(moment.step) + across(moments[n - 1].step)) / 2 : 34));
  const spots = moments.map((moment, n) => target(at, `frame-${n}`, edges[n], top, (edges[n + 1] ?? width) - edges[n], PLOT, `step ${whole(moment.step)}`));
  const every = at.wide ? 500 : 1000;
  const ticks = Array.from({ length: Math.floor(curve.step.at(-1) / every) + 1 }, (_, n) => text(across(n * every), top + PLOT + 16, whole(n * every), "film-quiet", MIDDLE));
  return text(0, 14, at.wide ? "loss in nats per word, by training step" : "loss in nats per word, by step", "film-head") + grid.join("") + floors.join("") + guessing + now
    + lines.join("") + dots.join("") + ticks.join("") + field(at, surface(at, 34, top, width - 34, PLOT) + spots.join(""));
}

function legend(width, y) {
  const entries = [...Object.entries(KINDS), ["floor", "dashed: the floor of each"]];
  return inLines(entries, y, { width, lead: 28, gap: 18, line: 18 }, (kind, words, x, at) =>
    (kind === "floor" ? stroke(x, at - 4, x + 22, at - 4, "film-floor") : stroke(x, at - 4, x + 22, at - 4, `film-line film-line-${kind}`)) + text(x + 27, at, words, "film-quiet"));
}

// A map as one path for each shade: 153 cells in at most so many elements.
function shades(map, x, y, cell) {
  const paths = Array(LEVELS + 1).fill("");
  map.forEach((row, i) => row.forEach((weight, j) => {
    const level = Math.round(LEVELS * weight);
    if (level) paths[level] += `M${round(x + j * cell)} ${round(y + i * cell)}h${round(cell)}v${round(cell)}h${-round(cell)}z`;
  }));
  return paths.map((d, level) => (d ? `<path d="${d}" class="film-cell" fill-opacity="${level / LEVELS}"/>` : "")).join("");
}

// The places where a head of a kind would look, outlined.
function outlines(places, x, y, cell) {
  const d = places.map(([i, j]) => `M${round(x + j * cell)} ${round(y + i * cell)}h${round(cell)}v${round(cell)}h${-round(cell)}z`).join("");
  return d ? `<path d="${d}" class="film-mark"/>` : "";
}

function scoreBar(share, x, y, width, kind, words, at, key) {
  const label = 58;
  const most = width - label - 32;
  return text(x, y + 10, words, "film-small") + box(x + label, y, most, BAR, "film-rail")
    + keyed(at, `${kind}-${key}`, signedBar(1, x + label, y + BAR, Math.max(0.5, most * share), BAR, `film-bar-${kind}`))
    + text(x + width, y + 10, decimal(share), "film-small", END);
}

function panel(head, x, y, width, at) {
  const side = Math.min(width - 8, 132);
  const cell = side / head.map.length;
  const top = y + 20;
  const bottom = top + side + 8;
  return text(x, y + 13, head.name, "film-head")
    + `<path d="M${round(x)} ${round(top)}v${round(side)}h${round(side)}z" class="film-frame"/>` + shades(head.map, x, top, cell) + outlines(at.marked, x, top, cell)
    + scoreBar(head.previous, x, bottom, width - 8, "previous", "before", at, head.name) + scoreBar(head.induction, x, bottom + BAR + 6, width - 8, "induction", "copies", at, head.name)
    + target(at, `head-${head.layer}-${head.head}`, x - 2, y, width - 4, side + 2 * BAR + 38, `${head.name}: word before ${decimal(head.previous)}, just after copies ${decimal(head.induction)}`);
}

// The moment that is nearest to a place across.
export function momentAt({ curve, moments }, width, x) {
  const step = scaleLinear([34, width - 12], [0, curve.step.at(-1)])(x);
  const away = moments.map((moment) => Math.abs(moment.step - step));
  return away.indexOf(Math.min(...away));
}

export function draw(result, { width = 720, live = false, label = "Losses over a training and what each head looks at" } = {}) {
  const wide = width >= 560;
  const at = { wide, live, marked: result.marked, entry: "head-0-0" };
  const key = legend(width, 30 + PLOT + 38);
  const columns = wide ? 4 : 2;
  const each = width / columns;
  const tall = Math.min(each - 8, 132) + 2 * BAR + 50;
  const from = key.bottom + 22;
  const panels = result.heads.map((head, n) => panel(head, (n % columns) * each + 2, from + Math.floor(n / columns) * tall, each - 2, at));
  const height = Math.ceil(from + Math.ceil(result.heads.length / columns) * tall);
  return svg("film", width, height, { live, label }, curves(result, width, at) + key.inside + panels.join(""));
}
