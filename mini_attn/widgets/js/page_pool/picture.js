// The pool's picture: the requests, the slots in their blocks, a block table, and the utilisation.
// Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, field, grip, hatching, inLines, inParts, knob, round, stroke, surface, svg, targets, text } from "../core/svg.js";
import schema from "./schema.json" with { type: "json" };
import { explain, percent, sizeOf, stateOf } from "./words.js";

export const WIDE = 600; // below this the utilisation goes apart
const COLUMNS = 16;
const AXIS = 46;
const LEGEND = { own: "chosen request", other: "another", several: "shared", spare: "reserved and empty", frame: "free" };

const target = targets("pool");

// What all parts need: sizes, boxes of each kind, and what takes the pointer. The tables below the
// requests have small squares, as many lines of them as the longest request may need.
function layout(result, { width, uid, live, part }) {
  const wide = width >= WIDE;
  const cell = wide ? 24 : Math.floor((width - 2) / COLUMNS);
  const room = width / result.rows.length - 3;
  const most = Math.ceil(result.longest / result.size);
  const side = Math.max(8, Math.min(16, Math.floor(room / most) - 2));
  const across = Math.floor(room / (side + 2));
  const top = 76 + Math.ceil(most / across) * (side + 2); // of the slots
  const at = { width, wide, cell, live, side, across, top, tall: (result.slots / COLUMNS) * cell, entry: part === "second" ? "now" : `request-${result.request}` };
  at.fill = (x, y, w, h, kind) => box(x, y, w, h, `pool-${kind}`, kind === "spare" ? ` fill="url(#${uid}-hatch)"` : "");
  at.hit = (id, ...place) => target(at, id, ...place, explain(result, id).text);
  at.block = (b) => `b-${result.size}-${b}`; // another size makes other blocks
  at.kind = ({ holders }) => (holders[1] ? "several" : holders[0] === result.request ? "own" : "other");
  return at;
}

// Each request with its block table: an entry flies out of the block that it names, and back.
const requests = ({ rows, request, blocks }, at) => rows.map((row, i) => {
  const w = at.width / rows.length;
  const [x, middle, say] = [i * w + 1, (i + 0.5) * w, stateOf(row)];
  const held = row.table.map((b, n) => keyed(at, `${at.block(b)}-${row.name}`, box(
    x + 1 + (n % at.across) * (at.side + 2), 43 + Math.floor(n / at.across) * (at.side + 2), at.side, at.side, `pool-${at.kind(blocks[b])}`), { from: at.block(b) }));
  return at.fill(x, 1, w - 2, 38, row.name === request ? `${row.state} pool-mine` : row.state) + text(middle, 17, row.name, "pool-head", MIDDLE)
    + text(middle, 33, at.wide ? say : say.split(" ")[0], `pool-say-${row.state}`, MIDDLE) + held.join("") + at.hit(`request-${row.name}`, x, 1, w - 2, at.top - 34);
}).join("");

// Blocks lie in one line or fill whole lines; those of the chosen request lie on top.
function memory({ blocks, size, rows, request }, at) {
  const { cell, top } = at;
  const place = (slot) => [(slot % COLUMNS) * cell + 1, top + Math.floor(slot / COLUMNS) * cell];
  const [below, above, hits] = [[], [], []];
  blocks.forEach((block, b) => {
    const { holders, filled } = block;
    const mine = holders.includes(request);
    const kind = at.kind(block);
    const across = Math.min(size, COLUMNS);
    const whole = [...place(b * size), across * cell, (size / across) * cell];
    const parts = [at.fill(...whole, mine ? "mine" : "frame")];
    for (let i = 0; filled && i < size; i += 1) {
      const [x, y] = place(b * size + i);
      parts.push(at.fill(x + 1, y + 1, cell - 2, cell - 2, i < filled ? kind : "spare"));
      if (i < filled) parts.push(text(x + cell / 2, y + cell / 2 + 4, holders[1] ? `×${holders.length}` : holders[0], `pool-in-${kind}`, MIDDLE));
    }
    const takes = [...rows.map(({ name }) => `${at.block(b)}-${name}`), `${at.block(b)}-entry`];
    (mine ? above : below).push(keyed(at, at.block(b), parts.join(""), { takes }));
    hits.push(at.hit(`block-${b}`, ...whole));
  });
  return field(at, surface(at, 0, top, COLUMNS * cell, at.tall) + below.join("") + above.join("") + hits.join(""));
}

// The blocks of the chosen request in the order of its tokens.
function table({ chosen, blocks }, y, at) {
  const across = Math.floor(at.width / 34);
  const line = (i) => y + Math.floor(i / across) * 34;
  const entries = chosen.table.map((b, i) => {
    const x = (i % across) * 34 + 1;
    const kind = at.kind(blocks[b]);
    const inside = at.fill(x, line(i), 30, 28, `${kind} pool-mine`) + text(x + 15, line(i) + 19, b, `pool-in-${kind} pool-head`, MIDDLE);
    return keyed(at, `${at.block(b)}-entry`, inside, { from: at.block(b) }) + at.hit(`entry-${i}`, x, line(i), 30, 28);
  });
  return [entries.join(""), line(Math.max(1, entries.length) - 1) + 40];
}

// Where the chart begins, and how wide a step is in it.
const stepsIn = (width, steps) => {
  const left = AXIS + (width >= WIDE ? COLUMNS * 24 + 20 : 0);
  return [left, (width - left) / steps];
};
export const stepAcross = ({ shares, step }, width, dx) => step + dx / stepsIn(width, shares.length)[1];

// A bar for each step: the share of all slots that hold a token. The step's own bar is dragged.
function chart({ shares, step }, y, tall, at) {
  const [left, w] = stepsIn(at.width, shares.length);
  const level = (share) => y + 12 + tall * (1 - share);
  const grid = [0, 0.5, 1].map((share) => stroke(left, level(share), at.width, level(share), "pool-grid") + text(left - 5, level(share) + 4, percent(share), "", END));
  const bars = shares.map((share, i) => at.fill(left + i * w + 1, level(share), w - 2, share * tall, i + 1 === step ? "own" : i < step ? "other" : "later")
    + (i + 1 === step ? "" : at.hit(`step-${i + 1}`, left + i * w, level(1), w, tall)));
  const own = grip("pool", at, "now", left + (step - 1) * w, level(1), w, tall + 8, { key: "step", entry: schema.step, now: step, label: "Step", words: `${step} of ${shares.length}` });
  return text(left - AXIS, y, "Slots that hold a token, by step", "pool-head") + text(left + (step - 0.5) * w, level(0) + 20, step, "pool-head", MIDDLE)
    + grid.join("") + field(at, surface(at, left, level(1), at.width - left, tall) + bars.join("")
      + knob(left + (step - 0.5) * w, level(0), "pool-own pool-knob", 6) + own);
}

export function draw(result, { width = 720, uid = "page_pool", live = false, part, label = "Requests in one pool" } = {}) {
  const at = layout(result, { width, uid, live, part });
  const below = at.top + at.tall + 26;
  const first = () => {
    const heads = text(0, at.top - 8, `Memory: ${sizeOf(result)}`, "pool-head") + text(0, below, `Block table of ${result.request}${result.chosen.done ? "" : ": empty"}`, "pool-head");
    const [entries, end] = table(result, below + 9, at);
    const key = inLines(Object.entries(LEGEND), end, { width, lead: 24, gap: 16, line: 20 }, (kind, words, x, y) => at.fill(x + 1, y, 17, 14, kind) + text(x + 24, y + 11.5, words, ""));
    const inside = heads + requests(result, at) + memory(result, at) + entries + key.inside;
    return { inside, bottom: key.bottom + 18 };
  };
  const defs = hatching(`${uid}-hatch`, "pool-hatch", 5);
  if (!at.wide) return inParts("pool", width, { live, label }, { part, defs, first, second: () => ({ inside: chart(result, 14, 100, at), bottom: 152 }) });
  const { inside, bottom } = first();
  return svg("pool", width, bottom, { live, label }, defs + inside + chart(result, at.top - 8, at.tall - 24, at));
}
