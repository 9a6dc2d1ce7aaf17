// The stepper in words: the sentence, the table, and the arithmetic behind each row and weight.
import { count, decimal, list, terms, whole } from "../core/text.js";

export const KINDS = {
  new: "computed now", again: "computed again, though nothing changed", kept: "read from the cache", later: "not there yet",
};
const NAMES = { q: "query", k: "key", v: "value", out: "output of the head" };

export function describe({ step, cached, counts, total, there, rows }) {
  const start = step ? `Step ${step}: “${rows[there - 1].token}” has arrived.` : "Prefill: the prompt arrives in one piece.";
  const fresh = `${count(counts.new, "row")} ${counts.new === 1 ? "is" : "are"} computed`;
  const old = cached ? counts.kept : counts.again;
  const rest = cached ? `${whole(old)} ${old === 1 ? "is" : "are"} read from the cache` : `and ${whole(old)} more all over again`;
  const work = old ? `${fresh}${cached ? "," : ""} ${rest}` : fresh;
  return `${start} ${work}. So far ${whole(total.cached.passes)} token passes with a cache, ${whole(total.plain.passes)} without.`;
}

export function table(result) {
  const row = (name, key) => [name, whole(result.total.cached[key]), whole(result.total.plain[key])];
  const output = result.output.map((x) => decimal(x)).join("  ");
  return {
    caption: `Added up to ${result.step ? `step ${result.step}` : "the prefill"}: one attention layer of the example, float32`,
    head: ["", "with a cache", "without"],
    rows: [
      row("token passes", "passes"), row("FLOPs (a multiply-add is 2)", "flops"),
      row("bytes: weights, keys and values read and written", "bytes"),
      ["bytes kept in the cache", whole(result.cache_bytes), "0"],
      [`output for “${result.rows[result.there - 1].token}”`, output, output],
      ["largest difference of the two outputs", result.difference === 0 ? "0" : result.difference.toExponential(1), ""],
    ],
  };
}

function explainRow(result, name, i) {
  const { token, kind } = result.rows[i];
  const values = result.rows[i][name];
  if (kind === "later") return `“${token}” is not there yet: nothing to compute or to keep.`;
  if (!values) {
    return name === "q"
      ? `The query of “${token}” was used when “${token}” was new. No later step asks for it, so it is not kept.`
      : `The output of “${token}” was computed when it was new, and cannot change.`;
  }
  const from = name === "out" ? "its weights times the values" : `its embedding times W_${name}`;
  return `The ${NAMES[name]} of “${token}”, ${KINDS[kind]}: ${from} = ${list(values)}.`;
}

function explainWeight(result, i, j) {
  const { q, scores, weights, token, kind } = result.rows[i];
  const other = result.rows[j];
  if (kind === "later") return `“${token}” is not there yet.`;
  if (j > i) return `“${token}” may not look at “${other.token}”, which comes later: masked, so its weight is 0.`;
  if (!weights) return `How “${token}” looks at “${other.token}” was settled when “${token}” was new; the step does not need it again.`;
  const sum = scores[j] / result.scale;
  const rest = i ? `; e to the ${decimal(scores[j])}, divided by the sum of all ${whole(i + 1)}` : "; the only key";
  return `“${token}” looks at “${other.token}”: q · k = ${terms(q, other.k)} = ${decimal(sum)}; times ${decimal(result.scale, 1)} = ${decimal(scores[j])}${rest}: weight ${decimal(weights[j], 3)}.`;
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, i, j] = id.split("-");
  if (name !== "w") return { text: explainRow(result, name, Number(i)), also: [] };
  return { text: explainWeight(result, Number(i), Number(j)), also: Number(j) <= Number(i) ? [`q-${i}`, `k-${j}`] : [] };
}
