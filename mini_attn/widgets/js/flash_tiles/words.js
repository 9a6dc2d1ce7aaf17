// The tiles in words: the sentence, the table, and the count behind each part.
import { decimal, whole } from "../core/text.js";
import { scaled } from "../core/units.js";
import { KILO } from "./compute.js";

export const NAMES = { q: "Q", k: "K", v: "V", o: "sum", s: "scores", m: "m and l" };
export const kilo = (bytes) => decimal(bytes / KILO, 1);
const bytes = (n) => scaled(n, "B", decimal);
const flops = (n) => scaled(n, "FLOP", decimal);
const span = (i, size) => `${whole(i * size)} to ${whole((i + 1) * size - 1)}`;
const counts = ({ tiles, masked, skipped }) => `${whole(tiles)} tiles computed, ${whole(masked)} of them partly masked, ${whole(skipped)} skipped`;

export const room = ({ used, memory, over }) => `${kilo(used)} of ${memory} kB${over ? ", too much" : ""}`;

// The two pairs of bars: in tiles, and with the scores materialized.
export const pairs = ({ tiled, written_down: written, products, rescaling }) => [
  ["Bytes moved", "moved", [tiled, written], bytes], ["FLOPs", "work", [products + rescaling, products], flops],
];

export function describe(result) {
  const { tile, tiles, done, row, column, block_q: bq, block_k: bk, over, used, memory, written } = result;
  if (over) return `These blocks need ${kilo(used)} kB, and the fast memory has ${memory}.`;
  const at = done || !tile ? `${counts(result)}.` : `Tile ${whole(tile)} of ${whole(tiles)}: queries ${span(row, bq)}, keys ${span(column, bk)}.`;
  const [moved, work] = pairs(result).map(([, , values, show]) => values.map(show));
  const own = Number(written);
  return `${at} The whole loop moves ${moved[own]} and does ${work[own]}; ${own ? "in tiles" : "with materialized scores"} ${moved[1 - own]} and ${work[1 - own]}.`;
}

export function table(result) {
  const { moved, scores, parts } = result;
  return {
    caption: `${counts(result)}; kB of fast memory: ${parts.map(({ name, bytes: n }) => `${NAMES[name]} ${kilo(n)}`).join(", ")}`,
    head: ["", "in tiles", "scores materialized"],
    rows: [
      ...Object.entries(moved).map(([name, n]) => [name.toUpperCase(), bytes(n), bytes(n)]), ["scores and weights", "none", bytes(scores)],
      ...pairs(result).map(([head, , values, show]) => [head, ...values.map(show)]),
    ],
  };
}

function explained(result, id) {
  const { tokens, head_dim: d, tiles, row, column, moved, block_q: bq, block_k: bk, causal } = result;
  const [first, last] = id.split("-");
  if (first.startsWith("block_")) return `${result[first]} ${first === "block_q" ? "queries" : "keys"} per block. Drag the knob, or use the arrow keys.`;
  if (first === "part") {
    const { size: [a, b, each], bytes: n } = result.parts.find(({ name }) => name === last);
    return `${NAMES[last]}: ${a} × ${b} values of ${each} bytes = ${kilo(n)} kB.`;
  }
  const own = last === "tiles";
  if (first === "work") return `Products: ${whole(tiles)} · 4 · ${bq} · ${bk} · ${d}${own ? `; rescaling of the sum: ${whole(tiles)} · ${bq} · ${d}` : ""}.`;
  if (last) return `2 bytes per value: Q and O 2 · ${whole(tokens)} · ${d}; K and V ${whole(tiles)} · 2 · ${bk} · ${d}${own ? "" : `; scores and weights, each written and read, ${whole(tiles)} · 4 · ${bq} · ${bk}`}.`;
  if (id === "memory") return room(result);
  if (id === "tile") return `${bq} × ${bk} scores${causal && (column + 1) * bk > row * bq + 1 ? ", partly masked" : ""}. ${counts(result)}: not loaded, not computed.`;
  const [size, many] = "kv".includes(id) ? [bk, `for each of ${whole(tiles)} tiles`] : [bq, "once"];
  return `${id.toUpperCase()}: ${whole(tokens)} × ${d}. A block of ${size} rows is moved ${many}: ${bytes(moved[id])}.`;
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  return { text: explained(result, id), also: [id[1] ? id.replace("part-", "") : `part-${id}`] };
}
