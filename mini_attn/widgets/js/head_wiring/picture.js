// The wiring's picture: key/value heads, the query heads that read them, the weights that come of
// it, and four bars of cost. Pure: numbers in, SVG out, in CSS pixels of the given width.
import { range } from "d3-array";
import { keyed } from "../core/motion.js";
import { END, MIDDLE, box, grip, round, svg, targets, text } from "../core/svg.js";
import { decimal, shortWeight, whole } from "../core/text.js";
import schema from "./schema.json" with { type: "json" };
import { COSTS, changed } from "./words.js";

const WIDE = 620; // below this the weights go under the wiring

// Where everything goes. Narrow screens get another arrangement, never smaller text.
function layout(width, count) {
  const wide = width >= WIDE;
  const row = wide ? 48 : 42;
  const top = wide ? 54 : 24;
  const kv = { x: 0, w: wide ? 74 : 66 };
  const head = { x: wide ? 130 : 108, w: wide ? 156 : Math.min(190, width - 108) };
  const start = wide ? head.x + head.w + 12 : 54;
  const cell = Math.floor((width - start - (wide ? 70 : 8)) / count); // the last word leans out of its column
  const below = top + 4 * row; // under the wiring
  const line = wide ? row : 29;
  const first = wide ? top : below + 54; // where the weights begin
  return { width, wide, row, tall: 40, top, kv, head, start, cell, line, first, bottom: first + 4 * line };
}

const target = targets("wire", 4);

const style = (kv) => `wire-${kv}`;
const middleOf = (at, head) => at.top + head * at.row + at.tall / 2;

// Where each query head had its own key/value head there's a place; shared, the first one's is taken.
function kvBox(result, kv, at) {
  const [first, ...others] = result.makers[kv];
  const middle = middleOf(at, first);
  const label = `key/value head ${kv}, read by query heads ${result.lines.filter((line) => line.kv === kv).map((line) => line.head).join(", ")}`;
  const place = [at.kv.x + 1, middle - at.tall / 2, at.kv.w - 2, at.tall];
  const inside = box(...place, `wire-box ${style(kv)}`)
    + text(at.kv.x + at.kv.w / 2, middle - 2, `KV ${kv}`, "wire-name", MIDDLE)
    + text(at.kv.x + at.kv.w / 2, middle + 13, "in cache", "wire-quiet", MIDDLE);
  const ways = { from: `kv-${first % 2 ? first - 1 : 0}`, takes: others.map((head) => `kv-${head}`) };
  return keyed(at, `kv-${first}`, inside, ways) + target(at, `kv-${kv}`, ...place, label);
}

function wire(result, { head, kv }, at) {
  const from = middleOf(at, result.makers[kv][0]);
  const to = middleOf(at, head);
  const [x1, x2] = [at.kv.x + at.kv.w, at.head.x];
  const bend = (x1 + x2) / 2;
  const dot = (x, y, r) => `<circle cx="${x}" cy="${round(y)}" r="${r}" class="wire-plug ${style(kv)}"/>`;
  const words = `reads key/value head ${kv} of ${result.n_kv_heads}`;
  return `<path d="M${x1} ${round(from)} C${bend} ${round(from)} ${bend} ${round(to)} ${x2} ${round(to)}" class="wire-line ${style(kv)}"/>`
    + keyed(at, `end-${head}`, dot(x1 + 1, from, 4)) + dot(x2 - 9, to, 6)
    + grip("wire", at, `wire-${head}`, x1 + 2, to - at.tall / 2, x2 - x1 - 3, at.tall, {
      key: "n_kv_heads", entry: { min: 1, max: result.n_heads }, now: result.n_kv_heads, upright: true, label: `wire of query head ${head}`, words,
    });
}

// A wire goes to its own place, to its neighbour's or further: so many heads share.
export function drag(result, id, { width }) {
  const [kind, head] = id.split("-");
  if (kind !== "wire") return null;
  const at = layout(width, result.tokens.length);
  return ({ to: [, y] }) => {
    const place = Math.max(0, Math.min(3, Math.floor((y - at.top) / at.row)));
    const share = schema.n_kv_heads.values.find((n) => Math.floor((place * n) / 4) === Math.floor((head * n) / 4));
    return { n_kv_heads: share, order: "neighbours" };
  };
}

function headBox(result, { head, question, kv }, at) {
  const y = at.top + head * at.row;
  return box(at.head.x, y, at.head.w, at.tall, `wire-box ${style(kv)}`)
    + text(at.head.x + 9, y + 17, `Query head ${head}`, "wire-name")
    + text(at.head.x + 9, y + 33, question, "wire-quiet")
    + target(at, `head-${head}`, at.head.x, y, at.head.w, at.tall, `query head ${head}, asks for ${question}, reads key/value head ${kv}`);
}

// The weights of one head, and whether they are those it had with keys of its own.
function weightLine(result, line, at) {
  const y = at.first + line.head * at.line;
  const tall = at.wide ? at.tall : 26;
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
  const name = at.wide ? "" : text(0, y + (own ? 17 : 11), `head ${line.head}`, "wire-small");
  const says = at.wide ? text(at.start + result.tokens.length * at.cell + 6, y + tall / 2 + 4, verdict, kind)
    : text(0, y + 23, own ? "" : changed(line) ? "✗ other" : "✓ same", kind);
  return cells.join("") + name + says;
}

function headings(result, at) {
  const over = at.first - 10;
  const slant = at.cell < 44;
  const columns = result.tokens.map((word, j) => {
    const kind = j === result.token ? "wire-asks" : j > result.token ? "wire-quiet" : "wire-column";
    const x = at.start + (j + 0.5) * at.cell;
    return (slant ? text(x, over, word, kind, ` transform="rotate(-45 ${round(x)} ${over})"`) : text(x, over, word, kind, MIDDLE))
      + target(at, `t-${j}`, x - at.cell / 2, over - 24, at.cell, 30, `let ${word} look`);
  });
  const title = `weights of “${result.tokens[result.token]}”`;
  return text(at.kv.x, at.top - 12, "Keys, values", "wire-head") + text(at.head.x, at.top - 12, "Query heads", "wire-head")
    + (at.wide ? text(at.kv.x, at.top - 32, "↕ Drag a wire", "wire-quiet") : text(at.width, at.top - 12, "↕ drag a wire", "wire-quiet", END))
    + (at.wide ? text(at.start, at.top - (slant ? 44 : 32), `The ${title}`, "wire-head") : text(0, at.first - 42, `The ${title}`, "wire-head"))
    + (at.wide && result.n_kv_heads < result.n_heads ? text(at.start + result.tokens.length * at.cell + 6, at.top - 12, "as with 4?", "wire-small") : "") + columns.join("");
}

// One bar a cost: its length is the share of what four key/value heads would take.
function bars(result, y, at) {
  const start = at.wide ? 186 : 150;
  const room = at.width - start - (at.wide ? 100 : 76);
  const step = at.wide ? 30 : 24;
  const lines = Object.entries(COSTS).map(([key, [words, unit]], n) => {
    const [now, most] = [result.costs[key], result.most[key]];
    const [top, tall] = [y + n * step, step - 10];
    const number = `${whole(now)} ${unit}`;
    return text(0, top + tall - 4, words, "wire-column") + box(start, top, room, tall, "wire-most")
      + keyed(at, `cost-${key}`, box(start, top, (room * now) / most, tall, now === most ? "wire-full" : "wire-less"))
      + text(start + room + 8, top + tall - 4, number, "wire-quiet", ` data-count="${key}"`)
      + target(at, `cost-${key}`, start, top - 5, room, step, `${words}: ${number}`);
  });
  return { inside: lines.join(""), bottom: y + 4 * step };
}

export function draw(result, { width = 720, live = false, label = "Query heads, the key/value heads they read, their weights, and the cost" } = {}) {
  const at = { ...layout(width, result.tokens.length), live, entry: "wire-1" };
  const cost = bars(result, at.bottom + (at.wide ? 20 : 9), at);
  return svg("wire", width, Math.ceil(cost.bottom), { live, label }, [
    headings(result, at),
    ...range(result.n_heads).map((head) => box(1, at.top + head * at.row, at.kv.w - 2, at.tall, "wire-free")),
    ...result.lines.map((line) => wire(result, line, at)),
    ...range(result.n_kv_heads).map((kv) => kvBox(result, kv, at)), ...result.lines.map((line) => headBox(result, line, at)),
    ...result.lines.map((line) => weightLine(result, line, at)), cost.inside,
  ].join(""));
}
