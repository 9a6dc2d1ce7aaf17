// Six ways to tell a token where it stands, each as what it adds to the score of a query and a key.
import { dot } from "../attention/arithmetic.js";
import { attend, example, tokens, scaleOf } from "../attention/example.js";

const CONTENT_HEAD = 1;
const rows = attend(example, example.embeddings).heads[CONTENT_HEAD];
const scale = scaleOf(example);

// Chosen by hand or drawn at random, as training begins; no training produced these numbers.
export const LEARNED = [
  [0.3, -1.1, 0.8, 0.2], [-0.6, 0.4, 1.0, -0.9], [1.2, 0.5, -0.3, 0.7], [-0.2, -0.8, -1.1, 0.6],
  [0.9, 0.1, 0.4, -1.2], [-1.0, 0.7, -0.5, -0.3], [0.5, 1.1, 0.6, 0.9], [-0.7, -0.4, 0.2, 1.0],
  [1.1, -0.9, -0.8, 0.1], [0.0, 0.6, -1.0, -0.7], [-1.2, -0.5, 0.9, 0.3], [0.4, 1.0, 0.1, -1.1],
];
export const SHAW = [[0.2, 0.1, -0.2, 0.1], [0.9, 0.6, 0.5, 0.8], [-0.5, 0.3, 0.7, -0.4]]; // distances 0, 1, 2 and more
export const T5 = { biases: [0.4, 1.6, 0.9, 0.3, -0.2, -0.7, -1.1, -1.6], max_distance: 16 };
export const ALIBI = { n_heads: 8, slope: 2 ** (-8 / 8) }; // the first of eight heads

// Distances below half of the buckets have one to themselves, the others share by their logarithm.
export function bucketOf(distance, buckets = T5.biases.length, farthest = T5.max_distance) {
  const exact = buckets / 2;
  if (distance < exact) return distance;
  const far = Math.floor((Math.log(distance / exact) / Math.log(farthest / exact)) * (buckets - exact) + 1e-6);
  return Math.min(exact + far, buckets - 1);
}

export const speeds = [1, 10000 ** (-2 / example.head_dim)]; // radians a position
const clock = (position) => speeds.flatMap((speed) => [Math.sin(position * speed), Math.cos(position * speed)]);

// Query at position m, key at position n; i is the token that asks. null: there is no such vector.
export const METHODS = [
  { name: "integer", title: "Integers", short: "m · n", add: (m, n) => scale * m * n },
  { name: "learned", title: "Learned", short: "a vector per position", add: (m, n) => (Math.max(m, n) < LEARNED.length ? scale * dot(LEARNED[m], LEARNED[n]) : null) },
  { name: "sinusoidal", title: "Sinusoids", short: "clock hands", add: (m, n) => scale * dot(clock(m), clock(n)) },
  { name: "shaw", title: "Shaw", short: "q · vector of m − n", add: (m, n, i) => scale * dot(rows.q[i], SHAW[Math.min(m - n, SHAW.length - 1)]) },
  { name: "t5", title: "T5", short: "a number per bucket", add: (m, n) => T5.biases[bucketOf(m - n)] },
  { name: "alibi", title: "ALiBi", short: "−slope · (m − n)", add: (m, n) => -ALIBI.slope * (m - n) },
];

export const queries = rows.q;

// What the words themselves score, without any position.
export const content = (i, j) => scale * dot(rows.q[i], rows.k[j]);

// The lower triangle of one method for a text that begins at a position.
export const triangle = (method, start) =>
  tokens.map((_, i) => tokens.slice(0, i + 1).map((_, j) => method.add(start + i, start + j, i)));
