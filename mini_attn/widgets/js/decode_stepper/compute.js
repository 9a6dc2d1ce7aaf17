// All passes of the example, with a cache and without one, and what each of them costs.
import { largest } from "../attention/arithmetic.js";
import { example, tokens, passes, scaleOf } from "../attention/example.js";
import schema from "./schema.json" with { type: "json" };

const NUMBER_BYTES = 4; // float32
const { d_model: dModel, n_heads: nHeads, head_dim: headDim, prompt_len: promptLen } = example;
const width = nHeads * headDim;
const cacheBytes = (rows) => 2 * width * rows * NUMBER_BYTES; // a key and a value for each row
const weightBytes = 4 * dModel * width * NUMBER_BYTES;

// What a pass over `rows` new tokens costs when `there` tokens are there after it. Pairs of a query
// and a key are the visible ones. Bytes: the weights are read, each computed key and value is
// written, and the keys and values of all tokens are read.
function price(rows, there) {
  const pairs = rows * there - (rows * (rows - 1)) / 2;
  return {
    passes: rows,
    flops: 2 * rows * dModel * 3 * width + 2 * 2 * width * pairs + 2 * rows * width * dModel,
    bytes: weightBytes + cacheBytes(rows) + cacheBytes(there),
  };
}

// One entry per step, the prefill first, with the running totals of one way.
function history(way) {
  const total = { passes: 0, flops: 0, bytes: 0 };
  return way.map(({ first, there }, step) => {
    const now = price(there - first, there);
    for (const key of Object.keys(total)) total[key] += now[key];
    return { step, now, total: { ...total } };
  });
}

// Every pass is computed both ways, so that "the same output" is a finding and no claim.
const computed = { cached: passes(example, promptLen, true), plain: passes(example, promptLen, false) };
const work = { cached: history(computed.cached), plain: history(computed.plain) };

function difference(step) {
  const [one, other] = [computed.cached[step], computed.plain[step]];
  const gaps = one.outputs.flatMap((row, i) => row.map((x, n) => Math.abs(x - other.outputs[one.first - other.first + i][n])));
  return Math.max(...gaps);
}

function kindOf(i, { first, there }, newest) {
  if (i >= there) return "later";
  if (i < first) return "kept";
  return i < newest ? "again" : "new";
}

// One line of the picture: what this pass computed of the row, or what the cache holds of it.
function rowOf(i, pass, newest, chosen) {
  const head = pass.heads[chosen - 1];
  const kind = kindOf(i, pass, newest);
  const line = { token: tokens[i], kind, k: head.cached.k[i] ?? null, v: head.cached.v[i] ?? null };
  if (kind === "kept" || kind === "later") return { ...line, q: null, scores: null, weights: null, out: null };
  const [q, scores, weights, out] = ["q", "scores", "weights", "out"].map((name) => head[name][i - pass.first]);
  return { ...line, q, scores, weights, out };
}

export function compute(state) {
  const { step, cached, head } = state;
  const pass = computed[cached ? "cached" : "plain"][step];
  const newest = step ? pass.there - 1 : 0; // the first row that is new in this step
  const rows = tokens.map((_, i) => rowOf(i, pass, newest, head));
  const kinds = ["new", "kept", "again", "later"];
  const all = computed.plain.at(-1).heads[head - 1];
  return {
    ...state, rows, there: pass.there, scale: scaleOf(example), last_step: schema.step.max,
    extent: Object.fromEntries(["q", "k", "v", "out"].map((name) => [name, largest(all[name])])),
    output: pass.outputs.at(-1), difference: difference(step),
    counts: Object.fromEntries(kinds.map((kind) => [kind, rows.filter((row) => row.kind === kind).length])),
    now: { cached: work.cached[step].now, plain: work.plain[step].now },
    total: { cached: work.cached[step].total, plain: work.plain[step].total },
    history: work,
    weight_bytes: (step + 1) * weightBytes, // each pass reads them, with a cache or without
    cache_bytes: cacheBytes(pass.there),
  };
}
