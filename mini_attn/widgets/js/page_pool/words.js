// The pool in words: the sentence, the table, and the details of requests, blocks and entries.
import { count, whole } from "../core/text.js";

export const percent = (share) => `${whole(100 * share)}%`;
export const stateOf = ({ state, done }) => (done ? count(done, "token") : state);
export const sizeOf = ({ scheme, size, blocks }) => `${blocks.length} ${scheme === "contiguous" ? "reservations" : "pages"} of ${count(size, "slot")}`;

export function describe(result) {
  const { step, size, slots, used, rows, free, shares, copied, preempted } = result;
  const are = (wanted) => rows.filter(({ state }) => state === wanted).length;
  const tokens = rows.reduce((sum, { done }) => sum + done, 0);
  const copies = copied.map(([name, from, to]) => ` Block ${from} has another holder, so ${name} writes into a copy, block ${to}.`).join("");
  const gone = preempted.length ? ` Too few blocks: ${preempted.join(" and ")} preempted.` : "";
  return `Step ${step}, ${sizeOf(result)}: ${are("runs")} running, ${are("waits")} waiting. ${tokens} tokens in ${used} of ${slots} slots: ${percent(shares[step - 1])}; ${slots - free * size - used} are reserved and empty, ${free * size} free.${copies}${gone}`;
}

export const table = (result) => ({
  caption: `After step ${result.step}, ${sizeOf(result)}: each block with its reference count`,
  head: ["request", "state", "block table"],
  rows: result.rows.map((row) => [row.name, stateOf(row), row.table.map((b) => `${b} ×${result.blocks[b].holders.length}`).join(", ") || "–"]),
});

// The details of a part of the picture, and the other parts that belong to it.
export function explain({ rows, blocks, chosen, size, free, shares, step }, id) {
  const [kind, key = step] = id.split("-");
  if (kind === "request") {
    const row = rows.find(({ name }) => name === key);
    const { state, table: held, tokens, limit, done } = row;
    const more = done ? ` in ${count(held.length, "block")}, ends at ${limit}` : state === "waits" ? ` for ${count(Math.ceil(tokens.length / size), "block")}, ${free} free` : "";
    return { text: `${key}: ${stateOf(row)}${more}.`, also: held.map((b) => `block-${b}`) };
  }
  if (kind === "step" || kind === "now") return { text: `Step ${key}: ${percent(shares[key - 1])} of the slots.`, also: [] };
  if (kind === "block") {
    const { holders, filled, index } = blocks[key];
    const held = `tokens of ${holders.join(", ")} from position ${index * size}; reference count ${holders.length}; ${filled} of ${size} slots filled`;
    return { text: `Block ${key}: ${filled ? held : "free"}.`, also: holders.map((name) => `request-${name}`) };
  }
  const t = Math.min(chosen.done, key * size + size) - 1;
  const b = chosen.table[key];
  return { text: `Token ${t} of ${chosen.name}: entry ${t} div ${size} = ${key}, so block ${b}; slot ${t} mod ${size} = ${t % size}.`, also: [`block-${b}`] };
}
