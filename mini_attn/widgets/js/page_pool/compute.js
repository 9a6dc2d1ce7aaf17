// The pool after a step: who holds which block, which slots hold a token, and how that went on.
import pool from "../data/page_pool.json" with { type: "json" };
import { serve } from "./serve.js";

const { longest, requests, slots } = pool;
const all = {}; // each scheme and size is served once

// Each block with its holders, in which line of their tables it stands, and its tokens.
function laid({ runs, ...shot }, size) {
  const blocks = Array.from({ length: slots / size }, () => ({ holders: [], filled: 0 }));
  for (const { name, table, done } of runs) {
    table.forEach((b, index) => {
      const filled = Math.min(size, done - index * size);
      blocks[b] = { ...blocks[b], holders: [...blocks[b].holders, name], filled, index };
    });
  }
  const free = blocks.filter(({ filled }) => !filled).length;
  const rows = requests.map(([name], i) => runs[i] ?? { name, state: "later", table: [], done: 0 });
  return { ...shot, blocks, free, rows, used: blocks.reduce((sum, { filled }) => sum + filled, 0) };
}

export function compute({ scheme, step, block_size: page, request }) {
  const size = scheme === "contiguous" ? longest : page;
  const history = all[scheme + size] ??= serve(scheme === "shared", size).map((shot) => laid(shot, size));
  const shot = history[step - 1];
  return {
    ...shot, scheme, step, size, request, slots, longest,
    chosen: shot.rows.find(({ name }) => name === request), shares: history.map(({ used }) => used / slots),
  };
}
