// The explorer in words: the sentence, the table, and the arithmetic of each part.
import { decimal, list, quote, terms } from "../core/text.js";

// The index of the largest entry; the first of equals.
const best = (row) => row.indexOf(Math.max(...row));

export function favorites({ show, names, q, asked, dots, scores, weights }) {
  const [i, name] = [names.length - 1, quote(names.at(-1))];
  const row = { dots, scores, weights }[show][i];
  const first = best(row);
  const second = best(row.map((value, j) => (j === first ? -Infinity : value)));
  const who = (j) => (j === i ? "itself" : quote(names[j]));
  const verb = show === "weights" ? "gives most of its weight to" : "matches best with";
  const pulled = asked.some((value, n) => value !== q[i][n]) ? "With this query, " : "";
  return `${pulled}${name} ${verb} ${who(first)} (${decimal(row[first])}), then ${who(second)} (${decimal(row[second])}).`;
}

const RULES = {
  none: ({ names, ahead }) => {
    const i = best(ahead);
    return `Nothing is hidden: ${quote(names[i])} takes ${decimal(ahead[i])} of its weight from later tokens.`;
  },
  after: ({ names, sums }) => {
    const i = sums.indexOf(Math.min(...sums));
    return `Set to 0 after the softmax: the row of ${quote(names[i])} now sums to ${decimal(sums[i])}, not to 1.`;
  },
  renormalised: () => "Set to 0 and divided by what's left: every row sums to 1 again, with the same weights as −∞ before the softmax.",
  before: () => "Later keys get the score −∞ before the softmax, so their weight is 0 and every row sums to 1.",
};

export function describe(result) {
  return result.show === "dots" ? `Dot products: ${favorites(result)}` : `${favorites(result)} ${RULES[result.mask](result)}`;
}

const cell = ({ show, mask, dots, scores, weights }, i, j) => {
  if (show === "scores" && mask === "before" && j > i) return "−∞";
  return decimal({ dots, scores, weights }[show][i][j]);
};

export function table(result) {
  const { names, show, sums, out } = result;
  const what = { dots: "Dot products q · k", scores: "Scores", weights: "Weights" }[show];
  const last = show === "weights" ? ["sum", "output"] : [];
  return {
    caption: `${what}: one line for each query, one column for each key`,
    head: ["", ...names, ...last],
    rows: names.map((name, i) => [name, ...names.map((_, j) => cell(result, i, j)), ...(last.length ? [decimal(sums[i]), list(out[i])] : [])]),
  };
}

function explainDot({ q, k, names, dots }, i, j) {
  return `${quote(names[i])} asks, ${quote(names[j])} answers: q · k = ${terms(q[i], k[j])} = ${decimal(dots[i][j])}`;
}

function explainScore(result, i, j) {
  const { divide, scores } = result;
  return `${explainDot(result, i, j)}; divided by ${decimal(divide)} = ${decimal(scores[i][j])}`;
}

function explainWeight(result, i, j) {
  const { mask, scores, open, weights, sums, names } = result;
  const later = j > i && mask !== "none";
  if (later && mask === "before") return `${explainScore(result, i, j)}. ${quote(names[j])} comes later: its score becomes −∞, and e to the −∞ is 0. Weight 0.`;
  const visible = mask === "before" ? scores[i].slice(0, i + 1) : scores[i];
  const sum = visible.reduce((all, score) => all + Math.exp(score), 0);
  const start = `${explainScore(result, i, j)}; e to the ${decimal(scores[i][j])} = ${decimal(Math.exp(scores[i][j]))}, of ${decimal(sum)} in the row: ${decimal(open[i][j], 3)}`;
  if (later) return `${start}. ${quote(names[j])} comes later: set to 0.`;
  if (mask === "before") return start.replace(decimal(open[i][j], 3), `weight ${decimal(weights[i][j], 3)}`) + ".";
  if (mask !== "renormalised") return `${start}. That's the weight${mask === "after" ? `; the row now sums to ${decimal(sums[i])}` : ""}.`;
  const left = open[i].slice(0, i + 1).reduce((all, value) => all + value, 0);
  return `${start}; divided by the ${decimal(left, 3)} that is left in the row: weight ${decimal(weights[i][j], 3)}.`;
}

const PARTS = {
  q: ({ q, names }, i) => `The query of ${quote(names[i])}, what it looks for: its embedding times W_q = ${list(q[i])}.`,
  k: ({ k, names }, i) => `The key of ${quote(names[i])}, how it can be found: its embedding times W_k = ${list(k[i])}.`,
  v: ({ v, names }, i) => `The value of ${quote(names[i])}, what it passes on: its embedding times W_v = ${list(v[i])}.`,
  out: ({ out, weights, names }, i) => {
    const parts = weights[i].map((w, j) => (w < 0.005 ? null : `${decimal(w)} · value of ${quote(names[j])}`)).filter(Boolean);
    return `The output of ${quote(names[i])}: ${parts.join(" + ")} = ${list(out[i])}.`;
  },
};

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, i, j] = id.split("-").map((part, n) => (n ? Number(part) : part));
  const all = result.names.map((_, n) => n);
  if (name === "pull") {
    const last = all.at(-1);
    const entry = result.entries[i] ?? `entry ${i + 1}`;
    return { text: `${entry}: ${decimal(result.q[last][i])}`, also: all.map((n) => `w-${last}-${n}`) };
  }
  if (name === "out") return { text: PARTS.out(result, i), also: all.flatMap((n) => [`w-${i}-${n}`, `v-${n}`]) };
  if (name !== "w") return { text: PARTS[name](result, i), also: [] };
  const words = { dots: explainDot, scores: explainScore, weights: explainWeight }[result.show](result, i, j);
  const hidden = result.show === "scores" && result.mask === "before" && j > i ? `. ${quote(result.names[j])} comes later: the score becomes −∞` : "";
  return { text: words.endsWith(".") ? words : `${words}${hidden}.`, also: [`q-${i}`, `k-${j}`] };
}
