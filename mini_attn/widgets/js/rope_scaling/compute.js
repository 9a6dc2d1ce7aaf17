// Wavelength of each plane before and after a rule, and which angles are new to it.
import { frequencies } from "../rope/planes.js";
import { stretch } from "./rules.js";

const SIZE = 128; // numbers of a head that are rotated
const FULL = 2 * Math.PI;

// seen: it came round in training, so that every angle is known. inside: it did not, and rotates no
// further now. fresh: it did not, and now meets angles that it never had.
function planeOf(before, after, trained, length) {
  const [known, now] = [(before * trained) / FULL, (after * length) / FULL];
  const status = known >= 1 ? "seen" : now > known * (1 + 1e-9) ? "fresh" : "inside";
  const alone = known >= 1 || length <= trained ? "seen" : "fresh"; // at this length without a rule
  return { before, after, slower: before / after, wave: FULL / after, waveBefore: FULL / before, known, now, status, alone };
}

export function compute(state) {
  const { rule, factor, tokens, trained, theta } = state;
  const { inv, base, ropeFactor } = stretch(rule, { factor, tokens, trained, theta, size: SIZE });
  const length = rule === "dynamic" ? tokens : factor * trained;
  const planes = frequencies(SIZE, theta).map((before, i) => planeOf(before, inv[i], trained, length));
  const count = (status) => planes.filter((plane) => plane.status === status).length;
  const farther = planes.filter(({ status }) => status === "fresh").map(({ now, known }) => now / known);
  return {
    ...state, length, base, rope_factor: ropeFactor, logit_factor: ropeFactor ** 2, planes,
    counts: Object.fromEntries(["seen", "inside", "fresh"].map((status) => [status, count(status)])),
    farthest: farther.length ? Math.max(...farther) : 1,
    kept: planes.filter(({ slower }) => slower < 1.0005).length,
    full: planes.filter(({ slower }) => slower > factor * 0.9995).length,
  };
}
