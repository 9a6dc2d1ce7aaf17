// Saturation in words: the sentence, the table, and the arithmetic of each bar and of each size.
import { decimal, whole } from "../core/text.js";

const DIVISORS = { one: "Without a scale", head_dim: "Divided by √head_dim", d_model: "Divided by √d_model" };

export function describe({ head_dim: size, divisor, top, moves: left, even }) {
  const share = left / even;
  const verdict = share < 0.15 ? "this row can hardly learn" : share > 0.98 ? "the row is nearly uniform and hardly chooses" : "the row chooses and can still learn";
  return `${DIVISORS[divisor]}, head_dim ${whole(size)}. The largest weight is ${decimal(top)}, and ${decimal(100 * share, 1)}% of a uniform row's gradient is left, so ${verdict}.`;
}

export function table({ dots, scores, weights, head_dim: size, top, moves: left }) {
  return {
    caption: `One query and ${dots.length} keys with entries +1 or −1, head_dim ${whole(size)}; the largest weight is ${decimal(top, 3)}, the w (1 − w) add up to ${decimal(left, 3)}`,
    head: ["key", "q · k", "score", "weight w", "w (1 − w)"],
    rows: dots.map((value, j) => [String(j + 1), whole(value).replace("-", "−"), decimal(scores[j]), decimal(weights[j], 3), decimal(weights[j] * (1 - weights[j]), 3)]),
  };
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, j] = id.split("-");
  const { head_dim: size, dots, scores, weights, divide, curves: means, sizes, draws } = result;
  if (name === "now") {
    const near = sizes.findIndex((one) => one * 1.5 > size);
    const mean = (divisor) => decimal(means[divisor][j][near], 3);
    const what = j === "top" ? "largest weight" : "sum of w (1 − w)";
    return { text: `Mean ${what} of ${whole(draws)} draws at head_dim ${whole(sizes[near])}: ${mean("one")} without a scale, ${mean("head_dim")} divided by √head_dim, ${mean("d_model")} by √d_model.`, also: [] };
  }
  const w = weights[j];
  const start = `Key ${Number(j) + 1}: ${whole(size)} products of +1 or −1 add up to ${decimal(dots[j], 1).replace(".0", "")}; divided by ${decimal(divide)} = ${decimal(scores[j])}`;
  return { text: `${start}; its share of the exponentials is the weight ${decimal(w, 3)}. A small change of the score moves the weight by w (1 − w) = ${decimal(w * (1 - w), 3)} times as much.`, also: [`${name === "s" ? "w" : "s"}-${j}`] };
}
