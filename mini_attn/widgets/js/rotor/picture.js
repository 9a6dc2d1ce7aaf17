// The rotor's picture: the numbers with their planes, a dial for each plane, the sum, and the score
// against the distance. Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { MIDDLE, box, inLines, inParts, round, stroke, targets, text } from "../core/svg.js";
import { decimal } from "../core/text.js";
import { curves } from "./curves.js";
import { small, sumOf, degrees } from "./words.js";

const WIDE = 600; // below this two dials stand side by side, not four
const NAMES = { q: "query", k: "key" };

function layout(width) {
  const wide = width >= WIDE;
  const left = 50;
  const cell = Math.min(58, Math.floor((width - left) / 8));
  const columns = wide ? 4 : 2;
  const tile = Math.floor(width / columns);
  const radius = Math.min(wide ? 70 : 44, Math.floor(tile / 2) - 12);
  // Narrow, the numbers stand with the curves in the second part.
  return { width, wide, left, cell, row: 28, tall: 24, columns, tile, radius, strips: 24, dials: wide ? 24 + 2 * 28 + 14 : 0, dial: 2 * radius + 78 };
}

const target = targets("rotor", 4);

// The numbers of query and key before the rotation; the letter says which plane each belongs to.
function strips(result, at) {
  const letters = result.planes.flatMap(({ letter, members }) =>
    members.map((n) => text(at.left + (n + 0.5) * at.cell, 14, letter, "rotor-letter", MIDDLE)));
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
  return text(0, 14, "plane", "rotor-quiet") + letters.join("") + rows.join("");
}

// A hand from the middle: the query's ends in a disc, the key's in a square.
function hand(cx, cy, [a, b], scale, style) {
  const [x, y] = [cx + a * scale, cy - b * scale];
  const tip = style.startsWith("before") ? ""
    : style === "q" ? `<circle cx="${round(x)}" cy="${round(y)}" r="5" class="rotor-tip-q"/>`
      : `<rect x="${round(x - 4.5)}" y="${round(y - 4.5)}" width="9" height="9" class="rotor-tip-k"/>`;
  return stroke(cx, cy, x, y, `rotor-hand-${style}`) + tip;
}

function placeOf(n, at) {
  const y0 = at.dials + Math.floor(n / at.columns) * at.dial;
  return { y0, cx: (n % at.columns) * at.tile + at.tile / 2, cy: y0 + 26 + at.radius };
}

// The hand nearer to the pointer goes with it; as far as this plane rotates, the token moves.
export function drag({ planes, position, distance }, id, { width }) {
  const [kind, number] = id.split("-");
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
    + hand(cx, cy, q.before, scale, "before-q") + hand(cx, cy, k.before, scale, "before-k")
    + hand(cx, cy, k.rotated, scale, "k") + hand(cx, cy, q.rotated, scale, "q")
    + text(cx, below + 18, `${degrees(speed)} per position`, "rotor-quiet", MIDDLE)
    + text(cx, below + 35, `product ${decimal(part)}`, "rotor-part", MIDDLE)
    + target(at, `plane-${n}`, cx - at.radius - 4, cy - at.radius - 4, 2 * at.radius + 8, 2 * at.radius + 8, `plane ${letter}: product ${decimal(part)}`);
}

// What the hands mean.
function legend(y, at) {
  const entries = [["q", at.wide ? "query, rotated" : "query"], ["k", at.wide ? "key, rotated" : "key"], ["before-q", "before rotation"]];
  const key = inLines(entries, y, { width: at.width, lead: 42, gap: at.wide ? 18 : 8, line: 22, letter: 6.2 }, (style, words, x, line) =>
    hand(x + 4, line, [26, 0], 1, style) + text(x + 42, line + 4.5, words, "rotor-quiet"));
  return { inside: key.inside, bottom: key.bottom + 10 };
}

function sums(result, y, at) {
  const total = `= ${decimal(result.score)}`;
  const far = `✓ With the key at 0 and the query at ${result.distance}, the same: difference ${small(result.difference)}`;
  const near = at.wide ? "✓ This is the start. Move both, and the score doesn't change" : "✓ The start: move both, same score";
  const check = !result.position ? near : at.wide ? far : "✓ The same score with the key at 0";
  const first = `<text x="0" y="${y}" class="rotor-sum">q · k = ${sumOf(result.planes)}${at.wide ? ` <tspan class="rotor-total">${total}</tspan>` : ""}</text>`;
  const second = at.wide ? "" : text(44, y + 22, total, "rotor-total");
  const next = y + (at.wide ? 24 : 46);
  return { inside: first + second + text(0, next, check, "rotor-same"), bottom: next };
}

export function draw(result, { width = 720, live = false, part, label = "Query and key in each plane, rotated to their positions, and their score" } = {}) {
  const at = { ...layout(width), live, entry: "plane-0" };
  const dials = result.planes.map((_, n) => dial(result, n, at)).join("");
  const first = () => {
    const key = legend(at.dials + (4 / at.columns) * at.dial, at);
    const sum = sums(result, key.bottom + 20, at);
    return { inside: (at.wide ? strips(result, at) : "") + dials + key.inside + sum.inside, bottom: sum.bottom + 10 };
  };
  const second = () => {
    const chart = curves(result, at.wide ? 14 : at.strips + 3 * at.row + 14, at, target);
    return { inside: (at.wide ? "" : strips(result, at)) + chart.inside, bottom: chart.bottom };
  };
  return inParts("rotor", width, { live, label }, { part, first, second });
}
