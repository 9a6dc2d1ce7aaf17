// What no table of keys says of a family: weights/families/_rules.py under the same names.
import { Unreadable, checkCount, flag, isMapping, shown, size } from "./sizes.js";

const [FULL, SLIDING, LINEAR] = ["full_attention", "sliding_attention", "linear_attention"];
const FLAGS = [0, 1, false, true];
const range = (n, what) => Array.from({ length: n }, (_, layer) => what(layer));

function checkLayers(name, list, layers, known) {
  if (!Array.isArray(list) || list.length < layers) throw new Unreadable(`${name} must list ${layers} layers or more, got ${shown(list)}`);
  for (const one of list) if (!known.includes(one)) throw new Unreadable(`${name} has ${shown(one)}, which this package's decoder has not`);
}

function checkWindow(kinds, window) {
  if (window === null && Array.isArray(kinds) && kinds.includes(SLIDING)) {
    throw new Unreadable(`layer_types has '${SLIDING}', and sliding_window says no width or is not in use`);
  }
}

const PATTERNS = {
  behind: (config, layers) => {
    const first = Math.min(size(config, "first_windowed"), layers);
    return range(layers, (layer) => (layer < first ? FULL : SLIDING));
  },
  unturned: (config, layers, windowed) => turning(config, layers).map((turns) => (windowed && !turns ? SLIDING : FULL)),
  in_turn: (config, layers) => {
    const every = size(config, "full_every");
    return range(layers, (layer) => ((layer + 1) % every ? SLIDING : FULL));
  },
  first_and_in_turn: (config, layers) => {
    const flags = size(config, "window_layers");
    if (flags === null) return [FULL, ...PATTERNS.in_turn(config, layers).slice(1)];
    checkLayers("hybrid_layer_pattern", flags, layers, FLAGS);
    return flags.map((flag) => (flag ? SLIDING : FULL));
  },
  in_turn_then_full: (config, layers) => [...PATTERNS.in_turn(config, layers).slice(0, -1), FULL],
};

function turning(config, layers) {
  const every = size(config, "turned_every");
  const turned = size(config, "turned_layers") ?? range(layers, (layer) => (!every || (layer + 1) % every !== 0));
  checkLayers("no_rope_layers", turned, layers, FLAGS);
  return turned.slice(0, layers).map(Boolean);
}

// The window of each layer, null where it sees all.
export function windowsOf(config, layers) {
  const rule = size(config, "windows");
  let window = size(config, "window");
  const asked = size(config, "window_asked");
  if (rule === "none") return range(layers, () => null);
  if (rule === "one") return range(layers, () => (asked ? window : null));
  if (rule === "behind" && !asked) window = null;
  let kinds = size(config, "layer_types");
  checkWindow(kinds, window);
  if (kinds === null) {
    kinds = PATTERNS[rule](config, layers, asked && window !== null);
    if (rule.startsWith("in_turn")) checkWindow(kinds, window);
  }
  checkLayers("layer_types", kinds, layers, [FULL, SLIDING]);
  return kinds.slice(0, layers).map((kind) => (kind === SLIDING ? window : null));
}

// Whether each layer has experts.
export function sparseOf(config, layers) {
  if (size(config, "dense") === "first") {
    const dense = size(config, "n_dense_layers");
    const none = dense >= layers || !size(config, "n_experts");
    return range(layers, (layer) => !none && layer >= dense);
  }
  if (size(config, "dense") === "flagged") {
    const flags = size(config, "sparse_layers");
    if (flags === null) return range(layers, (layer) => layer > 0);
    checkLayers("moe_layer_freq", flags, layers, FLAGS);
    return flags.slice(0, layers).map(Boolean);
  }
  if (size(config, "dense") === "named") {
    const kinds = size(config, "sparse_layers");
    if (kinds === null) { const dense = size(config, "n_dense_layers"); return range(layers, (layer) => layer >= dense); }
    checkLayers("mlp_layer_types", kinds, layers, ["dense", "sparse"]);
    return kinds.slice(0, layers).map((kind) => kind === "sparse");
  }
  const [step, plain] = [size(config, "sparse_every"), size(config, "dense_layers") ?? []];
  if (!Array.isArray(plain)) throw new Unreadable(`mlp_only_layers must list numbers of layers, got ${shown(plain)}`);
  for (const layer of plain) checkCount("mlp_only_layers", layer, 0);
  return range(layers, (layer) => !plain.includes(layer) && (layer + 1) % step === 0);
}

const [SPARSE, HEAVY] = ["compressed_sparse_attention", "heavily_compressed_attention"];
const RATES = { [SLIDING]: 0, [SPARSE]: 4, [HEAVY]: 128 };

function kindsOfLayers(config, layers) {
  const [kinds, rates] = [size(config, "layer_types"), size(config, "span_layers")];
  if (kinds === null && rates !== null) {
    checkLayers("compress_ratios", rates, layers, Object.values(RATES));
    return rates.map((rate) => Object.keys(RATES).find((kind) => RATES[kind] === rate)).slice(0, layers);
  }
  const found = kinds ?? [HEAVY, HEAVY, ...range(layers, (i) => (i % 2 ? SPARSE : HEAVY))];
  checkLayers("layer_types", found, layers, Object.keys(RATES));
  return found.slice(0, layers);
}

function ratesOf(config) {
  const given = Object.hasOwn(config, "compress_rates") ? config.compress_rates : null;
  if (given !== null && !isMapping(given)) throw new Unreadable(`compress_rates must map names to values, got ${shown(given)}`);
  const rates = { ...RATES };
  for (const [kind, old] of [[SPARSE, "compress_rate_csa"], [HEAVY, "compress_rate_hca"]]) {
    for (const [part, key] of [[given ?? {}, kind], [config, old]]) {
      if (Object.hasOwn(part, key) && part[key] !== null) rates[kind] = checkCount(key, part[key]);
    }
  }
  return rates;
}

// How many tokens leave an entry in each layer, and in those with an indexer.
export function spansOf(config, layers) {
  if (size(config, "spans") === "none") return null;
  const [kinds, rates] = [kindsOfLayers(config, layers), ratesOf(config)];
  if (rates[SPARSE] === rates[HEAVY]) throw new Unreadable(`compress_rates must differ between ${SPARSE} and ${HEAVY}, got ${rates[SPARSE]}`);
  return { compress: rates[SPARSE], spans: kinds.map((kind) => rates[kind]) };
}

// Whether each layer keeps a state; where a file lists none, in what turn.
export function statesOf(config, layers) {
  const rule = size(config, "states");
  if (rule === "none" || rule === "everywhere") return range(layers, () => rule === "everywhere");
  let kinds = size(config, "layer_types");
  if (kinds === null) {
    const every = size(config, "full_every"), listed = rule === "after_each" && Object.hasOwn(config, "full_attn_layers") ? config.full_attn_layers : null;
    const first = rule === "after_each" ? every : every - 1;
    const inTurn = rule === "behind_each" ? (layer) => layer % 2 === 0 : (layer) => layer >= first && (layer - first) % every === 0;
    kinds = range(layers, (layer) => ((Array.isArray(listed) ? listed.includes(layer + 1) : inTurn(layer)) ? FULL : LINEAR));
    if (rule === "in_turn_or_last" && !kinds.includes(FULL)) kinds[layers - 1] = FULL;
  }
  checkLayers("layer_types", kinds, layers, [FULL, LINEAR]);
  return kinds.slice(0, layers).map((kind) => kind === LINEAR);
}

const STATE_WORDS = {
  head_dim: "linear_head_dim", num_heads: "linear_num_heads", short_conv_kernel_size: "linear_conv_kernel_dim", full_attn_layers: "full_attn_layers",
};

// With what Kimi Linear's released file has in a part of its own.
export function flattened(config) {
  if (config.model_type !== "kimi_linear") return config;
  const given = (Object.hasOwn(config, "linear_attn_config") ? config.linear_attn_config : null) ?? {};
  if (!isMapping(given)) throw new Unreadable(`linear_attn_config must map names to values, got ${shown(given)}`);
  const found = Object.keys(STATE_WORDS).filter((name) => Object.hasOwn(given, name));
  return { ...config, ...Object.fromEntries(found.map((name) => [STATE_WORDS[name], given[name]])) };
}

// Sizes of a key and of a value where there is a state; what a file leaves out follows from the width.
export function stateDimsOf(config) {
  const [key, value] = [size(config, "linear_head_dim"), size(config, "linear_v_head_dim")];
  const found = key || checkCount("linear_key_head_dim", Math.trunc((0.75 * size(config, "d_model")) / size(config, "linear_key_heads")));
  return { head_dim: found, v_head_dim: value || 2 * found };
}

// A flag can say that all query heads share one key/value head.
export function kvHeadsOf(config) {
  const [rule, heads] = [size(config, "kv_heads"), size(config, "n_kv_heads")];
  if (rule === "given" || (rule === "falcon" && flag(config, "new_decoder_architecture", false))) return heads;
  return flag(config, "multi_query", true) ? 1 : size(config, "n_heads");
}

export function normPlacementOf(config) {
  if (size(config, "kv_heads") !== "falcon") return size(config, "norm_placement");
  const parallel = flag(config, "parallel_attn", true);
  return parallel && !flag(config, "new_decoder_architecture", false) ? "one" : "before";
}

// Sizes of the layers that see all, where they differ from those with a window.
export const fullSizesOf = (config) => ({
  full_head_dim: size(config, "full_head_dim"), full_n_kv_heads: size(config, "full_heads_asked") ? size(config, "full_n_kv_heads") : 0,
});
