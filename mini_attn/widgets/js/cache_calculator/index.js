// The cache calculator: what a model's cache takes, beside its weights, on a device.
import { BITS, DEVICES, LAYOUTS, MODELS, OWN, OWN_SIZES, cacheCost, Contradiction, settle, update } from "./compute.js";
import { drag, draw } from "./picture.js";
import schema from "./schema.json" with { type: "json" };
import { counts, describe, dtypeLabel, table, variantLabel } from "./words.js";

const dtypes = Object.keys(BITS).map((name) => [name, dtypeLabel(name)]);
const models = [...MODELS.values()].map((model) => [model.name, model.title, model.family]);
const variants = [...LAYOUTS.values()].map((layout) => [layout.name, variantLabel(layout)]);
const devices = [...DEVICES.values()].map((device) => [device.key, device.name]);
const layoutIs = (what) => (state) => what(LAYOUTS.get(state.attention));
const windowed = layoutIs((layout) => layout.length_rule === "window");
const has = (name) => layoutIs(({ sizes }) => sizes.some((one) => one.name === name));
const size = (key, label, when) => ({ key, label, kind: "number", group: "Sizes: edit one for your own model", when });

const controls = [
  { key: "model", label: "Model", kind: "select", options: [...models, [OWN, "Own numbers"]], group: "What runs where" },
  { key: "dtype", label: "Cache stored as", kind: "select", options: dtypes, group: "What runs where" },
  { key: "weight_dtype", label: "Weights stored as", kind: "select", options: dtypes, group: "What runs where" },
  { key: "device", label: "Device", kind: "select", options: [...devices, [OWN, "Other memory"]], group: "What runs where" },
  {
    key: "device_gb", label: "Its memory", unit: "GB", kind: "number", group: "What runs where",
    when: (state) => state.device === OWN,
  },
  { key: "batch", label: "Sequences (batch)", kind: "log", group: "How it is used" },
  { key: "context", label: "Tokens per sequence (context)", kind: "log", group: "How it is used" },
  {
    key: "shared", label: "Tokens of a shared prefix", kind: "number", group: "How it is used",
    when: layoutIs(({ length_rule, cache }) => length_rule !== "window" && !cache.some(({ last }) => last)),
  },
  { key: "ranks", label: "Devices that split the heads", kind: "select", options: schema.ranks.values, group: "How it is used" },
  {
    key: "attention", label: "Attention", kind: "select", options: variants,
    group: "Sizes: edit one for your own model",
  },
  size("n_layers", "Layers"),
  size("n_heads", "Query heads"),
  size("n_kv_heads", "KV heads", layoutIs(({ fixed }) => !("n_kv_heads" in fixed))),
  size("head_dim", "Head size (keys)"),
  size("v_head_dim", "Head size (values)", layoutIs(({ fixed }) => !("v_head_dim" in fixed))),
  ...OWN_SIZES.map(({ name, label }) => size(name, label, has(name))),
  size("full_every", "Every k-th layer is global (0: none)", windowed),
  size("shared_layers", "Layers that read another's cache", layoutIs(({ shares_layers }) => shares_layers)),
  size("parameters", "Parameters (weights)"),
];

function compute(state) {
  try {
    return cacheCost(state);
  } catch (error) {
    if (error instanceof Contradiction) return { error: error.message };
    throw error;
  }
}

export default {
  name: "cache_calculator",
  title: "Cache calculator",
  shares: true,
  schema, controls, compute, drag, draw, counts, describe, table, update, settle,
};
