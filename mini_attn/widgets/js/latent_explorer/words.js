// The latent explorer in words: the sentence, the table, and what is behind each part.
import { decimal, list, whole } from "../core/text.js";

// Term by term, without those in which the query has a zero.
const product = (a, b) => a.flatMap((x, i) => (x ? [`${decimal(x)} · ${decimal(b[i])}`] : [])).join(" + ") || "0";
const power = (value) => (value === 0 ? "0" : value.toExponential(0).replace("-", "−"));
const newest = ({ tokens, there }) => tokens[there - 1];

export function describe(result) {
  const { form, head, question, weights, tokens, cache_numbers: kept, work } = result;
  const most = weights.indexOf(Math.max(...weights));
  const looks = `Head ${head} looks for ${question}: “${newest(result)}” gives “${tokens[most]}” the most weight, ${decimal(weights[most])}.`;
  const made = form === "expanded"
    ? `Expanded, the four heads make ${whole(work.expanded.made)} values from them in this step, their keys and values.`
    : `Absorbed, the four heads make ${whole(work.absorbed.made)} values in this step, but no keys and no values.`;
  return `${looks} The cache holds ${whole(kept)} values. ${made}`;
}

export function table(result) {
  const { work, tokens, weights, there } = result;
  const row = (words, key) => [words, whole(work.expanded[key]), whole(work.absorbed[key])];
  const out = result.out.map((x) => decimal(x)).join("  ");
  const shares = tokens.slice(0, there).map((name, j) => [`weight of “${name}”`, decimal(weights[j], 3), decimal(weights[j], 3)]);
  return {
    caption: `One new token, “${newest(result)}”; head ${result.head}, which looks for ${result.question}`,
    head: ["", "expanded", "absorbed"],
    rows: [
      ["values in the cache, for all heads", whole(result.cache_numbers), whole(result.cache_numbers)],
      row("values made from the latents or for them, all heads", "made"), row("FLOPs of the step, all heads", "flops"),
      ...shares, ["output of the head", out, out], ["largest difference between the two", power(result.difference), ""],
    ],
  };
}

function explainKept(result, name, j) {
  const token = result.tokens[j];
  if (j >= result.there) return `“${token}” isn't there yet.`;
  const since = j === result.there - 1 ? "Computed now, then cached" : "Read from the cache";
  if (name === "c") return `The latent of “${token}”: its embedding times W_a, normalized = ${list(result.latent[j])}. ${since}; all four heads use it.`;
  const start = result.rope_key[0];
  const rotated = j ? `${list(start)} rotated by ${j} ${j === 1 ? "radian" : "radians"}` : "at position 0 nothing is rotated:";
  return `The rotated key of “${token}”: ${rotated} = ${list(result.rope_key[j])}. ${since}; all four heads use it.`;
}

function explainMade(result, name, j) {
  const { form, head, tokens, there } = result;
  const [word, matrix] = name === "k" ? ["key", "W_UK"] : ["value", "W_UV"];
  if (j >= there) return `“${tokens[j]}” isn't there yet.`;
  if (form === "absorbed") {
    return name === "k"
      ? `No key is made for “${tokens[j]}”: the query meets its latent ${list(result.latent[j])} itself.`
      : `No value is made for “${tokens[j]}”: the latents are mixed, and the mixture goes through W_UV once.`;
  }
  return `The ${word} of “${tokens[j]}” for head ${head}: its latent times ${matrix} = ${list(result[name][j])}. Made in this step and not cached. The other heads make their own.`;
}

function explainWeight(result, j) {
  const { form, there, tokens, q, q_latent: qLatent, q_rope: qRope, rope_key: keys } = result;
  if (j >= there) return `“${tokens[j]}” isn't there yet.`;
  const content = form === "expanded" ? `q · k = ${product(q, result.k[j])}` : `(q taken to the latent) · c = ${product(qLatent, result.latent[j])}`;
  const sum = `${content} = ${decimal(result.content[j])}; RoPE parts ${product(qRope, keys[j])} = ${decimal(result.position[j])}`;
  return `“${newest(result)}” looks at “${tokens[j]}”: ${sum}. Together times 1/√${Math.round(result.scale ** -2)} = ${decimal(result.scores[j])}; after the softmax ${decimal(result.weights[j], 3)}.`;
}

const SINGLE = {
  t: ({ tokens, there }, i) => (i < there - 1 ? `“${tokens[i]}” came before: its latent is in the cache.` : `“${tokens[i]}” isn't there yet.`),
  now: (r) => `“${newest(r)}” is the newest token: its query meets all latents up to its own.`,
  qr: (r) => `The query's RoPE part, rotated by ${r.there - 1} ${r.there === 2 ? "radian" : "radians"}: ${list(r.q_rope)}. It meets the rotated keys, in both forms.`,
  qn: (r) => `The query's NoPE part, for head ${r.head}: ${list(r.q)}.${r.form === "expanded" ? " It meets the keys." : ""}`,
  qa: (r) => (r.form === "absorbed" ? `The query taken to the latent: ${list(r.q)} times W_UK transposed = ${list(r.q_latent)}. It meets the latents themselves.`
    : "Here the query meets the keys. Absorbed, it would be taken to the latents."),
  mix: (r) => (r.form === "absorbed" ? `The latents, each times its weight, added up: ${list(r.mixed)}.`
    : "Here the values are mixed. Absorbed, the latents themselves are."),
  out: (r) => (r.form === "absorbed" ? `The mixture ${list(r.mixed)} times W_UV = ${list(r.out)}: the output of head ${r.head}.`
    : `The values, each times its weight, added up: ${list(r.out)}, the output of head ${r.head}.`),
};

// What is behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, index] = id.split("-");
  if (SINGLE[name]) return { text: SINGLE[name](result, Number(index)), also: [] };
  const j = Number(index);
  if (name === "c" || name === "r") return { text: explainKept(result, name, j), also: [] };
  const expanded = result.form === "expanded";
  if (name !== "w") return { text: explainMade(result, name, j), also: [`c-${j}`] };
  return { text: explainWeight(result, j), also: j < result.there ? ["qr", `r-${j}`, ...(expanded ? ["qn", `k-${j}`] : ["qa", `c-${j}`])] : [] };
}
