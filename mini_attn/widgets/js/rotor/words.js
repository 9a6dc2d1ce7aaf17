// The rotor in words: the sentence, the table, and the arithmetic behind each dial and number.
import { decimal, whole } from "../core/text.js";

const pair = ([a, b]) => `(${decimal(a)}, ${decimal(b)})`;

// 57.3° or 0.06°: small angles keep a digit that says something.
export function degrees(angle) {
  const size = (angle * 180) / Math.PI;
  return `${decimal(size, size >= 1 || size === 0 ? 1 : 2)}°`;
}

// Parts with their signs: 0.31 − 0.84 + 1.20.
export const sumOf = (planes) =>
  planes.map(({ part }, i) => (i ? (part < 0 ? ` − ${decimal(-part)}` : ` + ${decimal(part)}`) : decimal(part))).join("");

export function describe({ position, query_position: query, distance, score, at_start: start, layout }) {
  const where = `Key at ${position}, query at ${query}`;
  const same = position
    ? `Moved back together to ${0} and ${distance}, they also score ${decimal(start)}: only the distance counts.`
    : "";
  return `${where}, layout ${layout}: q · k = ${decimal(score)}. ${same}`.trim();
}

export function table(result) {
  const hand = ({ rotated, angle }) => `${pair(rotated)} after ${degrees(angle)}`;
  return {
    caption: `Query at ${result.query_position}, key at ${result.position}, layout ${result.layout}, base ${whole(result.base)}`,
    head: ["plane", "dimensions", "rotates per position by", "query", "key", "product"],
    rows: [
      ...result.planes.map((plane) => [
        plane.letter, plane.members.join(" and "), degrees(plane.speed), hand(plane.q), hand(plane.k), decimal(plane.part),
      ]),
      ["all", "", "", "", "", decimal(result.score)],
      [`all, with the key at 0`, "", "", "", "", decimal(result.at_start)],
      [`all, in the layout ${result.other}`, "", "", "", "", decimal(result.curves[result.other][result.distance])],
    ],
  };
}

function explainPlane(result, { letter, members, speed, q, k, part }) {
  const [a, b] = q.rotated;
  const [c, d] = k.rotated;
  return `Plane ${letter}, dimensions ${members.join(" and ")}: ${degrees(speed)} per position. Query ${pair(q.before)} at ${result.query_position} rotates by ${degrees(q.angle)} to ${pair(q.rotated)}; key ${pair(k.before)} at ${result.position} rotates by ${degrees(k.angle)} to ${pair(k.rotated)}. Product: ${decimal(a)} · ${decimal(c)} + ${decimal(b)} · ${decimal(d)} = ${decimal(part)}.`;
}

function explainNumber(result, name, n) {
  const plane = result.planes.find(({ members }) => members.includes(n));
  const partner = plane.members.find((m) => m !== n);
  return `Dimension ${n} of the ${name === "q" ? "query" : "key"} is ${decimal(result[name][n], 1)} before it's rotated. In the layout ${result.layout}, it rotates with dimension ${partner}, in plane ${plane.letter}.`;
}

// The explanation of a part of the picture, and the other parts that belong to it.
export function explain(result, id) {
  const [name, n] = id.split("-");
  if (name === "plane") {
    const plane = result.planes[Number(n)];
    return { text: explainPlane(result, plane), also: plane.members.flatMap((m) => [`q-${m}`, `k-${m}`]) };
  }
  if (name === "move") return { text: `q · k = ${decimal(result.score)}`, also: [] };
  if (name === "dot") {
    const { distance, layout, other, curves } = result;
    const rest = distance ? "Weights trained for one layout give wrong scores in the other." : "At distance 0, query and key rotate alike, so both layouts agree.";
    return { text: `${distance} apart, the layout ${layout} scores ${decimal(curves[layout][distance])}, ${other} ${decimal(curves[other][distance])}. ${rest}`, also: [] };
  }
  const at = result.planes.findIndex(({ members }) => members.includes(Number(n)));
  return { text: explainNumber(result, name, Number(n)), also: [`plane-${at}`] };
}
