// What a cache costs: whole numbers only, from the registry's layouts. Bits are counted as
// BigInt, so that no total is ever rounded; the tests compare every figure with mini_attn.cost.
import devices from "../data/devices.json" with { type: "json" };
import layouts from "../data/layouts.json" with { type: "json" };
import models from "../data/models.json" with { type: "json" };

export const OWN = "own";
export const MODELS = new Map(models.map((model) => [model.name, model]));
export const LAYOUTS = new Map(layouts.map((layout) => [layout.name, layout]));
export const DEVICES = new Map(devices.map((device) => [device.key, device]));
// With scales, where a group has one: 4.5 is sixteen codes of 4 bits and one of 8.
export const BITS = {
  float32: 32, bfloat16: 16, float16: 16, float8: 8, int8: 8, int4: 4,
  nvfp4: 4.5, mxfp4: 4.25, "int4-grouped": 5, "int2-grouped": 3,
};
const BLOCK = 16; // tokens of a page, where sequences share a prefix
const GB = 1_000_000_000;

// State keys that a published model fills in. Where the model has no such size (no window, no
// latent) the field keeps what it held: it is out of sight then.
export const SIZES = [
  "attention", "n_layers", "n_heads", "n_kv_heads", "head_dim", "v_head_dim",
  "kv_lora_rank", "qk_rope_head_dim", "index_head_dim", "window", "full_every", "parameters",
];

export function settle(state) {
  const model = MODELS.get(state.model);
  if (!model) return state;
  const filled = { ...state };
  for (const key of SIZES) {
    const optional = ["kv_lora_rank", "qk_rope_head_dim", "index_head_dim", "window"].includes(key);
    if (!optional || model[key]) filled[key] = model[key];
  }
  return filled;
}

// Editing a size turns a published model into one's own numbers, the others stay filled in.
export function update(state, key, value) {
  if (!SIZES.includes(key) || state.model === OWN) return settle({ ...state, [key]: value });
  return { ...settle(state), model: OWN, [key]: value };
}

export class Contradiction extends Error {}

function effectiveSizes(state) {
  const sizes = { ...settle(state) };
  const layout = LAYOUTS.get(sizes.attention);
  if (["mha", "mla"].includes(sizes.attention)) sizes.n_kv_heads = sizes.n_heads;
  Object.assign(sizes, layout.options);
  if (sizes.n_heads % sizes.n_kv_heads) {
    throw new Contradiction(
      `${sizes.n_heads} query heads cannot share ${sizes.n_kv_heads} key/value heads evenly: ` +
        "the first must be a multiple of the second.",
    );
  }
  return { sizes, layout };
}

// The slots of a kind of layer: how many layers, tokens kept for each sequence, and tokens that
// are stored once for all.
function layerTerms(layout, sizes, context) {
  if (layout.length_rule !== "window") {
    if (!sizes.shared) return [{ layers: sizes.n_layers, kept: context, once: 0, rule: "all" }];
    // Whole pages; each sequence has at least its last token for itself.
    const once = Math.floor(Math.min(sizes.shared, context - 1) / BLOCK) * BLOCK;
    return [{ layers: sizes.n_layers, kept: Math.ceil(context / BLOCK) * BLOCK - once, once, rule: "pages" }];
  }
  const full = sizes.full_every ? Math.floor(sizes.n_layers / sizes.full_every) : 0;
  const terms = [];
  if (full) terms.push({ layers: full, kept: context, once: 0, rule: "all" });
  terms.push({
    layers: sizes.n_layers - full, kept: Math.min(context, sizes.window), once: 0, rule: "window",
  });
  return terms.filter((term) => term.layers > 0);
}

const product = (values) => values.reduce((a, b) => a * BigInt(b), 1n);

function fieldNumbers(layout, sizes) {
  return layout.cache.map((field) => ({
    name: field.name,
    factors: field.factors.map((name) => ({ name, value: sizes[name] })),
    numbers: product(field.factors.map((name) => sizes[name])),
  }));
}

const sum = (values) => values.reduce((a, b) => a + b, 0n);
// Slots of a token in a layer, for so many sequences.
const slotsOf = (terms, sequences) => sum(terms.map(({ layers, kept, once }) => BigInt(layers) * (sequences * BigInt(kept) + BigInt(once))));
const quarters = (bits) => BigInt(4 * bits); // of a bit: NVFP4 has 4 ½, MXFP4 4 ¼

function wholeBytes(numbers, bits) {
  const size = numbers * quarters(bits);
  if (size % 32n) {
    throw new Contradiction(`${numbers} numbers of ${bits} bits do not fill whole bytes.`);
  }
  return size / 32n;
}

// The same for a picture's line, where rounding does not show, in bytes of all sequences.
function byteCurve(layout, sizes, bits) {
  const each = fieldNumbers(layout, sizes).reduce((all, field) => all + Number(field.numbers), 0);
  return (context) => layerTerms(layout, sizes, context)
    .reduce((bytes, { layers, kept, once }) => bytes + (layers * (sizes.batch * kept + once) * each * bits) / 8, 0);
}

// The longest context for which so many slots suffice; null when no length is too long.
function longestContext(layout, sizes, slots) {
  const fits = (context) => slotsOf(layerTerms(layout, sizes, context), BigInt(sizes.batch)) <= slots;
  const bounded = layerTerms(layout, sizes, 1).every((term) => term.rule === "window");
  if (bounded && fits(sizes.window)) return null;
  let [low, high] = [0, 1];
  while (fits(high)) [low, high] = [high, 2 * high];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    [low, high] = fits(middle) ? [middle, high] : [low, middle];
  }
  return BigInt(low);
}

export function cacheCost(state) {
  const { sizes, layout } = effectiveSizes(state);
  const bits = BITS[sizes.dtype];
  const fields = fieldNumbers(layout, sizes);
  const numbers = sum(fields.map((field) => field.numbers));
  const terms = layerTerms(layout, sizes, sizes.context);
  const total = wholeBytes(slotsOf(terms, BigInt(sizes.batch)) * numbers, bits);
  const weights = (BigInt(sizes.parameters) * quarters(BITS[sizes.weight_dtype]) + 31n) / 32n; // the last byte is filled
  const device = DEVICES.get(sizes.device);
  const memory = device ? BigInt(device.memory_bytes) : product([sizes.device_gb, GB]);
  const left = memory > weights ? memory - weights : 0n;
  const plain = { ...sizes, n_kv_heads: sizes.n_heads, shared: 0 };
  const mha = LAYOUTS.get("mha");
  const mhaNumbers = sum(fieldNumbers(mha, plain).map((field) => field.numbers));
  const slots = (left * 32n) / quarters(bits) / numbers; // of a token in a layer, beside the weights
  const one = slotsOf(terms, 1n); // the first sequence brings what all share
  return {
    sizes, layout, bits, fields, terms,
    title: MODELS.get(sizes.model)?.title ?? "Own numbers",
    device_name: device ? device.name : `${sizes.device_gb} GB of memory`,
    numbers_per_token: numbers,
    bytes_per_token: wholeBytes(BigInt(sizes.n_layers) * numbers, bits),
    total_bytes: total,
    weight_bytes: weights,
    device_bytes: memory,
    left_bytes: left,
    mha_bytes: wholeBytes(product([sizes.n_layers, sizes.context, sizes.batch]) * mhaNumbers, bits),
    max_sequences: one > slots ? 0n : 1n + (slots - one) / (slotsOf(terms, 2n) - one),
    max_context: longestContext(layout, sizes, slots),
    bytesAt: byteCurve(layout, sizes, bits),
    mhaBytesAt: byteCurve(mha, plain, bits),
  };
}
