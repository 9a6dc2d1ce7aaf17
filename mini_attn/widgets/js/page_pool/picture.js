// The pool's picture: the requests, the slots in their blocks, a block table, and the utilisation.
// Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { END, MIDDLE, box, field, hatching, inLines, inParts, stroke, surface, svg, targets, text } from "../core/svg.js";
import { percent, sizeOf, stateOf } from "./words.js";

export const WIDE = 600; // below this the utilisation goes apart
const COLUMNS = 16;
const LINES = 6;
const TOP = 84; // of the slots
const AXIS = 38;

const target = targets("pool");

function layout(width) {
  const wide = width >= WIDE;
  const cell = wide ? 24 : Math.floor(width / COLUMNS);
  const left = wide ? COLUMNS * cell + 30 + AXIS : AXIS;
  return { width, wide, cell, left, pitch: (width - left) / 14 };
}

// From one step to the next in the chart.
export const pitch = (width) => layout(width).pitch;

function requests({ rows, request }, at) {
  const w = at.width / rows.length;
  return rows.map((row, i) => {
    const [x, middle] = [i * w + 1, (i + 0.5) * w];
    return box(x, 20, w - 2, 38, `pool-${row.state}${row.name === request ? " pool-mine" : ""}`) + text(middle, 36, row.name, "pool-head", MIDDLE)
      + text(middle, 52, at.wide ? stateOf(row) : row.done || row.state, `pool-say-${row.state}`, MIDDLE)
      + target(at, `request-${row.name}`, x, 20, w - 2, 38, `${row.name}: ${stateOf(row)}`);
  }).join("");
}

// Blocks lie in one line or fill whole lines; the frames of the chosen request's lie on top.
function memory({ blocks, size, request }, at) {
  const [cells, frames] = [[], []];
  blocks.forEach(({ holders, filled }, b) => {
    const place = (slot) => [(slot % COLUMNS) * at.cell, TOP + Math.floor(slot / COLUMNS) * at.cell];
    const mine = holders.includes(request);
    const kind = mine ? "own" : holders[1] ? "several" : "other";
    for (let i = 0; i < size; i += 1) {
      const [x, y] = place(b * size + i);
      cells.push(holders[0] ? at.fill(x + 1, y + 1, at.cell - 2, at.cell - 2, i < filled ? kind : "spare") : box(x + 3, y + 3, at.cell - 6, at.cell - 6, "pool-free"));
      if (i < filled) cells.push(text(x + at.cell / 2, y + at.cell / 2 + 4, holders[1] ? `×${holders.length}` : holders[0], `pool-in-${kind}`, MIDDLE));
    }
    const across = Math.min(size, COLUMNS);
    const [x, y, w, h] = [...place(b * size), across * at.cell, (size / across) * at.cell];
    (mine ? frames : cells).push(box(x, y, w, h, mine ? "pool-frame pool-mine" : "pool-frame"));
    frames.push(target(at, `block-${b}`, x, y, w, h, `block ${b}: ${holders.join(" ") || "free"}`));
  });
  return field(at, surface(at, 0, TOP, COLUMNS * at.cell, LINES * at.cell) + cells.join("") + frames.join(""));
}

// The blocks of the chosen request in the order of its tokens, each as full as it is.
function table({ chosen, blocks, size }, y, at) {
  const across = Math.min(chosen.table.length || 1, Math.floor(at.width / 28));
  const w = Math.min(56, at.width / across);
  const entries = chosen.table.map((b, i) => {
    const [x, top] = [(i % across) * w + 1, y + Math.floor(i / across) * 34];
    return at.fill(x, top, w - 2, 28, "spare") + box(x, top, ((w - 2) * blocks[b].filled) / size, 28, "pool-full") + box(x, top, w - 2, 28, "pool-frame pool-mine")
      + text(x + w / 2 - 1, top + 19, b, "pool-head pool-entry", MIDDLE) + target(at, `entry-${i}`, x, top, w - 2, 28, `entry ${i}: block ${b}`);
  });
  return [entries.join(""), y + Math.ceil(Math.max(1, chosen.table.length) / across) * 34];
}

const LEGEND = [["own", "its token"], ["other", "another’s"], ["several", "held by several"], ["spare", "reserved, empty"], ["free", "free"]];

// A bar for each step: the share of all slots that hold a token.
function chart({ shares, step }, y, tall, at) {
  const [x0, w, base] = [at.left, at.pitch, y + 12 + tall];
  const grid = [0, 0.5, 1].map((share) => stroke(x0, base - share * tall, at.width, base - share * tall, "pool-grid") + text(x0 - 5, base - share * tall + 4, percent(share), "pool-say", END));
  const bars = shares.map((share, i) => box(x0 + i * w + 1, base - share * tall, w - 2, share * tall, `pool-${i + 1 === step ? "own" : i < step ? "other" : "free"}`)
    + target(at, `step-${i + 1}`, x0 + i * w, y + 12, w, tall, `step ${i + 1}: ${percent(share)}`));
  const inside = text(x0 - AXIS, y, at.wide ? "Slots that hold a token, by step" : "", "pool-head") + text(x0 + (step - 0.5) * w, base + 15, step, "pool-head", MIDDLE);
  return { inside: inside + grid.join("") + field(at, surface(at, x0, y + 12, at.width - x0, tall) + bars.join("")), bottom: base + 20 };
}

export function draw(result, { width = 720, uid = "page_pool", live = false, part, label = "Requests in a pool of memory" } = {}) {
  const { step, request, chosen, slots, scheme } = result;
  const at = { ...layout(width), live, entry: part === "second" ? `step-${step}` : `request-${request}` };
  at.fill = (x, y, w, h, kind) => box(x, y, w, h, `pool-${kind}`, kind === "spare" ? ` fill="url(#${uid}-hatch)"` : "");
  const below = TOP + LINES * at.cell + 26;
  const first = () => {
    const heads = [[13, `Requests after step ${step}`], [TOP - 8, `Memory: ${slots} slots, ${sizeOf(result)}`], [below, `Block table of ${request}${chosen.done ? "" : `: ${stateOf(chosen)}`}`]];
    const [entries, end] = table(result, below + 9, at);
    const shown = LEGEND.filter(([kind]) => kind !== "several" || scheme === "shared");
    const key = inLines(shown, end + 6, { width, lead: 24, gap: 12, line: 20 }, (kind, words, x, y) => at.fill(x + 1, y, 17, 14, kind) + text(x + 24, y + 11.5, words, "pool-say"));
    const inside = heads.map(([y, words]) => text(0, y, words, "pool-head")).join("") + requests(result, at) + memory(result, at) + entries + key.inside;
    return { inside, bottom: key.bottom + 18 };
  };
  const defs = hatching(`${uid}-hatch`, "pool-hatch", 5);
  if (!at.wide) return inParts("pool", width, { live, label }, { part, defs, first, second: () => chart(result, 0, 100, at) });
  const { inside, bottom } = first();
  return svg("pool", width, bottom, { live, label }, defs + inside + chart(result, TOP - 8, LINES * at.cell - 24, at).inside);
}
