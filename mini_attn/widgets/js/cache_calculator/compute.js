// What a cache costs: whole numbers only, from the registry's layouts. Bits are counted as
// BigInt, so that no total is ever rounded; the tests compare every figure with mini_attn.cost.
// A model's layers are of up to two kinds, those that see all and those with a window, and of each
// kind the last ones may keep nothing and read another's cache.
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
const LONG = 4096; // tokens: more than any convolution looks back

// Sizes that some variants alone have, each once, as the registry lists them.
export const OWN_SIZES = [...new Map(layouts.flatMap(({ sizes }) => sizes.map((size) => [size.name, size]))).values()];
// State keys that a published model fills in. Where the model has no such size (no window, no
// latent) the field keeps what it held: it is out of sight then.
const OPTIONAL = OWN_SIZES.map(({ name }) => name);
const SIZES = [
  "attention", "n_layers", "n_heads", "n_kv_heads", "head_dim", "v_head_dim", ...OPTIONAL, "full_every",
  "shared_layers", "parameters",
];

export function settle(state) {
  const model = MODELS.get(state.model);
  if (!model) return state;
  const filled = { ...state };
  for (const key of SIZES) {
    if (!OPTIONAL.includes(key) || model[key]) filled[key] = model[key] ?? 0;
  }
  return filled;
}

// Editing a size turns a published model into one's own numbers, the others stay filled in.
export function update(state, key, value) {
  if (!SIZES.includes(key) || state.model === OWN) return settle({ ...state, [key]: value });
  return { ...settle(state), model: OWN, [key]: value };
}

export class Contradiction extends Error {}

// Layers whose entries stand for different numbers of tokens: with an indexer, without one, or with
// a window alone.
function kindsBySpan(sizes) {
  const counts = new Map();
  for (const span of sizes.spans) counts.set(span, (counts.get(span) ?? 0) + 1);
  return [...counts].map(([compress, layers]) => {
    const attention = compress === sizes.compress ? sizes.attention : compress ? "hca" : "shared_window";
    const index = attention === sizes.attention ? {} : { index_n_heads: 0, index_head_dim: 0, index_topk: 0 };
    return { layers, keeps: layers, window: null, sizes: { ...sizes, ...index, attention, compress } };
  });
}

// Layers with a state among others: as many as no turn and no list names.
function kindsByState(sizes, windowed) {
  const { n_layers, full_every, full_layers = [], linear } = sizes;
  const full = full_layers.length || (full_every ? Math.floor(n_layers / full_every) : 0);
  const own = { ...sizes, k_eq_v: false, out_gate: false, sinks: false, ...linear, n_kv_heads: linear.n_heads };
  return [
    { layers: full, keeps: full, window: windowed ? sizes.window : null, sizes },
    { layers: n_layers - full, keeps: n_layers - full, window: null, sizes: own, plain: sizes },
  ].filter(({ layers }) => layers);
}

// The kinds of layers, those that see all first: how many there are, how many of them keep a cache
// of their own, the window, and the sizes of a layer.
export function kindsOf(sizes, windowed, shared) {
  if (sizes.spans?.length) return kindsBySpan(sizes);
  if (sizes.linear?.attention) return kindsByState(sizes, windowed);
  const { n_layers, full_every, full_layers = [], full_head_dim, full_n_kv_heads } = sizes;
  const fullIn = (first) => {
    if (!windowed) return first;
    if (full_layers.length) return full_layers.filter((layer) => layer < first).length;
    return full_every ? Math.floor(first / full_every) : 0;
  };
  const own = {
    ...(full_head_dim && { head_dim: full_head_dim, v_head_dim: full_head_dim }),
    ...(full_n_kv_heads && { n_kv_heads: full_n_kv_heads }),
  };
  const keeping = Math.max(0, n_layers - shared);
  const [full, kept] = [n_layers, keeping].map(fullIn);
  return [
    { layers: full, keeps: kept, window: null, sizes: { ...sizes, ...own } },
    { layers: n_layers - full, keeps: keeping - kept, window: sizes.window, sizes },
  ].filter(({ layers }) => layers);
}

// What is wrong with layers that read a cache, where none of their kind keeps one.
export function sharingFault(kinds, { n_layers, shared_layers }) {
  const lonely = kinds.find(({ keeps }) => !keeps);
  if (!lonely) return null;
  const sees = lonely.window === null ? "sees all tokens" : "has a window";
  return `the last ${shared_layers} of ${n_layers} layers read another layer's cache, and no layer before them ${sees}`;
}

// What each of several devices keeps of a layer whose heads are split: its own, or a copy of one.
function shareOf(kind, ranks) {
  const heads = kind.sizes.n_kv_heads; // with latents, which count none, as many as query heads
  if (heads % ranks && ranks % heads) {
    throw new Contradiction(`${ranks} devices cannot share ${heads} key/value heads evenly, nor keep copies of them evenly.`);
  }
  return { ...kind, sizes: { ...kind.sizes, n_kv_heads: Math.max(1, heads / ranks), of_heads: heads } };
}

function effectiveSizes(state) {
  const sizes = { ranks: 1, ...MODELS.get(state.model), ...settle(state) };
  const layout = LAYOUTS.get(sizes.attention);
  for (const [name, value] of Object.entries(layout.fixed)) sizes[name] = sizes[value] ?? value; // a size, or its number
  if (sizes.n_heads % sizes.n_kv_heads) {
    throw new Contradiction(
      `${sizes.n_heads} query heads cannot share ${sizes.n_kv_heads} key/value heads evenly: ` +
        "the first must be a multiple of the second.",
    );
  }
  if (sizes.n_heads % sizes.ranks) {
    throw new Contradiction(`${sizes.ranks} devices cannot share ${sizes.n_heads} query heads evenly.`);
  }
  const states = layout.length_rule === "state" || Boolean(sizes.linear?.attention);
  if (states) sizes.shared = 0; // a state can't be shared, and the pages of others aren't
  if (sizes.ranks > 1 && states) {
    throw new Contradiction(`How ${sizes.ranks} devices would split a state isn't counted here: choose 1 device.`);
  }
  if (!layout.shares_layers) sizes.shared_layers = 0;
  const windowed = layout.length_rule === "window";
  const kinds = kindsOf(sizes, windowed, sizes.shared_layers);
  const fault = sharingFault(kinds, sizes);
  if (fault) throw new Contradiction(`${fault[0].toUpperCase()}${fault.slice(1)}.`);
  const shares = kinds.map((kind) => shareOf(kind, sizes.ranks));
  return { sizes, layout, kinds: shares.map((kind) => ({ ...kind, windowed, fields: fieldNumbers(LAYOUTS.get(kind.sizes.attention), kind.sizes) })) };
}

// The slots of a layer: tokens kept for each sequence, and tokens that are stored once for all.
function slotsOf({ window, windowed, fields, sizes: { shared } }, context) {
  if (window !== null) return { kept: Math.min(context, window), once: 0, rule: "window" };
  const rings = windowed || fields.some(({ last }) => last !== null); // they write over a shared prefix
  if (rings || !shared) return { kept: context, once: 0, rule: "all" };
  // Whole pages; each sequence has at least its last token for itself.
  const once = Math.floor(Math.min(shared, context - 1) / BLOCK) * BLOCK;
  return { kept: Math.ceil(context / BLOCK) * BLOCK - once, once, rule: "pages" };
}
const layerTerms = (kinds, context) => kinds.map((kind) => ({ layers: kind.keeps, fields: kind.fields, heads: kind.sizes.of_heads, ...slotsOf(kind, context) }));

const product = (values) => values.reduce((a, b) => a * BigInt(b), 1n);

// Tokens that keep a field's numbers: of a state it's as if one did, whatever the tokens.
function lastOf(field, sizes) {
  if (field.once) return 1;
  return field.last ? field.series * sizes[field.last] - field.less : null;
}

function fieldNumbers(layout, sizes) {
  return layout.cache.map((field) => ({
    name: field.name,
    span: field.per ? sizes[field.per] : 1, // tokens that leave these numbers once
    last: lastOf(field, sizes), // so many keep them; null: all
    wide: field.wide, // float32 at least: a state
    factors: field.factors.map((name) => ({ name, value: sizes[name] })),
    numbers: product([field.series, ...field.factors.map((name) => sizes[name])]),
  }));
}

const sum = (values) => values.reduce((a, b) => a + b, 0n);
// Complete spans of so many tokens that a sequence has for itself, and that are stored once for all.
export const spansOf = ({ kept, once }, span) => ({
  own: Math.floor((kept + once) / span) - Math.floor(once / span), once: Math.floor(once / span),
});
// Numbers of so many sequences: those of the cache's type, or those that are float32 at least.
const numbersOf = (terms, sequences, wide) => sum(terms.flatMap((term) => term.fields.filter((field) => field.wide === wide).map(({ span, last, numbers }) => {
  const { own, once } = spansOf({ ...term, kept: last === null ? term.kept : Math.min(term.kept, last) }, span);
  return BigInt(term.layers) * numbers * (sequences * BigInt(own) + BigInt(once));
})));
const quarters = (bits) => BigInt(4 * bits); // of a bit: NVFP4 has 4 ½, MXFP4 4 ¼
export const wideBits = (bits) => Math.max(bits, 32);
const quartersOf = (terms, sequences, bits) => numbersOf(terms, sequences, false) * quarters(bits)
  + numbersOf(terms, sequences, true) * quarters(wideBits(bits));

function wholeBytes(numbers, bits) {
  const size = numbers * quarters(bits);
  if (size % 32n) {
    throw new Contradiction(`${numbers} numbers of ${bits} bits do not fill whole bytes.`);
  }
  return size / 32n;
}

// Layers whose cache doesn't grow, as they write into a state.
export const isState = ({ fields }) => fields.some(({ wide }) => wide);
const bytesOf = (terms, sequences, bits) => wholeBytes(numbersOf(terms, sequences, false), bits)
  + wholeBytes(numbersOf(terms, sequences, true), wideBits(bits));

// Bytes that a token adds: what a block of tokens leaves counts evenly to them, rounded up. To what
// only the last tokens keep it adds nothing.
function tokenBytes(kinds, bits) {
  const added = kinds.flatMap(({ keeps, fields }) => fields.map((field) => ({ ...field, keeps: BigInt(keeps) })));
  const fields = added.filter(({ last }) => last === null);
  const spans = product(fields.map(({ span }) => span));
  const shares = sum(fields.map(({ span, numbers, keeps }) => (keeps * numbers * spans) / BigInt(span)));
  if (spans === 1n) return wholeBytes(shares, bits);
  const parts = 32n * spans;
  return (shares * quarters(bits) + parts - 1n) / parts;
}

// The same for a picture's line, where rounding does not show, in bytes of all sequences.
function byteCurve(kinds, batch, bits) {
  return (context) => layerTerms(kinds, context).reduce((bytes, { layers, fields, kept, once }) => {
    const held = (tokens) => fields.reduce((all, { last, span, numbers, wide }) => all
      + ((Number(numbers) / span) * (last === null ? tokens : Math.min(tokens, last)) * (wide ? wideBits(bits) : bits)) / 8, 0);
    return bytes + layers * (batch * held(kept) + held(once));
  }, 0);
}

// The longest context whose cache fits into so many quarters of a bit; null when no length is too
// long.
function longestContext(kinds, batch, bits, most) {
  const fits = (context) => quartersOf(layerTerms(kinds, context), BigInt(batch), bits) <= most;
  const rings = kinds.every(({ window, fields }) => window !== null || fields.every(({ last }) => last !== null));
  if (rings && fits(kinds[0].sizes.window || LONG)) return null;
  let [low, high] = [0, 1];
  while (fits(high)) [low, high] = [high, 2 * high];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    [low, high] = fits(middle) ? [middle, high] : [low, middle];
  }
  return BigInt(low);
}

// The same layers with a key/value head for each query head, all of which keep all tokens.
function plainOf(kinds) {
  const mha = LAYOUTS.get("mha");
  return kinds.map(({ layers, sizes: own, plain: sizes = own }) => {
    const plain = { ...sizes, n_kv_heads: sizes.n_heads / sizes.ranks, shared: 0 };
    return { keeps: layers, window: null, sizes: plain, fields: fieldNumbers(mha, plain) };
  });
}

export function cacheCost(state) {
  const { sizes, layout, kinds } = effectiveSizes(state);
  const bits = BITS[sizes.dtype];
  const terms = layerTerms(kinds, sizes.context);
  const total = bytesOf(terms, BigInt(sizes.batch), bits);
  const parts = 32n * BigInt(sizes.ranks);
  const weights = (BigInt(sizes.parameters) * quarters(BITS[sizes.weight_dtype]) + parts - 1n) / parts; // the last byte is filled
  const device = DEVICES.get(sizes.device);
  const memory = device ? BigInt(device.memory_bytes) : product([sizes.device_gb, GB]);
  const left = memory > weights ? memory - weights : 0n;
  const plain = plainOf(kinds);
  const most = left * 32n; // quarters of a bit, beside the weights
  const [one, two] = [1n, 2n].map((n) => quartersOf(terms, n, bits)); // the first brings what all share
  return {
    sizes, layout, bits, terms,
    title: MODELS.get(sizes.model)?.title ?? "Own numbers",
    device_name: device ? device.name : `${sizes.device_gb} GB of memory`,
    bytes_per_token: tokenBytes(kinds, bits),
    total_bytes: total,
    state_bytes: bytesOf(terms.filter(isState), BigInt(sizes.batch), bits),
    weight_bytes: weights,
    device_bytes: memory,
    left_bytes: left,
    mha_bytes: bytesOf(layerTerms(plain, sizes.context), BigInt(sizes.batch), bits),
    max_sequences: one > most ? 0n : 1n + (most - one) / (two - one),
    max_context: longestContext(kinds, sizes.batch, bits, most),
    bytesAt: byteCurve(kinds, sizes.batch, bits),
    mhaBytesAt: byteCurve(plain, sizes.batch, bits),
  };
}
