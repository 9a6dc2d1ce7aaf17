// The wiring in words: the sentence, the table, and the arithmetic behind each part.
import { count, decimal, list, terms, whole } from "../core/text.js";

export const COSTS = {
  kept: ["cached per token", "values"],
  read: ["read in this step", "values"],
  learned: ["weights of W_k and W_v", "values"],
  scores: ["scores and weighted sum", "FLOPs"],
};

const names = (items) => (items.length < 3 ? items.join(" and ") : `${items[0]} to ${items.at(-1)}`);
export const changed = ({ change }) => change > 1e-9;

// The tokens with the largest weight; several when they are equal.
function favourites(weights, tokens) {
  const top = Math.max(...weights);
  return [...new Set(tokens.filter((_, j) => j < weights.length && top - weights[j] < 1e-9))].map((word) => `“${word}”`).join(", ");
}

function wiring({ n_kv_heads: nKvHeads, n_heads: nHeads, order, lines }) {
  if (nKvHeads === nHeads) return `Multi-head attention: each of the ${nHeads} query heads reads its own key/value head.`;
  if (nKvHeads === 1) return `Multi-query attention: all ${nHeads} query heads read one key/value head, the mean of the ${nHeads}.`;
  const who = (kv) => `heads ${names(lines.filter((line) => line.kv === kv).map((line) => line.head))} read key/value head ${kv}`;
  return `${order === "dealt" ? "Assigned round-robin" : "Neighbors share"}: ${who(0)}, ${who(1)}.`;
}

export function describe(result) {
  const { costs, most, lines, n_kv_heads: nKvHeads, n_heads: nHeads, tokens, token } = result;
  if (nKvHeads === nHeads) return `${wiring(result)} The cache keeps ${whole(costs.kept)} values per token.`;
  const same = lines.filter((line) => !changed(line)).length;
  const kept = `The cache keeps ${whole(costs.kept)} values per token instead of ${whole(most.kept)}.`;
  const who = same === nHeads ? `all ${nHeads} heads keep` : same ? `${same} of ${nHeads} heads ${same === 1 ? "keeps" : "keep"}` : `none of the ${nHeads} heads keeps`;
  return `${wiring(result)} ${kept} For “${tokens[token]}”, ${who} ${same > 1 ? "their" : "its"} weights.`;
}

export function table(result) {
  const { lines, tokens, token, costs, most, n_kv_heads: nKvHeads, n_heads: nHeads } = result;
  const top = (weights) => `${favourites(weights, tokens)} ${decimal(Math.max(...weights))}`;
  return {
    caption: `Query heads of “${tokens[token]}” on ${count(nKvHeads, "key/value head")}, and the cost of one layer`,
    head: ["", "asks for", "reads key/value head", "attends most to", `with ${nHeads} key/value heads`],
    rows: [
      ...lines.map((line) => [`query head ${line.head}`, line.question, String(line.kv), top(line.weights), top(line.before)]),
      ...Object.entries(COSTS).map(([key, [words, unit]]) => [words, "", "", `${whole(costs[key])} ${unit}`, `${whole(most[key])} ${unit}`]),
    ],
  };
}

function explainKv({ makers, keys, tokens, token, n_kv_heads: nKvHeads, n_heads: nHeads }, kv) {
  const from = nKvHeads === nHeads ? `Key/value head ${kv} belongs to query head ${kv} alone.`
    : `Key/value head ${kv} is the mean of the ones that query heads ${names(makers[kv])} had to themselves.`;
  return `${from} Its key for “${tokens[token]}” is ${list(keys[kv][token])}.`;
}

function explainHead(result, head) {
  const { n_heads: nHeads, n_kv_heads: nKvHeads, group, order, lines, tokens, token } = result;
  const rule = order === "dealt" && nKvHeads === 2 ? `${head} mod ${nKvHeads} = ${lines[head].kv}, which is the wrong rule`
    : `${head} // (${nHeads} / ${nKvHeads}) = ${head} // ${group} = ${lines[head].kv}`;
  return `Query head ${head} asks for ${lines[head].question}. It reads key/value head ${rule}. Its query for “${tokens[token]}” is ${list(lines[head].q)}.`;
}

function explainWeight({ lines, keys, tokens, token, scale }, head, j) {
  const { q, kv, scores, weights, before } = lines[head];
  if (j > token) return `“${tokens[token]}” can't look at a later “${tokens[j]}”: masked.`;
  const old = Math.abs(weights[j] - before[j]) > 1e-9 ? `; with its own key/value head it was ${decimal(before[j], 3)}` : "";
  return `Head ${head}, “${tokens[token]}” looks at “${tokens[j]}”: q · k = ${terms(q, keys[kv][j])} = ${decimal(scores[j] / scale)}; times ${decimal(scale, 1)} = ${decimal(scores[j])}; weight ${decimal(weights[j], 3)}${old}.`;
}

function explainCost({ costs, n_kv_heads: nKvHeads, n_heads: nHeads, head_dim: size, d_model: dModel, token }, key) {
  const visible = token + 1;
  const kept = `2 (a key and a value) × ${count(nKvHeads, "key/value head")} × ${size}`;
  const words = {
    kept: `Cached per token: ${kept} = ${whole(costs.kept)} values.`,
    read: `Read in this step: ${kept} × ${count(visible, "token")} = ${whole(costs.read)} values.`,
    learned: `Weights of W_k and W_v: ${dModel} rows × ${kept} = ${whole(costs.learned)} values.`,
    scores: `Scores and weighted sum: 2 products × 2 FLOPs × ${nHeads} query heads × ${size} × ${count(visible, "token")} = ${whole(costs.scores)} FLOPs. The number of key/value heads doesn't appear in it.`,
  };
  return words[key];
}

// What is behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, first, second] = id.split("-");
  if (name === "kv") {
    const kv = Number(first);
    return { text: explainKv(result, kv), also: result.lines.filter((line) => line.kv === kv).map((line) => `head-${line.head}`) };
  }
  if (name === "head") return { text: explainHead(result, Number(first)), also: [`kv-${result.lines[first].kv}`] };
  if (name === "wire") return explain(result, `head-${first}`);
  if (name === "t") return { text: `Tap: “${result.tokens[first]}” looks.`, also: [] };
  if (name === "cost") return { text: explainCost(result, first), also: [] };
  return { text: explainWeight(result, Number(first), Number(second)), also: [`head-${first}`, `kv-${result.lines[first].kv}`] };
}
