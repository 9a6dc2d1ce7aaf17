// A pasted config.json as a model with costs: weights/hf_model.py in JavaScript.
import { sharingFault } from "../cache_calculator/compute.js";
import told from "../data/your_model.json" with { type: "json" };
import { flattened, fullSizesOf, kvHeadsOf, normPlacementOf, spansOf, sparseOf, stateDimsOf, statesOf, windowsOf } from "./rules.js";
import { kindsOf } from "./step.js";
import { storedIn } from "./stored.js";
import { Unreadable, checkCount, isFamily, isMapping, shown, size, unknownIn } from "./sizes.js";

export { Unreadable };

const MOST_BYTES = 1_000_000; // a config.json has a few thousand
const MOST_DEPTH = 64;
const MODELS = new Map(told.models.map((model) => [model.name, { ...told.sizes, stored: null, ...model }]));
export const modelOf = (name) => MODELS.get(name) ?? null;
export const listed = () => [...MODELS.values()];

// The configuration of the text model, whose family is known.
function described(config) {
  if (!isMapping(config)) throw new Unreadable(`the configuration must map names to values, got ${shown(config)}`);
  const own = (of, key) => (isMapping(of) && Object.hasOwn(of, key) ? of[key] : null);
  const family = own(config, "model_type");
  const found = [config, own(config, "text_config")].find((part) => isFamily(own(part, "model_type")));
  if (found) return found;
  if (family === null) throw new Unreadable("model_type is missing: the file doesn't say which family it describes");
  throw new Unreadable(`model_type must be one of ${Object.keys(told.families).join(", ")}, got ${shown(family)}`);
}

function biasesOf(config) {
  const [attention, mlp] = [size(config, "attention_bias"), size(config, "mlp_bias")];
  if (size(config, "qkv_bias")) return "qkv";
  return attention ? (mlp ? "all" : "attention") : mlp ? "mlp" : "none";
}

function expertsOf(config, layers) {
  const sparse = sparseOf(config, layers);
  if (!sparse.includes(true)) return {};
  const sizes = Object.fromEntries(told.experts.map((part) => [part, size(config, part)]));
  return { ...sizes, n_dense_layers: sparse.filter((has) => !has).length };
}

const sharing = (heads, shared) => (heads === shared ? "mha" : shared === 1 ? "mqa" : "gqa");

// Sizes of the layers that see all; where every layer does, they're the model's own.
function fullOf(config, sizes) {
  const full = fullSizesOf(config);
  if (sizes.window !== null || !(full.full_head_dim || full.full_n_kv_heads)) return full;
  const n_kv_heads = full.full_n_kv_heads || sizes.n_kv_heads;
  const wide = full.full_head_dim ? { head_dim: full.full_head_dim, v_head_dim: full.full_head_dim } : {};
  return { n_kv_heads, attention: sharing(sizes.n_heads, n_kv_heads), ...wide };
}

// The variant of attention and which layers keep all; in turn, the turn is enough.
function layersOf(config, layers) {
  const windows = windowsOf(config, layers), window = windows.find((one) => one !== null) ?? null;
  const shared = sharing(size(config, "n_heads"), kvHeadsOf(config)), states = statesOf(config, layers);
  const alike = { attention: window ? "sliding_window" : shared, window };
  const linear = states.includes(true) ? { linear: linearOf(config) } : {};
  const full = windows.flatMap((one, layer) => ((linear.linear ? !states[layer] : one === null) ? [layer] : []));
  return full.length === layers ? alike : { ...alike, ...whichOf(full, layers), ...linear };
}

// Which layers keep all, where some don't.
function whichOf(full, layers) {
  const every = full.length ? full[0] + 1 : 0;
  const inTurn = full.length === (every ? Math.floor(layers / every) : 0) && full.every((layer, i) => layer === every * (i + 1) - 1);
  return inTurn ? { full_every: every } : { full_layers: full };
}

// What the layers with a state are made of.
function linearOf(config) {
  const attention = size(config, "linear_kind");
  const { head_dim, v_head_dim } = stateDimsOf(config);
  return checkedLinear({
    attention, n_heads: size(config, "linear_heads"), n_key_heads: size(config, "linear_key_heads"), head_dim, v_head_dim,
    conv_kernel: size(config, "conv_kernel"), norm_over: size(config, "linear_norm_over") ?? told.linear_rules[attention].norm_over,
    conv_bias: size(config, "conv_bias"), biases: size(config, "linear_bias") ? "attention" : "none",
  });
}

// What `LinearAttentionConfig` refuses.
export function checkedLinear(linear) {
  const { attention, n_heads, n_key_heads, conv_kernel } = linear;
  for (const name of ["n_heads", "n_key_heads", "head_dim", "v_head_dim", "conv_kernel"]) checkCount(name, linear[name]);
  if (n_heads % n_key_heads) throw new Unreadable(`n_key_heads = ${n_key_heads} must divide n_heads = ${n_heads}`);
  if (n_heads !== n_key_heads && !told.linear_rules[attention].shares_keys) throw new Unreadable(`in ${attention} each head has a query and key of its own`);
  if (linear.conv_bias && conv_kernel < 2) throw new Unreadable(`conv_bias has no meaning in ${attention} with conv_kernel = ${conv_kernel}`);
  return linear;
}

const APART = { full_head_dim: 0, full_n_kv_heads: 0, n_kv_shared_layers: 0, per_layer_dim: 0 }; // sizes that may be 0

function checkKinds(model) {
  const { attention, n_heads, n_layers, window, full_head_dim, full_n_kv_heads, n_kv_shared_layers: shared } = model;
  if (window === null && (full_head_dim || full_n_kv_heads)) throw new Unreadable(`${attention} has layers of one kind, and full_head_dim or full_n_kv_heads says there are two`);
  if (full_n_kv_heads && n_heads % full_n_kv_heads) throw new Unreadable(`n_heads must be a multiple of full_n_kv_heads, got ${n_heads} and ${full_n_kv_heads}`);
  if (!shared) return;
  if (attention === "mla") throw new Unreadable(`layers share keys and values of heads, got ${attention}`);
  const fault = sharingFault(kindsOf(model), { n_layers, shared_layers: shared });
  if (fault) throw new Unreadable(fault);
}

// What layers with entries refuse.
function checkSpans({ attention, n_kv_heads, head_dim, v_head_dim, compress, spans, n_layers, index_n_heads, index_head_dim, index_topk }) {
  if (attention === "csa") {
    if (n_kv_heads !== 1) throw new Unreadable(`csa has n_kv_heads = 1, got ${n_kv_heads}`);
    if (v_head_dim !== head_dim) throw new Unreadable(`csa has v_head_dim = ${head_dim}, got ${v_head_dim}`);
    checkCount("compress", compress);
    if (spans.length !== n_layers) throw new Unreadable(`spans say of each of ${n_layers} csa layers how many tokens leave an entry, got ${spans.length}`);
  }
  if (attention === "csa" || attention === "indexed_latent") {
    for (const [name, value] of Object.entries({ index_n_heads, index_head_dim, index_topk })) checkCount(name, value);
  }
}

// What `ModelConfig` refuses.
export function checked(model) {
  const least = { learned_positions: 0, q_lora_rank: 0, kv_lora_rank: 0, mlp_matrices: 0, qk_nope_head_dim: 0, qk_rope_head_dim: 0, ...APART };
  for (const name of new Set([...told.copied, ...Object.keys(APART), "n_kv_heads"])) if (typeof told.sizes[name] === "number") checkCount(name, model[name], least[name] ?? 1);
  if (model.n_heads % model.n_kv_heads) {
    throw new Unreadable(`n_heads must be a multiple of n_kv_heads, got ${model.n_heads} and ${model.n_kv_heads}`);
  }
  if (model.window !== null) checkCount("window", model.window);
  checkSpans(model);
  checkKinds(model);
  if (model.n_experts && !(model.experts_per_token >= 1 && model.experts_per_token <= model.n_experts)) {
    throw new Unreadable(`a token takes 1 to ${model.n_experts} experts, got experts_per_token = ${model.experts_per_token}`);
  }
  return model;
}

// What a file calls itself: the end of a path, in characters that an address may hold.
function titleOf(given, { model_type }) {
  const path = Object.hasOwn(given, "_name_or_path") ? given._name_or_path : "";
  const name = typeof path === "string" ? path.split("/").at(-1).replace(/[^\w. -]/g, "").trim().slice(0, 40) : "";
  return name || `Your ${model_type}`;
}

// {model, unknown, unread}: the sizes, keys that may change the model in a way that no size tells,
// and how its weights are quantized, where nobody here knows what that takes.
export function modelFromHf(given, name = "own") {
  const whole = described(given), config = flattened(whole);
  const layers = size(config, "n_layers");
  if (layers > told.most_layers) throw new Unreadable(`${layers} layers are more than any model has (${told.most_layers} are read)`);
  const sizes = { ...told.sizes, ...Object.fromEntries(told.copied.map((part) => [part, size(config, part)])) };
  Object.assign(sizes, { n_kv_heads: kvHeadsOf(config), norm_placement: normPlacementOf(config) });
  Object.assign(sizes, { biases: biasesOf(config) }, expertsOf(config, layers), layersOf(config, layers));
  Object.assign(sizes, fullOf(config, sizes));
  const spans = spansOf(config, layers);
  if (size(config, "kv_lora_rank")) {
    for (const part of [...told.latent, ...told.indexer]) sizes[part] = size(config, part) ?? 0;
    sizes.attention = sizes.index_topk ? "indexed_latent" : "mla";
  } else if (spans) {
    for (const part of told.compressed) sizes[part] = size(config, part);
    Object.assign(sizes, spans, { attention: "csa" });
  }
  const { stored, unread } = storedIn([given, config].map((part) => (Object.hasOwn(part, "quantization_config") ? part.quantization_config : null)).find(Boolean));
  return { model: checked({ ...sizes, stored, name, title: titleOf(given, config), family: config.model_type }), unknown: unknownIn(whole), unread };
}

// Brackets that are open at the same time, strings aside; JSON.parse would run out of stack.
function depthOf(text) {
  let depth = 0, most = 0, quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const mark = text[at];
    if (mark === '"') quoted = !quoted;
    else if (quoted) at += mark === "\\" ? 1 : 0;
    else if (mark === "{" || mark === "[") most = Math.max(most, depth += 1);
    else if (mark === "}" || mark === "]") depth -= 1;
  }
  return most;
}

// What a text holds, or a sentence that says what is wrong with it.
export function readText(text) {
  if (!text.trim()) throw new Unreadable("there is nothing in it: paste the whole config.json, from { to }");
  if (text.length > MOST_BYTES) {
    throw new Unreadable(`that's ${(text.length / 1e6).toFixed(1)} million characters, and a config.json has a few thousand: is it another file?`);
  }
  if (depthOf(text) > MOST_DEPTH) throw new Unreadable(`its brackets are more than ${MOST_DEPTH} deep: no config.json's are`);
  let config;
  try {
    config = JSON.parse(text);
  } catch (fault) {
    throw new Unreadable(`it isn't JSON: ${String(fault.message).slice(0, 120)}`);
  }
  return modelFromHf(config);
}
