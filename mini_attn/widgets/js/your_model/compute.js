// The page's numbers: two models, what each keeps, what fits, and the least time of a pass.
import { BITS, Contradiction, DEVICES, OWN, cacheCost, isState } from "../cache_calculator/compute.js";
import told from "../data/your_model.json" with { type: "json" };
import { activeParameterCount, addedBytes, kindsOf, parameterCount, stepBound } from "./step.js";

export { BITS, DEVICES };
const RATES = new Map(told.devices.map((device) => [device.key, device]));

// The state of the calculator in which the model has its own numbers.
const asCalculated = (model, state, parameters) => ({
  ...model, ...state, model: OWN, parameters, shared: 0, shared_layers: model.n_kv_shared_layers, device_gb: 1,
});

const sum = (values) => values.reduce((all, value) => all + value, 0);

// Rows that a query may look at in a layer: tokens or latents, and entries that stand for several.
const rowsIn = ({ fields, kept }) => sum(fields.filter(({ name }, i) => !i || name === "entries").map(({ span, last }) => Math.floor(Math.min(kept, last ?? kept) / span)));
const numbersIn = ({ fields, kept }) => sum(fields.map(({ numbers, span, last }) => Number(numbers) * Math.floor(Math.min(kept, last ?? kept) / span)));

// What each of the four factors is, and what it would be in a model with a key/value head for each
// query head, whose layers all keep everything in 16 bits. Where layers differ, it's their average:
// the product is the cache. A state is no part of it.
function factorsOf(model, { context }, { bits, terms: all }) {
  const terms = all.filter((term) => !isState(term));
  const keeping = sum(terms.map(({ layers }) => layers));
  const entries = sum(terms.map((term) => term.layers * rowsIn(term)));
  const values = sum(terms.map((term) => term.layers * numbersIn(term)));
  const plain = kindsOf(model).map(({ layers, sizes: own, plain: sizes = own }) => layers * sizes.n_heads * (sizes.head_dim + sizes.v_head_dim));
  return [
    { key: "layers", value: keeping, plain: model.n_layers },
    { key: "entries", value: keeping && entries / keeping, plain: context },
    { key: "values", value: entries && values / entries, plain: sum(plain) / model.n_layers },
    { key: "bits", value: bits, plain: 16 },
  ];
}

export function costOf(model, asked) {
  const weight_dtype = asked.weight_dtype === "file" ? model.stored ?? "bfloat16" : asked.weight_dtype;
  const state = { ...asked, weight_dtype };
  const parameters = parameterCount(model);
  const device = RATES.get(state.device);
  const lengths = { batch: state.batch, weight_bits: BITS[state.weight_dtype], cache_bits: BITS[state.dtype] };
  try {
    const cache = cacheCost(asCalculated(model, state, parameters));
    return {
      ...cache, model, title: model.title, weight_dtype, bytes_later: model.spans.length ? cache.bytes_per_token : addedBytes(model, cache.bits), parameters, active: activeParameterCount(model),
      factors: factorsOf(model, state, cache),
      decode: stepBound(model, device, { ...lengths, q_len: 1, kv_len: state.context }),
      prefill: stepBound(model, device, { ...lengths, q_len: state.context, kv_len: state.context }),
    };
  } catch (fault) {
    if (!(fault instanceof Contradiction)) throw fault;
    return { model, title: model.title, error: fault.message };
  }
}

// Runs of equal layers: how many, the kind of attention, whether they have experts, and whether they
// read another layer's cache. In which of its layers a model leaves experts out costs nothing, so that the first ones stand for them.
const spanKind = ({ spans, compress }, layer) => (spans[layer] === compress ? "chosen" : spans[layer] ? "entries" : "window");

export function layerRuns(model) {
  const runs = [];
  const full = new Set(model.full_layers), states = Boolean(model.linear.attention);
  for (let layer = 0; layer < model.n_layers; layer += 1) {
    const named = full.has(layer) || (model.full_every && (layer + 1) % model.full_every === 0);
    const all = model.window === null || model.spans.length || (named && !states);
    const kind = states && !named ? "state" : model.spans.length ? spanKind(model, layer) : !all ? "window" : model.kv_lora_rank ? "latent" : "full";
    const experts = model.n_experts > 0 && layer >= model.n_dense_layers;
    const reads = layer >= model.n_layers - model.n_kv_shared_layers;
    const last = runs.at(-1);
    if (last && last.kind === kind && last.experts === experts && last.reads === reads) last.layers += 1;
    else runs.push({ layers: 1, kind, experts, reads });
  }
  return runs;
}

// Names of sizes that differ between two models.
export const differing = (a, b) => Object.keys(told.sizes).filter((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]));
