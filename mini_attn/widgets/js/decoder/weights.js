// A decoder from plain data: {config, tensors: {name: {shape, dtype, base64}}}, as
// mini_attn/widgets/model_data.py writes it. Numbers lie in the order of every browser's machine,
// the low byte first. A matrix in eight bits has a scale for each row under name.scale.
import { fault } from "../core/schema.js";

const count = { type: "int", min: 1, max: 2 ** 31 };
const flag = { type: "bool" };
const positive = { type: "number", min: Number.MIN_VALUE, max: Number.MAX_VALUE };
const oneOf = (...values) => ({ type: "enum", values });
const orNull = (entry) => ({ ...entry, orNull: true });

// All that a configuration may say: what is not here would change numbers unseen.
const DECODER = {
  vocab_size: count, n_layers: count, d_model: count, d_ff: count, max_positions: count, eps: positive,
  mlp: oneOf("plain", "gated"), activation: oneOf("gelu_tanh", "gelu", "silu", "relu"), mlp_bias: flag,
  norm: oneOf("layer_norm", "rms_norm"), positions: oneOf("learned", "sinusoidal", "none"), tie_embeddings: flag,
};
const SHARED = { d_model: count, n_heads: count, v_head_dim: count, bias: flag, scale: orNull(positive), eps: positive, sinks: flag };
const ATTENTIONS = {
  heads: {
    ...SHARED, head_dim: count, n_kv_heads: count, out_bias: flag, qk_norm: flag, softcap: orNull(positive),
    window: orNull(count), alibi: flag, sink_tokens: { ...count, min: 0 },
  },
  latent: { ...SHARED, kv_lora_rank: count, q_lora_rank: orNull(count), qk_nope_head_dim: count, qk_rope_head_dim: count },
};
const ROPE = { layout: oneOf("half", "interleaved"), theta: positive, rotary_dim: orNull(count) };

function refuse(reason) {
  throw new Error(`this is no decoder that can be run here: ${reason}`);
}

function check(where, schema, given) {
  if (given === null || typeof given !== "object") refuse(`${where} must be an object of named values`);
  for (const key of Object.keys(given)) if (!Object.hasOwn(schema, key)) refuse(`${where} has an unknown option ${key}`);
  for (const [key, entry] of Object.entries(schema)) {
    if (!Object.hasOwn(given, key)) refuse(`${where} has no ${key}`);
    const reason = entry.orNull && given[key] === null ? null : fault(entry, key, given[key]);
    if (reason) refuse(`${where}: ${reason}`);
  }
}

function checkAttention(where, { kind, rope, ...options }, width) {
  if (!Object.hasOwn(ATTENTIONS, kind)) refuse(`${where} is of a kind ${kind}, not of ${Object.keys(ATTENTIONS).join(" or ")}`);
  check(where, ATTENTIONS[kind], options);
  const { d_model: own, n_heads: nHeads, n_kv_heads: nKvHeads = 1 } = options;
  if (own !== width) refuse(`${where} is ${own} wide, the decoder ${width}`);
  if (nHeads % nKvHeads) refuse(`${where}: ${nHeads} heads cannot share ${nKvHeads} of keys and values`);
  if (rope === null && kind === "heads") return;
  check(`${where}.rope`, ROPE, rope);
  const most = kind === "latent" ? options.qk_rope_head_dim : options.head_dim;
  const turned = rope.rotary_dim ?? most;
  if (turned % 2 || turned > most) refuse(`${where}.rope turns pairs of at most ${most} numbers, not ${turned}`);
}

function checkConfig(config) {
  const { attentions, ...rest } = config ?? refuse("there is no config");
  check("config", DECODER, rest);
  if (!Array.isArray(attentions) || attentions.length !== rest.n_layers) refuse(`${rest.n_layers} layers need as many attentions`);
  attentions.forEach((attention, i) => checkAttention(`attentions[${i}]`, attention ?? {}, rest.d_model));
}

// The weights that a configuration asks for, with their shapes; names as in both backends.
function shapesOf(config) {
  const { vocab_size: vocab, d_model: width, d_ff: inner, norm: kind } = config;
  const shapes = { "embed_tokens.weight": [vocab, width] };
  const linear = (name, out, from, bias = false) => {
    shapes[`${name}.weight`] = [out, from];
    if (bias) shapes[`${name}.bias`] = [out];
  };
  const norm = (name, size = width, bias = kind === "layer_norm") => {
    shapes[`${name}.weight`] = [size];
    if (bias) shapes[`${name}.bias`] = [size];
  };
  if (config.positions === "learned") linear("embed_positions", config.max_positions, width);
  config.attentions.forEach((attention, i) => {
    const own = (name) => `layers.${i}.${name}`;
    norm(own("input_layernorm"));
    (attention.kind === "heads" ? headWeights : latentWeights)(own("self_attn"), attention, linear, norm);
    if (attention.sinks) shapes[own("self_attn.sinks")] = [attention.n_heads];
    norm(own("post_attention_layernorm"));
    if (config.mlp === "gated") linear(own("mlp.gate_proj"), inner, width, config.mlp_bias);
    linear(own("mlp.up_proj"), inner, width, config.mlp_bias);
    linear(own("mlp.down_proj"), width, inner, config.mlp_bias);
  });
  norm("norm");
  if (!config.tie_embeddings) linear("lm_head", vocab, width);
  return shapes;
}

function headWeights(own, attention, linear, norm) {
  const { d_model: width, n_heads: nHeads, n_kv_heads: nKvHeads, head_dim: headDim, v_head_dim: vHeadDim, bias } = attention;
  linear(`${own}.q_proj`, nHeads * headDim, width, bias);
  linear(`${own}.k_proj`, nKvHeads * headDim, width, bias);
  linear(`${own}.v_proj`, nKvHeads * vHeadDim, width, bias);
  linear(`${own}.o_proj`, width, nHeads * vHeadDim, attention.out_bias);
  if (attention.qk_norm) for (const name of ["q_norm", "k_norm"]) norm(`${own}.${name}`, headDim, false);
}

function latentWeights(own, attention, linear, norm) {
  const { d_model: width, n_heads: nHeads, kv_lora_rank: rank, q_lora_rank: qRank, bias } = attention;
  const { qk_nope_head_dim: nope, qk_rope_head_dim: turned, v_head_dim: vHeadDim } = attention;
  if (qRank === null) linear(`${own}.q_proj`, nHeads * (nope + turned), width);
  else {
    linear(`${own}.q_a_proj`, qRank, width, bias);
    norm(`${own}.q_a_layernorm`, qRank, false);
    linear(`${own}.q_b_proj`, nHeads * (nope + turned), qRank);
  }
  linear(`${own}.kv_a_proj_with_mqa`, rank + turned, width, bias);
  norm(`${own}.kv_a_layernorm`, rank, false);
  linear(`${own}.kv_b_proj`, nHeads * (nope + vHeadDim), rank);
  linear(`${own}.o_proj`, width, nHeads * vHeadDim, bias);
}

const TYPES = { float32: Float32Array, int8: Int8Array };

// The numbers of one tensor, as many as its shape says.
function numbers(tensors, name, shape, types) {
  if (!Object.hasOwn(tensors, name)) refuse(`${name} is missing`);
  const { shape: given, dtype, base64 } = tensors[name] ?? {};
  if (!types.includes(dtype)) refuse(`${name} must be of ${types.join(" or ")}, not of ${dtype}`);
  if (String(given) !== String(shape)) refuse(`${name} must have the shape (${shape.join(", ")}), not (${given})`);
  let text;
  try {
    text = atob(base64);
  } catch {
    refuse(`${name} is damaged: its numbers are no base64`);
  }
  const bytes = Uint8Array.from(text, (letter) => letter.charCodeAt(0));
  const expected = shape.reduce((product, size) => product * size, TYPES[dtype].BYTES_PER_ELEMENT);
  if (bytes.length !== expected) refuse(`${name} is damaged: it has ${bytes.length} bytes instead of ${expected}`);
  const values = new TYPES[dtype](bytes.buffer);
  if (!values.every(Number.isFinite)) refuse(`${name} is damaged: it holds what is no number`);
  return values;
}

// weight = scale * code, rounded once to float32 as in mini_attn/stories/rounding.py.
function restored(tensors, name, shape, used) {
  const values = numbers(tensors, name, shape, Object.keys(TYPES));
  used.add(name);
  if (values instanceof Float32Array) return values;
  const scales = numbers(tensors, `${name}.scale`, [...shape.slice(0, -1), 1], ["float32"]);
  used.add(`${name}.scale`);
  return Float32Array.from(values, (code, i) => scales[Math.floor(i / shape.at(-1))] * code);
}

// {config, embed_tokens, layers: {0: {self_attn: {q_proj: {weight}, …}, …}, …}, norm, …}: each weight
// a Float32Array, its rows after each other, under the name that both backends give it.
export function openModel(data) {
  if (data === null || typeof data !== "object") refuse("its data have not been loaded");
  const { config, tensors } = data;
  checkConfig(config);
  if (tensors === null || typeof tensors !== "object") refuse("it has no tensors");
  const model = { config };
  const used = new Set();
  for (const [name, shape] of Object.entries(shapesOf(config))) {
    const path = name.split(".");
    const last = path.pop();
    const place = path.reduce((inside, part) => (inside[part] ??= {}), model);
    place[last] = restored(tensors, name, shape, used);
  }
  const unknown = Object.keys(tensors).find((name) => !used.has(name));
  if (unknown !== undefined) refuse(`it has no place for ${unknown}`);
  return model;
}
