// What a pass of a model costs: mini_attn/cost's parameters, products, bytes and bounds, in whole
// numbers (BigInt). Only experts' averages and seconds are rounded.
import { kindsOf as kindsIn, wideBits } from "../cache_calculator/compute.js";
import told from "../data/your_model.json" with { type: "json" };
import { compressedCosts, indexedCosts } from "./chosen.js";
import { linearCosts } from "./linear.js";
import { B, big, least, sum, visiblePairs } from "./whole.js";

const biased = { attention: ["attention", "all"], mlp: ["mlp", "all"], qkv: ["qkv", "attention", "all"] };
const has = (model, part) => biased[part].includes(model.biases);

// The kinds of layers, those that see all first: how many there are and keep a cache, the window,
// and their sizes. Values come from the key projection where all keys are seen.
export const kindsOf = (model) => kindsIn(model, model.window !== null, model.n_kv_shared_layers).map((kind) => ({
  ...kind, sizes: { ...kind.sizes, k_eq_v: model.k_eq_v && kind.window === null, sinks: model.sinks && !(model.window_sinks && kind.window === null) },
}));

// What each layer of a kind has, added up: those that keep, and those that read another's cache.
const overLayers = (model, each) => sum(kindsOf(model).map(({ layers, keeps, window, sizes }) => (
  B(keeps) * each(sizes, window) + (layers > keeps ? B(layers - keeps) * each({ ...sizes, reads: true }, window) : 0n)
)));

// Numbers that a token is projected to: queries and keys, values, and gates of what heads gather.
function projected({ reads, k_eq_v, out_gate, ...model }) {
  const [heads, shared, dim, v] = big(model, "n_heads", "n_kv_heads", "head_dim", "v_head_dim");
  const turned = (heads + (reads ? 0n : shared)) * dim;
  return { turned, all: turned + (reads || k_eq_v ? 0n : shared * v) + (out_gate ? heads * v : 0n), out: heads * v };
}

function headParameters(model) {
  const [d, dim] = big(model, "d_model", "head_dim");
  const { turned, all, out } = projected(model);
  const biases = (has(model, "qkv") ? all : 0n) + (has(model, "attention") ? d : 0n);
  const norms = { none: 0n, head: (model.reads ? 1n : 2n) * dim, width: turned }[model.qk_norm];
  return d * all + out * d + biases + norms + (model.sinks ? B(model.n_heads) : 0n);
}

// Numbers of the matrices of latent attention, by what they make.
function latentWeights(model) {
  const [d, heads, rank, nope, rope, v, q] = big(model, "d_model", "n_heads", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim", "q_lora_rank");
  return { query: d * q, queries: (q || d) * heads * (nope + rope), latent: d * (rank + rope), heads: rank * heads * (nope + v), output: heads * v * d };
}

function latentParameters(model) {
  const [d, rank, rope, q] = big(model, "d_model", "kv_lora_rank", "qk_rope_head_dim", "q_lora_rank");
  const biases = has(model, "attention") ? q + rank + rope + d : 0n;
  return sum(Object.values(latentWeights(model))) + q + rank + biases + (model.sinks ? B(model.n_heads) : 0n);
}

function mlp(model, width) {
  const [d, matrices] = big(model, "d_model", "mlp_matrices");
  return matrices * d * B(width) + (has(model, "mlp") ? (matrices - 1n) * B(width) + d : 0n);
}

// Layers whose MLP is twice as wide.
const wideLayers = ({ wide_readers, n_kv_shared_layers }) => (wide_readers ? n_kv_shared_layers : 0);

function mlps(model, experts) {
  if (!model.n_experts) {
    const wide = wideLayers(model);
    return B(model.n_layers - wide) * mlp(model, model.d_ff) + B(wide) * mlp(model, 2 * model.d_ff);
  }
  const [n, dense, d] = big(model, "n_experts", "n_dense_layers", "d_model");
  const shared = (model.shared_d_ff ? mlp(model, model.shared_d_ff) : 0n) + (model.shared_gate ? d : 0n);
  const sparse = B(experts + model.n_shared_experts) * mlp(model, model.expert_d_ff) + shared + n * (d + (model.router_bias ? 1n : 0n));
  return dense * mlp(model, model.d_ff) + (B(model.n_layers) - dense) * sparse;
}

function tables(model) {
  const [d, words, positions, layers, inner] = big(model, "d_model", "vocab_size", "learned_positions", "n_layers", "per_layer_dim");
  return { tokens: words * d, positions: positions * d, layers: words * layers * inner, logits: model.tied_embeddings ? 0n : words * d };
}

// What makes and takes the inputs of each layer, without their table; and layers' factors.
function perLayer(model) {
  const [d, layers, inner] = big(model, "d_model", "n_layers", "per_layer_dim");
  const factors = model.layer_scalars ? layers : 0n;
  return factors + (inner ? inner + layers * (3n * d * inner + d) : 0n);
}

function withExperts(model, experts) {
  const [d, layers] = big(model, "d_model", "n_layers");
  const norm = d * (model.norm === "layer_norm" ? 2n : 1n);
  const each = model.mlp_matrices ? { before: 2n, after: 2n, both: 4n, one: 1n, stream: 2n }[model.norm_placement] : 1n;
  const norms = layers * each + 1n + (model.embedding_norm ? 1n : 0n);
  const attention = overLayers(model, (sizes) => costsOf(sizes).parameters(sizes));
  return sum(Object.values(tables(model))) + attention + mlps(model, experts) + perLayer(model) + norms * norm;
}

export const parameterCount = (model) => withExperts(model, model.n_experts);
export const activeParameterCount = (model) => withExperts(model, model.experts_per_token);

const sparseLayers = (model) => (model.n_experts ? B(model.n_layers - model.n_dense_layers) : 0n);
const expertParameters = (model) => sparseLayers(model) * mlp(model, model.expert_d_ff);

// Of routed experts, the parameters that so many tokens wake on average, each choosing evenly.
function woken(model, tokens) {
  if (!model.n_experts) return 0n;
  const { n_experts: n, experts_per_token: each } = model;
  const average = n - (n - each) * (1 - each / n) ** (tokens - 1);
  return B(Math.ceil(average * Number(expertParameters(model))));
}

function headFlops(model, q, kv, batch, window) {
  const [d, heads, dim, v] = big(model, "d_model", "n_heads", "head_dim", "v_head_dim");
  const { all, out } = projected(model);
  const pairs = visiblePairs(q, kv, window);
  return { weights: 2n * batch * q * d * (all + out), cache: 2n * batch * heads * (dim + v) * pairs };
}

// Of the two forms, the one with fewer operations: keys and values of every latent, or queries
// and outputs taken to the latent.
function latentFlops(model, q, kv, batch, window = null) {
  const [heads, rank, nope, rope, v] = big(model, "n_heads", "kv_lora_rank", "qk_nope_head_dim", "qk_rope_head_dim", "v_head_dim");
  const absorbed = rank * (nope + v) * (kv - q) > (2n * rank - nope - v) * q * kv;
  const weights = latentWeights(model);
  const pairs = heads * visiblePairs(q, kv, window);
  const [key, value] = absorbed ? [rank + rope, rank] : [nope + rope, v];
  const made = q * (weights.query + weights.queries + weights.latent + weights.output) + weights.heads * (absorbed ? q : kv);
  return { weights: 2n * batch * made, cache: 2n * batch * (key + value) * pairs };
}

// Floating-point operations of a pass: products with weights but the routed experts', those, products
// with the cache, and the logits of the last row.
function flopsOf(model, q, kv, batch) {
  const [weights, cache] = ["weights", "cache"].map((part) => (
    overLayers(model, (sizes, window) => costsOf(sizes).flops(sizes, q, kv, batch, window && B(window))[part])
  ));
  const [d, matrices, words, width] = big(model, "d_model", "mlp_matrices", "vocab_size", "expert_d_ff");
  const sparse = sparseLayers(model);
  const rows = 2n * batch * q * d;
  const experts = rows * matrices * sparse * B(model.experts_per_token) * width;
  const plain = B(model.n_layers + (model.n_experts ? 0 : wideLayers(model))) - sparse; // in widths
  const dense = plain * B(model.d_ff) + sparse * (B(model.n_shared_experts) * width + B(model.shared_d_ff));
  const inputs = 3n * B(model.n_layers * model.per_layer_dim);
  return {
    products: weights + rows * (matrices * dense + sparse * B(model.n_experts + (model.shared_gate ? 1 : 0)) + inputs),
    experts,
    attention: cache,
    logits: 2n * batch * d * words,
  };
}

const numbersPerToken = (model) => (Object.hasOwn(told.linear_rules, model.attention) ? 0n : model.kv_lora_rank ? B(model.kv_lora_rank + model.qk_rope_head_dim + model.index_head_dim) : B(model.n_kv_heads) * B(model.head_dim + model.v_head_dim));

// Numbers that a pass reads and writes in a layer.
function moved(sizes, q, kv, window) {
  const read = window === null ? kv : least(kv, B(window) + q - 1n);
  const written = window === null ? q : least(q, B(window));
  return numbersPerToken(sizes) * (read + (sizes.reads ? 0n : written));
}

// What counts a layer of each kind of attention: its parameters, operations, numbers moved.
const HEADS = { parameters: headParameters, flops: headFlops, moved };
const LATENT = { parameters: latentParameters, flops: (model, q, kv, batch) => latentFlops(model, q, kv, batch), moved };
const INDEXED = indexedCosts(LATENT, latentFlops);
const COSTS = { mla: LATENT, indexed_latent: INDEXED, csa: compressedCosts, hca: compressedCosts, shared_window: compressedCosts };
for (const name of Object.keys(told.linear_rules)) COSTS[name] = linearCosts;
const costsOf = ({ attention }) => COSTS[attention] ?? HEADS;

// Bytes of so many numbers of so many bits, the last one filled; bits may have quarters.
export const bytesOf = (numbers, bits) => (numbers * B(4 * bits) + 31n) / 32n;

// Bytes that a token adds when every window is full: in layers that keep all.
export function addedBytes(model, bits) {
  const full = kindsOf(model).filter(({ window }) => window === null);
  return bytesOf(sum(full.map(({ keeps, sizes }) => B(keeps) * numbersPerToken(sizes))), bits);
}

// Bytes of the cache that a pass reads and writes, over all sequences; a state's are float32 at least.
function cacheMoved(model, q, kv, batch, bits) {
  const [narrow, wide] = [
    overLayers(model, (sizes, window) => costsOf(sizes).moved(sizes, q, kv, window)),
    overLayers(model, (sizes) => costsOf(sizes).wide?.(sizes) ?? 0n),
  ];
  return bytesOf(batch * narrow, bits) + bytesOf(batch * wide, wideBits(bits));
}

// {products, experts, attention, logits}: operations and bytes of each, as `step_operations`.
export function stepOperations(model, { q_len, kv_len, batch, weight_bits, cache_bits }) {
  const [q, kv, sequences] = [q_len, kv_len, batch].map(B);
  const flops = flopsOf(model, q, kv, sequences);
  const awake = woken(model, batch * q_len);
  const { tokens, positions, layers } = tables(model);
  const fixed = parameterCount(model) - positions - layers - (model.tied_embeddings ? 0n : tokens) - B(model.n_experts) * expertParameters(model);
  const logits = bytesOf(B(model.vocab_size) * B(model.d_model), weight_bits);
  const experts = bytesOf(awake, weight_bits);
  const operations = {
    products: [flops.products, bytesOf(fixed + awake, weight_bits) - experts - logits],
    experts: [flops.experts, experts],
    attention: [flops.attention, cacheMoved(model, q, kv, sequences, cache_bits)],
    logits: [flops.logits, logits],
  };
  if (!model.n_experts) delete operations.experts;
  return operations;
}

// The least seconds of a pass, and how much of them waits for memory: operations follow one another.
export function stepBound(model, device, lengths) {
  const parts = Object.values(stepOperations(model, lengths)).map(([flops, bytes]) => [Number(flops) / device.flops_per_second, Number(bytes) / device.bytes_per_second]);
  const seconds = parts.reduce((all, [computing, reading]) => all + Math.max(computing, reading), 0);
  const waiting = parts.reduce((all, [computing, reading]) => all + (reading > computing ? reading : 0), 0);
  return { seconds, waiting: waiting > seconds / 2 };
}
