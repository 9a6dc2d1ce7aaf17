// The wiring's picture: key/value heads, the query heads that read them, the weights that come of
// it, and four bars of cost. Pure: numbers in, SVG out, in CSS pixels of the given width.
import { range } from "d3-array";
import { MIDDLE, box, inParts, round, stroke, targets, text } from "../core/svg.js";
import { decimal, shortWeight, whole } from "../core/text.js";
import { COSTS, changed } from "./words.js";

export const WIDE = 620; // below this the weights go under the wiring

// Where everything goes. Narrow screens get another arrangement, never smaller text.
function layout(width, count) {
  const wide = width >= WIDE;
  const row = 48;
  const top = wide ? 54 : 26;
  const kv = { x: 0, w: wide ? 74 : 66 };
  const head = { x: wide ? 130 : 108, w: wide ? 156 : Math.min(190, width - 108) };
  const start = wide ? head.x + head.w + 12 : 54;
  const cell = Math.floor((width - start - (wide ? 70 : 8)) / count); // the last word leans out of its column
  const below = top + 4 * row; // under the wiring
  const line = wide ? row : 40;
  const first = wide ? top : below + 66; // where the weights begin
  return { width, wide, row, top, kv, head, start, cell, line, first, bottom: first + 4 * line };
}

const target = targets("wire", 4);

const style = (kv) => `wire-${kv}`;
const middleOf = (at, head) => at.top + head * at.row + (at.row - 8) / 2;

// A key/value head stands in the middle of the query heads that it was made from.
function kvBox(result, kv, at) {
  const heads = result.makers[kv];
  const middle = (middleOf(at, heads[0]) + middleOf(at, heads.at(-1))) / 2;
  const label = `key/value head ${kv}, read by query heads ${result.lines.filter((line) => line.kv === kv).map((line) => line.head).join(", ")}`;
  return box(at.kv.x + 1, middle - 20, at.kv.w - 2, 40, `wire-box ${style(kv)}`)
    + text(at.kv.x + at.kv.w / 2, middle - 2, `KV ${kv}`, "wire-name", MIDDLE)
    + text(at.kv.x + at.kv.w / 2, middle + 13, "in cache", "wire-quiet", MIDDLE)
    + target(at, `kv-${kv}`, at.kv.x + 1, middle - 20, at.kv.w - 2, 40, label);
}

function wire(result, { head, kv }, at) {
  const heads = result.makers[kv];
  const from = (middleOf(at, heads[0]) + middleOf(at, heads.at(-1))) / 2;
  const to = middleOf(at, head);
  const [x1, x2] = [at.kv.x + at.kv.w, at.head.x];
  const bend = (x1 + x2) / 2;
  return `<path d="M${x1} ${round(from)} C${bend} ${round(from)} ${bend} ${round(to)} ${x2} ${round(to)}" class="wire-line ${style(kv)}"/>`;
}

function headBox(result, { head, question, kv }, at) {
  const y = at.top + head * at.row;
  return box(at.head.x, y, at.head.w, at.row - 8, `wire-box ${style(kv)}`)
    + text(at.head.x + 9, y + 17, `Query head ${head}`, "wire-name")
    + text(at.head.x + 9, y + 33, question, "wire-quiet")
    + target(at, `head-${head}`, at.head.x, y, at.head.w, at.row - 8, `query head ${head}, asks for ${question}, reads key/value head ${kv}`);
}

// The weights of one head, and whether they are those it had with keys of its own.
function weightLine(result, line, at) {
  const y = at.first + line.head * at.line;
  const tall = at.wide ? at.row - 8 : 32;
  const cells = result.tokens.map((word, j) => {
    const [x, w] = [at.start + j * at.cell + 1, at.cell - 2];
    if (j > result.token) return text(x + w / 2, y + tall / 2 + 4, "·", "wire-quiet", MIDDLE);
    const weight = line.weights[j];
    const strong = weight > 0.5;
    const label = `head ${line.head} looks at ${word}: weight ${decimal(weight)}`;
    return box(x, y, w, tall, `wire-fill ${style(line.kv)}`, ` fill-opacity="${strong ? 0.92 : Math.round(weight * 50) / 100}"`)
      + box(x, y, w, tall, "wire-cell") + text(x + w / 2, y + tall / 2 + 4, shortWeight(weight), strong ? "wire-number-strong" : "wire-number", MIDDLE)
      + target(at, `w-${line.head}-${j}`, x, y, w, tall, label);
  });
  const own = result.n_kv_heads === result.n_heads;
  const verdict = own ? "" : changed(line) ? "✗ no" : "✓ yes";
  const kind = changed(line) ? "wire-changed" : "wire-same";
  const name = at.wide ? "" : text(0, y + (own ? 20 : 13), `head ${line.head}`, "wire-small");
  const says = at.wide ? text(at.start + result.tokens.length * at.cell + 6, y + tall / 2 + 4, verdict, kind)
    : text(0, y + 28, own ? "" : changed(line) ? "✗ other" : "✓ same", kind);
  return cells.join("") + name + says;
}

function headings(result, at) {
  const over = at.first - 10;
  const slant = at.cell < 44;
  const columns = result.tokens.map((word, j) => {
    const kind = j === result.token ? "wire-asks" : j > result.token ? "wire-quiet" : "wire-column";
    const x = at.start + (j + 0.5) * at.cell;
    return slant ? text(x, over, word, kind, ` transform="rotate(-45 ${round(x)} ${over})"`) : text(x, over, word, kind, MIDDLE);
  });
  const title = `weights of “${result.tokens[result.token]}”`;
  return text(at.kv.x, at.top - 12, "Keys, values", "wire-head") + text(at.head.x, at.top - 12, "Query heads", "wire-head")
    + (at.wide ? text(at.start, at.top - (slant ? 44 : 32), `The ${title}`, "wire-head") : text(0, at.first - 52, `The ${title}`, "wire-head"))
    + (at.wide && result.n_kv_heads < result.n_heads ? text(at.start + result.tokens.length * at.cell + 6, at.top - 12, "as with 4?", "wire-small") : "") + columns.join("");
}

// One bar a cost: its length is the share of what four key/value heads would take.
function bars(result, y, at) {
  const start = at.wide ? 186 : 0;
  const room = at.width - start - (at.wide ? 150 : 4);
  const step = at.wide ? 30 : 50;
  const lines = Object.entries(COSTS).map(([key, [words, unit]], n) => {
    const [now, most] = [result.costs[key], result.most[key]];
    const top = y + 20 + n * step + (at.wide ? 0 : 18);
    const long = (room * now) / most;
    const less = now === most ? (result.n_kv_heads === result.n_heads ? "" : ", not less") : `, 1/${whole(most / now)}`;
    const number = `${whole(now)} ${unit}${less}`;
    const name = at.wide ? text(0, top + 14, words, "wire-column") : text(0, top - 6, `${words}: ${number}`, "wire-column");
    return name + box(start, top, room, 20, "wire-most") + box(start, top, long, 20, now === most ? "wire-full" : "wire-less")
      + (at.wide ? text(start + room + 8, top + 14, number, "wire-quiet") : "")
      + target(at, `cost-${key}`, start, top, room, 20, `${words}: ${number}`);
  });
  const title = at.wide ? "Cost of one layer; the outline is the cost with 4 key/value heads" : "Cost of one layer; outline: 4 KV heads";
  return { inside: text(0, y, title, "wire-head") + lines.join(""), bottom: y + 20 + 4 * step + (at.wide ? 0 : 14) };
}

export function draw(result, { width = 720, live = false, part, label = "Query heads, the key/value heads they read, their weights, and the cost" } = {}) {
  const place = layout(width, result.tokens.length);
  const at = { ...place, live, entry: "head-1" };
  const parts = [
    headings(result, at), stroke(0, at.bottom + 4, width, at.bottom + 4, "wire-rule"), ...result.lines.map((line) => wire(result, line, at)),
    ...range(result.n_kv_heads).map((kv) => kvBox(result, kv, at)), ...result.lines.map((line) => headBox(result, line, at)),
    ...result.lines.map((line) => weightLine(result, line, at)),
  ];
  const first = () => ({ inside: parts.join(""), bottom: at.bottom + 6 });
  return inParts("wire", width, { live, label }, { part, first, second: () => bars(result, 14, at) });
}
