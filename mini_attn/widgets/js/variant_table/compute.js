// Bytes, FLOPs and the bound of a cached step of each variant, and how many sequences fit.
import comparison from "../data/comparison.json" with { type: "json" };
import roofline from "../data/roofline.json" with { type: "json" };

const NUMBER_BYTES = 2; // bfloat16
export const DEVICES = new Map(roofline.devices.map((device) => [device.key, device]));

// The operations of a step, one after the other: each takes the longer of its two times.
function operations(variant, met, moved, batch, device) {
  const { row_flops, logit_flops, logit_read, read } = variant;
  const all = [
    ["weight matmuls", batch * (row_flops - logit_flops), (read - logit_read) * NUMBER_BYTES],
    ["attention", batch * met, moved],
    ["LM head", batch * logit_flops, logit_read * NUMBER_BYTES],
  ];
  return all.map(([name, flops, bytes]) => {
    const [reading, computing] = [bytes / device.bytes_per_second, flops / device.flops_per_second];
    return { name, flops, bytes, reading, computing, seconds: Math.max(reading, computing) };
  });
}

// Numbers that so many tokens have left in one layer.
const left = (fields, tokens) => fields.reduce((sum, field) => sum + field.numbers * Math.floor(tokens / field.tokens), 0);

// What a query reads whose blocks are chosen by their means: those, its blocks and its window.
function branchesOf({ block_size: size, n_blocks: many, window }, context) {
  const own = ((context - 1) % size) + 1;
  return {
    means: Math.floor(context / size), near: Math.min(window, context),
    selected: Math.min(context, (many - 1) * size + own),
  };
}

// One variant at a context and a batch: bytes, FLOPs, the bound of a step, and what fits.
function rowOf(variant, { context, batch }, device) {
  const kept = variant.window ? Math.min(context, variant.window) : context;
  const numbers = variant.fields.reduce((sum, field) => sum + field.numbers / field.tokens, 0);
  const one = variant.n_layers * left(variant.fields, kept) * NUMBER_BYTES;
  const cache = batch * one;
  // Where keys are chosen, all are looked at, by a few numbers each, and the chosen ones are read.
  const chooses = variant.chosen && kept > variant.chosen;
  const branches = variant.branches && branchesOf(variant.branches, context);
  const all = branches ? branches.means + branches.selected + branches.near : kept;
  const attended = chooses ? variant.chosen : all;
  const scanned = chooses ? kept : 0;
  const each = left(variant.fields, 1); // of a token, or of a mean
  const whole = each - variant.scan_numbers;
  const pair_flops = variant.pair_flops / (branches ? 2 : 1); // a token is read by two branches
  const met = pair_flops * attended + variant.scan_flops * scanned;
  const fetched = batch * variant.n_layers * NUMBER_BYTES * (attended * whole + scanned * variant.scan_numbers);
  const fresh = branches ? left(variant.fields, context) - left(variant.fields, context - 1) : each;
  const written = batch * variant.n_layers * fresh * NUMBER_BYTES;
  const weights = variant.parameters * NUMBER_BYTES;
  const parts = operations(variant, met, fetched + written, batch, device);
  const step = parts.reduce((sum, part) => sum + part.seconds, 0);
  const waiting = parts.reduce((sum, { reading, computing, seconds }) => sum + (reading >= computing ? seconds : 0), 0);
  const room = device.memory_bytes - weights;
  return {
    ...variant, pair_flops, read_by: branches, kept, attended, scanned, numbers, one, cache, weights, parts, room,
    flops: met,
    intensity: met / (fetched / batch), // of what is read, which is not always all
    step, bound: waiting === step ? "memory" : waiting > step - waiting ? "memory, mostly" : "arithmetic, mostly",
    fit: Math.max(0, Math.floor(room / one)), fits: weights + cache <= device.memory_bytes,
  };
}

// All variants at another context.
export const rowsAt = (context, { batch }, device) => comparison.variants.map((variant) => rowOf(variant, { context, batch }, device));

export function compute(state) {
  const device = DEVICES.get(state.device);
  const rows = rowsAt(state.context, state, device);
  const there = rows.filter((row) => row.fits); // the others can't win
  const best = {
    cache: Math.min(...there.map((row) => row.cache)), flops: Math.min(...rows.map((row) => row.flops)),
    step: Math.min(...there.map((row) => row.step)), fit: Math.max(...rows.map((row) => row.fit)),
  };
  return { ...state, base: comparison.base, device_name: device.name, device, rows, best, number_bytes: NUMBER_BYTES };
}
