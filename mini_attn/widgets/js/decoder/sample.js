// Choosing the next word by chance, as mini_attn.numpy.sample_token does, for one row of logits.
import { softmax } from "../attention/arithmetic.js";
import { bits } from "../softmax_saturation/coins.js";

// Numbers from 0 to just below 1, the same from a seed in every browser.
export function chance(seed) {
  const next = bits(seed);
  return () => next() / 2 ** 32;
}

function check(logits, { temperature, topK, topP }) {
  if (!(temperature > 0 && temperature < Infinity)) throw new Error(`temperature must be a number above 0, not ${temperature}`);
  if (topK !== null && !(Number.isInteger(topK) && topK >= 1)) throw new Error(`topK must be a whole number of at least 1, not ${topK}`);
  if (topP !== null && !(topP > 0 && topP <= 1)) throw new Error(`topP must be a probability above 0, not ${topP}`);
  if (!Number.isFinite(Math.max(...logits))) throw new Error("logits must be numbers, or -Infinity for words that are shut out but not for all");
}

// softmax(logits / temperature) over the topK likeliest words (more where the last are equal), and
// of these over the likeliest until their probabilities reach topP; 0 for all others.
export function probabilities(logits, { temperature = 1, topK = null, topP = null } = {}) {
  check(logits, { temperature, topK, topP });
  const top = Math.max(...logits);
  const scores = Array.from(logits, (logit) => (logit - top) / temperature); // 0 for the likeliest
  const shut = (isOut) => scores.forEach((_, word) => { if (isOut(word)) scores[word] = -Infinity; });
  if (topK !== null && topK < scores.length) {
    const least = Array.from(logits).sort((a, b) => b - a)[topK - 1];
    shut((word) => logits[word] < least);
  }
  if (topP === null) return softmax(scores);
  const likely = softmax(scores);
  const before = Array(likely.length); // the probability of all likelier words
  likely.map((_, word) => word).sort((a, b) => likely[b] - likely[a])
    .reduce((sum, word) => (before[word] = sum) + likely[word], 0);
  shut((word) => before[word] >= topP);
  return softmax(scores);
}

// The word where a number from 0 to 1 falls among the summed probabilities.
export function sample(logits, uniform, options) {
  let total = 0;
  const sums = probabilities(logits, options).map((share) => (total += share));
  return sums.findIndex((sum) => sum > uniform * total);
}
