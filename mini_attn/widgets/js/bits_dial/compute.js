// Keys and values of one trained head as the package's quantised cache keeps them: whole numbers of few
// bits with a float16 scale and zero for each group of 16, and what one query makes of them.
import { dot, rowTimes, softmax, sum } from "../attention/arithmetic.js";
import measured from "../data/equal_bytes.json" with { type: "json" };

export const GROUP = 16; // tokens of a group and numbers of a group, and the head's channels
let head; // given by the page that has the picture: no other page carries its numbers

const numbers = (hundredths) => hundredths.split(" ").map((x) => x / 100);
export const put = ({ q, k, v, ...data }) => { head = { ...data, q: numbers(q), k: k.map(numbers), v: v.map(numbers) }; };

const all = [...Array(GROUP).keys()];

// The nearest whole number; half-way between two the even one.
const nearest = (x) => (Math.round(x) - x === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));
// A step of a type with so many binary digits behind the first, at the size of a number.
const step = (x, digits, least) => 2 ** (Math.max(least, Math.floor(Math.log2(Math.abs(x)))) - digits);
const half = (x, toward) => toward(x / step(x, 10, -14)) * step(x, 10, -14);
const brain = (x) => nearest(x / step(x, 7, -126)) * step(x, 7, -126);

// One group: the zero rounded down and the scale up, so that no number lies outside its rungs.
function coded(numbers, bits) {
  if (bits === 16) return numbers.map((x) => ({ x, back: brain(x) }));
  const rungs = 2 ** bits;
  const zero = half(Math.min(...numbers), Math.floor);
  const scale = half((Math.max(...numbers) - zero) / (rungs - 1), Math.ceil);
  return numbers.map((x) => {
    const code = Math.min(rungs - 1, Math.max(0, nearest((x - zero) / (scale || 1))));
    return { x, code, zero, scale, back: code * scale + zero };
  });
}

// Every number [token][channel] with its code, where a group is a token, or a channel of 16 tokens.
function quantise(matrix, bits, axis) {
  if (axis === "token") return matrix.map((row) => coded(row, bits));
  const cells = matrix.map(() => []);
  for (let first = 0; first < matrix.length; first += GROUP) {
    for (const c of all) coded(all.map((i) => matrix[first + i][c]), bits).forEach((cell, i) => { cells[first + i][c] = cell; });
  }
  return cells;
}

const attend = (q, k, v) => {
  const weights = softmax(k.map((key) => dot(q, key) / Math.sqrt(GROUP)));
  return { weights, out: rowTimes(weights, v) };
};
const norm = (x) => Math.sqrt(dot(x, x));
const less = (a, b) => a.map((x, i) => x - b[i]);
const trueBits = (bits) => (bits === 16 ? bits : bits + (2 * 16) / GROUP);

// What the whole model was measured to lose, where it was: never with an outlier.
function lossOf({ k_bits, v_bits, key_axis, outlier }) {
  const axis = k_bits === 16 ? "channel" : key_axis;
  const found = measured.points["2x64"].find(([member, k, v, by, window]) => member === head.member && k === k_bits && v === v_bits && by === axis && !window);
  return found && outlier === 1 ? found[8] : null;
}

export function compute(state) {
  const { k_bits, v_bits, key_axis, outlier, show } = state;
  const { words, q, k, v } = head;
  const times = (row, factor) => row.map((x, c) => (c === head.outlier ? x * factor : x));
  const cells = {
    keys: quantise(k.map((row) => times(row, outlier)), k_bits, key_axis), values: quantise(v, v_bits, "token"),
  };
  const back = (name) => cells[name].map((row) => row.map((cell) => cell.back));
  const exact = attend(q, k, v);
  const after = attend(times(q, 1 / outlier), back("keys"), back("values"));
  const change = less(after.weights, exact.weights);
  return {
    ...state, words, special: head.outlier, cells: cells[show], bits: show === "keys" ? k_bits : v_bits,
    axis: show === "keys" ? key_axis : "token", exact, after, moved: sum(change.map(Math.abs)) / 2, off: norm(less(after.out, exact.out)) / norm(exact.out),
    true_bits: [trueBits(k_bits), trueBits(v_bits)], loss: lossOf(state),
  };
}
