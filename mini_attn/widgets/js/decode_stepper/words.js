// The stepper in words: the sentence, the table, and the arithmetic behind each row and weight.
import { count, decimal, list, terms, whole } from "../core/text.js";

export const KINDS = {
  new: "computed now", again: "computed again, although nothing has changed", kept: "read from the cache", later: "not there yet",
};
const NAMES = { q: "query", k: "key", v: "value", out: "output of the head" };

export function describe({ step, cached, counts, total, there, rows }) {
  const start = step ? `Step ${step} processes “${rows[there - 1].token}”.` : "Prefill: the whole prompt goes through at once.";
  const fresh = `It computes ${count(counts.new, "new row")}`;
  const old = cached ? counts.kept : counts.again;
  const rest = cached ? `and reads ${whole(old)} from the cache` : `and ${whole(old)} old ones again`;
  return `${start} ${old ? `${fresh} ${rest}` : fresh}. So far, that's ${whole(total.cached.passes)} token passes with a cache and ${whole(total.plain.passes)} without.`;
}

export function table(result) {
  const row = (name, key) => [name, whole(result.total.cached[key]), whole(result.total.plain[key])];
  const output = result.output.map((x) => decimal(x)).join("  ");
  return {
    caption: `Added up to ${result.step ? `step ${result.step}` : "the prefill"}: one attention layer of the example, float32`,
    head: ["", "with a cache", "without"],
    rows: [
      row("token passes", "passes"), row("FLOPs (a multiply-add is 2)", "flops"),
      row("bytes moved: weights, keys and values", "bytes"),
      ["of these, bytes of weights: each pass reads them all", whole(result.weight_bytes), whole(result.weight_bytes)],
      ["bytes kept in the cache", whole(result.cache_bytes), "0"],
      [`output for “${result.rows[result.there - 1].token}”`, output, output],
      ["largest difference between the outputs", result.difference === 0 ? "0" : result.difference.toExponential(1), ""],
    ],
  };
}

function explainRow(result, name, i) {
  const { token, kind } = result.rows[i];
  const values = result.rows[i][name];
  if (kind === "later") return `“${token}” is not there yet, so there's nothing to compute or to keep.`;
  if (!values) {
    return name === "q"
      ? `The query of “${token}” was used when “${token}” was new. No later step asks for it, so the cache doesn't keep it.`
      : `The output of “${token}” was computed when the token was new, and it can't change.`;
  }
  const from = name === "out" ? "its weights times the values" : `its embedding times W_${name}`;
  return `The ${NAMES[name]} of “${token}”, ${KINDS[kind]}: ${from} = ${list(values)}.`;
}

function explainWeight(result, i, j) {
  const { q, scores, weights, token, kind } = result.rows[i];
  const other = result.rows[j];
  if (kind === "later") return `“${token}” is not there yet.`;
  if (j > i) return `“${other.token}” comes after “${token}”, so it's masked and its weight is 0.`;
  if (!weights) return `This weight was computed when “${token}” was new. The step doesn't need it again.`;
  const sum = scores[j] / result.scale;
  const rest = i ? `; e to the ${decimal(scores[j])}, divided by the sum of all ${whole(i + 1)}` : "; the only key";
  return `“${token}” attends to “${other.token}”: q · k = ${terms(q, other.k)} = ${decimal(sum)}; times ${decimal(result.scale, 1)} = ${decimal(scores[j])}${rest}: weight ${decimal(weights[j], 3)}.`;
}

const THROUGH = { new: "goes through the layer in this step", again: "goes through the layer again", kept: "doesn't go through again", later: "is not there yet" };
const explainToken = ({ rows }, i) => `“${rows[i].token}” ${THROUGH[rows[i].kind]}.`;

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, i, j] = id.split("-");
  if (id === "now" || name === "t") return { text: explainToken(result, Number(i ?? result.there - 1)), also: [] };
  if (id === "same") return { text: "Both ways are computed at every step, and their outputs compared.", also: [] };
  if (name !== "w") return { text: explainRow(result, name, Number(i)), also: [] };
  return { text: explainWeight(result, Number(i), Number(j)), also: Number(j) <= Number(i) ? [`q-${i}`, `k-${j}`] : [] };
}
