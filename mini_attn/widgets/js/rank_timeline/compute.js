// Who computes, sends and waits when, in one layer's causal attention on several ranks.
import { max, range, sum } from "d3-array";
import models from "../data/models.json" with { type: "json" };
import roofline from "../data/roofline.json" with { type: "json" };
import schema from "./schema.json" with { type: "json" };

const { n_heads: nHeads, n_kv_heads: nKvHeads, head_dim: size } = models.find(({ name }) => name === "llama-3-8b");
const { flops_per_second: rate } = roofline.devices.find(({ key }) => key === "h100");
const WIDTH = nHeads * size; // also d_model
const BYTES = 2; // bfloat16
const START = 1e-5; // seconds that a message takes to start
const GIGA = 1e9;
export const SCHEMES = schema.scheme.values;

// The chunks of the text that a rank holds: two neighbors, or one from each end.
const heldBy = (rank, { scheme, ranks }) => (scheme === "zigzag" ? [rank, 2 * ranks - 1 - rank] : [2 * rank, 2 * rank + 1]);

// Visible pairs of a query in one chunk and a key in another.
const pairsOf = (query, key, chunk) => (key < query ? chunk * chunk : key === query ? (chunk * (chunk + 1)) / 2 : 0);
const secondsOf = (pairs) => (pairs * 4 * nHeads * size) / rate;

// So many messages one after the other, and the values that a rank sends for each token.
function sending({ tokens, link }, messages, values) {
  return messages * START + (values * tokens * BYTES) / (link * GIGA);
}

// A round of the ring: each rank reads a block of keys while the next one comes.
function round(t, state) {
  const { ranks, tokens } = state;
  const chunk = tokens / (2 * ranks);
  const from = range(ranks).map((rank) => (rank - t + ranks) % ranks);
  const pairs = from.map((other, rank) => sum(heldBy(rank, state), (q) => sum(heldBy(other, state), (k) => pairsOf(q, k, chunk))));
  const values = t < ranks - 1 ? (2 * nKvHeads * size) / ranks : 0;
  const work = pairs.map(secondsOf);
  const sent = values && sending(state, 1, values);
  return { kind: "round", from, pairs, work, sent, values, seconds: Math.max(max(work), sent) };
}

// Ranks do the same for different heads, or all send.
function attend({ ranks, tokens }) {
  const pairs = (tokens * (tokens + 1)) / 2 / ranks; // of all heads; a rank has its share of heads
  const work = range(ranks).map(() => secondsOf(pairs));
  return { kind: "attend", pairs: work.map(() => pairs), work, sent: 0, values: 0, seconds: work[0] };
}
function send(what, messages, values, state) {
  const sent = sending(state, messages, values);
  return { kind: "send", what, pairs: [], work: range(state.ranks).map(() => 0), sent, values, seconds: sent };
}

function phasesOf(state) {
  const { scheme, ranks } = state;
  const others = ranks - 1;
  if (scheme === "ulysses") {
    const share = others / ranks ** 2;
    return [send("queries, keys and values", others, (WIDTH + 2 * nKvHeads * size) * share, state), attend(state), send("outputs", others, WIDTH * share, state)];
  }
  if (scheme === "tensor") {
    const sums = ["sum after attention", "sum after the MLP"].map((what) => send(what, 2 * others, (2 * WIDTH * others) / ranks, state));
    return [attend(state), ...sums];
  }
  return range(ranks).map((t) => round(t, state));
}

// What becomes of a cell of the square: a chunk of queries and a chunk of keys.
function cells(state, phases, now) {
  const { ranks, scheme } = state;
  const chunks = range(2 * ranks);
  const owner = (chunk) => (scheme === "zigzag" ? Math.min(chunk, 2 * ranks - 1 - chunk) : Math.floor(chunk / 2));
  const attends = phases.findIndex(({ kind }) => kind === "attend");
  return chunks.flatMap((q) => chunks.slice(0, q + 1).map((k) => {
    const [rank, other] = [owner(q), owner(k)];
    const at = attends < 0 ? (rank - other + ranks) % ranks : attends;
    return { q, k, rank: attends < 0 ? rank : null, half: q === k, when: at < now ? "done" : at === now ? "now" : "later" };
  }));
}

function summed(state) {
  let starts = 0;
  const phases = phasesOf(state).map((phase) => ({ ...phase, starts, ends: starts += phase.seconds }));
  const values = sum(phases, (phase) => phase.values);
  const busy = sum(phases, ({ work }) => sum(work));
  return { phases, values, seconds: starts, idle: 1 - busy / (state.ranks * starts), bytes: values * state.tokens * BYTES };
}

export function compute(state) {
  const { phases, ...total } = summed(state);
  const step = Math.min(state.step, phases.length - 1);
  const all = SCHEMES.map((scheme) => ({ scheme, ...summed({ ...state, scheme }), phases: null }));
  return { ...state, step, phases, ...total, all, cells: cells(state, phases, step), held: range(state.ranks).map((rank) => heldBy(rank, state)) };
}
