// The measurement in words: what will happen, what a place is, and why a time isn't the predicted one.
import { count, decimal, whole } from "../core/text.js";
import { duration, scaled } from "../core/units.js";
import { CASES, NAMES, NOISY, TOLERANCE, gap, intensity, noisiest, roof, shortTitle, sources } from "./compare.js";

const CACHED = 2 ** 26; // bytes; not many processors have a larger cache
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
  adapter: "No GPU: the browser has WebGPU, but gave no adapter. That's usual on a virtual machine, over a remote desktop and with a driver that the browser distrusts. If this computer has a GPU, switch on hardware acceleration in the browser's settings, update the driver, or try another browser; chrome://gpu (in Firefox about:support) names the reason.",
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

// What is decoded, and from where its bytes come.
export function sizesOf({ keys, rates, cases }) {
  if (!keys) return "";
  const { bytes } = rates.read;
  const small = bytes < CACHED ? " So little may stay in a processor's cache, for the rate and the kernels alike." : "";
  return `Decode attention of one layer with ${whole(keys)} keys. Each run takes the next layer's cache: ${NAMES.map((name) => `${cases[name].layers} of ${shortTitle(name)}`).join(", ")} fill the ${scaled(bytes, "B")} in which the rate was measured.${small}`;
}

// One sentence or two, chosen by what was measured.
const REASONS = {
  near: () => "That's within 10% of the prediction.",
  faster: ({ bytes, limit, reading_seconds: alone }) => `That's faster than predicted, so the rate of ${limit} came out too low${limit === "reading" ? ` (the same ${scaled(bytes, "B")} alone are read in ${duration(alone)})` : ""}. Measure again.`,
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
  const found = gap(one);
  const over = found.over > 0 && found.kind !== "near" ? `${ratio(one.seconds / one.predicted_seconds)} times the prediction. ` : "";
  const most = noisiest([...sources(place, name), ["reading alone", one.limit === "reading" ? one.reading_spread : 0]]);
  return over + (most[1] > NOISY ? `${upper(middle(most))}, which is too much to say why.` : REASONS[found.kind](one, roof(place)));
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
  const against = (name) => `${shortTitle(name)} reads ${ratio(mha.bytes / place.cases[name].bytes)} times less than MHA and takes ${faster(mha.seconds / place.cases[name].seconds)}`;
  const where = place.kind === "cpu" ? "On this processor" : place.adapter.software ? "On this software adapter" : "On this GPU";
  return `${where}, with ${whole(place.keys)} keys, ${against("gqa")}; ${against("mla")}.${noise(place)}`;
}

const faster = (times) => (times >= 1 ? `${ratio(times)} times less time` : `${ratio(1 / times)} times as long`);

const middle = ([what, spread]) => `the middle repeat of ${what} took ${percent(spread)} longer than the fastest`;
const upper = (words) => words[0].toUpperCase() + words.slice(1);

// Only what the predictions and the times come from: the other rates are there to look at.
export function noise(place) {
  const most = noisiest(NAMES.flatMap((name) => sources(place, name)));
  return most[1] > NOISY ? ` But ${middle(most)} (other programs, battery, heat), so take all of this as rough.` : "";
}

// The sizes of the three, which a model's configuration gives.
export function sizesTable() {
  const rows = NAMES.map((name) => {
    const { title, model, n_heads: heads, n_kv_heads: stored, key_dim: key, value_dim: value, latent } = CASES[name];
    return [title, String(heads), latent ? `1 latent of ${value} + ${key - value}` : `${stored} keys and values of ${key}`, model];
  });
  return { head: ["", "query heads", "stored for each token", "as one layer of"], rows };
}

const NUMBERS = [
  ["bytes", "bytes", (value) => scaled(value, "B")], ["FLOPs", "flops", (value) => scaled(value, "FLOP")], ["layers in turn", "layers", whole],
  ["predicted", "predicted_seconds", duration], ["measured", "seconds", duration], ["middle repeat above the fastest", "spread", percent],
  ["reading alone", "reading_seconds", duration], ["with one key", "starting_seconds", duration],
];

// A place's numbers, a column for each case.
export function table(place) {
  const cell = (one, key, words) => (one?.[key] === undefined ? "–" : words(one[key]));
  const rows = NUMBERS.map(([title, key, words]) => [title, ...NAMES.map((name) => cell(place.cases[name], key, (value) => words(value)))]);
  return { head: [place.kind === "cpu" ? "processor" : "GPU", ...NAMES.map(shortTitle)], rows };
}

export function rateRows(result) {
  return result.places.flatMap((place) => Object.entries(place.rates).map(([name, { bytes, flops, seconds, spread }]) =>
    [`${place.kind === "cpu" ? "processor" : "GPU"}, ${name}`, bytes ? scaled(bytes / seconds, "B/s") : scaled(flops / seconds, "FLOP/s"), percent(spread)]));
}
