// The stored points of the trained family: which are shown, and which one was asked for.
import stored from "../data/equal_bytes.json" with { type: "json" };

export const MEMBERS = new Map(stored.members.map(([name, title, short, kind]) => [name, { title, short, kind }]));
const [FIRST] = MEMBERS.keys(); // which all others differ from in one thing
const ROW = ["member", "k_bits", "v_bits", "key_axis", "window", "sink_tokens", "bytes", "seeds"];
const POINTS = Object.entries(stored.points).flatMap(([size, rows]) => rows.map((row, i) => ({
  id: `point-${size}-${i}`, size, ...Object.fromEntries(ROW.map((key, n) => [key, row[n]])),
  ...Object.fromEntries(stored.measures.map((key, n) => [key, row[ROW.length + n]])),
})));

const pointsOf = (size, member) => POINTS.filter((point) => point.size === size && point.member === member);

const coded = (bits) => bits < 16;

// What counts of a state: axes are those of codes, first tokens those of a window.
function asked({ size, member, k_bits, v_bits, key_axis, window, sink_tokens }) {
  return {
    size, member, k_bits, v_bits, window, key_axis: coded(k_bits) ? key_axis : "channel",
    sink_tokens: window ? sink_tokens : 0,
  };
}

const same = (point, wanted) => Object.entries(wanted).every(([key, value]) => point[key] === value);

// Why there is no such point; the keys of the words that say it.
function missing(wanted) {
  const { size, member, k_bits, v_bits, window, key_axis } = wanted;
  const own = pointsOf(size, member);
  if (!own.length) return "member";
  if (coded(k_bits) !== coded(v_bits) || (!coded(k_bits) && k_bits !== v_bits)) return "numbers";
  if (window && coded(k_bits)) return "codes";
  if (coded(k_bits) && !own.some((point) => coded(point.k_bits))) return "ring";
  if (window) return "window";
  return key_axis === "token" ? "axis" : "bits";
}

const plain = (point) => !point.window && point.k_bits === point.v_bits && point.key_axis === "channel";

// A member's points: those on its line, by bytes, and those beside it.
function series(member, { size, group }, yours) {
  const own = pointsOf(size, member);
  const shown = group === "windows" ? own.filter((point) => point.k_bits === 16) : own.filter((point) => !point.window);
  const line = group === "windows" ? shown.filter((point) => !point.sink_tokens) : shown.filter(plain);
  const beside = shown.filter((point) => !line.includes(point));
  if (yours?.member === member && !shown.includes(yours)) beside.push(yours);
  return { member, line: line.sort((a, b) => a.bytes - b.bytes), beside };
}

export function compute(state) {
  const wanted = asked(state);
  const yours = POINTS.find((point) => same(point, wanted)) ?? null;
  const names = [...MEMBERS.keys()].filter((name) => name === FIRST || MEMBERS.get(name).kind === state.group);
  const members = yours && !names.includes(yours.member) ? [...names, yours.member] : names;
  const lines = members.map((member) => series(member, state, yours)).filter(({ line, beside }) => line.length + beside.length);
  const points = lines.flatMap(({ line, beside }) => [...line, ...beside]);
  return { ...state, wanted, yours, why: yours ? null : missing(wanted), lines, points, seeds: Math.max(1, ...points.map((point) => point.seeds)) };
}
