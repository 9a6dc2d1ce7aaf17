// A query and a key rotated plane by plane, and the score that comes of it.
import { frequencies, rotate } from "../rope/planes.js";
import schema from "./schema.json" with { type: "json" };

// Chosen by hand, so that every hand of the dials is long enough to be seen.
const QUERY = [1.0, 0.3, 0.8, -0.4, 0.5, 0.9, 1.1, 0.2];
const KEYS = {
  chosen: [0.9, -0.2, 0.6, 0.7, 1.0, 0.4, -0.3, 1.2],
  equal: QUERY,
  independent: [-0.6, 0.9, 0.7, 0.5, -0.9, 0.4, 0.3, -0.8], // q · k is 0.11 before rotating
};
const LAYOUTS = ["interleaved", "half"];

// Which two dimensions of a head make a plane.
function membersOf(layout, headDim) {
  const pairs = headDim / 2;
  return Array.from({ length: pairs }, (_, i) => (layout === "half" ? [i, i + pairs] : [2 * i, 2 * i + 1]));
}

// Each plane's two hands before and after the rotation, and what they add to the score.
export function planesOf(query, key, positions, layout, theta) {
  const speeds = frequencies(query.length, theta);
  return membersOf(layout, query.length).map((members, i) => {
    const hand = (vector, position) => {
      const before = members.map((n) => vector[n]);
      const angle = position * speeds[i];
      return { before, angle, rotated: rotate(before, angle) };
    };
    const [q, k] = [hand(query, positions[0]), hand(key, positions[1])];
    return { letter: "ABCDEFGH"[i], members, speed: speeds[i], q, k, part: q.rotated[0] * k.rotated[0] + q.rotated[1] * k.rotated[1] };
  });
}

const sum = (planes) => planes.reduce((total, { part }) => total + part, 0);

export function compute(state) {
  const { position, distance, layout, vectors, base } = state;
  const key = KEYS[vectors];
  const at = (positions, other) => planesOf(QUERY, key, positions, other, base);
  const planes = at([position + distance, position], layout);
  const home = at([distance, 0], layout); // the same distance, at the start
  const curve = (other) => Array.from({ length: schema.distance.max + 1 }, (_, away) => sum(at([away, 0], other)));
  return {
    ...state, query_position: position + distance, q: QUERY, k: key,
    planes, score: sum(planes), at_start: sum(home), difference: Math.abs(sum(planes) - sum(home)),
    other: LAYOUTS.find((name) => name !== layout),
    curves: Object.fromEntries(LAYOUTS.map((name) => [name, curve(name)])),
  };
}
