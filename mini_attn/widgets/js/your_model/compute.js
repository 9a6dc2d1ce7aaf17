// The page's numbers: two models, what each keeps, what fits, and the least time of a pass.
import { BITS, Contradiction, DEVICES, LAYOUTS, OWN, cacheCost } from "../cache_calculator/compute.js";
import told from "../data/your_model.json" with { type: "json" };
import { activeParameterCount, addedBytes, fullLayers, parameterCount, stepBound } from "./step.js";

export { BITS, DEVICES };
const RATES = new Map(told.devices.map((device) => [device.key, device]));

// The state of the calculator in which the model has its own numbers.
const asCalculated = (model, state, parameters) => ({
  ...model, ...state, model: OWN, parameters, shared: 0, device_gb: 1,
});

// What each of the four factors is, and what it would be in a model with a key/value head for each
// query head, whose layers all keep everything in 16 bits.
function factorsOf(model, { context }, { bits }) {
  const full = fullLayers(model);
  const kept = full * context + (model.n_layers - full) * Math.min(context, model.window ?? context);
  const values = LAYOUTS.get(model.attention).cache.reduce((all, { factors }) => all + factors.reduce((one, name) => one * model[name], 1), 0);
  const plain = model.n_heads * (model.head_dim + model.v_head_dim);
  return [
    { key: "layers", value: model.n_layers, plain: model.n_layers },
    { key: "entries", value: kept / model.n_layers, plain: context },
    { key: "values", value: values, plain },
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
      ...cache, model, title: model.title, weight_dtype, bytes_later: addedBytes(model, cache.bits), parameters, active: activeParameterCount(model),
      factors: factorsOf(model, state, cache),
      decode: stepBound(model, device, { ...lengths, q_len: 1, kv_len: state.context }),
      prefill: stepBound(model, device, { ...lengths, q_len: state.context, kv_len: state.context }),
    };
  } catch (fault) {
    if (!(fault instanceof Contradiction)) throw fault;
    return { model, title: model.title, error: fault.message };
  }
}

// Runs of equal layers, [how many, kind of attention, whether it has experts]. In which of its
// layers a model leaves experts out costs nothing, so that the first ones stand for them.
export function layerRuns(model) {
  const runs = [];
  const full = new Set(model.full_layers);
  for (let layer = 0; layer < model.n_layers; layer += 1) {
    const all = model.window === null || full.has(layer) || (model.full_every && (layer + 1) % model.full_every === 0);
    const kind = !all ? "window" : model.attention === "mla" ? "latent" : "full";
    const experts = model.n_experts > 0 && layer >= model.n_dense_layers;
    const last = runs.at(-1);
    if (last && last.kind === kind && last.experts === experts) last.layers += 1;
    else runs.push({ layers: 1, kind, experts });
  }
  return runs;
}

// Names of sizes that differ between two models.
export const differing = (a, b) => Object.keys(told.sizes).filter((name) => JSON.stringify(a[name]) !== JSON.stringify(b[name]));
