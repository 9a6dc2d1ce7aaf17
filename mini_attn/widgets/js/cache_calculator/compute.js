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

// Sizes that some variants alone have, each once, as the registry lists them.
export const OWN_SIZES = [...new Map(layouts.flatMap(({ sizes }) => sizes.map((size) => [size.name, size]))).values()];
// State keys that a published model fills in. Where the model has no such size (no window, no
// latent) the field keeps what it held: it is out of sight then.
const OPTIONAL = OWN_SIZES.map(({ name }) => name);
const SIZES = [
  "attention", "n_layers", "n_heads", "n_kv_heads", "head_dim", "v_head_dim", ...OPTIONAL, "full_every", "parameters",
];

export function settle(state) {
  const model = MODELS.get(state.model);
  if (!model) return state;
  const filled = { ...state };
  for (const key of SIZES) {
    if (!OPTIONAL.includes(key) || model[key]) filled[key] = model[key];
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
  for (const [name, value] of Object.entries(layout.fixed)) sizes[name] = sizes[value] ?? value; // a size, or its number
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
  const full = sizes.full_layers?.length || (sizes.full_every ? Math.floor(sizes.n_layers / sizes.full_every) : 0);
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
    span: field.per ? sizes[field.per] : 1, // tokens that leave these numbers once
    factors: field.factors.map((name) => ({ name, value: sizes[name] })),
    numbers: product(field.factors.map((name) => sizes[name])),
  }));
}

const sum = (values) => values.reduce((a, b) => a + b, 0n);
// Complete spans of so many tokens that a sequence has for itself, and that are stored once for all.
export const spansOf = ({ kept, once }, span) => ({
  own: Math.floor((kept + once) / span) - Math.floor(once / span), once: Math.floor(once / span),
});
// Numbers of so many sequences.
const numbersOf = (terms, fields, sequences) => sum(terms.flatMap((term) => fields.map(({ span, numbers }) => {
  const { own, once } = spansOf(term, span);
  return BigInt(term.layers) * numbers * (sequences * BigInt(own) + BigInt(once));
})));
const quarters = (bits) => BigInt(4 * bits); // of a bit: NVFP4 has 4 ½, MXFP4 4 ¼

function wholeBytes(numbers, bits) {
  const size = numbers * quarters(bits);
  if (size % 32n) {
    throw new Contradiction(`${numbers} numbers of ${bits} bits do not fill whole bytes.`);
  }
  return size / 32n;
}

// Bytes that a token adds: what a block of tokens leaves counts evenly to them, rounded up.
function tokenBytes(fields, layers, bits) {
  const spans = product(fields.map(({ span }) => span));
  const shares = sum(fields.map(({ span, numbers }) => (numbers * spans) / BigInt(span)));
  if (shares % spans === 0n) return wholeBytes((BigInt(layers) * shares) / spans, bits);
  const parts = 32n * spans;
  return (BigInt(layers) * shares * quarters(bits) + parts - 1n) / parts;
}

// The same for a picture's line, where rounding does not show, in bytes of all sequences.
function byteCurve(layout, sizes, bits) {
  const each = fieldNumbers(layout, sizes).reduce((all, field) => all + Number(field.numbers) / field.span, 0);
  return (context) => layerTerms(layout, sizes, context)
    .reduce((bytes, { layers, kept, once }) => bytes + (layers * (sizes.batch * kept + once) * each * bits) / 8, 0);
}

// The longest context whose cache has at most so many numbers; null when no length is too long.
function longestContext(layout, sizes, fields, most) {
  const fits = (context) => numbersOf(layerTerms(layout, sizes, context), fields, BigInt(sizes.batch)) <= most;
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
  const terms = layerTerms(layout, sizes, sizes.context);
  const total = wholeBytes(numbersOf(terms, fields, BigInt(sizes.batch)), bits);
  const weights = (BigInt(sizes.parameters) * quarters(BITS[sizes.weight_dtype]) + 31n) / 32n; // the last byte is filled
  const device = DEVICES.get(sizes.device);
  const memory = device ? BigInt(device.memory_bytes) : product([sizes.device_gb, GB]);
  const left = memory > weights ? memory - weights : 0n;
  const plain = { ...sizes, n_kv_heads: sizes.n_heads, shared: 0 };
  const mha = LAYOUTS.get("mha");
  const mhaNumbers = sum(fieldNumbers(mha, plain).map((field) => field.numbers));
  const most = (left * 32n) / quarters(bits); // numbers, beside the weights
  const one = numbersOf(terms, fields, 1n); // the first sequence brings what all share
  return {
    sizes, layout, bits, fields, terms,
    title: MODELS.get(sizes.model)?.title ?? "Own numbers",
    device_name: device ? device.name : `${sizes.device_gb} GB of memory`,
    bytes_per_token: tokenBytes(fields, sizes.n_layers, bits),
    total_bytes: total,
    weight_bytes: weights,
    device_bytes: memory,
    left_bytes: left,
    mha_bytes: wholeBytes(product([sizes.n_layers, sizes.context, sizes.batch]) * mhaNumbers, bits),
    max_sequences: one > most ? 0n : 1n + (most - one) / (numbersOf(terms, fields, 2n) - one),
    max_context: longestContext(layout, sizes, fields, most),
    bytesAt: byteCurve(layout, sizes, bits),
    mhaBytesAt: byteCurve(mha, plain, bits),
  };
}
