// The roofline in words: the sentence, the table, and the arithmetic behind each mark and bar.
import { count, decimal, whole } from "../core/text.js";
import { duration, scaled } from "../core/units.js";

export const PARTS = { weights: "products with weights", attention: "attention with the cache", whole: "the whole pass" };

export const intensity = (value) => (value >= 100 ? whole(Math.round(value)) : decimal(value, 1));
export const percent = (share) => (share >= 0.995 ? "100 %" : share >= 0.1 ? `${Math.round(100 * share)} %` : `${decimal(100 * share, 1)} %`);

function pass({ phase, batch, context, model }) {
  return `${phase === "decode" ? "A decode step" : "A prefill"} of ${model.title}, ${count(batch, "sequence")} of ${whole(context)} tokens`;
}

export function describe(result) {
  const { parts, device, bound, seconds, tokens_per_second: rate, fits, needed } = result;
  const why = bound === "reading" ? "bound by reading" : "bound by arithmetic";
  const memory = fits ? "" : ` It does not fit: weights and cache take ${scaled(needed, "B")}, the device has ${scaled(device.memory_bytes, "B")}.`;
  return `${pass(result)}: ${intensity(parts.whole.intensity)} FLOP a byte, and the ridge of this device is at ${intensity(result.ridge)}. So it is ${why}: at least ${duration(seconds)}, at most ${whole(Math.round(rate))} tokens a second, with ${percent(parts.whole.computing / seconds)} of the arithmetic in use.${memory}`;
}

export function table(result) {
  const row = (key) => {
    const part = result.parts[key];
    return [PARTS[key], scaled(part.flops, "FLOP"), scaled(part.bytes, "B"), intensity(part.intensity), duration(part.reading), duration(part.computing)];
  };
  return {
    caption: `${pass(result)}, bfloat16, on ${result.device.name}`,
    head: ["", "FLOPs", "bytes", "FLOP a byte", "reading takes", "arithmetic takes"],
    rows: Object.keys(PARTS).map(row),
  };
}

function explainMark(result, key) {
  const { flops, bytes, intensity: value, share } = result.parts[key];
  const side = value < result.ridge ? `below the ridge, so the roof is the slope: ${percent(share)} of the peak at most` : "above the ridge: the peak can be reached";
  return `${PARTS[key][0].toUpperCase()}${PARTS[key].slice(1)}: ${scaled(flops, "FLOP")} / ${scaled(bytes, "B")} = ${intensity(value)} FLOP a byte, ${side}.`;
}

function explainRoof({ device, ridge }) {
  return `${device.name}: ${scaled(device.flops_per_second, "FLOP/s")} in bfloat16 and ${scaled(device.bytes_per_second, "B/s")}. The ridge is their quotient, ${intensity(ridge)} FLOP a byte: with less work for each byte the memory is the limit.`;
}

function explainBar(result, side, key) {
  const { flops, bytes, reading, computing } = result.parts[key];
  const what = key === "weights" ? "the weights, once for all sequences" : `the cache of ${count(result.batch, "sequence")}`;
  if (side === "reading") return `Reading ${what}: ${scaled(bytes, "B")} / ${scaled(result.device.bytes_per_second, "B/s")} = ${duration(reading)}.`;
  return `Arithmetic of ${PARTS[key]}: ${scaled(flops, "FLOP")} / ${scaled(result.device.flops_per_second, "FLOP/s")} = ${duration(computing)}.`;
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, first, second] = id.split("-");
  if (name === "mark") return { text: explainMark(result, first), also: [`bar-reading-${first}`, `bar-computing-${first}`] };
  if (name === "bar") return { text: explainBar(result, first, second), also: [`mark-${second}`] };
  return { text: explainRoof(result), also: [] };
}
