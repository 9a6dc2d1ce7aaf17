// The roofline in words: the sentence, the table, and the arithmetic behind each mark and bar.
import { count, decimal, whole } from "../core/text.js";
import { duration, scaled } from "../core/units.js";

export const OPERATIONS = { weights: "weight matmuls", attention: "attention with the cache", logits: "LM head, last token" };
export const PARTS = { ...OPERATIONS, whole: "the whole pass" };
export const STORED = {
  bfloat16: "bfloat16", weights: "weights in 4.5 bits (NVFP4)", cache: "cache in 5 bits (int4, grouped)",
  both: "weights in 4.5, cache in 5 bits", scores: "bfloat16, scores materialized",
};
export const SIDES = { reading: "reading", computing: "arithmetic" };
const BOUND = { reading: "memory-bound", computing: "compute-bound" };

export const intensity = (value) => (value >= 100 ? whole(Math.round(value)) : decimal(value, 1));
export const percent = (share) => (share >= 0.995 ? "100%" : share >= 0.1 ? `${Math.round(100 * share)}%` : `${decimal(100 * share, 1)}%`);

function pass({ phase, batch, context, model }) {
  return `${phase === "decode" ? "A decode step" : "A prefill"} of ${model.title}, ${count(batch, "sequence")} of ${whole(context)} tokens`;
}

// One side where the other takes less than a twentieth; else both, each with its time.
function binds({ seconds, waiting, side }) {
  const times = { reading: waiting, computing: seconds - waiting };
  if (times[side] > 0.95 * seconds) return BOUND[side];
  const other = side === "reading" ? "computing" : "reading";
  return `${BOUND[side]} for ${duration(times[side])} and ${BOUND[other]} for ${duration(times[other])}`;
}

const times = ({ parts }) => Object.keys(OPERATIONS).map((key) => duration(parts[key].seconds)).join(" + ");

export function describe(result) {
  const { parts, device, seconds, tokens_per_second: rate, fits, needed } = result;
  const memory = fits ? "" : ` It doesn't fit: weights and cache take ${scaled(needed, "B")}, and the device has ${scaled(device.memory_bytes, "B")}.`;
  const numbers = result.stored === "bfloat16" ? "" : `, ${STORED[result.stored]}`;
  return `${pass(result)}${numbers}: the weight matmuls do ${intensity(parts.weights.intensity)} FLOPs per byte, attention does ${intensity(parts.attention.intensity)}, and the ridge point of this device is at ${intensity(result.ridge)}. So the pass is ${binds(parts.whole)}. It takes at least ${duration(seconds)}, which is at most ${whole(Math.round(rate))} tokens per second and ${percent(parts.whole.share)} of the peak.${memory}`;
}

export function table(result) {
  const row = (key) => {
    const part = result.parts[key];
    return [PARTS[key], scaled(part.flops, "FLOP"), scaled(part.bytes, "B"), intensity(part.intensity), duration(part.reading), duration(part.computing), duration(part.seconds)];
  };
  return {
    caption: `${pass(result)}, ${STORED[result.stored]}, on ${result.device.name}. An operation takes the longer of its two times, and the pass takes the sum of its operations.`,
    head: ["", "FLOPs", "bytes", "FLOPs per byte", "reading takes", "arithmetic takes", "at least"],
    rows: Object.keys(PARTS).map(row),
  };
}

function explainMark(result, key) {
  const { flops, bytes, intensity: value, share } = result.parts[key];
  const start = `${PARTS[key][0].toUpperCase()}${PARTS[key].slice(1)}: ${scaled(flops, "FLOP")} / ${scaled(bytes, "B")} = ${intensity(value)} FLOPs per byte`;
  if (key === "whole") return `${start}. Its operations take ${times(result)}, one after the other, so it reaches at most ${percent(share)} of the peak.`;
  const side = value < result.ridge ? `which is below the ridge point: at most ${percent(share)} of the peak` : "which is above the ridge point, so it can reach the peak";
  return `${start}, ${side}.`;
}

function explainRoof({ device, ridge }) {
  return `${device.name}: ${scaled(device.flops_per_second, "FLOP/s")} in bfloat16 and ${scaled(device.bytes_per_second, "B/s")}. The ridge point is their quotient, ${intensity(ridge)} FLOPs per byte. Below it, memory is the limit.`;
}

function explainBar(result, side, key) {
  const { flops, bytes, reading, computing, side: longer } = result.parts[key];
  const what = { weights: "the layers' weights, once for all sequences", attention: `the cache of ${count(result.batch, "sequence")}${result.stored === "scores" ? ", and the scores and weights, each written and read once" : ""}`, logits: "the matrix of the LM head, once for all sequences" }[key];
  const counts = side === longer ? "This is the longer of the two times, so it counts." : "The other time is longer, so that one counts.";
  if (side === "reading") return `Reading ${what}: ${scaled(bytes, "B")} / ${scaled(result.device.bytes_per_second, "B/s")} = ${duration(reading)}. ${counts}`;
  return `Arithmetic of ${PARTS[key]}: ${scaled(flops, "FLOP")} / ${scaled(result.device.flops_per_second, "FLOP/s")} = ${duration(computing)}. ${counts}`;
}

// Each operation needs the result of the one before, so their times add up.
function explainSum(result) {
  return `The whole pass: ${times(result)} = ${duration(result.seconds)}. Each operation needs the result of the previous one, so nothing multiplies weights while attention reads its caches.`;
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, first, second] = id.split("-");
  if (id === "bar-whole") return { text: explainSum(result), also: ["mark-whole"] };
  if (id === "mark-whole") return { text: explainMark(result, first), also: ["bar-whole"] };
  if (id === "phase") {
    const { phase, parts: { whole: one } } = result.other;
    return { text: `The same for ${phase}: ${intensity(one.intensity)} FLOPs per byte, at most ${percent(one.share)} of the peak. A tap names its parts.`, also: [] };
  }
  if (name === "on") return explain(result, `mark-${first}`);
  if (name === "mark") return { text: explainMark(result, first), also: [`bar-reading-${first}`, `bar-computing-${first}`] };
  if (name === "bar") return { text: explainBar(result, first, second), also: [`mark-${second}`] };
  return { text: explainRoof(result), also: [] };
}
