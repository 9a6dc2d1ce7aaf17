// Equal bytes in words: names of the points, the sentence, the table and what stands behind a mark.
import { decimal, whole } from "../core/text.js";
import { MEMBERS } from "./compute.js";

export const MEASURES = {
  excess: { title: "Loss above the entropy", short: "loss, stories", axis: "nats per word above the entropy, stories", few: true },
  copying: { title: "Loss in copying", short: "loss, copying", axis: "nats per word where a block repeats", few: true },
  near: { title: "Who has what, near", short: "recall, near", axis: "right answers, less than 64 words later", few: false },
  far: { title: "Who has what, far", short: "recall, far", axis: "right answers, 64 words later or more", few: false },
};
export const short = (member) => MEMBERS.get(member).short;
export const amount = (measure, value) => (MEASURES[measure].few ? decimal(value, 3) : `${decimal(100 * value, 1)}%`);
export const bytes = (value) => (Number.isInteger(value) ? whole(value) : decimal(value, 1));

// How a cache is kept: bfloat16, 4 bits, K4 V2, by token, window 32 + 4.
export function way({ k_bits, v_bits, key_axis, window, sink_tokens }) {
  const numbers = { 32: "float32", 16: "bfloat16" };
  const bits = k_bits === v_bits ? numbers[k_bits] ?? `${k_bits} bits` : `K${k_bits} V${v_bits}`;
  const first = sink_tokens ? ` and the first ${sink_tokens === 1 ? "one" : sink_tokens}` : "";
  return `${bits}${key_axis === "token" ? ", keys by token" : ""}${window ? `, last ${window}${first} at inference` : ""}`;
}

export const named = (point) => `${short(point.member)}, ${way(point)}`;

const capital = (words) => words.replace(/^./, (letter) => letter.toUpperCase());
const spread = ([, off], measure) => (off === null ? "" : ` ± ${amount(measure, off)}`);
const value = (point, measure) => amount(measure, point[measure][0]) + spread(point[measure], measure);

const REASONS = {
  member: "this member wasn't trained at this size",
  numbers: "keys and values are both floats of one type, or both rounded",
  codes: "the rounded cache keeps every token, so it has no window",
  ring: "this member's ring was measured in float32 and bfloat16 only",
  window: "windows at inference were tried in bfloat16 only, on multi-head attention with and without a learned sink",
  axis: "keys by token were tried with equal bits, and not on every member",
  bits: "these two widths weren't tried on this member",
};

const SIZES = { "2x64": "", "3x96": " in three layers of width 96" };

// The best of the other points shown that take no more bytes than yours.
function rival({ points, yours, measure }) {
  const sign = MEASURES[measure].few ? 1 : -1;
  const others = points.filter((point) => point !== yours && point.bytes <= yours.bytes);
  return others.sort((a, b) => sign * (a[measure][0] - b[measure][0]))[0];
}

export function describe(result) {
  const { yours, why, wanted, measure } = result;
  const size = SIZES[result.size];
  if (why) return `${capital(named(wanted))}${size}: not measured, because ${REASONS[why]}.`;
  const start = `${MEASURES[measure].title}, ${named(yours)}${size}: ${value(yours, measure)} for ${bytes(yours.bytes)} bytes per token.`;
  const other = rival(result);
  return other ? `${start} Among the others shown that take no more, the best is ${named(other)}: ${value(other, measure)} for ${bytes(other.bytes)}.`
    : `${start} Nothing else shown takes so few.`;
}

export function table(result) {
  const rows = [...result.points].sort((a, b) => b.bytes - a.bytes);
  return {
    caption: `Bytes of cache per token at 256 words, and the losses${SIZES[result.size]}; ${result.seeds === 1 ? "one seed" : `means of up to ${result.seeds} seeds, ± their standard deviation`}`,
    head: ["", "bytes per token", ...Object.values(MEASURES).map(({ title }) => title), "seeds"],
    rows: rows.map((point) => [named(point), bytes(point.bytes), ...Object.keys(MEASURES).map((key) => value(point, key)), String(point.seeds)]),
  };
}

export function explain(result, id) {
  const point = result.points.find((one) => one.id === id);
  const said = Object.entries(MEASURES).map(([key, { title }]) => `${title.toLowerCase()} ${value(point, key)}`);
  const seeds = point.seeds === 1 ? "one seed" : `${point.seeds} seeds`;
  return { text: `${MEMBERS.get(point.member).title}, ${way(point)}: ${bytes(point.bytes)} bytes per token; ${said.join(", ")} (${seeds}).`, also: [] };
}
