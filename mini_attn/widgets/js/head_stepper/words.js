// The stepper in words: the sentence, the table, and the arithmetic behind each part.
import { decimal, list, quote, terms } from "../core/text.js";

const columns = ({ first, q }) => `columns ${first + 1} to ${first + q.length}`;

// The keys with the most weight: all that come close to the largest.
function favorites({ weights }, tokens) {
  const top = Math.max(...weights);
  const best = weights.flatMap((weight, j) => (weight > 0.97 * top ? [j] : []));
  const names = [...new Set(best.map((j) => quote(tokens[j])))];
  const share = best.length > 1 ? `${decimal(top)} each` : decimal(top);
  const all = best.length > 1 && names.length === 1 ? `both ${names[0]}` : names.join(" and ");
  return `${all} (${share})`;
}

export function describe(result) {
  const { step, tokens, token, heads, head_dim: size, n_heads: count } = result;
  const who = quote(tokens[token]);
  const each = count > 1 ? "each head has" : "the one head has";
  if (step === 0) return `${who} is about to look back: ${each} a query with ${size} entries for it, and a key and a value for every token up to it.`;
  if (step === 1) return `Scores: the query of ${who} only meets the keys of its own head. ${count > 1 ? "That gives two rows of scores." : "That gives one row of scores, which adds up both questions."}`;
  const most = heads.map((head) => `${head.name.toLowerCase()} on ${favorites(head, tokens)}`).join(", ");
  if (step === 2) return `Weights of ${who}, most of them: ${most}. ${count > 1 ? "Each row sums to 1." : "The one row sums to 1."}`;
  if (step === 3) return `Each head averages its values with its weights: ${most}. ${count > 1 ? "That makes two averages of 4 numbers." : "That makes one average of 8 numbers, with one row of weights."}`;
  return count > 1
    ? `${who} takes two averages at once: ${most}. W_o combines them into one row of 8.`
    : `${who} has one average for both questions: ${most}. Most of what the second question looked for is lost.`;
}

export function table(result) {
  const { heads, tokens, token } = result;
  const shown = (values, j, digits) => (j > token ? "masked" : decimal(values[j], digits));
  return {
    caption: `Scores and weights of “${tokens[token]}”, ${heads.length > 1 ? "two heads of 4" : "one head of 8"}; the output is ${list(result.output)}`,
    head: ["key of", ...heads.flatMap(({ name }) => [`${name}: score`, `${name}: weight`])],
    rows: tokens.map((word, j) => [`${j + 1} ${word}`, ...heads.flatMap(({ scores, weights }) => [shown(scores, j, 2), shown(weights, j, 3)])]),
  };
}

function explainVector(result, name, h, j) {
  const head = result.heads[h];
  const what = { q: "query", k: "key", v: "value" }[name];
  const values = name === "q" ? head.q : head[name][j];
  return `${head.name}, ${what} of ${quote(result.tokens[j])}: its embedding times ${columns(head)} of W_${name} = ${list(values)}.`;
}

function explainScore(result, h, j) {
  const { q, k, scores, name } = result.heads[h];
  return `${name}, ${quote(result.tokens[result.token])} looks at ${quote(result.tokens[j])}: q · k = ${terms(q, k[j])} = ${decimal(scores[j] / result.scale)}; divided by the root of ${result.head_dim}: score ${decimal(scores[j])}.`;
}

function explainWeight(result, h, j) {
  const { scores, weights, name } = result.heads[h];
  return `${name}, weight of ${quote(result.tokens[j])}: e to the ${decimal(scores[j])}, divided by the sum over all ${scores.length} keys of this head = ${decimal(weights[j], 3)}. The other head's scores don't matter.`;
}

function explainAverage(result, h) {
  const { weights, out, name } = result.heads[h];
  const large = weights.map((weight, j) => [weight, result.tokens[j]]).filter(([weight]) => weight >= 0.05);
  const parts = large.map(([weight, word]) => `${decimal(weight)} · v of ${quote(word)}`).join(" + ");
  const rest = large.length < weights.length ? " + the small rest" : "";
  return `${name}, average: ${parts}${rest} = ${list(out)}.`;
}

// A number of the last rows: where it comes from, or which products it is the sum of.
function explainNumber(result, row, h, n) {
  const { heads, w_o: wO, head_dim: size, features, output } = result;
  const all = heads.flatMap((head) => head.out);
  const meaning = `“${features[n % features.length]}”, ${n < features.length ? "of what is related" : "of the token before"}`;
  if (row === "c") {
    const where = `number ${(n % size) + 1} of ${heads.length > 1 ? `head ${Math.floor(n / size) + 1}'s` : "the"} average`;
    return `Number ${n + 1} of the row: ${where}, ${decimal(all[n])}. Putting heads side by side doesn't compute anything.`;
  }
  const from = row === "a" ? heads[h].first : 0;
  const upTo = row === "a" ? from + size : all.length;
  const parts = all.map((x, r) => [x, wO[r][n]]).slice(from, upTo).filter(([, w]) => w);
  const sum = parts.map(([x, w]) => `${decimal(x)} · ${decimal(w)}`).join(" + ") || "nothing: these rows of W_o are 0 here";
  if (row === "a") return `What head ${h + 1} adds to number ${n + 1} of the output (${meaning}): its average times its own rows of W_o = ${sum} = ${decimal(heads[h].adds[n])}.`;
  return `Number ${n + 1} of the output (${meaning}): the row of 8 times column ${n + 1} of W_o = ${sum} = ${decimal(output[n])}; terms with a 0 in W_o are left out.`;
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, one, two] = id.split("-").map((part, i) => (i ? Number(part) : part));
  if (name === "q") return { text: explainVector(result, "q", one, result.token), also: [] };
  if (name === "t") return { text: `Tap: ${quote(result.tokens[two])} looks.`, also: [] };
  if (name === "b") return { text: `With two heads: ${decimal(result.apart.flatMap(({ out }) => out)[one])}, from head ${one < 4 ? 1 : 2}.`, also: [] };
  if (name === "k" || name === "v") return { text: explainVector(result, name, one, two), also: [] };
  if (name === "s") return { text: explainScore(result, one, two), also: [`q-${one}`, `k-${one}-${two}`] };
  if (name === "w") return { text: explainWeight(result, one, two), also: [`s-${one}-${two}`] };
  if (name === "o") return { text: explainAverage(result, one), also: result.heads[one].weights.map((_, j) => `w-${one}-${j}`) };
  const [h, n] = name === "a" ? [one, two] : [0, one];
  const also = name === "c" ? [`o-${Math.floor(n / result.head_dim)}`] : [];
  return { text: explainNumber(result, name, h, n), also };
}
