// What a cache costs: whole numbers only, from the registry's layouts. Bits are counted as
// BigInt, so that no total is ever rounded; the tests compare every figure with mini_attn.cost.
import devices from "../data/devices.json" with { type: "json" };
import layouts from "../data/layouts.json" with { type: "json" };
import models from "../data/models.json" with { type: "json" };

export const OWN = "own";
export const MODELS = new Map(models.map((model) => [model.name, model]));
export const LAYOUTS = new Map(layouts.map((layout) => [layout.name, layout]));
export const DEVICES = new Map(devices.map((device) => [device.key, device]));
export const BITS = { float32: 32, bfloat16: 16, float16: 16, float8: 8, int8: 8, int4: 4 };
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

// One kind of layer each: how many of them, and how many tokens they keep.
function layerTerms(layout, sizes, context) {
  if (layout.length_rule !== "window") {
    return [{ layers: sizes.n_layers, kept: context, rule: "all" }];
  }
  const full = sizes.full_every ? Math.floor(sizes.n_layers / sizes.full_every) : 0;
  const terms = [];
  if (full) terms.push({ layers: full, kept: context, rule: "all" });
  terms.push({
    layers: sizes.n_layers - full, kept: Math.min(context, sizes.window), rule: "window",
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
const tokenLayers = (terms) => sum(terms.map((term) => product([term.layers, term.kept])));

function wholeBytes(bits) {
  if (bits % 8n) {
    throw new Contradiction(`${bits} bits do not fill whole bytes: with int4 the numbers pair up.`);
  }
  return bits / 8n;
}

// Bits of one sequence's cache at a context.
function sequenceBits(layout, sizes, bits) {
  const numbers = sum(fieldNumbers(layout, sizes).map((field) => field.numbers));
  return tokenLayers(layerTerms(layout, sizes, sizes.context)) * numbers * BigInt(bits);
}

// The same for a picture's line, where rounding does not show, in bytes of all sequences.
function byteCurve(layout, sizes, bits) {
  const each = fieldNumbers(layout, sizes).reduce((all, field) => all + Number(field.numbers), 0);
  const perSlot = (each * bits * sizes.batch) / 8;
  return (context) => layerTerms(layout, sizes, context)
    .reduce((bytes, term) => bytes + term.layers * term.kept * perSlot, 0);
}

// The longest context whose cache of `batch` sequences fits; null when no length is too long.
function longestContext(layout, sizes, bitsPerSlot, freeBits) {
  const terms = layerTerms(layout, sizes, 1);
  const full = sum(terms.filter((t) => t.rule === "all").map((t) => BigInt(t.layers)));
  const windowed = sum(terms.filter((t) => t.rule === "window").map((t) => BigInt(t.layers)));
  const slots = freeBits / bitsPerSlot; // slots for one token in one layer
  const window = BigInt(sizes.window);
  if (!windowed) return slots / full;
  if (slots < window * (full + windowed)) return slots / (full + windowed);
  return full ? (slots - window * windowed) / full : null;
}

export function cacheCost(state) {
  const { sizes, layout } = effectiveSizes(state);
  const bits = BITS[sizes.dtype];
  const fields = fieldNumbers(layout, sizes);
  const numbers = sum(fields.map((field) => field.numbers));
  const terms = layerTerms(layout, sizes, sizes.context);
  const ofSequence = sequenceBits(layout, sizes, bits);
  const total = wholeBytes(ofSequence * BigInt(sizes.batch));
  const weightBits = product([sizes.parameters, BITS[sizes.weight_dtype]]);
  const weights = (weightBits + 7n) / 8n; // an odd number of 4-bit weights fills its last byte
  const device = DEVICES.get(sizes.device);
  const memory = device ? BigInt(device.memory_bytes) : product([sizes.device_gb, GB]);
  const left = memory > weights ? memory - weights : 0n;
  const plain = { ...sizes, n_kv_heads: sizes.n_heads };
  const mhaBits = sequenceBits(LAYOUTS.get("mha"), plain, bits);
  const perSlot = numbers * BigInt(bits) * BigInt(sizes.batch);
  return {
    sizes, layout, bits, fields, terms,
    title: MODELS.get(sizes.model)?.title ?? "Own numbers",
    device_name: device ? device.name : `${sizes.device_gb} GB of memory`,
    numbers_per_token: numbers,
    bytes_per_token: wholeBytes(product([sizes.n_layers, bits]) * numbers),
    total_bytes: total,
    weight_bytes: weights,
    device_bytes: memory,
    left_bytes: left,
    mha_bytes: wholeBytes(mhaBits * BigInt(sizes.batch)),
    max_sequences: (left * 8n) / ofSequence,
    max_context: longestContext(layout, sizes, perSlot, left * 8n),
    bytesAt: byteCurve(layout, sizes, bits),
    mhaBytesAt: byteCurve(LAYOUTS.get("mha"), plain, bits),
  };
}
