// The picture in words: the sentence, the table, and what stands behind each part.
import { decimal, quote } from "../core/text.js";
import { HEADS } from "./compute.js";

const best = (bars, key) => bars.reduce((top, bar) => (bar[key] > top[key] ? bar : top));
const percent = (share) => (share === 0 || share === 1 ? `${100 * share}%` : share < 0.001 ? "less than 0.1%" : share > 0.9995 ? "more than 99.9%" : `${decimal(100 * share, 1)}%`);
const nats = (value) => `${decimal(value)} nats`;

function choice({ bars, begun, words, at, isTrue }) {
  if (!bars.length) return `No word begins with ${quote(begun)}.`;
  const first = best(bars, "raw");
  const guess = begun ? `The likeliest word that begins with ${quote(begun)} is ${quote(first.word)}` : `After ${quote(words[at])} the decoder expects ${quote(first.word)}`;
  if (!isTrue) return `${guess} (${percent(first.raw)}). No text of this language continues like this, but the decoder still answers.`;
  const right = best(bars, "true");
  return right.id === first.id ? `${guess} with ${percent(first.raw)}. The true probability is ${percent(first.true)}.`
    : `${guess} with ${percent(first.raw)}. Its true probability is ${percent(first.true)}, and that of ${quote(right.word)} is ${percent(right.true)}.`;
}

function price({ mean, whole, lowest, off }) {
  if (mean === null) return "";
  const floor = lowest === null ? "" : `, and its true probabilities would cost ${decimal(lowest)}`;
  const others = off.length ? ` With all heads on it costs ${decimal(whole)}.` : "";
  return ` The text costs ${nats(mean)} per word${floor}.${others}`;
}

export function describe(result) {
  const end = result.full ? " It's full: texts in training had at most 256 tokens, and so has this one." : "";
  return `${choice(result)}${price(result)}${end}`;
}

export function table({ bars, words, at, isTrue }) {
  return {
    caption: `What may follow ${quote(words[at])}: the likeliest words`,
    head: ["", "decoder", "drawn from", "true"],
    rows: bars.map((bar) => [bar.word, decimal(bar.raw, 3), decimal(bar.share, 3), isTrue ? decimal(bar.true, 3) : "none"]),
  };
}

// The words that a row of weights reads most.
function readers(row, words) {
  const order = row.length ? Array.from(row, (weight, i) => [weight, i]).sort(([a], [b]) => b - a).slice(0, 3) : [];
  return order.filter(([weight]) => weight >= 0.005).map(([weight, i]) => `${quote(words[i])} at ${i} (${decimal(weight)})`).join(", then ");
}

function explainWord({ words, at, row, head, costs, floors, outside }, i) {
  const own = i === 0 ? "It begins every text." : `It cost ${nats(costs[i - 1])}${floors[i - 1] === undefined ? "" : `; its true probability would cost ${decimal(floors[i - 1])}`}.`;
  const left = outside === i ? " Here the text leaves the language." : "";
  const seen = i > at ? `It comes after ${quote(words[at])}, so ${quote(words[at])} can't attend to it.` : `In head ${head}, ${quote(words[at])} gives it ${decimal(row[i], 3)} of its weight.`;
  return `Word ${i}, ${quote(words[i])}. ${own}${left} ${seen} Press it to ask what comes after it.`;
}

function explainBar({ bars, temperature, top_p: topP, isLast, words, at }, id) {
  const { word, raw, share, true: chance } = bars.find((bar) => bar.id === id);
  const drawn = temperature === 1 && topP === 1 ? "" : ` At temperature ${decimal(temperature, 1)} and top-p ${decimal(topP)} it's drawn with probability ${percent(share)}.`;
  const so = chance === null ? "" : ` Its true probability is ${percent(chance)}.`;
  const press = isLast ? "Press it to append it to the text." : `Press it to continue with it after ${quote(words[at])}. The words after that are dropped.`;
  return `The decoder gives ${quote(word)} ${percent(raw)}, which would cost ${nats(-Math.log(raw))}.${drawn}${so} ${press}`;
}

function explainHead({ maps, at, words, off, member }, name) {
  const row = maps[HEADS.indexOf(name)][at];
  const rest = 1 - row.reduce((sum, weight) => sum + weight, 0);
  const sink = rest > 0.005 ? ` ${decimal(rest)} goes to the sink.` : "";
  const state = off.includes(name) ? " It's off, so it adds nothing." : "";
  return `Head ${name.at(-1)} of layer ${name.at(1)} in ${member}: ${quote(words[at])} attends to ${readers(row, words) || "no word much"}.${sink}${state}`;
}

function explainSwitch({ bars, words, at, off }, name) {
  const { word, raw } = bars.length ? best(bars, "raw") : {};
  return `${name} is ${off.includes(name) ? "off" : "on"}.${word ? ` After ${quote(words[at])}: ${quote(word)}, ${percent(raw)}.` : ""}`;
}

// What stands behind a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [kind, name] = [id[0], id.slice(2)];
  if (kind === "t") return { text: explainWord(result, Number(name)), also: [] };
  if (kind === "b") return { text: explainBar(result, Number(name)), also: [] };
  if (kind === "s") return { text: explainSwitch(result, name), also: [] };
  return { text: explainHead(result, name), also: [] };
}
