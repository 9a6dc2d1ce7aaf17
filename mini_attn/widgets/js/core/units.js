// Quantities with a prefix: 4.83 GFLOP, 989 GB, 1.20 ms.
import { decimal, whole } from "./text.js";

const PREFIXES = [[1e18, "E"], [1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"], [1, ""]];

// The size of the prefix that fits a value, and the prefix.
const prefixOf = (value) => PREFIXES.find(([least]) => value >= least) ?? PREFIXES.at(-1);

// Three significant digits, all of a larger number's.
const three = (value) => (value >= 100 ? whole(Math.round(value)) : decimal(value, value >= 10 ? 1 : 2));

export function scaled(value, unit, digits = three) {
  const [size, prefix] = prefixOf(value);
  return `${digits(value / size)} ${prefix}${unit}`;
}

export function duration(seconds, digits = three) {
  if (seconds >= 1) return `${digits(seconds)} s`;
  return seconds >= 1e-3 ? `${digits(seconds * 1e3)} ms` : `${digits(seconds * 1e6)} µs`;
}

// A number of tokens at a tick: 64k.
export const tokenTick = (n) => (n >= 2 ** 20 ? `${n / 2 ** 20}M` : n >= 1024 ? `${n / 1024}k` : String(n));
