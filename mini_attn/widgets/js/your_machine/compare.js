// What the bound predicts from two rates, and where a measured time parts from it.
import data from "../data/your_machine.json" with { type: "json" };

export const { cases: CASES, machines: MACHINES } = data;
export const NAMES = Object.keys(CASES);
export const SETUP = data;
export const TOLERANCE = 2e-5; // WGSL allows an exponential to be off by 3 + 2|x| of its last digits
export const NEAR = 0.1; // of the prediction: no gap to speak of
export const NOISY = 0.2; // the middle repeat above the fastest

export const intensity = (name) => CASES[name].flops_per_key / CASES[name].bytes_per_key;

// Reading or arithmetic, whichever takes longer.
export function bound({ bytes, flops }, { bytes_per_second: bandwidth, flops_per_second: rate }) {
  const [reading, arithmetic] = [bytes / bandwidth, flops / rate];
  return { seconds: Math.max(reading, arithmetic), limit: reading >= arithmetic ? "reading" : "arithmetic" };
}

export const work = (name, keys) => ({ bytes: keys * CASES[name].bytes_per_key, flops: keys * CASES[name].flops_per_key });

// The faster of several ways to do the same, and which it was.
function fastest(rates, kind) {
  const found = Object.entries(rates).filter(([, rate]) => rate[kind]).map(([by, rate]) => [by, rate[kind] / rate.seconds]);
  return found.length ? found.reduce((best, one) => (one[1] > best[1] ? one : best)) : null;
}

// A place's roof, once both of its rates are there.
export function roof({ rates }) {
  const [reading, arithmetic] = [fastest(rates, "bytes"), fastest(rates, "flops")];
  if (!reading || !arithmetic) return null;
  return { bytes_per_second: reading[1], flops_per_second: arithmetic[1], by: { reading: reading[0], arithmetic: arithmetic[0] } };
}

// Of the largest difference: sample i of what NumPy gives is number i * every of the output.
export function difference(expected, output, every = data.every) {
  return expected.reduce((most, value, i) => {
    const off = Math.abs(value - output[i * every]);
    return off <= most ? most : off; // not a number, if one is not
  }, 0);
}

// What of a gap each measured part explains: starting (the same with one key), reading (the same
// bytes alone), and what is left, the kernel's own work.
export function gap({ seconds, predicted_seconds: predicted, reading_seconds: reading, starting_seconds: starting, limit, bytes }, { bytes_per_second: bandwidth }) {
  const over = seconds - predicted;
  if (Math.abs(over) <= NEAR * predicted) return { kind: "near", over };
  if (over < 0) return { kind: reading < (1 - NEAR) * bytes / bandwidth ? "cached" : "faster", over };
  const begun = Math.min(starting, over);
  const read = limit === "reading" ? Math.min(Math.max(0, reading - starting - predicted), over - begun) : 0;
  const parts = { starting: begun, reading: read, working: over - begun - read };
  const [kind] = Object.entries(parts).reduce((most, one) => (one[1] > most[1] ? one : most));
  return { kind, over, parts };
}

// How far the repeats behind a case and its prediction are apart: the middle one above the fastest.
export function caseSpread(place, name) {
  const { spread, reading_spread: reading } = place.cases[name];
  const { by } = roof(place);
  return Math.max(spread, reading, place.rates[by.reading].spread, place.rates[by.arithmetic].spread);
}

export const spreadOf = ({ rates, cases }) => Math.max(0, ...[...Object.values(rates), ...Object.values(cases)].map(({ spread = 0 }) => spread));
