// The pool in words: the sentence, the table, and what stands behind requests, blocks and entries.
import { count, whole } from "../core/text.js";

export const percent = (share) => `${whole(100 * share)} %`;
export const stateOf = ({ state, done }) => (done ? count(done, "token") : state);
export const sizeOf = ({ scheme, size }) => (scheme === "contiguous" ? `${size} slots reserved for each` : `${scheme} of ${count(size, "slot")}`);

export function describe(result) {
  const { step, size, slots, used, rows, free, shares, copied, preempted } = result;
  const are = (wanted, words) => {
    const names = rows.filter(({ state }) => state === wanted).map(({ name }) => name);
    return `${names.length} ${words}${names.length ? ` (${names.join(", ")})` : ""}`;
  };
  const tokens = rows.reduce((sum, { done }) => sum + done, 0);
  const what = tokens > used ? `Their ${tokens} tokens lie in ${used} of ${slots} slots` : `${used} of ${slots} slots hold a token`;
  const copies = copied.map(([name, from, to]) => ` Block ${from} has another holder, so ${name} writes into a copy, block ${to}.`).join("");
  const gone = preempted.length ? ` Too few blocks: ${preempted.join(" and ")} gave all back.` : "";
  return `Step ${step}, ${sizeOf(result)}: ${are("runs", "running")}, ${are("waits", "waiting")}. ${what}: ${percent(shares[step - 1])}. Reserved and empty ${slots - free * size - used}, free ${free * size}.${copies}${gone}`;
}

export function table({ rows, blocks, ...result }) {
  return {
    caption: `After step ${result.step}, ${sizeOf(result)}`,
    head: ["request", "state", "block table", "references"],
    rows: rows.map((row) => [row.name, stateOf(row), row.table.join(" ") || "–", row.table.map((b) => blocks[b].references).join(" ") || "–"]),
  };
}

function explainRequest({ size, free }, row) {
  const held = row.table.length;
  const start = `${row.name}: ${stateOf(row)}`;
  if (held) return `${start} in ${count(held, "block")} of ${size}, ${held * size - row.done} reserved and empty. It ends at ${row.limit}.`;
  return row.state === "waits" ? `${start}. ${count(row.tokens.length, "token")} need ${Math.ceil(row.tokens.length / size)} of the blocks of ${size}; free: ${free}. Nobody overtakes.` : `${start}.`;
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [kind, key] = id.split("-");
  const { rows, blocks, chosen, size, request } = result;
  if (kind === "request") {
    const row = rows.find(({ name }) => name === key);
    return { text: explainRequest(result, row), also: row.table.map((b) => `block-${b}`) };
  }
  if (kind === "step") return { text: `Step ${key}: ${percent(result.shares[key - 1])} of all slots hold a token.`, also: [] };
  if (kind === "block") {
    const { holders, filled, references, index } = blocks[key];
    const held = `held by ${holders.join(", ")} (reference count ${references}) from token ${index * size} on: ${filled} of ${size} filled`;
    return { text: `Block ${key}: ${references ? held : "free"}.`, also: holders.map((name) => `request-${name}`) };
  }
  const t = Math.min(chosen.done, (+key + 1) * size) - 1;
  return {
    text: `Token ${t} of ${request}: ${t} div ${size} = ${key}, so entry ${key} of its table, block ${chosen.table[key]}; ${t} mod ${size} = ${t % size}, so slot ${t % size} of it.`,
    also: [`block-${chosen.table[key]}`],
  };
}
