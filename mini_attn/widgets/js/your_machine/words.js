// The measurement in words: what will happen, what a place is, and why a time isn't the bound's.
import { count, decimal, whole } from "../core/text.js";
import { duration, scaled } from "../core/units.js";
import { CASES, NAMES, NOISY, TOLERANCE, caseSpread, gap, intensity, roof, spreadOf } from "./compare.js";

export const STAGES = {
  start: "Drawing keys and values …",
  rates: "Measuring how fast it reads and multiplies …",
  predicted: "Outlines are predictions. Now decode attention …",
  attention: "Measuring decode attention …",
};
export const STOPPED = {
  hidden: "The tab went to the background, where browsers slow everything down. Nothing was kept: measure again with the tab in front.",
  button: "Stopped. Nothing was kept.",
};
const MISSING = {
  insecure: "No GPU: this page came over plain http from another host, and browsers offer WebGPU only over https, from localhost and from files.",
  missing: "No GPU: this browser has no WebGPU, or it's switched off.",
  adapter: "No GPU: the browser has WebGPU, but gave no adapter.",
  device: "No GPU: the adapter gave no device.",
};
const LOST = "The GPU was lost during the measurement, so none of its numbers were kept";

export const missing = (why) => MISSING[why] ?? `${LOST} (${why.replace(/^lost: /, "")}).`;
export const noProcessor = (why) => `No processor: WebAssembly with vectors didn't start (${why}).`;

export const ratio = (value) => decimal(value, value < 10 ? 1 : 0);
const percent = (share) => `${decimal(100 * share, share < 0.1 ? 1 : 0)}%`;

export function titleOf({ kind, name, adapter }) {
  if (kind === "cpu") return `Your processor (${name})`;
  return adapter.software ? `A software adapter (${name}): your processor plays the GPU` : `Your GPU (${name})`;
}

export function ratesOf(place) {
  const rates = roof(place);
  if (!rates) return "";
  return `${scaled(rates.bytes_per_second, "B/s")} (${rates.by.reading}) and ${scaled(rates.flops_per_second, "FLOP/s")} (${rates.by.arithmetic}), so its ridge point is at ${decimal(rates.flops_per_second / rates.bytes_per_second, 1)} FLOPs per byte.`;
}

// One sentence or two, chosen by what was measured.
const REASONS = {
  near: () => "That's within 10% of the bound.",
  cached: ({ bytes, reading_seconds: alone }) => `That's faster than the bound. Its ${scaled(bytes, "B")} alone are read in ${duration(alone)}, faster than the large array, as from a cache.`,
  faster: () => "That's faster than the bound, so one of the two rates came out too low. Measure again.",
  starting: ({ starting_seconds: one }) => `Most of the gap is starting: with one key, the same code takes ${duration(one)}.`,
  reading: ({ bytes, reading_seconds: alone }, rates) => `Most of the gap is reading: its ${scaled(bytes, "B")} alone take ${duration(alone)}, at ${percent(bytes / alone / rates.bytes_per_second)} of the bandwidth.`,
  working: ({ bytes, flops, seconds, limit, reading_seconds: alone }, rates) => (limit === "reading"
    ? `Its ${scaled(bytes, "B")} alone are read in ${duration(alone)}. Most of the gap is the kernel's own work: dot products, exponentials, running sums.`
    : `Its multiply-adds run at ${scaled(flops / seconds, "FLOP/s")}, ${percent(flops / seconds / rates.flops_per_second)} of the rate that was measured.`),
};

export function caseWords(place, name) {
  const one = place.cases[name];
  const check = place.checks[name];
  if (check && !(check.largest_difference !== null && check.largest_difference <= place.tolerance)) {
    return `The kernel's numbers aren't NumPy's here (${check.largest_difference === null ? "some aren't numbers" : `off by ${small(check.largest_difference)}`}), so no time was taken.`;
  }
  if (!one.seconds) return "";
  const found = gap(one, roof(place));
  const over = found.over > 0 && found.kind !== "near" ? `${ratio(one.seconds / one.predicted_seconds)} times the bound. ` : "";
  const spread = caseSpread(place, name);
  return over + (spread > NOISY ? `Repeats differ by ${percent(spread)}, which is too much to say why.` : REASONS[found.kind](one, roof(place)));
}

export function timesOf({ predicted_seconds: predicted, seconds, limit }) {
  return `predicted ${duration(predicted)} (${limit})${seconds ? `, measured ${duration(seconds)}` : ""}`;
}

export const small = (value) => (value === 0 ? "0" : value.toExponential(1).replace("e-", " · 10⁻").replace(/⁻(\d+)$/, (_, digits) => `⁻${[...digits].map((one) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[one]).join("")}`));

export function checksOf({ checks, tolerance }) {
  const done = NAMES.filter((name) => checks[name]);
  if (!done.length) return "";
  const largest = done.map((name) => checks[name].largest_difference);
  if (largest.includes(null) || Math.max(...largest) > tolerance) return `Checked against NumPy: wrong numbers (more than ${small(tolerance)} off).`;
  const compared = done.reduce((sum, name) => sum + checks[name].compared, 0);
  return `Checked against NumPy: ${count(compared, "output")}, largest difference ${small(Math.max(...largest))} (allowed: ${small(TOLERANCE)}).`;
}

export function describe(result) {
  const place = result?.places.findLast(({ cases }) => NAMES.every((name) => cases[name]?.seconds));
  if (!place) {
    const [first, ...rest] = NAMES.map((name) => [ratio(intensity(name)), CASES[name].title.replace(/(\w+), (\w+)/, "$2 $1")]);
    return `In float32, decode attention does ${first[0]} FLOPs per byte with ${first[1]}, ${rest.map(([value, title]) => `${value} with ${title}`).join(" and ")}. Which times do you expect in this tab?`;
  }
  const { mha } = place.cases;
  const against = (name) => `${CASES[name].title.split(",")[0]} reads ${ratio(mha.bytes / place.cases[name].bytes)} times less than MHA and takes ${faster(mha.seconds / place.cases[name].seconds)}`;
  const where = place.kind === "cpu" ? "On this processor" : place.adapter.software ? "On this software adapter" : "On this GPU";
  return `${where}, with ${whole(place.keys)} keys, ${against("gqa")}; ${against("mla")}.${noise(result)}`;
}

const faster = (times) => (times >= 1 ? `${ratio(times)} times less time` : `${ratio(1 / times)} times as long`);

export function noise(result) {
  const most = Math.max(...result.places.map(spreadOf));
  return most > NOISY ? ` But repeats differ by up to ${percent(most)} (other programs, battery, heat), so take all of this as rough.` : "";
}

export function table(result) {
  const rows = result.places.flatMap((place) => NAMES.map((name) => {
    const { bytes, flops, predicted_seconds: predicted, seconds, spread, reading_seconds: alone, starting_seconds: one } = place.cases[name] ?? {};
    const time = (value) => (value === undefined ? "–" : duration(value));
    return [`${place.kind === "cpu" ? "processor" : "GPU"}, ${CASES[name].title}`, bytes ? scaled(bytes, "B") : "–", flops ? scaled(flops, "FLOP") : "–", time(predicted), time(seconds), time(alone), time(one), spread === undefined ? "–" : percent(spread)];
  }));
  return { head: ["", "bytes", "FLOPs", "predicted", "measured", "reading alone", "one key", "middle repeat above the fastest"], rows };
}

export function rateRows(result) {
  return result.places.flatMap((place) => Object.entries(place.rates).map(([name, { bytes, flops, seconds, spread }]) =>
    [`${place.kind === "cpu" ? "processor" : "GPU"}, ${name}`, bytes ? scaled(bytes / seconds, "B/s") : scaled(flops / seconds, "FLOP/s"), percent(spread)]));
}
