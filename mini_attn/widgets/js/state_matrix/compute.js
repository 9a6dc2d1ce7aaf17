// Pairs of a key and a value, written into one matrix by a rule and read back with their keys.
import { range } from "d3-array";
import { dot, largest, rowTimes, softmax } from "../attention/arithmetic.js";
import { fill } from "../your_machine/random.js";

const SHARP = 20; // the cache's scale: its keys have length 1
const [KEYS, VALUES] = [1, 2]; // streams of numbers

const unit = (row) => row.map((x) => x / Math.sqrt(dot(row, row)));
const less = (row, other, times) => row.map((x, i) => x - times * other[i]);

// A row of numbers that says nothing, the same each time.
const drawn = (stream, i, size) => [...fill(new Float64Array(size), stream, i * size)];

// The first `size` keys are at right angles to each other, and so are the next ones.
function keysOf(count, size) {
  const keys = [];
  for (const i of range(count)) {
    const own = keys.slice(i - (i % size));
    keys.push(unit(own.reduce((row, key) => less(row, key, dot(row, key)), drawn(KEYS, i, size))));
  }
  return keys;
}

// One token: the state fades, then what its key finds is replaced, or added to.
function write(state, key, value, fades, replaces) {
  const faded = state.map((row) => row.map((x) => fades * x));
  const found = rowTimes(key, faded);
  const change = replaces ? less(value, found, 1) : value;
  return faded.map((row, i) => row.map((x, j) => x + key[i] * change[j]));
}

const distance = (a, b) => Math.hypot(...less(a, b, 1));

// The number of the row that points most nearly where another one does.
function nearest(row, rows) {
  const close = rows.map((other) => dot(row, other));
  return close.indexOf(Math.max(...close));
}

export function compute(given) {
  const { rule, pairs, size, decay, again } = given;
  const pair = Math.min(given.pair, pairs);
  const keys = keysOf(pairs, size);
  const first = range(pairs + 1).map((i) => unit(drawn(VALUES, i, size)));
  const values = first.slice(0, pairs);
  const written = again ? [...keys, keys[0]] : keys;
  const held = again ? first : values; // the last one is what pair 1 became
  const wanted = again ? [first[pairs], ...values.slice(1)] : values;
  const fades = rule === "decay" || rule === "gated" ? decay : 1;
  const replaces = rule === "delta" || rule === "gated";
  let state = range(size).map(() => Array(size).fill(0));
  written.forEach((key, t) => { state = write(state, key, held[t], fades, replaces); });
  const weights = written.map((key) => SHARP * dot(keys[pair - 1], key));
  const reads = keys.map((key) => (rule === "cache" ? rowTimes(softmax(written.map((other) => SHARP * dot(key, other))), held) : rowTimes(key, state)));
  const errors = reads.map((read, i) => distance(read, wanted[i]));
  const found = reads.map((read) => nearest(read, wanted));
  return {
    ...given, pair, written, held, wanted, state, reads, errors, found, scale: SHARP, weights: softmax(weights),
    right: found.filter((j, i) => j === i).length, most: largest(state) || 1,
    kept: rule === "cache" ? 2 * size * written.length : size * size,
  };
}
