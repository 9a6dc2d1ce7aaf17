// The ring's picture: the text, the slots in a circle, and the weights with and without the window.
// Pure: numbers in, SVG out, in CSS pixels of the width that it is given.
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, grip, inParts, knob, round, stroke, svg, targets, text } from "../core/svg.js";
import { decimal } from "../core/text.js";
import schema from "./schema.json" with { type: "json" };
import { KINDS } from "./words.js";

export const WIDE = 640; // below this the weights go under the ring
const SLOT = [74, 40];

function layout(width) {
  const wide = width >= WIDE;
  const columns = width >= 320 ? 8 : 4; // the text on one line or two
  const cell = Math.min(92, Math.floor(width / columns));
  const ring = wide ? 320 : width;
  const top = 26 + (8 / columns) * 64;
  return { width, wide, columns, cell, ring, top, radius: Math.min(104, ring / 2 - SLOT[0] / 2 - 2) };
}

const target = targets("ring", 4);

// How many tokens the text has up to a place.
export function textUpTo([x, y], width) {
  const { columns, cell } = layout(width);
  const column = Math.max(0, Math.min(columns - 1, Math.floor(x / cell)));
  return (columns < 8 && y > 82 ? columns : 0) + column + 1;
}

// The text: what is visible to the newest token, and what is not. The newest is dragged along it;
// a token that leaves the ring comes back here.
function line(result, at) {
  const { newest, step } = result;
  const cells = result.rows.map(({ token, position, kind }, i) => {
    const x = (i % at.columns) * at.cell + 2;
    const y = 24 + Math.floor(i / at.columns) * 64;
    const w = at.cell - 4;
    const tall = at.touch ? 44 : 30;
    const inside = box(x, y, w, 30, `ring-box-${kind}`) + text(x + w / 2, y + 20, token, `ring-word-${kind}`, MIDDLE)
      + (kind === "gone" ? stroke(x + 5, y + 25, x + w - 5, y + 5, "ring-strike") : "");
    const held = kind === "new" ? knob(x + w / 2, y + 30, "ring-knob")
      + grip("ring", at, "now", x, y, w, 44, { key: "step", entry: schema.step, now: step, label: "Newest token", words: `${token}, token ${position}` })
      : text(x + w / 2, y + 45, `${position}`, "ring-quiet", MIDDLE) + target(at, `token-${i}`, x, y, w, tall, `${token}, token ${position}, ${KINDS[kind]}`);
    return keyed(at, `t-${i}`, inside, { takes: [`held-${i}`] }) + held;
  });
  return text(0, 13, `The text: token ${newest} attends to ${result.cached} of ${step}`, "ring-head") + cells.join("");
}

// The hand of the ring turns to the slot that was written last, always on and on.
function hand({ newest, window }, x, cy, r, at) {
  const angle = round((360 * newest) / window);
  const tip = cy - r + SLOT[0] / 2 + 8;
  const arrow = `${stroke(x, cy - 34, x, tip, "ring-arrow")}<path d="M${x} ${tip}l5 9h-10z" class="ring-arrow-tip"/>`;
  return keyed(at, "hand", `<g transform="rotate(${angle} ${x} ${cy})">${arrow}</g>`, { turn: [angle, x, cy] });
}

// The slots clockwise from the top, and the tokens in them, each out of the text.
function circle(result, at) {
  const { slots, window, rows, newest } = result;
  const r = at.radius;
  const [cx, cy] = [at.ring / 2, at.top + 24 + SLOT[1] / 2 + r];
  const middleOf = (s) => {
    const angle = (2 * Math.PI * s) / window - Math.PI / 2;
    return [cx + r * Math.cos(angle), cy + r * Math.sin(angle)];
  };
  const [w, h] = SLOT;
  const card = (s, kind, word, below) => {
    const [x, y] = middleOf(s);
    return box(x - w / 2, y - h / 2, w, h, `ring-box-${kind}`) + text(x, y - 2, word, `ring-word-${kind}`, MIDDLE) + text(x, y + 14, below, "ring-quiet", MIDDLE);
  };
  const empty = slots.map((_, s) => card(s, "later", "empty", `slot ${s}`));
  const full = slots.map((position, s) => (position === null ? "" : keyed(at, `held-${position}`,
    card(s, position === newest ? "new" : "held", rows[position].token, `${s}: token ${position}`), { from: `t-${position}` })));
  const hits = slots.map((position, s) => {
    const [x, y] = middleOf(s);
    return target(at, `slot-${s}`, x - w / 2, y - h / 2, w, h, `slot ${s}: ${position === null ? "empty" : rows[position].token}`);
  });
  const middle = text(cx, cy - 3, `${newest} mod ${window}`, "ring-head", MIDDLE) + text(cx, cy + 15, `= ${newest % window}`, "ring-head", MIDDLE);
  return `${text(0, at.top + 6, `The ring: ${window} ${window === 1 ? "slot" : "slots"}`, "ring-head")}<circle cx="${round(cx)}" cy="${round(cy)}" r="${round(r)}" class="ring-circle"/>`
    + empty.join("") + hand(result, cx, cy, r, at) + middle + full.join("") + hits.join("");
}

// A bar for each token: full for the window's weight, an outline for the weight without one.
function weights(result, at) {
  const [x0, y0] = at.wide ? [at.ring + 26, at.top] : [0, 8];
  const wide = at.width - x0;
  const [from, long] = [x0 + 52, wide - 52 - 88];
  const rows = result.rows.map(({ token, kind, weight, full }, i) => {
    const y = y0 + 44 + i * 28;
    const name = text(x0, y + 15, token, `ring-word-${kind}`);
    const hit = target(at, `bar-${i}`, x0 - 2, y - 1, wide, 24, `${token}: ${weight === null ? "still to come" : `weight ${decimal(weight)}`}`);
    if (kind === "later") return name + text(from, y + 15, "still to come", "ring-quiet") + hit;
    const numbers = `<text x="${round(x0 + wide)}" y="${y + 15}" class="ring-number"${END}>${decimal(weight)} <tspan class="ring-quiet">(${decimal(full)})</tspan></text>`;
    return name + keyed(at, `bar-${i}`, box(from, y + 2, Math.max(1, long * weight), 18, "ring-bar"))
      + keyed(at, `full-${i}`, box(from, y + 2, Math.max(1, long * full), 18, "ring-bar-full")) + numbers + hit;
  });
  const head = text(x0, y0 + 6, `Weights of head ${result.head} for “${result.rows[result.newest].token}”`, "ring-head");
  const key = box(x0, y0 + 18, 18, 12, "ring-bar") + text(x0 + 24, y0 + 29, "with the window", "ring-quiet")
    + box(x0 + 138, y0 + 18, 18, 12, "ring-bar-full") + text(x0 + 162, y0 + 29, "(without)", "ring-quiet");
  return { inside: head + key + rows.join(""), bottom: y0 + 44 + 8 * 28 + 4 };
}

export function draw(result, { width = 720, live = false, touch = false, part, label = "The text, the ring of its last tokens, and what the newest token attends to" } = {}) {
  const at = { ...layout(width), live, touch, entry: part === "second" ? `bar-${result.newest}` : "now" };
  const inside = line(result, at) + circle(result, at);
  const bottom = at.top + 2 * at.radius + SLOT[1] + 30;
  if (!at.wide) return inParts("ring", width, { live, label }, { part, first: () => ({ inside, bottom }), second: () => weights(result, at) });
  const bars = weights(result, at);
  return svg("ring", width, Math.ceil(Math.max(bars.bottom, bottom)), { live, label }, inside + bars.inside);
}
