// FLOPs and bytes of a pass and its operations, and the time that a device needs for them.
import roofline from "../data/roofline.json" with { type: "json" };

const NUMBER_BYTES = 2; // bfloat16
const [WEIGHT_BYTES, CACHE_BYTES] = [4.5 / 8, 5 / 8]; // NVFP4; int4 in groups of 32, with scales and zeros
const bytesOf = (stored) => ({
  weight: ["weights", "both"].includes(stored) ? WEIGHT_BYTES : NUMBER_BYTES,
  number: ["cache", "both"].includes(stored) ? CACHE_BYTES : NUMBER_BYTES,
});
export const MODELS = new Map(roofline.models.map((model) => [model.name, model]));
export const DEVICES = new Map(roofline.devices.map((device) => [device.key, device]));

// Of layers with a state: a lone token reads and writes it, several are taken in chunks of 64.
const CHUNK = 64;
const below = (n) => (n * (n - 1)) / 2;
function stateFlops({ first, pair, row }, rows) {
  if (rows === 1) return first;
  return pair * (Math.floor(rows / CHUNK) * below(CHUNK) + below(rows % CHUNK)) + row * rows;
}
// Bytes that a sequence keeps there, which a longer one doesn't add to: float32 at least.
const stateBytes = ({ numbers, tail, taps }, tokens, number) => 4 * numbers + number * tail * Math.min(tokens, taps);

// FLOPs of the operations of a pass, and the bytes that each has to read or write.
function work(model, { phase, batch, context, stored }) {
  const rows = phase === "decode" ? 1 : context; // new tokens of a sequence
  const pairs = rows * context - (rows * (rows - 1)) / 2; // visible pairs of a query and a key
  const { weight, number } = bytesOf(stored);
  // Scores and weights, each written and read; the softmax writes over neither.
  const written = stored === "scores" ? 4 * NUMBER_BYTES * batch * (model.n_layers - model.state.layers) * model.n_heads * rows * context : 0;
  return {
    weights: { flops: batch * rows * model.row_flops, bytes: Math.ceil(weight * model.read) },
    attention: {
      flops: batch * (pairs * model.pair_flops + stateFlops(model.state, rows)),
      bytes: number * batch * model.kept * (context + rows) + written
        + batch * (stateBytes(model.state, context, number) + stateBytes(model.state, rows, number)),
    },
    logits: { flops: batch * model.logit_flops, bytes: Math.ceil(weight * model.logit_read) },
  };
}

// Intensity, the time that each side would take alone, and that of both: the longer one.
function placed({ flops, bytes }, device) {
  const [reading, computing] = [bytes / device.bytes_per_second, flops / device.flops_per_second];
  const side = reading > computing ? "reading" : "computing";
  return { flops, bytes, intensity: flops / bytes, reading, computing, side, seconds: Math.max(reading, computing) };
}

const sum = (parts, key) => parts.reduce((total, part) => total + part[key], 0);

// Operations follow one another: their times add up.
function together(parts, device) {
  const waiting = sum(parts.filter((part) => part.side === "reading"), "seconds");
  const seconds = sum(parts, "seconds");
  const whole = placed({ flops: sum(parts, "flops"), bytes: sum(parts, "bytes") }, device);
  return { ...whole, seconds, waiting, side: waiting > seconds - waiting ? "reading" : "computing" };
}

function pass(state, model, device) {
  const parts = Object.fromEntries(Object.entries(work(model, state)).map(([key, part]) => [key, placed(part, device)]));
  parts.whole = together(Object.values(parts), device);
  for (const part of Object.values(parts)) part.share = part.computing / part.seconds; // of the peak
  return parts;
}

export function compute(state) {
  const model = MODELS.get(state.model);
  const device = DEVICES.get(state.device);
  const phase = state.phase === "decode" ? "prefill" : "decode";
  const [parts, others] = [state, { ...state, phase }].map((one) => pass(one, model, device));
  const { seconds, side: bound } = parts.whole;
  const tokens = state.batch * (state.phase === "decode" ? 1 : state.context);
  const { weight, number } = bytesOf(state.stored);
  const needed = Math.ceil(weight * model.parameters) + number * state.batch * state.context * model.kept + state.batch * stateBytes(model.state, state.context, number);
  return {
    ...state, model, device, ridge: device.flops_per_second / device.bytes_per_second, parts, other: { phase, parts: others },
    seconds, tokens, tokens_per_second: tokens / seconds, needed, fits: needed <= device.memory_bytes, bound,
  };
}
