// What two rates predict, and where a measured time parts from it.
import data from "../data/your_machine.json" with { type: "json" };

export const { cases: CASES, machines: MACHINES } = data;
export const NAMES = Object.keys(CASES);
export const SETUP = data;
export const TOLERANCE = 2e-5; // WGSL allows an exponential to be off by 3 + 2|x| of its last digits
export const NEAR = 0.1; // of the prediction: no gap to speak of
export const NOISY = 0.2; // the middle repeat above the fastest

export const shortTitle = (name) => CASES[name].title.split(",")[0];
export const intensity = (name) => CASES[name].flops_per_key / CASES[name].bytes_per_key;

// Reading or arithmetic, whichever takes longer.
export function predict({ bytes, flops }, { bytes_per_second: bandwidth, flops_per_second: rate }) {
  const [reading, arithmetic] = [bytes / bandwidth, flops / rate];
  return { seconds: Math.max(reading, arithmetic), limit: reading >= arithmetic ? "reading" : "arithmetic" };
}

export const work = (name, keys) => ({ bytes: keys * CASES[name].bytes_per_key, flops: keys * CASES[name].flops_per_key });

// Where layers' keys and values lie, one layer after the other: as many as fill the memory in which
// the rate of reading is measured. A kernel that takes them in turn finds none of its bytes nearer
// than that rate's, as in decoding, where all other layers are read in between.
export function layersOf({ n_kv_heads, key_dim, latent }, keys, half) {
  const size = 4 * keys * n_kv_heads * key_dim;
  const starts = Array.from({ length: Math.floor(half / size) }, (_, n) => n * size);
  const lie = (k, v) => starts.map((at) => ({ k: [k, at], v: [v, at] }));
  return latent ? [...lie("k", "k"), ...lie("v", "v")] : lie("k", "v");
}

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
export function gap({ seconds, predicted_seconds: predicted, reading_seconds: reading, starting_seconds: starting, limit }) {
  const over = seconds - predicted;
  if (Math.abs(over) <= NEAR * predicted) return { kind: "near", over };
  if (over < 0) return { kind: "faster", over };
  const begun = Math.min(starting, over);
  const read = limit === "reading" ? Math.min(Math.max(0, reading - starting - predicted), over - begun) : 0;
  const parts = { starting: begun, reading: read, working: over - begun - read };
  const [kind] = Object.entries(parts).reduce((most, one) => (one[1] > most[1] ? one : most));
  return { kind, over, parts };
}

// What a case's time and its prediction come from, and how far the middle one of its repeats is above
// the fastest.
export function sources(place, name) {
  const { limit, spread } = place.cases[name];
  return [[`the rate of ${limit}`, place.rates[roof(place).by[limit]].spread], [`the ${shortTitle(name)} kernel`, spread]];
}

export const noisiest = (all) => all.reduce((most, one) => (one[1] > most[1] ? one : most));
