// The matrix in words: the sentence, the table, and the arithmetic behind a part.
import { mean } from "d3-array";
import { count, decimal, list, whole } from "../core/text.js";

export const NAMES = { sum: "sum", decay: "decay", delta: "delta rule", gated: "gated delta rule", cache: "cache" };
const FADES = ["decay", "gated"];

export const nameOf = ({ rule, decay }) => `${NAMES[rule]}${FADES.includes(rule) ? `, decay ${decimal(decay)}` : ""}`;
export const keptWords = ({ rule, size, written, kept }) => (rule === "cache"
  ? `2 × ${written.length} × ${size}: ${whole(kept)} numbers` : `${size} × ${size}: ${whole(kept)} numbers`);
export const pairWords = ({ pairs, again }) => `${count(pairs, "pair")}${again ? ", the first key again" : ""}`;

export function describe(result) {
  const { errors, right, pairs, pair, again } = result;
  const wanted = again && pair === 1 ? "its newest value" : "its value";
  const come = right === 1 ? "comes out nearest to its" : "come out nearest to their";
  return `${pairWords(result)}, ${nameOf(result)}, in ${keptWords(result)}. Read back, ${right} of ${whole(pairs)} ${come} own value. The average error is ${decimal(mean(errors))} of a value's length; key ${pair} misses ${wanted} by ${decimal(errors[pair - 1])}.`;
}

export const table = (result) => ({
  caption: `${pairWords(result)}, ${nameOf(result)}: what each key reads`,
  head: ["key", "value", "read", "error", "nearest value"],
  rows: result.reads.map((read, i) => [`${i + 1}`, list(result.wanted[i]), list(read), decimal(result.errors[i]), `${result.found[i] + 1}`]),
});

// How the asked pair came back, by rule.
function why({ rule, weights, pair, again }) {
  if (rule !== "cache") return "";
  const old = again && pair === 1 ? `, ${decimal(weights[0])} on its first value and ${decimal(weights.at(-1))} on its newest` : `, ${decimal(weights[pair - 1])} on its own entry`;
  return ` The softmax puts weights on all entries${old}.`;
}

// What is behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const { wanted, reads, errors, found, pair } = result;
  const [kind, key] = id.split("-");
  if (kind === "state") return { text: `${result.rule === "cache" ? "The cache keeps" : "The state keeps"} ${keptWords(result)}. A cache of these pairs would keep ${whole(2 * result.size * result.written.length)}.`, also: [] };
  const n = kind === "pair" ? Number(key) : pair;
  const [want, read] = [wanted[n - 1], reads[n - 1]];
  if (kind === "strip") return { text: `Key ${pair} ${key === "value" ? `was written with ${list(want)}` : `reads ${list(read)}`}.${why(result)}`, also: [`pair-${pair}`] };
  const nearest = found[n - 1] + 1;
  return { text: `Key ${n} reads a value that's off by ${decimal(errors[n - 1])} of its length. ${nearest === n ? "It's still nearest to its own value." : `It's nearest to value ${nearest}.`}`, also: [] };
}
