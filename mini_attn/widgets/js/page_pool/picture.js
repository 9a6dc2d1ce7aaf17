// The pool's picture: the requests, the slots in their blocks, a block table, and the utilisation.
// Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { END, MIDDLE, box, field, hatching, inLines, inParts, stroke, surface, svg, targets, text } from "../core/svg.js";
import { explain, percent, sizeOf, stateOf } from "./words.js";

export const WIDE = 600; // below this the utilisation goes apart
const COLUMNS = 16;
const TOP = 68; // of the slots
const AXIS = 46;
const LEGEND = { own: "chosen request", other: "another", several: "shared", spare: "reserved and empty", frame: "free" };

const target = targets("pool");

// What all parts need: sizes, boxes of each kind, and what takes the pointer.
function layout(result, { width, uid, live, part }) {
  const wide = width >= WIDE;
  const cell = wide ? 24 : Math.floor((width - 2) / COLUMNS);
  const at = { width, wide, cell, live, tall: (result.slots / COLUMNS) * cell, entry: part === "second" ? `step-${result.step}` : `request-${result.request}` };
  at.fill = (x, y, w, h, kind) => box(x, y, w, h, `pool-${kind}`, kind === "spare" ? ` fill="url(#${uid}-hatch)"` : "");
  at.hit = (id, ...place) => target(at, id, ...place, explain(result, id).text);
  return at;
}

const requests = ({ rows, request }, at) => rows.map((row, i) => {
  const w = at.width / rows.length;
  const [x, middle, say] = [i * w + 1, (i + 0.5) * w, stateOf(row)];
  return at.fill(x, 1, w - 2, 38, row.name === request ? `${row.state} pool-mine` : row.state) + text(middle, 17, row.name, "pool-head", MIDDLE)
    + text(middle, 33, at.wide ? say : say.split(" ")[0], `pool-say-${row.state}`, MIDDLE) + at.hit(`request-${row.name}`, x, 1, w - 2, 38);
}).join("");

// Blocks lie in one line or fill whole lines; the frames of the chosen request's lie on top.
function memory({ blocks, size, request }, at) {
  const { cell } = at;
  const place = (slot) => [(slot % COLUMNS) * cell + 1, TOP + Math.floor(slot / COLUMNS) * cell];
  const [cells, frames] = [[], []];
  blocks.forEach(({ holders, filled }, b) => {
    const mine = holders.includes(request);
    const kind = mine ? "own" : holders[1] ? "several" : "other";
    for (let i = 0; i < size; i += 1) {
      const [x, y] = place(b * size + i);
      if (filled) cells.push(at.fill(x + 1, y + 1, cell - 2, cell - 2, i < filled ? kind : "spare"));
      if (i < filled) cells.push(text(x + cell / 2, y + cell / 2 + 4, holders[1] ? `×${holders.length}` : holders[0], `pool-in-${kind}`, MIDDLE));
    }
    const across = Math.min(size, COLUMNS);
    const whole = [...place(b * size), across * cell, (size / across) * cell];
    (mine ? frames : cells).push(at.fill(...whole, mine ? "mine" : "frame"));
    frames.push(at.hit(`block-${b}`, ...whole));
  });
  return field(at, surface(at, 0, TOP, COLUMNS * cell, at.tall) + cells.join("") + frames.join(""));
}

// The blocks of the chosen request in the order of its tokens.
function table({ chosen }, y, at) {
  const across = Math.floor(at.width / 34);
  const line = (i) => y + Math.floor(i / across) * 34;
  const entries = chosen.table.map((b, i) => {
    const x = (i % across) * 34 + 1;
    return at.fill(x, line(i), 30, 28, "mine") + text(x + 15, line(i) + 19, b, "pool-head", MIDDLE) + at.hit(`entry-${i}`, x, line(i), 30, 28);
  });
  return [entries.join(""), line(Math.max(1, entries.length) - 1) + 40];
}

// A bar for each step: the share of all slots that hold a token.
function chart({ shares, step }, y, tall, at) {
  const left = AXIS + (at.wide ? COLUMNS * at.cell + 20 : 0);
  const w = (at.width - left) / shares.length;
  const level = (share) => y + 12 + tall * (1 - share);
  const grid = [0, 0.5, 1].map((share) => stroke(left, level(share), at.width, level(share), "pool-grid") + text(left - 5, level(share) + 4, percent(share), "", END));
  const bars = shares.map((share, i) => at.fill(left + i * w + 1, level(share), w - 2, share * tall, i + 1 === step ? "own" : i < step ? "other" : "later")
    + at.hit(`step-${i + 1}`, left + i * w, level(1), w, tall));
  return text(left - AXIS, y, "Slots that hold a token, by step", "pool-head") + text(left + (step - 0.5) * w, level(0) + 15, step, "pool-head", MIDDLE)
    + grid.join("") + field(at, surface(at, left, level(1), at.width - left, tall) + bars.join(""));
}

export function draw(result, { width = 720, uid = "page_pool", live = false, part, label = "Requests in one pool" } = {}) {
  const at = layout(result, { width, uid, live, part });
  const below = TOP + at.tall + 26;
  const first = () => {
    const heads = text(0, TOP - 8, `Memory: ${sizeOf(result)}`, "pool-head") + text(0, below, `Block table of ${result.request}${result.chosen.done ? "" : ": empty"}`, "pool-head");
    const [entries, end] = table(result, below + 9, at);
    const key = inLines(Object.entries(LEGEND), end, { width, lead: 24, gap: 16, line: 20 }, (kind, words, x, y) => at.fill(x + 1, y, 17, 14, kind) + text(x + 24, y + 11.5, words, ""));
    const inside = heads + requests(result, at) + memory(result, at) + entries + key.inside;
    return { inside, bottom: key.bottom + 18 };
  };
  const defs = hatching(`${uid}-hatch`, "pool-hatch", 5);
  if (!at.wide) return inParts("pool", width, { live, label }, { part, defs, first, second: () => ({ inside: chart(result, 14, 100, at), bottom: 146 }) });
  const { inside, bottom } = first();
  return svg("pool", width, bottom, { live, label }, defs + inside + chart(result, TOP - 8, at.tall - 24, at));
}
