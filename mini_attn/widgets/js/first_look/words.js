// The first look in words: what happens at a moment, the table, and what stands behind a cell.
import { decimal } from "../core/text.js";

const percent = (share) => `${Math.round(100 * share)}%`;

function taken({ tokens, weights }, word) {
  return weights[word].map((weight, i) => [weight, tokens[i]])
    .filter(([weight]) => weight >= 0.01)
    .sort((a, b) => b[0] - a[0])
    .map(([weight, token]) => `${percent(weight)} from “${token}”`)
    .join(", ");
}

export function describe(result) {
  const { word, beat, tokens } = result;
  const token = `“${tokens[word]}”`;
  if (beat === 1) return `2 of 3. The softmax turns the scores of ${token} into shares that add up to one.`;
  if (beat === 2) return `3 of 3. ${token} takes ${taken(result, word)}.`;
  const met = word ? "itself and the words before it" : "only itself, as no word stands before it";
  return `1 of 3. ${token} meets ${met}: a score for each.`;
}

export function table({ tokens, weights }) {
  return {
    caption: "How much each word (row) takes from each word (column)",
    head: ["", ...tokens],
    rows: tokens.map((token, i) => [token, ...tokens.map((_, j) => (j > i ? "" : decimal(weights[i][j])))]),
  };
}

export function explain(result, id) {
  const { tokens, scores, weights } = result;
  const [kind, i, j] = id.split("-");
  const [asks, answers] = [`“${tokens[i]}”`, `“${tokens[j ?? i]}”`];
  if (kind === "row") return { text: `${asks} takes ${taken(result, Number(i))}.`, also: [] };
  return {
    text: `${asks} looks at ${answers}: score ${decimal(scores[i][j])}, which the softmax of the row makes ${percent(weights[i][j])}.`,
    also: [`row-${i}`],
  };
}
