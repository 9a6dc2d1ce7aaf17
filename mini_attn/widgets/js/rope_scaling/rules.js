// The rules that stretch rotary embeddings, as mini_attn.numpy.positions.rope_scaling has them.
import { frequencies } from "../rope/planes.js";

const FULL = 2 * Math.PI;
const clip = (value) => Math.min(1, Math.max(0, value));

const largerBase = (theta, growth, size) => theta * growth ** (size / (size - 2));

// All of a frequency above `high` rotations in the trained context, a 1/factor of it below `low`.
function blend(inv, kept, factor) {
  return inv.map((value, i) => kept[i] * value + ((1 - kept[i]) * value) / factor);
}

const byTurns = (inv, trained, low, high) => inv.map((value) => clip(((value * trained) / FULL - low) / (high - low)));

// YaRN's published code puts the ramp on the index of a pair, its ends rounded outwards.
function byIndex(inv, { trained, theta, size }, low, high) {
  const pairWith = (turns) => (size * Math.log(trained / (turns * FULL))) / (2 * Math.log(theta));
  const first = Math.max(Math.floor(pairWith(high)), 0);
  let last = Math.min(Math.ceil(pairWith(low)), size - 1);
  if (first === last) last += 0.001;
  return inv.map((_, i) => 1 - clip((i - first) / (last - first)));
}

// {frequencies, base, ropeFactor}: what a rule makes of the frequencies of a head of `size`.
export function stretch(rule, { factor, tokens, trained, theta, size }) {
  const inv = frequencies(size, theta);
  const plain = { base: theta, ropeFactor: 1 };
  const yarn = 0.1 * Math.log(factor) + 1;
  switch (rule) {
    case "interpolation":
      return { ...plain, inv: inv.map((value) => value / factor) };
    case "ntk":
    case "dynamic": {
      const growth = rule === "ntk" ? factor : (factor * Math.max(trained, tokens)) / trained - (factor - 1);
      const base = largerBase(theta, growth, size);
      return { ...plain, base, inv: frequencies(size, base) };
    }
    case "yarn_code":
      return { ...plain, ropeFactor: yarn, inv: blend(inv, byIndex(inv, { trained, theta, size }, 1, 32), factor) };
    case "yarn_paper":
      return { ...plain, ropeFactor: yarn, inv: blend(inv, byTurns(inv, trained, 1, 32), factor) };
    case "llama3":
      return { ...plain, inv: blend(inv, byTurns(inv, trained, 1, 4), factor) };
    default:
      return { ...plain, inv };
  }
}
