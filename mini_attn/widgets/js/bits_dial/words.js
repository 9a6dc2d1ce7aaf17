// The dial in words: the sentence, the table, and the details of a channel, a value and a weight.
import { decimal, quote } from "../core/text.js";

export const percent = (share) => `${decimal(100 * share, 1)}%`;
const named = (bits, axis) => (bits === 16 ? "bfloat16" : `${bits} bits per ${axis}`);
export const lossOf = ({ loss }) => (loss ? `${decimal(loss[0], 3)} ± ${decimal(loss[1], 3)}` : "not measured");

export function describe(result) {
  const { k_bits, v_bits, key_axis, outlier, special, moved, off, true_bits: [k, v], loss } = result;
  const stored = Math.min(k_bits, v_bits) < 16 ? ` (${k} and ${v} with scale and zero point)` : "";
  const large = outlier === 1 ? "" : ` Channel ${special} of the keys is ${outlier} times as large; without rounding, nothing changes.`;
  const judged = loss ? ` Loss above the floor: ${lossOf(result)} nats per word.` : "";
  return `Keys in ${named(k_bits, key_axis)}, values in ${named(v_bits, "token")}${stored}: ${percent(moved)} of the query's weight moves to other tokens, and its output is off by ${percent(off)}.${large}${judged}`;
}

export function table(result) {
  const { words, cells, exact, after, show, channel } = result;
  return {
    caption: `Channel ${channel} of the ${show}, and the weights of the last token; loss above the floor: ${lossOf(result)}`,
    head: ["token", "value", "code", "restored as", "exact weight", "weight now"],
    rows: words.map((word, t) => {
      const { x, code = "–", back } = cells[t][channel];
      return [`${t} ${word}`, decimal(x), String(code), decimal(back), decimal(exact.weights[t], 3), decimal(after.weights[t], 3)];
    }),
  };
}

function explainChannel({ cells, show, bits, axis, special, outlier }, c) {
  const column = cells.map((row) => row[c]);
  const numbers = column.map(({ x }) => x);
  const worst = Math.max(...column.map(({ x, back }) => Math.abs(back - x)));
  const steps = column.map(({ scale }) => scale);
  const rungs = bits === 16 ? "" : ` Its codes are ${decimal(Math.min(...steps))} to ${decimal(Math.max(...steps))} apart${axis === "token" ? ", set by each whole token" : ""}.`;
  const times = show === "keys" && c === special && outlier > 1 ? `, times ${outlier}` : "";
  return `Channel ${c} of the ${show}${times}: ${decimal(Math.min(...numbers))} to ${decimal(Math.max(...numbers))}.${rungs} No value is off by more than ${decimal(worst)}.`;
}

function explainNumber({ cells, words, channel }, t) {
  const { x, code, zero, scale, back } = cells[t][channel];
  const made = code === undefined ? "rounded to bfloat16" : `(${decimal(x)} − ${decimal(zero)}) / ${decimal(scale, 3)} rounds to code ${code}; restored: ${code} · ${decimal(scale, 3)} + ${decimal(zero)}`;
  return `${quote(words[t])}, channel ${channel}: ${decimal(x)}; ${made} = ${decimal(back)}.`.replace("− −", "+ ").replace("+ −", "− ");
}

// The details of a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, n] = [id[0], Number(id.slice(2))];
  const { words, exact, after } = result;
  if (id === "show") return { text: "Enter or a tap shows the other half of the cache.", also: [] };
  if (id === "outlier") return { text: `Channel ${result.special} of the keys, ${result.outlier} times as large, and the query's divided by as much. Drag it up or down.`, also: [] };
  if (name === "c") return { text: explainChannel(result, id === "channel" ? result.channel : n), also: [] };
  if (name === "n") return { text: explainNumber(result, n), also: [`w-${n}`] };
  return { text: `The last ${quote(words.at(-1))} gives ${quote(words[n])} (token ${n}) a weight of ${decimal(exact.weights[n], 3)} without rounding, and ${decimal(after.weights[n], 3)} now.`, also: [`n-${n}`] };
}
