// Equal bytes: what the trained family loses with each byte of cache that it saves.
import { MEMBERS, compute } from "./compute.js";
import { draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { MEASURES, describe, explain, short, table } from "./words.js";

const BITS = schema.k_bits.values.map((bits) => [bits, { 32: "float32", 16: "bfloat16" }[bits] ?? `${bits} bits`]);

// Keys and values are both numbers of one type, or both codes: where one changes, the other follows.
function update(state, key, value) {
  const next = { ...state, [key]: value };
  if (key !== "k_bits" && key !== "v_bits") return next;
  const other = key === "k_bits" ? "v_bits" : "k_bits";
  if (value > 8 || next[other] > 8) next[other] = value;
  return next;
}

// A tap on a point asks for it.
function choose({ points }, state, id) {
  const point = points.find((one) => one.id === id);
  return point && Object.fromEntries(Object.entries(state).map(([key, value]) => [key, point[key] ?? value]));
}

export default {
  name: "equal_bytes",
  title: "What a byte of cache buys",
  schema,
  controls: [
    { key: "measure", kind: "select", label: "Measured", options: Object.entries(MEASURES).map(([key, { short: name }]) => [key, name]) },
    { key: "group", kind: "select", label: "Shown", options: [["caches", "kinds of cache"], ["windows", "windows"], ["positions", "positions"]] },
    { key: "size", kind: "select", label: "Layers × width", options: [["2x64", "2 × 64"], ["3x96", "3 × 96"]] },
    { key: "member", kind: "select", label: "Your variant", options: [...MEMBERS.keys()].map((member) => [member, short(member)]) },
    { key: "k_bits", kind: "select", label: "Keys", options: BITS },
    { key: "v_bits", kind: "select", label: "Values", options: BITS },
    { key: "key_axis", kind: "select", label: "Key scales", options: [["channel", "by channel"], ["token", "by token"]], disabled: ({ k_bits }) => k_bits > 8 },
    { key: "window", kind: "select", label: "Kept at inference", options: schema.window.values.map((size) => [size, size ? `the last ${size}` : "all tokens"]) },
    { key: "sink_tokens", kind: "select", label: "First tokens kept too", options: schema.sink_tokens.values.map((n) => [n, n ? String(n) : "none"]), disabled: ({ window }) => !window },
  ],
  main: ["measure", "group", "k_bits", "window"],
  folds: true,
  choose, update, compute, draw, describe, table, explain,
};
