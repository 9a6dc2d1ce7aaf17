// The rotor's picture: the numbers with their planes, a dial for each plane, the sum, and the score
// against the distance. Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { scaleLinear } from "d3-scale";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, grip, inParts, round, stroke, targets, text } from "../core/svg.js";
import { decimal } from "../core/text.js";
import { curves } from "./curves.js";
import schema from "./schema.json" with { type: "json" };
import { sumOf, degrees } from "./words.js";

const WIDE = 600; // below this two dials stand side by side, not four
const NAMES = { q: "query", k: "key" };
const TRACK = 56; // height of the text that the two are moved along

function layout(width) {
  const wide = width >= WIDE;
  const left = 50;
  const cell = Math.min(58, Math.floor((width - left) / 8));
  const columns = wide ? 4 : 2;
  const tile = Math.floor(width / columns);
  const radius = Math.min(wide ? 66 : 37, Math.floor(tile / 2) - 12);
  // Narrow, the numbers stand with the curves in the second part.
  return { width, wide, left, cell, row: 28, tall: 24, columns, tile, radius, strips: 24 + (wide ? TRACK : 0), dials: TRACK + (wide ? 24 + 2 * 28 + 14 : 0), dial: 2 * radius + 78 };
}

const target = targets("rotor", 4);

// The numbers of query and key before the rotation; the letter says which plane each belongs to.
function strips(result, at) {
  const letters = result.planes.flatMap(({ letter, members }) =>
    members.map((n) => text(at.left + (n + 0.5) * at.cell, at.strips - 10, letter, "rotor-letter", MIDDLE)));
  const rows = ["q", "k"].map((name, line) => {
    const y = at.strips + line * at.row;
    const cells = result[name].map((value, n) => {
      const x = at.left + n * at.cell + 1;
      return box(x, y, at.cell - 2, at.tall, `rotor-cell rotor-cell-${name}`)
        + text(x + at.cell / 2 - 1, y + 16.5, decimal(value, 1), "rotor-number", MIDDLE)
        + target(at, `${name}-${n}`, x, y, at.cell - 2, at.tall, `dimension ${n} of the ${NAMES[name]}: ${decimal(value, 1)}`);
    });
    return text(0, y + 16.5, NAMES[name], "rotor-head") + cells.join("");
  });
  return text(0, at.strips - 10, "plane", "rotor-quiet") + letters.join("") + rows.join("");
}

// The query is a disc, the key a square.
const tip = (name, x, y, size) => (name === "q" ? `<circle cx="${round(x)}" cy="${round(y)}" r="${size}" class="rotor-tip-q"/>`
  : `<rect x="${round(x - size + 0.5)}" y="${round(y - size + 0.5)}" width="${2 * size - 1}" height="${2 * size - 1}" class="rotor-tip-k"/>`);

// A hand from the middle, before it's rotated and after.
function hand(name, { before, angle, rotated }, n, cx, cy, scale, at) {
  const ends = ([a, b]) => [cx + a * scale, cy - b * scale];
  const degree = ((Math.atan2(before[1], before[0]) + angle) * -180) / Math.PI;
  return stroke(cx, cy, ...ends(before), `rotor-hand-before-${name}`)
    + keyed(at, `${name}-${n}`, stroke(cx, cy, ...ends(rotated), `rotor-hand-${name}`) + tip(name, ...ends(rotated), 5), { turn: [round(degree), round(cx), round(cy)] });
}

const trackOf = ({ width }) => scaleLinear([0, schema.position.max + schema.distance.max], [26, width - 26]);

// The text: the key takes the query with it, the query alone changes the distance.
function track(result, at) {
  const { position, distance, query_position: query } = result;
  const x = trackOf(at);
  const [k, q, y] = [x(position), x(query), 30];
  const end = Math.min(Math.max(k + 8, 62), at.width - 100); // of the words about the key
  const middle = (k + q) / 2;
  const ticks = x.ticks(57).map((tick) => stroke(x(tick), y - 3, x(tick), y + 3, "rotor-zero"));
  const part = (id, from, to, key, now, label, words) => grip("rotor", at, id, from, 8, to - from, 44, { key, entry: schema[key], now, label, words });
  return text(0, 12, `↔ The key moves both, the query ${at.wide ? "changes " : ""}the distance: ${distance}`, "rotor-quiet")
    + stroke(x(0), y, at.width - 26, y, "rotor-zero") + ticks.join("")
    + keyed(at, "apart", box(k, y - 2.5, q - k, 5, "rotor-apart"))
    + keyed(at, "key", tip("k", k, y, 8)) + keyed(at, "query", tip("q", q, y, 8))
    + text(end, 51, `key at ${position}`, "rotor-name-k", END) + text(Math.max(end + 8, Math.min(q - 4, at.width - 92)), 51, `query at ${query}`, "rotor-name-q")
    + part("move-k", Math.max(0, k - 44), middle, "position", position, "Both: position of the key", `key at ${position}, query at ${query}`)
    + part("move-q", middle, Math.min(at.width, q + 44), "distance", distance, "Query comes after the key by", `${distance}`);
}

export const product = (part) => `product ${decimal(part)}`;

function placeOf(n, at) {
  const y0 = at.dials + Math.floor(n / at.columns) * at.dial;
  return { y0, cx: (n % at.columns) * at.tile + at.tile / 2, cy: y0 + 26 + at.radius };
}

// The hand nearer to the pointer goes with it; as far as this plane rotates, the token moves.
export function drag({ planes, position, distance }, id, { width }) {
  const [kind, number] = id.split("-");
  const tokens = (dx) => Math.round(trackOf({ width }).invert(26 + dx));
  if (id === "move-k") return ({ dx }) => ({ position: position + tokens(dx) });
  if (id === "move-q") return ({ dx }) => ({ distance: distance + tokens(dx) });
  if (kind !== "plane") return null;
  const { cx, cy } = placeOf(Number(number), layout(width));
  const { speed, q, k } = planes[Number(number)];
  const angle = ([x, y]) => Math.atan2(cy - y, x - cx);
  const between = (one, other) => Math.atan2(Math.sin(one - other), Math.cos(one - other));
  const of = ({ rotated: [a, b] }) => Math.atan2(b, a);
  return ({ from, to }) => {
    const by = Math.round(between(angle(to), angle(from)) / speed);
    const query = Math.abs(between(angle(from), of(q))) <= Math.abs(between(angle(from), of(k)));
    if (query) return { distance: distance + by };
    const key = Math.max(0, Math.min(position + by, position + distance)); // the query stays
    return { position: key, distance: distance + position - key };
  };
}

function dial(result, n, at) {
  const { letter, members, speed, q, k, part } = result.planes[n];
  const { y0, cx, cy } = placeOf(n, at);
  const longest = Math.max(...result.planes.flatMap((plane) => [plane.q, plane.k].map(({ before }) => Math.hypot(...before))));
  const scale = (at.radius - 7) / longest;
  const below = cy + at.radius;
  return `<text x="${round(cx)}" y="${y0 + 14}" class="rotor-head"${MIDDLE}>${letter}<tspan class="rotor-quiet" dx="6">dims ${members.join(", ")}</tspan></text>`
    + `<circle cx="${round(cx)}" cy="${round(cy)}" r="${at.radius}" class="rotor-dial"/>`
    + stroke(cx - at.radius, cy, cx + at.radius, cy, "rotor-axis") + stroke(cx, cy - at.radius, cx, cy + at.radius, "rotor-axis")
    + hand("k", k, n, cx, cy, scale, at) + hand("q", q, n, cx, cy, scale, at)
    + text(cx, below + 18, `${degrees(speed)} per position`, "rotor-quiet", MIDDLE)
    + text(cx, below + 35, product(part), "rotor-part", `${MIDDLE} data-count="part-${n}"`)
    + target(at, `plane-${n}`, cx - at.radius - 4, cy - at.radius - 4, 2 * at.radius + 8, 2 * at.radius + 8, `plane ${letter}: product ${decimal(part)}`);
}

function sums(result, y, at) {
  const total = `= ${decimal(result.score)}`;
  const first = `<text x="0" y="${y}" class="rotor-sum">q · k = ${sumOf(result.planes)}${at.wide ? ` <tspan class="rotor-total">${total}</tspan>` : ""}</text>`;
  const bottom = y + (at.wide ? 0 : 22);
  const dotted = text(at.width, bottom, "dotted: before rotation", "rotor-quiet", END);
  return { inside: first + (at.wide ? "" : text(44, bottom, total, "rotor-total")) + dotted, bottom };
}

export function draw(result, { width = 720, live = false, part, label = "Query and key in each plane, rotated to their positions, and their score" } = {}) {
  const at = { ...layout(width), live, entry: "move-k" };
  const dials = result.planes.map((_, n) => dial(result, n, at)).join("");
  const first = () => {
    const sum = sums(result, at.dials + (4 / at.columns) * at.dial + 12, at);
    return { inside: track(result, at) + (at.wide ? strips(result, at) : "") + dials + sum.inside, bottom: sum.bottom + 10 };
  };
  const second = () => {
    const chart = curves(result, at.wide ? 14 : at.strips + 3 * at.row + 14, at, target);
    return { inside: (at.wide ? "" : strips(result, at)) + chart.inside, bottom: chart.bottom };
  };
  return inParts("rotor", width, { live, label }, { part, first, second });
}
