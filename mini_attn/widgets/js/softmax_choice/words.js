// The softmax in words: the sentence, the table, and the arithmetic behind each number.
import { decimal } from "../core/text.js";

const percent = (share) => `${decimal(100 * share, 1)}%`;
const small = (value) => (value !== 0 && value < 0.001 ? value.toExponential(1).replace("-", "−") : decimal(value, 3));
// As a percentage, and never zero where it is not.
function share(weight) {
  if (weight >= 0.0005) return percent(weight);
  return weight < 1e-5 ? "less than 0.001%" : `${decimal(100 * weight, 3)}%`;
}

export function describe({ tokens, weights, most, ties, temperature, shift }) {
  const best = ties > 1 ? `${ties} tokens tie for first place with ${percent(weights[most])} each` : `“${tokens[most]}” gets ${percent(weights[most])}`;
  const least = Math.min(...weights);
  const how = [
    temperature === 1 ? "" : ` at temperature ${decimal(temperature, 1)}`,
    shift === 0 ? "" : `, and adding ${decimal(shift, 1)} to all scores didn't change the weights`,
  ].join("");
  return `${best[0].toUpperCase()}${best.slice(1)}${how}. The smallest weight is ${share(least)}; none is ever zero.`;
}

export function table({ tokens, scores, scaled, parts, weights, total }) {
  const rows = tokens.map((token, i) => [token, decimal(scores[i]), decimal(scaled[i]), small(parts[i]), small(weights[i])]);
  return {
    caption: "From scores to weights, one token per row",
    head: ["", "score", "divided by the temperature", "e to the (this minus the largest)", "weight"],
    rows: [...rows, ["sum", "", "", small(total), "1"]],
  };
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const { tokens, scores, scaled, parts, weights, total, top, temperature, shift } = result;
  if (id === "sum") {
    return { text: `The sum of the five exponentials: ${parts.map(small).join(" + ")} = ${small(total)}.`, also: tokens.map((_, i) => `e-${i}`) };
  }
  if (id === "shift") return { text: `${decimal(shift)} is added to all five scores.`, also: [] };
  const [name, at] = id.split("-");
  const i = Number(at);
  const token = `“${tokens[i]}”`;
  if (name === "s") {
    const own = `${decimal(scores[i] - shift)}${shift ? ` ${shift < 0 ? "−" : "+"} ${decimal(Math.abs(shift))}` : ""}`;
    return { text: `The score of ${token}: ${own}${shift ? ` = ${decimal(scores[i])}` : ""}; divided by the temperature ${decimal(temperature, 1)}: ${decimal(scaled[i])}.`, also: [] };
  }
  if (name === "e") {
    return { text: `e to the (${decimal(scaled[i])} − ${decimal(top)}) = e to the ${decimal(scaled[i] - top)} = ${small(parts[i])}. The largest, ${decimal(top)}, is subtracted first, so no exponential is above 1.`, also: [`s-${i}`] };
  }
  return { text: `The weight of ${token}: ${small(parts[i])} / ${small(total)} = ${small(weights[i])}, or ${share(weights[i])}.`, also: [`e-${i}`, "sum"] };
}
