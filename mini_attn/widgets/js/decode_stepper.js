// Decoding step by step: which rows are computed, which are kept, and what that adds up to.
import { dModel, headDim, heads, nHeads, outputs, promptLen, scale, tokens } from "./attention_example.js";
import { count, decimal, whole } from "./core/text.js";
import { draw } from "./decode_picture.js";
import schema from "./schema/decode_stepper.json" with { type: "json" };

const NUMBER_BYTES = 4; // float32
const width = nHeads * headDim;

// What a pass over `rows` new tokens costs when `total` tokens are there after it. The pairs are
// the visible ones; the bytes are each array read or written once.
function price(rows, total, cached) {
  const pairs = rows * total - (rows * (rows - 1)) / 2;
  const kept = cached ? total - rows : 0;
  const flops = 2 * rows * dModel * 3 * width + 2 * 2 * width * pairs + 2 * rows * width * dModel;
  const numbers = 4 * dModel * width + rows * dModel + 2 * width * kept + (cached ? 2 * width * rows : 0);
  return { passes: rows, flops, bytes: numbers * NUMBER_BYTES };
}

// One entry per step, the prefill first, with the running totals of each way.
function history(cached) {
  const total = { passes: 0, flops: 0, bytes: 0 };
  return Array.from({ length: schema.step.max + 1 }, (_, step) => {
    const there = promptLen + step;
    const rows = cached && step ? 1 : there;
    const now = price(rows, there, cached);
    for (const key of Object.keys(total)) total[key] += now[key];
    return { step, now, total: { ...total } };
  });
}

function status(i, first, there) {
  if (i >= there) return "later";
  return i >= first ? "new" : "old";
}

export function compute(state) {
  const { step, cached } = state;
  const there = promptLen + step; // tokens so far, the newest included
  const first = step ? there - 1 : 0; // the first row that is new in this step
  const head = heads[state.head - 1];
  const rows = tokens.map((token, i) => {
    const kind = status(i, first, there);
    return {
      token: token.trim(),
      kind: kind === "old" ? (cached ? "kept" : "again") : kind,
      q: head.q[i], k: head.k[i], v: head.v[i],
      scores: head.scores[i], weights: head.weights[i], out: head.out[i],
    };
  });
  const [kept, plain] = [history(true), history(false)];
  return {
    ...state, there, first, rows, scale, output: outputs[there - 1],
    counts: Object.fromEntries(
      ["new", "kept", "again"].map((kind) => [kind, rows.filter((row) => row.kind === kind).length]),
    ),
    now: (cached ? kept : plain)[step].now,
    total: { cached: kept[step].total, plain: plain[step].total },
    history: { cached: kept, plain },
    cache_bytes: cached ? 2 * width * there * NUMBER_BYTES : 0,
  };
}

export function describe({ step, cached, counts, total, there, rows }) {
  const newest = rows[there - 1].token;
  const start = step ? `Step ${step}, “${newest}” has arrived` : "Prefill, the prompt arrives as one piece";
  const work = cached
    ? `${count(counts.new, "row")} computed${counts.kept ? `, ${counts.kept} read from the cache` : ""}`
    : `${count(counts.new + counts.again, "row")} computed${counts.again ? `, ${counts.again} of them again` : ""}`;
  return `${start}: ${work}. So far ${total.cached.passes} token passes with a cache, ${total.plain.passes} without; the outputs are the same.`;
}

export function table(result) {
  const row = (name, key) => [name, whole(result.total.cached[key]), whole(result.total.plain[key])];
  return {
    caption: `Added up to ${result.step ? `step ${result.step}` : "the prefill"}, one layer of the example in float32`,
    head: ["", "with a cache", "without"],
    rows: [
      row("token passes", "passes"), row("FLOPs", "flops"), row("bytes read and written", "bytes"),
      ["bytes kept in the cache", whole(2 * width * result.there * NUMBER_BYTES), "0"],
      [`output for “${result.rows[result.there - 1].token}”`, ...Array(2).fill(result.output.map((x) => decimal(x)).join("  "))],
    ],
  };
}

export default {
  name: "decode_stepper",
  title: "Decoding, step by step",
  hint: "Point at a weight, or move to it with the Tab key, to see its arithmetic.",
  schema,
  controls: [
    { key: "cached", kind: "choice", label: "Cache", options: [[true, "on"], [false, "off"]] },
    { key: "step", kind: "range", label: "Step", show: (step) => (step ? `${step} of 4` : "prefill") },
    { key: "head", kind: "choice", label: "Head", options: [[1, "1"], [2, "2"]] },
  ],
  play: { key: "step", milliseconds: 1400 },
  compute, draw, describe, table,
};
