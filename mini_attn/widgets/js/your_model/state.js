// What the page shows, and the address of it: #a=llama-3-8b&b=deepseek-v3&context=8192. A pasted
// model is there with its sizes, so that a link needs no file: a=own:Name:attention.gqa,n_layers.2.
import { defaults, fault, read } from "../core/schema.js";
import told from "../data/your_model.json" with { type: "json" };
import { BITS, DEVICES } from "./compute.js";
import { Unreadable, checked, checkedLinear, modelOf } from "./read.js";
import { checkCount, shown } from "./sizes.js";
import { STORED } from "./stored.js";

const LONGEST = 6000; // characters of an address that are read
export const NONE = "none";
export const schema = {
  context: { type: "int", min: 1, max: 10485760, default: 8192 },
  batch: { type: "int", min: 1, max: 4096, default: 1 },
  device: { type: "enum", values: [...DEVICES.keys()], default: "h100" },
  weight_dtype: { type: "enum", values: [...Object.keys(BITS), "file"], default: "bfloat16" },
  dtype: { type: "enum", values: Object.keys(BITS), default: "bfloat16" },
};
const CHOICES = {
  stored: STORED,
  attention: ["mha", "gqa", "mqa", "mla", "sliding_window", "csa", "indexed_latent"],
  norm: ["rms_norm", "layer_norm", "layer_norm_without_bias"],
  norm_placement: ["before", "after", "both", "one", "stream"],
  qk_norm: ["none", "head", "width"],
  biases: ["none", "qkv", "attention", "mlp", "all"],
};
export const first = () => ({ ...defaults(schema), a: modelOf("llama-3-8b"), b: modelOf("deepseek-v3") });

// 0-3_5: runs of layers that keep all.
const runsOf = (layers) => layers.reduce((runs, layer) => {
  if (runs.at(-1)?.[1] === layer - 1) runs.at(-1)[1] = layer;
  else runs.push([layer, layer]);
  return runs;
}, []).map(([from, to]) => (from === to ? from : `${from}-${to}`)).join("_");

function layersIn(text, layers) {
  const found = [];
  for (const run of text.split("_")) {
    const [, from, to = from] = run.match(/^(\d{1,5})(?:-(\d{1,5}))?$/) ?? [];
    if (!(from && Number(from) > (found.at(-1) ?? -1) && Number(to) >= Number(from) && Number(to) < layers)) {
      throw new Unreadable(`full_layers can't be ${shown(text)}`);
    }
    for (let layer = Number(from); layer <= Number(to); layer += 1) found.push(layer);
  }
  return found;
}

const flat = (linear) => Object.values(linear).join("-");
const LINEAR = ["attention", "n_heads", "n_key_heads", "head_dim", "v_head_dim", "conv_kernel", "norm_over", "conv_bias", "biases"];

// gated_delta-32-16-128-128-4-head-false-none: layers with a state.
function linearIn(text) {
  const parts = Object.fromEntries(text.split("-").map((part, i) => [LINEAR[i] ?? "more", /^\d{1,16}$/.test(part) ? Number(part) : part]));
  const known = {
    attention: Object.keys(told.linear_rules), norm_over: ["head", "group", "width"], conv_bias: ["true", "false"],
    biases: ["none", "qkv", "attention"],
  };
  const wrong = Object.keys(known).find((name) => !known[name].includes(parts[name]));
  if (wrong || "more" in parts) throw new Unreadable(`linear can't be ${shown(text)}`);
  return checkedLinear({ ...parts, conv_bias: parts.conv_bias === "true" });
}

const plain = (value, name) => (name === "linear" ? flat(value) : Array.isArray(value) ? (name === "spans" ? value.join("_") : runsOf(value)) : value === true ? "yes" : String(value));

function ownText(model) {
  const parts = Object.keys(told.sizes)
    .filter((name) => plain(model[name], name) !== plain(told.sizes[name], name))
    .map((name) => `${name}.${plain(model[name], name)}`);
  if (model.stored) parts.push(`stored.${model.stored}`);
  return `own:${model.title.replaceAll(" ", "+")}:${parts.join(",")}`;
}

function sizeIn(name, text, sizes) {
  const usual = told.sizes[name];
  if (Object.hasOwn(CHOICES, name)) {
    if (CHOICES[name].includes(text)) return text;
    throw new Unreadable(`${name} is one of ${CHOICES[name].join(", ")}, not ${shown(text)}`);
  }
  if (name === "spans") return text.split("_").map((span) => checkCount(name, /^\d{1,9}$/.test(span) ? Number(span) : span, 0));
  if (name === "linear") return linearIn(text);
  if (name === "full_layers") return layersIn(text, sizes.n_layers);
  if (typeof usual === "boolean") {
    if (text === "yes") return true;
    throw new Unreadable(`${name} is yes or left out, not ${shown(text)}`);
  }
  return checkCount(name, /^\d{1,16}$/.test(text) ? Number(text) : text, 0);
}

// What the reader of a file guarantees, and an address doesn't.
function consistent(model) {
  const { attention, n_heads, n_kv_heads, n_layers, full_every, full_layers, spans } = model;
  const window = spans.length ? null : model.window;
  const states = Boolean(model.linear.attention);
  const shared = n_kv_heads === n_heads ? "mha" : n_kv_heads === 1 ? "mqa" : "gqa";
  const latent = model.index_topk ? "indexed_latent" : "mla";
  const kind = spans.length ? "csa" : window ? "sliding_window" : model.kv_lora_rank ? latent : shared;
  const faults = {
    attention: attention !== kind, n_layers: n_layers > told.most_layers,
    full_every: full_every > n_layers || (full_every && !window && !states),
    full_layers: full_layers.length && (full_every || !(window || states) || full_layers.length === n_layers),
    linear: states && (spans.length > 0 || model.n_kv_shared_layers > 0 || full_every === 1),
    shared_gate: model.shared_gate && !model.shared_d_ff,
    n_dense_layers: model.n_dense_layers > (model.n_experts ? n_layers : 0),
    expert_d_ff: Boolean(model.n_experts) !== Boolean(model.expert_d_ff),
    window: spans.length > 0 && !model.window,
    qk_rope_head_dim: model.kv_lora_rank > 0 && !(model.qk_rope_head_dim && model.qk_nope_head_dim),
    mlp_matrices: ![0, 2, 3].includes(model.mlp_matrices),
  };
  const wrong = Object.keys(faults).find((name) => faults[name]);
  if (wrong) throw new Unreadable(`${wrong} doesn't go with the other sizes`);
  return model;
}

function modelIn(text) {
  if (text === NONE) return null;
  if (!text.startsWith("own:")) {
    const model = modelOf(text);
    if (!model) throw new Unreadable(`there is no model ${shown(text)}`);
    return model;
  }
  const [, title, list = ""] = text.split(":");
  const sizes = { ...told.sizes, stored: null };
  for (const part of list.split(",")) {
    const [name, value = ""] = part.split(".");
    if (!Object.hasOwn(sizes, name)) throw new Unreadable(`a model has no ${shown(name)}`);
    sizes[name] = sizeIn(name, value, sizes);
  }
  const called = title.replaceAll("+", " ").replace(/[^\w. -]/g, "").slice(0, 40) || "Your model";
  return consistent(checked({ ...sizes, name: "own", title: called, family: "own" }));
}

const nameOf = (model) => (!model ? NONE : model.name === "own" ? ownText(model) : model.name);

export function toHash(state) {
  const others = Object.keys(schema).filter((key) => state[key] !== schema[key].default).map((key) => `${key}=${state[key]}`);
  return `#a=${nameOf(state.a)}&b=${nameOf(state.b)}${others.map((part) => `&${part}`).join("")}`;
}

// {state, error}: what an address asks for, or the present state and a sentence; null where it asks
// for nothing of this page.
export function fromHash(hash, present) {
  if (!/^#[ab]=/.test(hash)) return null;
  const state = { ...first(), b: null };
  try {
    if (hash.length > LONGEST) throw new Unreadable(`it has more than ${LONGEST} characters`);
    for (const part of decodeURIComponent(hash.slice(1)).split("&")) {
      const [, key = part, text = ""] = part.match(/^([^=]*)=(.*)$/s) ?? [];
      if (key === "a" || key === "b") state[key] = modelIn(text);
      else {
        const value = Object.hasOwn(schema, key) ? read(schema[key], text) : null;
        const wrong = value === null ? `there is no ${shown(key)}` : fault(schema[key], key, value);
        if (wrong) throw new Unreadable(wrong);
        state[key] = value;
      }
    }
    if (!state.a) [state.a, state.b] = [state.b ?? modelOf("llama-3-8b"), null];
    return { state, error: null };
  } catch (caught) {
    if (!(caught instanceof Unreadable || caught instanceof URIError)) throw caught;
    const why = caught instanceof URIError ? "its % signs are broken" : caught.message;
    return { state: present, error: `The link asks for something that doesn't exist: ${why}. Nothing was changed.` };
  }
}
